"""What must still be as it was when a block was fused, so that a fused call computes what its modules would.

A child replaced (LoRA, quantisation), a hook, a forward of an instance's own, a parametrization, another probability
of a dropout: after any of these the block's own code runs.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any, Self

from torch import nn
from torch.compiler import is_dynamo_compiling

from fused_mlp.models.reading.contents import ATOMS, CONTAINERS, content_of, is_same, items_of
from fused_mlp.models.reading.linear_layers import has_global_hooks
from fused_mlp.models.reading.registers import MISSING, let_compilers_look_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fused_mlp.models.reading.surrounding_values import Place
    from fused_mlp.models.reading.surroundings import Surroundings

_OF_EVERY_MODULE = tuple(vars(nn.Module()))
_CALLED = ("forward", "_call_impl", "_compiled_call_impl")


class Guard:
    """State of a block's modules at the time it was fused.

    Args:
        block: whose code was read.
        containers: modules whose children all count, because code that was read may go over them.
        used: paths below `block` of modules that were read, of which each step counts.
        arounds: what the code reads beside, and that of activations.
        composed: modules that are not called and may call their children, which all count.
        counted: modules whose children and parameters are not another number: code goes over them, or counts them.
        answers: what parameters and buffers said of themselves.
        skipped: modules that the fused call does not call.
        modal: modules that may do something else in training: they must be in the block's mode.
        stood_for: torch's functions and methods, as the code that is not run finds them.
    """

    def __init__(
        self,
        *,
        block: nn.Module,
        containers: Iterable[nn.Module],
        used: Iterable[str],
        arounds: Sequence[Surroundings],
        composed: Sequence[nn.Module],
        counted: Iterable[nn.Module],
        answers: Iterable[Place],
        skipped: Iterable[nn.Module],
        modal: Iterable[nn.Module],
        stood_for: Sequence[Place],
    ) -> None:
        whole, skipped, modal = tuple(containers), tuple(dict.fromkeys(skipped)), tuple(dict.fromkeys(modal))
        counts = [(each, "_modules") for each in (*whole, *composed)]
        counts += [(each, register) for each in counted for register in ("_modules", "_parameters")]
        self._counts = tuple((each, name, len(each.__dict__[name])) for each, name in dict.fromkeys(counts))
        steps = {(each, name): child for each in (*whole, *composed) for name, child in each._modules.items()}  # noqa: SLF001 - nn.Module's registers are read all over
        for path in used:
            parent = block
            for name in path.split("."):
                steps[parent, name] = parent._modules[name]  # noqa: SLF001
                parent = parent.get_submodule(name)
        self._steps = tuple((parent, name, child) for (parent, name), child in steps.items())
        self._skipped = tuple((each, type(each)) for each in skipped)
        kinds = dict.fromkeys(type(each) for each in skipped)
        self._calls = tuple((kind, kind.forward, kind.__call__, kind._call_impl) for kind in kinds)  # noqa: SLF001 - what a call runs
        self._values = tuple(
            (each, name, value, content_of(value))
            for each in dict.fromkeys((block, *whole, *modal))
            for name, value in each.__dict__.items()
            if name not in _OF_EVERY_MODULE and (whole or each is not block)
        )
        known = {(id(each), name) for each, name, *_ in self._values}
        held = {(id(place.holder), place.name): place for around in arounds for place in around.held}
        self._held = (*(place for key, place in held.items() if key not in known), *answers)
        names = {name for around in arounds for name in around.names}
        self._of_class = tuple((name, value) for name, value in _class_values(type(block)).items() if name in names)
        self._class = type(block)
        self._outer = _Outer(arounds, stood_for)
        self._block = block
        self._modal = modal

    def holds(self, owner: nn.Module) -> bool:
        """Return whether all is as it was, `owner` the block, and the modules skipped are in its mode."""
        return (
            owner is self._block
            and not has_global_hooks()
            and self._outer.is_looked_at_again()
            and self._is_each_called_as_before()
            and self._is_each_child_as_before()
            and self._is_each_as_before(owner.training)
        )

    def _is_each_called_as_before(self) -> bool:
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
                or "weight" in held  # before the parameter of that name
                or "bias" in held
                or "_call_impl" in held
                or "_compiled_call_impl" in held
            ):
                return False
            if is_dynamo_compiling():
                for name in _CALLED:
                    let_compilers_look_again(module, name)
        for kind, forward, call, call_impl in self._calls:
            if kind.forward is not forward or kind._call_impl is not call_impl:  # noqa: SLF001 - what a call runs
                return False
            # torch.fx puts another into nn.Module while it reads a model, in whatever thread.
            if kind.__call__ is not call and kind.__call__ is not nn.Module.__call__:
                return False
        return True

    def _is_each_child_as_before(self) -> bool:
        for container, register, count in self._counts:
            if len(container.__dict__[register]) != count:
                return False
        for container, name, child in self._steps:  # noqa: SIM110 - all() would make a generator at each call
            if container._modules.get(name) is not child:  # noqa: SLF001
                return False
        return True

    def _is_each_as_before(self, training: bool) -> bool:  # noqa: FBT001 - handed on
        for module in self._modal:
            if module.training is not training:
                return False
        try:
            return self._is_each_value_as_before()
        except Exception:  # noqa: BLE001 - whatever a stranger's attribute raises, the block's own code may raise itself
            return False

    def _is_each_value_as_before(self) -> bool:
        for holder, name, value, content in self._values:
            now = holder.__dict__.get(name)
            if (now is not value or content is not None) and not is_same(now, value, content):
                return False
        for holder, name, value, content in self._held:
            now = getattr(holder, name, MISSING)
            if (now is not value or content is not None) and not is_same(now, value, content):
                return False
        for name, value in self._of_class:
            if not is_same(getattr(self._class, name, None), value, None):
                return False
        return self._outer.holds()


class _Outer:
    """What is read of the world around the block. A copy of the block reads the same."""

    def __init__(self, arounds: Sequence[Surroundings], stood_for: Sequence[Place]) -> None:
        readers = [read for around in arounds for read in around.readers]
        self._read = tuple((read, tuple((value, content_of(value)) for value in read())) for read in readers)
        found = [*(place for around in arounds for place in around.outer), *stood_for]
        self._places = tuple({(id(place.holder), place.name): place for place in found}.values())
        self._is_seen_compiled = not any(map(_is_unseen_compiled, self._places))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def is_looked_at_again(self) -> bool:
        """Return whether a compiler, if one is at work, would see all that changes later."""
        return self._is_seen_compiled or not is_dynamo_compiling()

    def holds(self) -> bool:
        """Return whether all is as it was."""
        for read, before in self._read:
            for now, (value, content) in zip(read(), before, strict=True):
                if not is_same(now, value, content):
                    return False
        for holder, name, value, content in self._places:
            now = getattr(holder, name, MISSING)
            if (now is not value or content is not None) and not is_same(now, value, content):
                return False
        return True


def _is_unseen_compiled(place: Place) -> bool:
    """Return whether torch.compile takes a place for constant: a class's property, what a function has by default."""
    is_container = isinstance(place.holder, FunctionType) and any(
        isinstance(each, CONTAINERS) for each in _items(place)
    )
    return isinstance(place.value, property | functools.cached_property) or is_container


def _items(place: Place) -> Iterable[Any]:
    return () if place.content is None else items_of(place.content)


def _class_values(kind: type[nn.Module]) -> dict[str, Any]:
    """Return the plain values and methods that a class has of itself and its bases, without nn.Module's."""
    own = [base for base in reversed(kind.__mro__) if base not in nn.Module.__mro__]
    values = {name: value for base in own for name, value in base.__dict__.items()}
    return {name: value for name, value in values.items() if isinstance(value, (*ATOMS, FunctionType))}
