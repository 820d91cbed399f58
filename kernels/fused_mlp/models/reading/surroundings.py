"""What a block's code reads and runs beside its layers: values of objects, modules and classes, and their methods.

A graph has such a value as a constant, and nothing of what a function writes. So the values are compared at each
call, and a function that writes, or draws from something that no comparison sees, is a reason against the block.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from torch import nn

from fused_mlp.models.reading.methods import (
    codes_in,
    expect_only_results,
    expect_seen,
    functions_of,
    method_of,
    names_asked,
    outer_values,
    reader_of,
)
from fused_mlp.models.reading.stand_ins import NoPattern
from fused_mlp.models.reading.surrounding_values import (
    Place,
    expect_watched,
    is_compared,
    is_followed,
    items_in,
    of_function,
    of_overridden,
    of_signature,
    of_torch,
    places,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fused_mlp.models.reading.methods import Reader

_MOST_WRAPPED = 100


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What code reads.

    Attributes:
        names: of attributes among them.
        readers: of outer names.
        held, outer: places that the block leads to, and that the outer names do.
        containers: that it may write into.
        functions: that were read.
    """

    names: frozenset[str]
    readers: tuple[Reader, ...]
    held: tuple[Place, ...]
    outer: tuple[Place, ...]
    containers: tuple[Any, ...]
    functions: tuple[FunctionType, ...]


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
    codes = tuple(codes)
    waiting = [each for kind, function in codes for each in functions_of(kind, function)]
    own = {function for kind, function in codes if kind is type(block)}
    while waiting:
        functions |= dict.fromkeys(waiting)
        expect_only_results(waiting, methods=own)
        codes_read = [code for function in functions for code in codes_in(function)]
        names = frozenset(name for code in codes_read for name in code.co_names)
        asked = frozenset(name for code in codes_read for name in names_asked(code))
        readers = tuple(reader for function in functions if (reader := reader_of(function)) is not None)
        of_functions = [place for function in functions for place in of_function(function)]
        values = [value for read in readers for value in read()]
        values += [place.value for place in of_functions if place.name != "__code__"]
        for value in values:
            expect_watched("a value from around", value)
        found_at = [list(places(roots, names, asked)) for roots in ([block], values)]
        reached = [*values, *(place.value for each in found_at for place in each)]
        expect_seen(reached)
        called = [each for value in reached for each in (value, *items_in(value))]
        found = [function for value in called if (function := _function_in(value)) is not None]
        waiting = [function for function in dict.fromkeys(found) if function not in functions]
    if any(value is inspect or value is inspect.signature for value in reached):
        of_functions += [place for function in functions for place in of_signature(function)]
    compared = [[place for place in each if is_compared(place)] for each in found_at]
    # A copy of the block has the same classes and modules.
    held = tuple(place for place in compared[0] if not isinstance(place.holder, type | ModuleType))
    of_classes = (place for place in compared[0] if isinstance(place.holder, type | ModuleType))
    named = [value for function in functions for value in outer_values(function).values()]
    overridden = (place for kind in dict.fromkeys(kind for kind, _ in codes) for place in of_overridden(kind, names))
    outer = (*compared[1], *of_classes, *of_functions, *of_torch(named, names), *overridden)
    reached += block.__dict__.values()
    containers = {id(value): value for value in reached if isinstance(value, list | set | dict | deque)}
    return Surroundings(
        names=names | asked,
        readers=readers,
        held=held,
        outer=outer,
        containers=tuple(containers.values()),
        functions=tuple(functions),
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


def _function_in(value: Any) -> FunctionType | None:
    """Return the function that is run where a value is called; None for none, or one of a library that is known."""
    for _ in range(_MOST_WRAPPED):
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, functools.partial | functools.cached_property):
            value = value.func
        elif isinstance(value, MethodType):
            value = value.__func__
        elif callable(value) and not isinstance(value, type) and "__wrapped__" in getattr(value, "__dict__", {}):
            value = value.__wrapped__
        elif isinstance(value, FunctionType | type | nn.Module | ModuleType):
            return value if isinstance(value, FunctionType) and is_followed(value) else None
        elif isinstance(value := getattr(type(value), "__call__", None), FunctionType):  # noqa: B004 - the function is wanted
            continue
        else:
            return None
    raise NoPattern("its forward calls a function that wraps itself")
