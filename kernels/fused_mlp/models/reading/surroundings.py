"""What a block's code reads and runs beside its layers: values of objects, modules and classes, and their methods.

A graph has such a value as a constant, and nothing of what a function writes. So the values are compared at each
call, and a function that writes, or draws from something that no comparison sees, is a reason against the block.
"""

from __future__ import annotations

import functools
import logging
import random
import sys
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from types import BuiltinMethodType, FunctionType, MethodType, MethodWrapperType, ModuleType
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
    module_of,
)
from fused_mlp.models.reading.methods import (
    codes_in,
    expect_only_results,
    functions_of,
    method_of,
    names_asked,
    reader_of,
)
from fused_mlp.models.reading.stand_ins import NoPattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fused_mlp.models.reading.methods import Reader

_DEEPEST = 4
_MOST_WRAPPED = 100
_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
_NOT_FOLLOWED = {*sys.stdlib_module_names, "torch", "numpy", "fused_mlp"}
_STATEFUL = (Iterator, ContextVar, random.Random)
_HOMES_OF_STATEFUL = {"queue", "threading", "multiprocessing", "asyncio", "concurrent", "io", "weakref"}
_STATEFUL_MODULES = {"time", "datetime", "os", "random", "secrets", "uuid"}


class MISSING:
    """Value of an attribute that is not there."""


class Place(NamedTuple):
    """Where a value is read, and what it was: `content` is a copy of a container, None of anything else."""

    holder: Any
    name: str
    value: Any
    content: Any


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What code reads.

    Attributes:
        names: of attributes among them.
        readers: of outer names.
        held, outer: places that the block leads to, and that the outer names do.
        containers: that it may write into.
    """

    names: frozenset[str]
    readers: tuple[Reader, ...]
    held: tuple[Place, ...]
    outer: tuple[Place, ...]
    containers: tuple[Any, ...]


def surroundings_of(block: nn.Module, codes: Iterable[tuple[type[nn.Module], FunctionType]]) -> Surroundings:
    """Return what functions of `block` and of its children read. Raises: NoPattern, where it cannot be watched."""
    try:
        return _read(block, codes)
    except NoPattern:
        raise
    except Exception as error:  # whatever a stranger's attribute raises
        kind = type(error).__name__
        raise NoPattern(f"what its forward reads cannot be looked at ({kind}: {error})") from error


def _read(block: nn.Module, codes: Iterable[tuple[type[nn.Module], FunctionType]]) -> Surroundings:
    functions: dict[FunctionType, None] = {}
    waiting = [each for kind, function in codes for each in functions_of(kind, function)]
    while waiting:
        functions |= dict.fromkeys(waiting)
        expect_only_results(waiting)
        codes_read = [code for function in functions for code in codes_in(function)]
        names = frozenset(name for code in codes_read for name in code.co_names)
        asked = frozenset(name for code in codes_read for name in names_asked(code))
        readers = tuple(reader for function in functions if (reader := reader_of(function)) is not None)
        values = [value for read in readers for value in read()]
        for value in values:
            _expect_watched("a value from around", value)
        places = [list(_places(roots, names, asked)) for roots in ([block], values)]
        reached = [*values, *(place.value for each in places for place in each)]
        found = [function for value in reached if (function := _function_in(value)) is not None]
        waiting = [function for function in dict.fromkeys(found) if function not in functions]
    held, outer = (tuple(place for place in each if _is_compared(place)) for each in places)
    reached += block.__dict__.values()
    containers = {id(value): value for value in reached if isinstance(value, list | set | dict | deque)}
    return Surroundings(
        names=names | asked, readers=readers, held=held, outer=outer, containers=tuple(containers.values())
    )


def surroundings_of_modules(modules: Iterable[nn.Module]) -> list[Surroundings]:
    """Return what modules' forwards read that are not torch's own. Raises: NoPattern, as surroundings_of."""
    inner = dict.fromkeys(each for module in modules for each in module.modules())
    found = []
    for module in inner:
        function = method_of(module, "forward")
        if function is not None and not type(module).__module__.startswith("torch.nn."):
            found.append(surroundings_of(module, [(type(module), function)]))
    return found


def _places(roots: Iterable[Any], names: frozenset[str], asked: frozenset[str]) -> Iterator[Place]:
    """Yield where a value is read by one of the names, from the roots on; of those asked for also where none is."""
    waiting = [(root, 0) for root in roots]
    seen: set[int] = set()
    while waiting:
        holder, depth = waiting.pop()
        if isinstance(holder, CONTAINERS):
            if id(holder) in seen:
                continue
            seen.add(id(holder))
            values = holder.values() if isinstance(holder, dict) else holder
            for value in values if len(holder) <= MOST_VALUES else ():
                _expect_watched("a container's item", value)
                waiting.append((value, depth))
        elif _may_hold(holder) and id(holder) not in seen and depth <= _DEEPEST:
            seen.add(id(holder))
            if type(holder) in (nn.ModuleList, nn.ModuleDict, nn.Sequential):
                waiting += [(child, depth) for child in holder.children()]
            if isinstance(holder, functools.partial):
                names |= {"func", "args", "keywords"}
            for name in sorted(names | asked):
                value = _value_at(holder, name)
                if value is not MISSING or (name in asked and not _has(holder, name)):
                    _expect_watched(name, value)
                    yield Place(holder, name, value, content_of(value))
                    waiting.append((value, depth + 1))


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
        kinds = [kind for kind in type(holder).__mro__ if kind not in nn.Module.__mro__ and _is_followed(kind)]
        return next((_of_class(kind.__dict__[name]) for kind in kinds if name in kind.__dict__), MISSING)
    try:
        return getattr(holder, name)
    except Exception:  # noqa: BLE001 - whatever a stranger's attribute raises, it is none here
        return MISSING


def _of_class(value: Any) -> Any:
    if isinstance(value, property):
        return value.fget
    if isinstance(value, functools.cached_property):
        return value.func
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def _is_compared(place: Place) -> bool:
    """Return whether a place is compared: children of modules and their methods are elsewhere, bound ones made anew."""
    if isinstance(place.holder, nn.Module) and isinstance(place.value, nn.Module | FunctionType):
        return False
    if isinstance(place.value, MethodType | BuiltinMethodType | MethodWrapperType):
        return False
    if place.content is None and not is_same(getattr(place.holder, place.name, MISSING), place.value, None):
        raise NoPattern(f"its forward reads {place.name}, which is another {type(place.value).__name__} each time")
    return True


def _expect_watched(name: str, value: Any) -> None:
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
        return _is_followed(value)
    return module_of(type(value)).partition(".")[0] not in ("builtins", "torch", "numpy", "fused_mlp")


def _is_followed(value: Any) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else module_of(value)
    return name.partition(".")[0] not in _NOT_FOLLOWED


def _function_in(value: Any) -> FunctionType | None:
    """Return the function that is run where a value is called; None for none, or one of a library that is known."""
    for _ in range(_MOST_WRAPPED):
        if isinstance(value, functools.partial):
            value = value.func
        elif isinstance(value, MethodType):
            value = value.__func__
        elif callable(value) and not isinstance(value, type) and "__wrapped__" in getattr(value, "__dict__", {}):
            value = value.__wrapped__
        elif isinstance(value, FunctionType | type | nn.Module | ModuleType):
            return value if isinstance(value, FunctionType) and _is_followed(value) else None
        elif isinstance(value := getattr(type(value), "__call__", None), FunctionType):  # noqa: B004 - the function is wanted
            continue
        else:
            return None
    raise NoPattern("its forward calls a function that wraps itself")
