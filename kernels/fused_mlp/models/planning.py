"""What of one block can be fused, found without changing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from fused_mlp.models.derived import module_of
from fused_mlp.models.fused_calls import FusedCall
from fused_mlp.models.guard import Guard
from fused_mlp.models.plan import CANNOT_RUN, Mode, Plan
from fused_mlp.models.reading.block_patterns import Match, Matcher
from fused_mlp.models.reading.inlined import Run, Source
from fused_mlp.models.reading.linear_layers import is_linear, is_transposed, why_not_parameters, why_not_plain
from fused_mlp.models.reading.methods import (
    METHODS,
    arguments_of,
    method_of,
    why_not_derived,
    with_required_only,
)
from fused_mlp.models.reading.stand_ins import NoPattern
from fused_mlp.models.reading.surroundings import Surroundings, surroundings_of, surroundings_of_modules
from fused_mlp.models.reading.torch_functions import functions_stood_for
from fused_mlp.models.reading.tracing import Traced, graph_of
from fused_mlp.models.rewriting import function_of, function_with_fused_calls
from fused_mlp.models.stretch import Stretch, call_stretch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FunctionType

    from fused_mlp.models.plan import Done, Settings
    from fused_mlp.models.reading.surrounding_values import Place

_COUNTED = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
Found = dict[bool, tuple[Traced, tuple[Match, ...]]]


def plan_chains(block: nn.Module, settings: Settings, *, done: Done) -> Plan:
    """Return the MLPs in `block`'s methods and in its children that hold layers; `done`: what is fused already."""
    plan = Plan(block=block)
    if reason := why_not_derived(block, "forward"):
        plan.reasons.append(reason)
        return plan
    inner = [child for child in block.children() if not done.is_fused(child) and _holds_layers(child)]
    for name in METHODS:
        function = method_of(block, name)
        if function is not None:
            for inlined in [inner, []] if inner else [[]]:
                if _plan_method(plan, name, function, settings, inlined=inlined, done=done):
                    return plan
    function = method_of(block, "forward")
    if function is not None and not plan.sites:
        _plan_runs(plan, function, settings, done=done)
    return plan


def plan_layers(block: nn.Module, settings: Settings, *, done: Done) -> Plan:
    """Return the single layers with an activation behind them in `block`'s forward."""
    plan = Plan(block=block)
    function = None if why_not_derived(block, "forward") else method_of(block, "forward")
    if function is not None:
        _plan_method(plan, "forward", function, settings, inlined=[], done=done, chains=False)
    return plan


def _plan_method(
    plan: Plan,
    name: str,
    function: FunctionType,
    settings: Settings,
    *,
    inlined: Sequence[nn.Module],
    done: Done,
    chains: bool = True,
) -> bool:
    block = plan.block
    try:
        if "forward" in block.__dict__ and name == "forward":
            raise NoPattern("it has a forward of its own, set on the instance")  # noqa: TRY301 - as the others below
        if hasattr(function, "__wrapped__"):
            raise NoPattern("its forward is decorated")  # noqa: TRY301
        codes: list[tuple[type[nn.Module], Any]] = [
            (type(block), function),
            *((type(module), type(module).forward) for module in inlined),
        ]
        around = surroundings_of(block, codes)
        required, defaults = arguments_of(function)
        called = with_required_only(function, required)
        if reason := why_not_plain((path_in(block, module), module) for module in inlined):
            raise NoPattern(reason)  # noqa: TRY301
        found = _matches(plan, called, settings, around, inlined=inlined, done=done, chains=chains)
        stood_for = _stood_for(block, found, around)
    except NoPattern as mismatch:
        plan.reasons.append(str(mismatch))
        return False
    if not found:
        return False
    containers = [block, *inlined, *(m for m in block.modules() if type(m) in (nn.ModuleList, nn.ModuleDict))]
    plan.sites[name] = _stretch(
        plan,
        name,
        found,
        settings,
        around,
        original=function,
        arguments=(required, defaults),
        containers=containers,
        inlined=inlined,
        stood_for=stood_for,
    )
    return True


def _plan_runs(plan: Plan, function: FunctionType, settings: Settings, *, done: Done) -> None:
    block = plan.block
    if sum(is_linear(child) for child in block.children()) < 2 or "forward" in block.__dict__:
        return
    runs: dict[str, Run] = {}
    try:
        source = Source(function, type(block))
    except NoPattern as mismatch:
        plan.reasons.append(str(mismatch))
        return
    for run in source.runs(block):
        if any(
            run.body is other.body and run.first <= other.last and other.first <= run.last for other in runs.values()
        ):
            continue
        called = source.function_of(run)
        key = f"forward#{len(runs)}"
        try:
            around = surroundings_of(block, [(type(block), called)])
            found = _matches(plan, called, settings, around, inlined=[], done=done, chains=True)
            stood_for = _stood_for(block, found, around)
        except NoPattern as mismatch:
            plan.reasons.append(str(mismatch))
            continue
        if found:
            plan.sites[key] = _stretch(
                plan,
                key,
                found,
                settings,
                around,
                original=called,
                arguments=((run.argument,), {}),
                containers=[],
                inlined=[],
                stood_for=stood_for,
            )
            runs[key] = run
    if runs:
        plan.sites["forward"] = source.with_runs_replaced(runs, call=call_stretch)


