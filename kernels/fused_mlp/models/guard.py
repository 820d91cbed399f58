"""What must still be as it was when a block was fused, so that a fused call computes what its modules would.

A child replaced (LoRA, quantisation), a hook, a forward of an instance's own, a parametrization, another probability
of a dropout: after any of these the block's own code runs.
"""

from __future__ import annotations

import copy
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from fused_mlp.models.reading.linear_layers import has_global_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_OF_EVERY_MODULE = tuple(vars(nn.Module()))
_ATOMS = (bool, int, float, complex, str, bytes, type(None))
_MOST_VALUES = 100
"""Of a container that is compared at each call."""


class Guard:
    """State of a block's modules at the time it was fused.

    Args:
        block: whose code was read.
        containers: modules whose children all count, because code that was read may go over them.
        used: paths below `block` of modules that were read, of which each step counts.
        names: that the code reads, of attributes among them: of the block where there are no containers, of its class
            and of objects that the block holds.
        readers: of the outer names of the code.
        skipped: modules that the fused call does not call.
        modal: modules that may do something else in training: they must be in the block's mode.
    """

    def __init__(
        self,
        *,
        block: nn.Module,
        containers: Iterable[nn.Module],
        used: Iterable[str],
        names: frozenset[str],
        readers: Iterable[Callable[[], tuple[Any, ...]]],
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
        self._skipped = tuple((each, type(each)) for each in skipped)
        self._forwards = tuple((kind, kind.forward) for kind in dict.fromkeys(type(each) for each in skipped))
        self._values = tuple(
            (each, name, value, _content(value))
            for each in dict.fromkeys((block, *whole, *modal))
            for name, value in each.__dict__.items()
            if name not in _OF_EVERY_MODULE and (whole or each is not block or name in names)
        )
        self._values += tuple(
            (held, name, value, _content(value))
            for _, _, held, _ in self._values
            if _is_plain_object(held)
            for name, value in vars(held).items()
            if name in names
        )
        self._of_class = tuple((name, value) for name, value in _class_values(type(block)).items() if name in names)
        self._class = type(block)
        self._outer = tuple((read, tuple((value, _content(value)) for value in read())) for read in readers)
        self._block = block
        self._modal = modal

    def holds(self, owner: nn.Module) -> bool:
        """Return whether all is as it was, `owner` the block, and the modules skipped are in its mode."""
        if owner is not self._block or has_global_hooks():
            return False
        for module, kind in self._skipped:
            # Written out, as it is paid at each call; the registers fetched anew, as they may be others by now.
            held = module.__dict__
            if (
                type(module) is not kind
                or held["_forward_hooks"]
                or held["_forward_pre_hooks"]
                or held["_backward_hooks"]
                or held["_backward_pre_hooks"]
                or "forward" in held
            ):
                return False
        for kind, forward in self._forwards:
            if kind.forward is not forward:
                return False
        for container, count in self._counts:
            if len(container._modules) != count:  # noqa: SLF001 - as above
                return False
        for container, name, child in self._steps:
            if container._modules.get(name) is not child:  # noqa: SLF001
                return False
        return self._is_each_as_before(owner.training)

    def _is_each_as_before(self, training: bool) -> bool:  # noqa: FBT001 - handed on
        for module in self._modal:
            if module.training is not training:
                return False
        for holder, name, value, content in self._values:
            now = holder.__dict__.get(name)
            if (now is not value or content is not None) and not _is_same(now, value, content):
                return False
        for name, value in self._of_class:
            if not _is_same(getattr(self._class, name, None), value, None):
                return False
        for read, before in self._outer:
            for now, (value, content) in zip(read(), before, strict=True):
                if not _is_same(now, value, content):
                    return False
        return True


def _is_same(value: Any, before: Any, content: Any) -> bool:
    if content is not None:
        return type(value) is type(before) and bool(value == content)
    return value is before or (type(value) is type(before) and isinstance(value, _ATOMS) and value == before)


def _content(value: Any) -> Any:
    """Return a copy of a container of plain values, whose changes count; None of anything else."""
    if type(value) not in (list, set, dict) or len(value) > _MOST_VALUES:
        return None
    values = value.values() if isinstance(value, dict) else value
    return copy.copy(value) if all(isinstance(each, _ATOMS) for each in values) else None


def _is_plain_object(value: Any) -> bool:
    kinds = (nn.Module, torch.Tensor, type, FunctionType, ModuleType)
    return hasattr(value, "__dict__") and not isinstance(value, kinds)


def _class_values(kind: type[nn.Module]) -> dict[str, Any]:
    """Return the plain values and methods that a class has of itself and its bases, without nn.Module's."""
    own = [base for base in reversed(kind.__mro__) if base not in nn.Module.__mro__]
    values = {name: value for base in own for name, value in base.__dict__.items()}
    return {name: value for name, value in values.items() if isinstance(value, (*_ATOMS, FunctionType))}
