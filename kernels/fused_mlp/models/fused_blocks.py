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

from torch.nn.utils import parametrize

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
        # What is parametrized refuses to tell how it is pickled, not to be copied.
        plain = copyreg.__newobj__, (type(self),), self.__dict__  # type: ignore[attr-defined]
        reduced = plain if _is_parametrized(self) else super().__reduce_ex__(4)  # type: ignore[arg-type]
        if isinstance(reduced, str):
            return self
        made = copy._reconstruct(self, memo, *_without_sites(reduced))  # type: ignore[attr-defined] # noqa: SLF001 - what copy.deepcopy does
        if type(made) is type(self):
            try:
                made.__dict__["_fused_sites"] = copy.deepcopy(self.__dict__["_fused_sites"], memo)
            except Exception:  # noqa: BLE001 - it holds what the block's author leaves out of copies, such as a lock
                unfuse_block(made)  # type: ignore[arg-type]
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A pickle is of the untouched block: code made for this process is not for a file.
        reduced = super().__reduce_ex__(protocol)
        if not isinstance(reduced, tuple):
            return reduced
        function, arguments, *rest = _without_sites(reduced)
        fused, own = type(self), self._fused_class
        function = own if function is fused else function
        arguments = tuple(own if each is fused else each for each in arguments)
        if function is copyreg.__newobj__:  # type: ignore[attr-defined]
            # As it does, which insists on the object's own class.
            function = own.__new__
            if len(arguments) == 1 and function is object.__new__:
                function, arguments = copyreg._reconstructor, (*arguments, object, None)  # type: ignore[attr-defined] # noqa: SLF001 - of protocol 1
        elif function is copyreg.__newobj_ex__:  # type: ignore[attr-defined]
            kind, given, named = arguments
            function, arguments = functools.partial(own.__new__, own if kind is fused else kind, *given, **named), ()
        return function, arguments, *rest


def _without_sites(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what `__reduce_ex__` gave, a dictionary of the block's without what fuse put there."""
    function, arguments, *rest = reduced
    if rest and isinstance(rest[0], dict):
        rest[0] = {name: value for name, value in rest[0].items() if name != "_fused_sites"}
    return function, arguments, *rest


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
    """Give the block its class back, parametrized if it is by now. Raises: InvalidArgument as expect_own_class."""
    expect_own_class(block)
    kind = type(block)
    if _is_parametrized(block):
        block.__class__ = kind.__bases__[0].__dict__["_fused_class"]
        # A class of this block's own, as torch makes it; a copy of the block may still have the other.
        parametrize._inject_new_class(block)  # noqa: SLF001 - torch makes it in passing only
        for name in _parametrized_names(kind):
            setattr(type(block), name, kind.__dict__[name])
    else:
        block.__class__ = kind.__dict__["_fused_class"]
    block.__dict__.pop("_fused_sites", None)


def expect_own_class(block: nn.Module) -> None:
    """Raise InvalidArgument if the class of a fused block was changed since, other than by torch's parametrizations."""
    kind = type(block)
    if "_fused_class" not in kind.__dict__ and not _is_parametrized(block):
        got = f"fused and then given the class {kind.__qualname__} by something else"
        raise InvalidArgument("a block of model", got=got, expected="as fuse left it: undo the later change first")


def _is_parametrized(block: nn.Module) -> bool:
    """Return whether torch derived the block's class from its fused one, for tensors that are computed from others."""
    kind = type(block)
    return (
        parametrize.is_parametrized(block)
        and "_fused_class" in kind.__bases__[0].__dict__
        and set(_parametrized_names(kind)) == set(block.parametrizations)  # type: ignore[arg-type]
    )


def _parametrized_names(kind: type[nn.Module]) -> list[str]:
    return [name for name in kind.__dict__ if not name.startswith("__")]


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
    made: type[nn.Module] = _handing_on(kind, frozenset(name for name, *_ in read))(
        kind.__name__, (FusedBlock, kind), body
    )
    type.__setattr__(made, "_fused_class", kind)
    return made


def _handing_on(kind: type[nn.Module], methods: frozenset[str]) -> type[type]:
    """Return a metaclass for a class derived from `kind` that hands on what is put into it or taken out of it.

    So `type(self).calls += 1` counts where the author's code would. Another of the methods is refused: it would be of
    the fused blocks alone, and as long as they are. What is made by a call, as a slice of an nn.Sequential is, is of
    the author's class.
    """
    metaclass: Any = type(kind)

    def receiver(cls: type, name: str) -> type:
        if "_fused_class" not in cls.__dict__:
            return cls
        if name in methods:
            got = f"another {name} for the class of a fused block"
            raise InvalidArgument(f"type(block).{name}", got=got, expected=f"one put into {kind.__qualname__} itself")
        return kind

    def put(cls: type, name: str, value: Any) -> None:
        metaclass.__setattr__(receiver(cls, name), name, value)

    def take(cls: type, name: str) -> None:
        metaclass.__delattr__(receiver(cls, name), name)

    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        return metaclass.__call__(kind if "_fused_class" in cls.__dict__ else cls, *args, **kwargs)

    body = {"__setattr__": put, "__delattr__": take, "__call__": make}
    return type(metaclass.__name__, (metaclass,), body)


def _dispatching(kind: type[nn.Module], name: str, function: FunctionType, code: CodeType) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "_fused_sites" not in self.__dict__:
            # Kept from before unfusing.
            return function(self, *args, **kwargs)
        own = getattr(kind, name)
        if own is not function or function.__code__ is not code:
            # Another was put into the class later, or other code into it.
            return own(self, *args, **kwargs)
        return self.__dict__["_fused_sites"][name](self, *args, **kwargs)

    # A code of its own for each kind: of one code torch compiles no more than a few versions.
    of_kind = method.__code__.replace(co_name=f"{kind.__qualname__}.{name}")
    # torch.jit.script compiles the source of what is wrapped, with the names that it finds here.
    globally = FunctionType(of_kind, function.__globals__, name, None, method.__closure__)
    return functools.wraps(function)(globally)
