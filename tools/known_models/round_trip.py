"""Whether `unfuse(fuse(model))` is the model: in outputs and gradients, state dict, modules and hooks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

import fused_mlp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import nn

    from known_models.models import Model

    Heard = list[tuple[str, str]]

HOOKS = (
    "register_forward_pre_hook",
    "register_forward_hook",
    "register_full_backward_pre_hook",
    "register_full_backward_hook",
)


class Results(NamedTuple):
    """Every tensor of a model's output, and the parameters' gradients where it trains."""

    outputs: list[torch.Tensor]
    gradients: list[torch.Tensor]


def results_of(model: Model) -> Results:
    """Call the model, and differentiate where it trains; dropouts are the same each time."""
    torch.manual_seed(0)
    module = model.module
    with torch.set_grad_enabled(module.training):
        result: Any = module(**model.inputs)
        leaves = tree_leaves(dict(result) if isinstance(result, dict) else result)
        outputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not module.training:
        return Results(outputs, [])
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    # Against a fixed direction: the square of what a norm puts out hardly depends on any parameter.
    direction = torch.randn(outputs[0].shape, generator=torch.Generator().manual_seed(1))
    found = torch.autograd.grad((outputs[0] * direction).sum(), parameters, allow_unused=True)
    return Results([output.detach() for output in outputs], [each for each in found if each is not None])


def differences_after_undoing(model: Model, *, mode: str) -> list[str]:
    """Fuse the model for `mode`, use it and undo it; return what is not as before: outputs, state dict, modules, hooks.

    Hooks of every kind stand on the blocks that are fused, and must be called as on the untouched model while it is
    fused and after; so must hooks that are put on every module while it is fused.
    """
    module = model.module
    results_of(model)  # what a first call stores is no difference
    everywhere = dict(module.named_modules())
    with hooked(everywhere) as expected_everywhere:
        results_of(model)
    paths = _paths_of_blocks(module, mode)
    with hooked({path: everywhere[path] for path in paths}) as heard:
        expected, expected_heard = results_of(model), list(heard)
        state, modules = _state_of(module), _modules_of(module)
        results_of(model)
        unsteady = {key for key, value in _modules_of(module).items() if modules.get(key, value) is not value}
        report = fused_mlp.fuse(module, mode=mode)
        heard.clear()
        results_of(model)
        heard_fused = list(heard)
        with hooked(everywhere) as heard_everywhere:
            results_of(model)
        fused_mlp.unfuse(module)
        is_same = {
            "state dict": _is_same_state(_state_of(module), state),
            "modules": _is_same(_modules_of(module), modules, unsteady),
        }
        heard.clear()
        actual = results_of(model)
        pairs = [*zip(actual.outputs, expected.outputs, strict=True)]
        pairs += zip(actual.gradients, expected.gradients, strict=True)
        is_same["outputs"] = all(torch.equal(one, other) for one, other in pairs)
        is_same["hooks"] = (
            [item.path for item in report.replaced] == paths
            and list(heard) == heard_fused == expected_heard
            and heard_everywhere == expected_everywhere
        )
    return [name for name, same in is_same.items() if not same]


@contextmanager
def hooked(modules: Mapping[str, nn.Module]) -> Iterator[Heard]:
    """Put a hook of every kind on the modules; the value fills with (kind, path) in the order of the calls."""
    heard: Heard = []
    handles = [
        getattr(module, kind)(lambda *_, call=(kind, path): heard.append(call))
        for path, module in modules.items()
        for kind in HOOKS
    ]
    try:
        yield heard
    finally:
        for handle in handles:
            handle.remove()


def _paths_of_blocks(module: nn.Module, mode: str) -> list[str]:
    with fused_mlp.fused(module, mode=mode, prepare=False) as report:
        return [item.path for item in report.replaced]


def _state_of(module: nn.Module) -> dict[str, Any]:
    return {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in state_items(module)}


def state_items(module: nn.Module) -> list[tuple[str, Any]]:
    """Return the state dict's items in its order, and its metadata."""
    state = module.state_dict()
    return [*state.items(), ("", repr(state._metadata))]  # noqa: SLF001 - what loading reads beside the values


def _is_same_state(after: dict[str, Any], before: dict[str, Any]) -> bool:
    return list(after) == list(before) and all(
        torch.equal(after[key], value) if isinstance(value, torch.Tensor) else after[key] == value
        for key, value in before.items()
    )


def _modules_of(module: nn.Module) -> dict[tuple[str, str], Any]:
    """Return every module under every path, its class, and every attribute and register entry of it, as objects."""
    found: dict[tuple[str, str], Any] = {}
    for path, each in module.named_modules(remove_duplicate=False):
        found[path, ""] = each
        found[path, "class"] = type(each)
        for name, value in vars(each).items():
            found[path, f".{name}"] = value
            if isinstance(value, dict) and name.startswith("_"):
                found |= {(path, f".{name}[{key!r}]"): entry for key, entry in value.items()}
    return found


def _is_same(after: dict[Any, Any], before: dict[Any, Any], unsteady: set[Any]) -> bool:
    return list(after) == list(before) and all(
        after[key] is value or key in unsteady or (isinstance(value, int | float | str) and after[key] == value)
        for key, value in before.items()
    )