def _matches(
    plan: Plan,
    function: FunctionType,
    settings: Settings,
    around: Surroundings,
    *,
    inlined: Sequence[nn.Module],
    done: Done,
    chains: bool,
) -> Found:
    """Return by mode (False: inference) the graph and its matches: the same in both where both are wanted."""
    found: Found = {}
    modes = (False, True) if settings.mode is Mode.TRAINING else (False,)
    for training in modes:
        traced = graph_of(plan.block, function, training=training, inlined=inlined, around=around)
        matcher = Matcher(plan.block, traced.graph, training=training)
        matches = matcher.mlps() if chains else ()
        if matches or not chains:
            matches += matcher.activated_layers()
        in_order = sorted(matches, key=lambda match: matcher.order[match.nodes[0]])
        allowed = [match for match in in_order if _allows(plan, match, settings, done)]
        plan.reasons += [reason for reason in matcher.reasons if reason not in plan.reasons]
        found[training] = traced, tuple(allowed)
    if len(found) > 1:
        # What computes one thing in training and another in inference is left to its own code.
        common = {match.pattern for match in found[False][1]} & {match.pattern for match in found[True][1]}
        found = {
            training: (traced, tuple(match for match in matches if match.pattern in common))
            for training, (traced, matches) in found.items()
        }
        orders = {tuple(match.pattern for match in matches) for _, matches in found.values()}
        if len(orders) > 1:
            raise NoPattern("its forward differs between training and inference")
    return found if found[False][1] else {}


def _allows(plan: Plan, match: Match, settings: Settings, done: Done) -> bool:
    block, pattern = plan.block, match.pattern
    layers = [block.get_submodule(path) for path in pattern.layers]
    skipped = [(str(node.target), block.get_submodule(str(node.target))) for node in _called(match)]
    reason = why_not_plain([(path, inner) for path, each in skipped for inner in each.modules()])
    reason = reason or why_not_parameters(zip(pattern.layers, layers, strict=True))
    if reason is None and any(is_transposed(layer) for layer in layers):
        if not all(is_transposed(layer) for layer in layers) or pattern.operation != "mlp":
            reason = f"{pattern.layers[0]} has its weight transposed, and so have not all others"
        elif settings.mode is Mode.TRAINING:
            reason = (
                f"{pattern.layers[0]} has its weight transposed, which only packed copies make up for: mode='inference'"
            )
    if reason is None and settings.why_packed_only is not None and settings.mode is Mode.TRAINING:
        reason = CANNOT_RUN
    if reason is None and any(done.is_computed_around(layer, block) for layer in layers):
        reason = f"{pattern.layers[0]} is part of another block that is fused"
    if reason is not None and reason not in plan.reasons:
        plan.reasons.insert(0, reason)
    return reason is None


def _stretch(
    plan: Plan,
    key: str,
    found: Found,
    settings: Settings,
    around: Surroundings,
    *,
    original: FunctionType,
    arguments: tuple[tuple[str, ...], dict[str, Any]],
    containers: list[nn.Module],
    inlined: Sequence[nn.Module],
    stood_for: Sequence[Place],
) -> Stretch:
    block = plan.block
    (traced, matches), fused_calls = found[False], []
    for match in matches:
        layers = [block.get_submodule(path) for path in match.pattern.layers]
        packed_only = settings.why_packed_only is not None or any(is_transposed(layer) for layer in layers)
        module = module_of(match.pattern, block, recompute=settings.recompute)
        fused_calls.append(FusedCall(match.pattern, module, function_of(match), is_packed_only=packed_only))
        plan.layers += layers
        plan.patterns.append(match.pattern)
    called = [block.get_submodule(str(node.target)) for match in matches for node in _called(match)]
    modal = [inner for each in called if not is_linear(each) for inner in each.modules()]
    composed = [each for each in dict.fromkeys(modal) if _may_call_children(each)]
    skipped = [*called, *modal, *inlined]
    if "training" in around.names:  # of whom is not known
        modal += block.modules()
    guard = Guard(
        containers=containers,
        used=[str(node.target) for match in matches for node in _called(match)],
        block=block,
        counted=[each for each in block.modules() if isinstance(each, _COUNTED)],
        composed=composed,
        answers=[place for traced_there, _ in found.values() for place in traced_there.answers],
        arounds=[around, *surroundings_of_modules(each for each in called if not is_linear(each))],
        skipped=skipped,
        modal=[*modal, *inlined],
        stood_for=stood_for,
    )
    functions = {
        training: function_with_fused_calls(traced_there.graph, matches_there, key=key)
        for training, (traced_there, matches_there) in found.items()
    }
    required, defaults = arguments
    return Stretch(
        original=original,
        functions=functions,
        required=required,
        defaults=defaults,
        fused_calls=tuple(fused_calls),
        guard=guard,
        dtype=traced.dtype,
    )


def _stood_for(block: nn.Module, found: Found, around: Surroundings) -> tuple[Place, ...]:
    nodes = [node for _, matches in found.values() for match in matches for node in match.nodes]
    called = {block.get_submodule(str(node.target)): None for node in nodes if node.op == "call_module"}
    arounds = surroundings_of_modules(each for each in called if not is_linear(each))
    own = [function for each in arounds for function in each.functions]
    kinds = dict.fromkeys(type(inner) for each in called for inner in each.modules())
    return tuple(functions_stood_for([*around.functions, *own], kinds, nodes))


def _called(match: Match) -> list[Any]:
    return [node for node in match.nodes if node.op == "call_module"]


def _may_call_children(module: nn.Module) -> bool:
    return bool(module._modules) or not type(module).__module__.startswith("torch.nn.")  # noqa: SLF001 - nn.Module's register


def path_in(block: nn.Module, module: nn.Module) -> str:
    """Return where `module` is below `block`."""
    paths: dict[nn.Module, str] = {each: path for path, each in block.named_modules()}
    return paths[module]


def _holds_layers(module: nn.Module) -> bool:
    is_container = type(module) not in (nn.ModuleList, nn.ModuleDict) and not is_linear(module)
    return is_container and any(is_linear(child) for child in module.children())
