"""Putting the fused operations into a model that somebody else wrote, and taking them out again."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

from fused_mlp.choice.implementations import check_size
from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.models.fused_blocks import FusedBlock, fuse_block, fused_calls_of, unfuse_block, unfuse_blocks
from fused_mlp.models.fused_calls import why_not_on
from fused_mlp.models.fusion_report import FusionReport, Kept, Packed, PreparationReport, Replaced
from fused_mlp.models.plan import Done, Mode, Plan, Settings
from fused_mlp.models.planning import plan_chains, plan_layers
from fused_mlp.models.reading.linear_layers import is_linear, why_hooked_globally, why_no_layers
from fused_mlp.models.selection import children_first, chosen_modules, paths_in
from fused_mlp.modules.packable import PackableModule
from fused_mlp.ops.recomputation import name_from_recompute
from fused_mlp.vocabulary import Implementation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fused_mlp.models.derived import BiasedGatedMLP
    from fused_mlp.models.selection import Selection
    from fused_mlp.modules.packing import PackReport
    from fused_mlp.ops.recomputation import Recompute

# torch.fx puts its own calls into nn.Module while a model is read: two threads that do so leave them there.
_one_at_a_time = threading.RLock()


def fuse(
    model: nn.Module,
    *,
    mode: Mode | str = Mode.TRAINING,
    include: Selection | None = None,
    exclude: Selection = (),
    prepare: bool = True,
    rows: int | None = None,
    recompute: Recompute | str | None = None,
) -> FusionReport:
    """Let the MLPs in `model` be computed by the fused operations, in place; nothing else about it changes.

    A block's code is read as a graph. Where linear layers follow each other through an activation we know (with or
    without a gate, in one layer or two), whatever they and the block are called, they are computed as one operation;
    so are single layers with an activation behind them. The modules stay the objects they are, with their hooks,
    parameters and state dicts. Whatever a call of the operation would skip or cannot take (hooks, LoRA or
    quantisation put on later, another dtype, device or mode) is left to the block's own code, call by call.

    `unfuse` undoes it; `fused` does both around a block of code. An exception leaves the model as it was.

    Args:
        model: any; it is changed in place.
        mode: "training" for blocks that compute the same in both modes, also in training; "inference" replaces more
            (dropouts are idle then; weights stored transposed, as GPT-2's) and leaves training to the own code.
        include: patterns of paths ("layers.*.mlp") or classes; only blocks that match one of them.
        exclude: the same; blocks that match none of them.
        prepare: for "inference" on the CPU, also pack the weights (see `prepare`), which takes their memory again.
        rows: how many rows calls will mostly have; for packing.
        recompute: what backward passes compute again, as in `mlp`.

    The first call on a machine compiles the CPU's kernels, which takes a minute or two.

    Raises:
        InvalidArgument: no module; a mode that is none; a pattern or class that matches no module; rows that are no
            number of rows.
    """
    _expect_module(model)
    mode = _mode(mode)
    if rows is not None:
        check_size(rows, "rows")
    policy = name_from_recompute(recompute)
    with _one_at_a_time:
        chosen = chosen_modules(model, include, exclude)
        # Whatever is on around the call: what activations compute is found on tensors of the CPU, with gradients.
        with torch.inference_mode(mode=False), torch.device("cpu"):
            settings = _settings(model, mode, policy, packs=prepare)
            plans, kept = _planned(model, chosen, settings)
        if include is not None:
            kept += _layers_alone(model, chosen, included=chosen_modules(model, include, ()))
        replaced, packed = _applied(model, plans, rows, packs=prepare and mode is Mode.INFERENCE)
    why = settings.why_packed_only
    return FusionReport(model=model, replaced=replaced, kept=tuple(kept), packed=packed, why_packed_only=why)


def unfuse(model: nn.Module) -> nn.Module:
    """Give every fused block in `model` its own code back; returns the model, the same object.

    Raises: InvalidArgument if another library changed the class of a fused block since; nothing is undone then.
    """
    _expect_module(model)
    with _one_at_a_time:
        unfuse_blocks(module for module in model.modules() if isinstance(module, FusedBlock))
    return model


@contextmanager
def fused(
    model: nn.Module,
    *,
    mode: Mode | str = Mode.TRAINING,
    include: Selection | None = None,
    exclude: Selection = (),
    prepare: bool = True,
    rows: int | None = None,
    recompute: Recompute | str | None = None,
) -> Iterator[FusionReport]:
    """Fuse `model` for the length of a with-statement. Arguments and errors: as in `fuse`, then `unfuse`."""
    before = {module for module in model.modules() if isinstance(module, FusedBlock)}
    report = fuse(model, mode=mode, include=include, exclude=exclude, prepare=prepare, rows=rows, recompute=recompute)
    made = {module: None for module in model.modules() if isinstance(module, FusedBlock)}
    try:
        yield report
    finally:
        # Also what was taken out of the model, or put into it.
        made |= {module: None for module in model.modules() if isinstance(module, FusedBlock)}
        with _one_at_a_time:
            unfuse_blocks(module for module in made if isinstance(module, FusedBlock) and module not in before)


def prepare(
    model: nn.Module, *, rows: int | None = None, implementation: Implementation | str | None = None
) -> PreparationReport:
    """Pack the weights of every fused block and fused module in `model` for inference on the CPU.

    The copies take the memory of the weights again. They are used where no gradient is recorded, while the weights
    are unchanged; `train()` and a call that records gradients of the weights end them.

    Args:
        model: any; it may hold fused blocks and modules of this package.
        rows: how many rows calls will mostly have.
        implementation: "cpp" or "onednn", instead of what the tuned table says.

    Raises: InvalidArgument, for an implementation that packs nothing.
    """
    _expect_module(model)
    paths = paths_in(model)
    packed: list[Packed] = []
    kept: list[Kept] = []
    for module, (path, *_) in paths.items():
        for packable in _packables(module):
            try:
                packed.append(Packed(path=path, report=packable.prepare(rows=rows, implementation=implementation)))
            except Unavailable as unavailable:
                kept.append(Kept(path=path, reason=str(unavailable)))
    return PreparationReport(packed=tuple(packed), kept=tuple(kept))


def _applied(
    model: nn.Module, plans: list[Plan], rows: int | None, *, packs: bool
) -> tuple[tuple[Replaced, ...], tuple[Packed, ...]]:
    """Fuse what is planned, all of it or, after an exception, nothing."""
    paths = paths_in(model)
    replaced: list[Replaced] = []
    try:
        for plan in plans:
            fuse_block(plan.block, plan.sites)
            replaced += [
                Replaced(
                    path=path,
                    block=type(plan.block).__name__,
                    operation=pattern.operation,
                    layers=pattern.layers,
                    activation=pattern.activation,
                )
                for path in paths[plan.block]
                for pattern in plan.patterns
            ]
        return tuple(replaced), _pack_blocks(plans, paths, rows) if packs else ()
    except BaseException:
        for plan in plans:
            if "_fused_sites" in plan.block.__dict__:
                unfuse_block(plan.block)
        raise


def _packables(module: nn.Module) -> list[PackableModule | BiasedGatedMLP]:
    own: list[PackableModule | BiasedGatedMLP] = [module] if isinstance(module, PackableModule) else []
    return own + [fused_call.module for fused_call in fused_calls_of(module)]


def _planned(model: nn.Module, chosen: set[nn.Module], settings: Settings) -> tuple[list[Plan], list[Kept]]:
    paths = paths_in(model)
    holders = dict.fromkeys(module for module in paths if _is_candidate(module))
    if reason := why_hooked_globally():
        return [], [Kept(path=paths[module][0], reason=reason) for module in holders if module in chosen]
    plans: dict[nn.Module, Plan] = {}
    reasons: dict[nn.Module, list[str]] = {}
    done = Done(module for module in paths if isinstance(module, FusedBlock | PackableModule))
    # Children first, so that the smallest block that holds a whole MLP is the one that is fused.
    for attempt in (plan_chains, plan_layers):
        for module in children_first(model):
            if module not in chosen or module not in holders or done.is_fused(module):
                continue
            plan = attempt(module, settings, done=done)
            reasons.setdefault(module, []).extend(plan.reasons)
            if plan.sites:
                plans[module] = plan
                done.add(plan)
    kept = []
    for module in paths:
        if module in chosen and isinstance(module, FusedBlock):
            kept.append(Kept(path=paths[module][0], reason="it is fused already; unfuse it to fuse it in another way"))
        own = [child for child in module.children() if is_linear(child)]
        found = plans.get(module)
        chained = found is not None and any(len(pattern.layers) > 1 for pattern in found.patterns)
        unread = why_no_layers(module)
        taken = chained or (found is not None and unread is None and set(own) <= set(found.layers))
        taken = taken or any(done.is_computed(layer) for layer in own if module not in plans)
        if module in chosen and not taken and not isinstance(module, FusedBlock | PackableModule):
            why = unread or (_first(reasons.get(module, [])) if own else None)
            if why is not None and (unread or module not in plans or reasons[module]):
                kept.append(Kept(path=paths[module][0], reason=why))
    return [plans[module] for module in paths if module in plans], kept


def _layers_alone(model: nn.Module, chosen: set[nn.Module], *, included: set[nn.Module]) -> list[Kept]:
    """Return the layers that were chosen and whose block, which is what is fused, was not even included."""
    found = []
    for path, module in model.named_modules():
        holder = path.rpartition(".")[0]
        if path and module in chosen and is_linear(module) and model.get_submodule(holder) not in included:
            name = f"{holder!r}" if holder else "the model itself, ''"
            found.append(Kept(path=path, reason=f"a layer; blocks are chosen, and the one that holds it is {name}"))
    return found


def _first(reasons: list[str]) -> str:
    """Return the reason that says most: what was found before what could not be read."""
    found = [reason for reason in reasons if not reason.startswith("its forward")]
    return next(iter(found or reasons), "no layer in it is followed by an activation of ours")


def _settings(model: nn.Module, mode: Mode, recompute: str, *, packs: bool) -> Settings:
    """Return the settings; where the CPU's kernels cannot run, packs by oneDNN are what is left."""
    devices = {parameter.device.type for parameter in model.parameters()}
    reasons = [reason for device in sorted(devices) if device != "meta" and (reason := why_not_on(device))]
    why = reasons[0] if reasons else None
    if (
        why is not None
        and devices == {"cpu"}
        and mode is Mode.INFERENCE
        and packs
        and not torch.backends.mkldnn.is_available()
    ):
        why = f"{why}; nor was this PyTorch built with oneDNN"
    return Settings(mode=mode, recompute=recompute, why_packed_only=why)


def _is_candidate(module: nn.Module) -> bool:
    if isinstance(module, FusedBlock | PackableModule):
        return False
    children = [child for child in module.children() if not isinstance(child, PackableModule | FusedBlock)]
    return any(is_linear(child) for child in (*children, *(inner for child in children for inner in child.children())))


def _pack_blocks(plans: list[Plan], paths: dict[nn.Module, list[str]], rows: int | None) -> tuple[Packed, ...]:
    packed = []
    for plan in plans:
        for fused_call in fused_calls_of(plan.block):
            if all(weight.device.type == "cpu" for weight in fused_call.module.weights()):
                report = _packed(fused_call.module, rows)
                if report is not None:
                    packed.append(Packed(path=paths[plan.block][0], report=report))
    return tuple(packed)


def _packed(module: PackableModule | BiasedGatedMLP, rows: int | None) -> PackReport | None:
    """Pack a module's weights, by oneDNN where the C++ kernels cannot be built; None where neither can."""
    for implementation in (None, Implementation.ONEDNN):
        try:
            return module.prepare(rows=rows, implementation=implementation)
        except (Unavailable, InvalidArgument):
            continue
    return None


def _expect_module(model: nn.Module) -> None:
    if not isinstance(model, nn.Module):
        raise InvalidArgument("model", got=repr(model), expected="an nn.Module")


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise InvalidArgument("mode", got=repr(mode), expected=f"one of {', '.join(Mode)}") from None
