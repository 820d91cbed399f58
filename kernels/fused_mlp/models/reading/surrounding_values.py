"""Places where a block's code reads values: attributes of objects, modules and classes, and functions' defaults."""

from __future__ import annotations

import functools
import logging
import random
import sys
from collections.abc import Iterator, MappingView
from contextvars import ContextVar
from enum import Enum
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from fused_mlp.models.reading.contents import (
    ATOMS,
    CONTAINERS,
    DEEPEST,
    MOST_VALUES,
    content_of,
    is_deep,
    is_same,
    items_of,
    module_of,
)
from fused_mlp.models.reading.registers import MISSING, Answered, Own, Registered, is_registered, names_of
from fused_mlp.models.reading.stand_ins import NoPattern

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEEPEST = 4
_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
_NOT_FOLLOWED = {*sys.stdlib_module_names, "torch", "numpy", "fused_mlp"}
_STATEFUL = (Iterator, ContextVar, random.Random, bytearray, memoryview, MappingProxyType, MappingView)
_HOMES_OF_STATEFUL = {
    "array",
    "mmap",
    "queue",
    "threading",
    "multiprocessing",
    "asyncio",
    "concurrent",
    "io",
    "weakref",
}
_STATEFUL_MODULES = {"time", "datetime", "os", "random", "secrets", "uuid"}
_PROPERTIES = (property, functools.cached_property)
_METHODS = (FunctionType, staticmethod, classmethod)


class Place(NamedTuple):
    """Where a value is read, and what it was: `content` is a copy of a container, None of anything else."""

    holder: Any
    name: str
    value: Any
    content: Any


def of_answers(block: nn.Module, asked: Iterable[tuple[torch.Tensor, str]]) -> Iterator[Place]:
    """Yield what `block`'s parameters and buffers said of themselves. Raises: NoPattern for another tensor."""
    for tensor, what in asked:
        names = list(names_of(block, tensor))
        if not names:
            raise NoPattern(f"its forward asks for the {what} of a tensor that is no module's")
        for module, name in names:
            answers = Answered(module, name)
            value = getattr(answers, what)
            yield Place(answers, what, value, content_of(value))


def items_in(value: Any) -> Iterator[Any]:
    """Yield what a container holds, and the containers in it."""
    if isinstance(value, CONTAINERS) and not is_deep(value):
        for item in items_of(value):
            yield item
            yield from items_in(item)


def of_function(function: FunctionType) -> Iterator[Place]:
    """Yield what a function has of its own: its code, which a notebook that reloads sources replaces, and defaults."""
    for name in ("__code__", "__defaults__", "__kwdefaults__"):
        value = getattr(function, name)
        if value is not None:
            yield Place(function, name, value, content_of(value))


