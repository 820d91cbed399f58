"""What must still be as it was when a block was fused, so that a fused call computes what its modules would.

A child replaced (LoRA, quantisation), a hook, a forward of an instance's own, a parametrization, another probability
of a dropout: after any of these the block's own code runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules import module as torch_module

if TYPE_CHECKING:
    from collections.abc import Iterable

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_OF_EVERY_MODULE = tuple(vars(nn.Module()))
_ATOMS = (bool, int, float, complex, str, bytes, type(None))


def why_not_plain(modules: Iterable[tuple[str, nn.Module]]) -> str | None:
    """Return what a call of the modules does that a fused call would skip, in words; None if nothing."""
    for name, module in modules:
        if any(module.__dict__.get(hooks) for hooks in _HOOKS):
            return f"{name} has hooks, which a fused call would not run"
        if "forward" in module.__dict__:
            return f"{name} has a forward of its own, set on the instance"
        if hasattr(module, "parametrizations"):
            return f"{name} is parametrized"
    return None


def why_hooked_globally() -> str | None:
    """Return that torch runs hooks on every module, which a fused call would skip; None if it does not."""
    return "torch.nn.modules.module has global hooks" if any(_global_hooks()) else None


class Guard:
    """State of a block's modules at the time it was fused.

    Args:
        block: whose code was read.
        containers: modules whose children all count, because code that was read may go over them.
        used: paths below `block` of modules that were read, of which each step counts.
        read: names of the attributes that were read; None for all of them.
        skipped: modules that the fused call does not call.
        modal: those of `skipped` that may do something else in training: they must be in the block's mode.
    """

    def __init__(
        self,
        *,
        block: nn.Module,
        containers: Iterable[nn.Module],
        used: Iterable[str],
        read: frozenset[str] | None,
        skipped: Iterable[nn.Module],
        modal: Iterable[nn.Module],
    ) -> None:
        whole, skipped, modal = tuple(containers), tuple(dict.fromkeys(skipped)), tuple(dict.fromkeys(modal))
        self._counts = tuple((each, len(each._modules)) for each in whole)  # noqa: SLF001 - nn.Module's registers are read all over
        steps = {(each, name): child for each in whole for name, child in each._modules.items()}  # noqa: SLF001
        for path in used:
            parent = block
            for name in path.split("."):
                steps[parent, name] = parent._modules[name]  # noqa: SLF001
                parent = parent.get_submodule(name)
        self._steps = tuple((parent, name, child) for (parent, name), child in steps.items())
        self._types = tuple((each, type(each)) for each in skipped)
        self._hooks = tuple(each.__dict__[name] for each in skipped for name in _HOOKS)
        self._values = tuple(
            (each, name, value)
            for each in dict.fromkeys((block, *whole, *modal))
            for name, value in each.__dict__.items()
            if name not in _OF_EVERY_MODULE and (read is None or each is not block or name in read)
        )
        self._modal = modal

    def holds(self, *, training: bool) -> bool:
        """Return whether all is as it was, and the modules skipped are in the block's mode."""
        if any(self._hooks) or any(_global_hooks()):
            return False
        for container, count in self._counts:
            if len(container._modules) != count:  # noqa: SLF001 - as above
                return False
        for container, name, child in self._steps:
            if container._modules.get(name) is not child:  # noqa: SLF001
                return False
        return self._is_each_as_before(training)

    def _is_each_as_before(self, training: bool) -> bool:  # noqa: FBT001 - handed on
        for module, kind in self._types:
            if type(module) is not kind or "forward" in module.__dict__:
                return False
        for module, name, value in self._values:
            if not _is_same(module.__dict__.get(name), value):
                return False
        return all(module.training is training for module in self._modal)


def _is_same(value: Any, before: Any) -> bool:
    return value is before or (type(value) is type(before) and isinstance(value, _ATOMS) and value == before)


def _global_hooks() -> tuple[Any, ...]:
    return (
        torch_module._global_forward_hooks,  # noqa: SLF001 - torch has no public name for them
        torch_module._global_forward_pre_hooks,  # noqa: SLF001
        torch_module._global_backward_hooks,  # noqa: SLF001
        torch_module._global_backward_pre_hooks,  # noqa: SLF001
    )
