"""A fused block: the same object with another class, derived from its own.

So it lives, is hooked, saved and changed as before, and can be given its class back.
"""

from __future__ import annotations

import copy
import copyreg
import functools
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from fused_mlp.errors import InvalidArgument
from fused_mlp.models.reading.tracing import Unannounced
from fused_mlp.models.stretch import Stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import nn

    from fused_mlp.models.fused_calls import FusedCall


class FusedBlock(Unannounced):
    """What a block's class gains: nothing a caller sees but `extra_repr`."""

    if TYPE_CHECKING:  # torch.jit.script reads annotations, and knows none of these
        _fused_class: type[nn.Module]
        _fused_sites: dict[str, Callable[..., Any]]

    def train(self, mode: bool = True) -> Any:  # noqa: FBT001, FBT002 - nn.Module's
        """Set the mode; training ends packed copies, as in PackableModule."""
        if mode:
            drop_packs(self)
        return super().train(mode)  # type: ignore[misc]

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        drop_packs(self)
        return super()._apply(*args, **kwargs)  # type: ignore[misc]

    def extra_repr(self) -> str:
        """Return the class's own, and what is fused."""
        own: str = super().extra_repr()  # type: ignore[misc]
        fused = "; ".join(f"{fused_call.pattern.operation} by fused_mlp" for fused_call in fused_calls_of(self))
        return f"{own}, {fused}" if own else fused

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if hasattr(super(), "__deepcopy__"):
            return super().__deepcopy__(memo)  # type: ignore[misc]
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(self.__dict__, memo))  # type: ignore[attr-defined]
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A pickle is of the untouched block: code made for this process is not for a file.
        made = super().__reduce_ex__(protocol)
        if not isinstance(made, tuple) or made[0] is not copyreg.__newobj__ or not isinstance(made[2], dict):  # type: ignore[attr-defined]
            return made
        kind = self._fused_class if made[1][0] is type(self) else made[1][0]
        state = {name: value for name, value in made[2].items() if name != "_fused_sites"}
        # As copyreg.__newobj__, which insists on the object's own class.
        return copyreg._reconstructor, (kind, object, None), state, *made[3:]  # type: ignore[attr-defined] # noqa: SLF001 - of protocol 1


def fuse_block(block: nn.Module, sites: dict[str, Callable[..., Any]]) -> None:
    """Let the block's methods named by `sites` be computed by these; keys with "#" are parts of a method.

    Whatever a class raises that is not to be derived from, or not to be changed, leaves the block as it was.
    """
    methods = {key: getattr(type(block), key) for key in sites if "#" not in key}
    read = tuple((name, function, function.__code__) for name, function in methods.items())
    kind = _fused_class(type(block), read)  # type: ignore[arg-type] # mypy takes a class's hash for its instances
    block.__dict__["_fused_sites"] = sites
    try:
        block.__class__ = kind
    except BaseException:
        del block.__dict__["_fused_sites"]
        raise


def unfuse_blocks(blocks: Iterable[nn.Module]) -> None:
    """Give blocks their classes back, all or none of them. Raises: InvalidArgument as expect_own_class."""
    blocks = list(blocks)
    for block in blocks:
        expect_own_class(block)
    for block in blocks:
        unfuse_block(block)


def unfuse_block(block: nn.Module) -> None:
    """Give the block its class back. Raises: InvalidArgument as expect_own_class."""
    expect_own_class(block)
    block.__class__ = type(block).__dict__["_fused_class"]
    block.__dict__.pop("_fused_sites", None)


def expect_own_class(block: nn.Module) -> None:
    """Raise InvalidArgument if another library has changed the class of a fused block since."""
    kind = type(block)
    if "_fused_class" not in kind.__dict__:
        got = f"fused and then given the class {kind.__qualname__} by something else"
        raise InvalidArgument("a block of model", got=got, expected="as fuse left it: undo the later change first")


def fused_calls_of(block: Any) -> Iterator[FusedCall]:
    """Yield the fused calls of a fused block; none of another."""
    for site in block.__dict__.get("_fused_sites", {}).values():
        if isinstance(site, Stretch):
            yield from site.fused_calls


def drop_packs(block: Any) -> None:
    """Forget a fused block's packed weights."""
    for fused_call in fused_calls_of(block):
        fused_call.module.drop_packs()


@cache
def _fused_class(kind: type[nn.Module], read: tuple[tuple[str, FunctionType, CodeType], ...]) -> type[nn.Module]:
    body: dict[str, Any] = {name: _dispatching(kind, name, function, code) for name, function, code in read}
    body |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (FusedBlock, kind), {**body, "_fused_class": kind})


def _dispatching(kind: type[nn.Module], name: str, function: FunctionType, code: CodeType) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "_fused_sites" not in self.__dict__:
            # Made by a fused block from its own class, as a slice of an nn.Sequential is; or kept from before unfusing.
            return function(self, *args, **kwargs)
        own = getattr(kind, name)
        if own is not function or function.__code__ is not code:
            # Another was put into the class later, or other code into it.
            return own(self, *args, **kwargs)
        return self.__dict__["_fused_sites"][name](self, *args, **kwargs)

    # torch.jit.script compiles the source of what is wrapped, with the names that it finds here.
    globally = FunctionType(method.__code__, function.__globals__, name, None, method.__closure__)
    return functools.wraps(function)(globally)