def of_overridden(kind: type[nn.Module], names: frozenset[str]) -> Iterator[Place]:
    """Yield what bases of a class have by one of the names that the class finds elsewhere first: `super()` reads it."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base not in nn.Module.__mro__:
            own = sorted(names & vars(base).keys())
            for name in (each for each in own if each in found):
                value = getattr(base, name, MISSING)
                yield Place(base, name, value, content_of(value))
            found.update(own)


def of_signature(function: FunctionType) -> Iterator[Place]:
    """Yield what a function may have that `inspect.signature` tells instead of its own arguments."""
    for name in ("__signature__", "__wrapped__"):
        yield Place(function, name, getattr(function, name, MISSING), None)


def of_torch(values: Iterable[Any], names: frozenset[str]) -> Iterator[Place]:
    """Yield torch's functions that are read by one of the names, of its modules among the values and of theirs.

    Somebody may put others there: attention by another library, for one.
    """
    waiting = [value for value in values if _is_module_of_torch(value)]
    seen: set[int] = set()
    while waiting:
        module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        for name in sorted(names & vars(module).keys()):
            value = vars(module)[name]
            if isinstance(value, FunctionType | BuiltinFunctionType):
                yield Place(module, name, value, None)
            elif _is_module_of_torch(value):
                waiting.append(value)


def _is_module_of_torch(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == torch.__name__


def places(roots: Iterable[Any], names: frozenset[str], asked: frozenset[str]) -> Iterator[Place]:
    """Yield where a value is read by one of the names, from the roots on; of those asked for also where none is."""
    waiting = [(root, 0) for root in roots]
    seen: set[int] = set()
    while waiting:
        holder, depth = waiting.pop()
        if id(holder) in seen:
            continue
        if isinstance(holder, CONTAINERS):
            seen.add(id(holder))
            for value in items_of(holder) if len(holder) <= MOST_VALUES else ():
                expect_watched("a container's item", value)
                waiting.append((value, depth))
        if _may_hold(holder) and depth <= _DEEPEST:
            seen.add(id(holder))
            if type(holder) in (nn.ModuleList, nn.ModuleDict, nn.Sequential):
                waiting += [(child, depth) for child in holder.children()]
            if isinstance(holder, functools.partial):
                names |= {"func", "args", "keywords"}
            for name in sorted(names | asked):
                yield from _beside_values(holder, name)
                value = _value_at(holder, name)
                if value is not MISSING or (name in asked and not _has(holder, name)):
                    expect_watched(name, value)
                    yield Place(holder, name, value, content_of(value))
                    waiting.append((value, depth + 1))


def _beside_values(holder: Any, name: str) -> Iterator[Place]:
    """Yield what an object's class runs where a name is read of the object, and that the object has no other.

    Of a parameter or buffer, whether there is one: its values are what a graph reads.
    """
    kind = type(holder)
    if isinstance(holder, type | ModuleType):
        return
    is_module = isinstance(holder, nn.Module)
    if isinstance(holder, nn.Module) and is_registered(holder, name):
        kinds = Registered(holder)
        yield Place(kinds, name, getattr(kinds, name), None)
    for each in (name,) if is_module else (name, "__getattr__", "__getattribute__"):
        found = next((base.__dict__[each] for base in _followed_bases(kind) if each in base.__dict__), None)
        if isinstance(found, _PROPERTIES):
            yield Place(kind, each, found, None)
        elif isinstance(found, _METHODS):
            yield Place(kind, each, getattr(kind, each), None)
            if is_module and each not in holder.__dict__:
                yield Place(Own(holder), each, MISSING, None)


def _followed_bases(kind: type) -> Iterator[type]:
    return (base for base in kind.__mro__ if base not in nn.Module.__mro__ and is_followed(base))


def _has(holder: Any, name: str) -> bool:
    try:
        return hasattr(holder, name)
    except Exception:  # noqa: BLE001 - it is there, and raises
        return True


def _value_at(holder: Any, name: str) -> Any:
    if isinstance(holder, nn.Module):
        own = holder.__dict__.get(name, holder._modules.get(name, MISSING))  # noqa: SLF001 - nn.Module's registers
        if name in _OF_EVERY_MODULE or isinstance(own, torch.Tensor):
            return MISSING
        if own is not MISSING:
            return own
        found = next((kind.__dict__[name] for kind in _followed_bases(type(holder)) if name in kind.__dict__), MISSING)
        is_function = isinstance(
            found, property | functools.cached_property | FunctionType | staticmethod | classmethod
        )
        return MISSING if is_function else found
    try:
        return getattr(holder, name)
    except Exception:  # noqa: BLE001 - whatever a stranger's attribute raises, it is none here
        return MISSING


def is_compared(place: Place) -> bool:
    """Return whether a place is compared: children of modules are elsewhere, methods of C are made anew."""
    value = place.value
    if isinstance(place.holder, nn.Module) and isinstance(value, nn.Module):
        return False
    if isinstance(value, MethodWrapperType) or (
        isinstance(value, BuiltinMethodType) and not isinstance(value.__self__, ModuleType | type | None)
    ):
        return False
    if place.content is None and not is_same(getattr(place.holder, place.name, MISSING), value, None):
        raise NoPattern(f"its forward reads {place.name}, which is another {type(value).__name__} each time")
    return True


def expect_watched(name: str, value: Any) -> None:
    """Raise NoPattern for a value that changes unseen."""
    home = module_of(type(value)).partition(".")[0].removeprefix("_")
    if isinstance(value, ModuleType) and value.__name__ in _STATEFUL_MODULES | {"numpy.random"}:
        raise NoPattern(f"its forward asks the module {value.__name__}, whose answers change")
    if home in _HOMES_OF_STATEFUL:
        raise NoPattern(f"its forward reads {name}, a {type(value).__name__}, whose changes cannot be seen")
    is_number = home == "numpy" and hasattr(type(value), "__hash__") and type(value).__hash__ is not None
    if isinstance(value, _STATEFUL) or (home == "numpy" and not is_number and not callable(value)):
        raise NoPattern(f"its forward reads {name}, a {type(value).__name__}, whose changes cannot be seen")
    if isinstance(value, CONTAINERS) and len(value) > MOST_VALUES:
        raise NoPattern(f"its forward reads {name}, which has more than {MOST_VALUES} values to compare")
    if isinstance(value, CONTAINERS) and is_deep(value):
        raise NoPattern(f"its forward reads {name}, which holds itself, or containers more than {DEEPEST} deep")
    if isinstance(value, torch.Tensor):
        raise NoPattern(f"its forward reads {name}, a tensor that is no module's, whose changes cannot be seen")
    if isinstance(value, logging.Logger):
        raise NoPattern(f"its forward writes a log: {name}")


def _may_hold(value: Any) -> bool:
    if isinstance(value, (*ATOMS, torch.Tensor, FunctionType, MethodType, Enum)):
        return False
    if isinstance(value, nn.Module):
        return True
    if isinstance(value, ModuleType | type):
        return is_followed(value)
    return module_of(type(value)).partition(".")[0] not in ("builtins", "collections", "torch", "numpy", "fused_mlp")


def is_followed(value: Any) -> bool:
    """Return whether a function, class or module is somebody's own, of which the code is read."""
    name = value.__name__ if isinstance(value, ModuleType) else module_of(value)
    return name.partition(".")[0] not in _NOT_FOLLOWED
