"""Forwards within decorators: these stay as they are, and call the forward that has parts of it replaced.

A decorator's function may do anything around the forward, as long as all that it does with it is to call it, or to
tell its name: then it cannot see that it calls another.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import sys
from itertools import pairwise
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from torch.compiler import is_dynamo_compiling

from fused_mlp.models.reading.contents import items_of
from fused_mlp.models.reading.methods import codes_in, outer_values
from fused_mlp.models.reading.stand_ins import NoPattern
from fused_mlp.models.reading.surrounding_values import is_followed

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

_NAMES = {"__name__", "__qualname__", "__doc__", "__module__"}
_MOST_DECORATORS = 10
_KNOWN = {
    (
        "transformers.modeling_layers",
        "GradientCheckpointingLayer.__init_subclass__.<locals>.forward_with_checkpointing",
    )
}
"""Functions of decorators that hand on what they decorate, to be called."""
_DECORATED = "its forward is decorated"
_OF_ITSELF = "its forward's decorator asks itself for more than its name"
_LOOKING_AROUND = {
    "locals",
    "vars",
    "eval",
    "exec",
    "dir",
    "_getframe",
    "currentframe",
    "stack",
    "settrace",
    "setprofile",
}
"""Names by which code finds what it decorates, or who calls it, without naming it."""
_BUILT_IN = ("locals", "vars", "eval", "exec", "dir")
_OF_FRAMES = ("_getframe", "_current_frames", "currentframe", "f_locals", "f_back", "settrace", "setprofile")
_FUNCTIONS = (
    *(getattr(builtins, name) for name in _BUILT_IN),
    *(sys._getframe, sys._current_frames, sys.settrace, sys.setprofile),  # noqa: SLF001 - to refuse them
    *(inspect.currentframe, inspect.stack, inspect.trace, inspect.getouterframes, inspect.getinnerframes),
)
_NAMING = {"LOAD_GLOBAL", "LOAD_NAME", "IMPORT_FROM"}


def layers_of(function: FunctionType) -> tuple[FunctionType, ...]:
    """Return the functions of decorators around a forward, from outside, and the forward itself behind them.

    Raises: NoPattern where one of them does more with what it decorates than to call it.
    """
    found = [function]
    while hasattr(found[-1], "__wrapped__"):
        wrapper, inner = found[-1], found[-1].__wrapped__
        of_torch = wrapper.__globals__.get("__name__", "").partition(".")[0] == "torch"
        if type(inner) is not FunctionType or of_torch or len(found) > _MOST_DECORATORS:
            raise NoPattern(_DECORATED)
        name = _name_in(wrapper, inner)
        if (wrapper.__globals__.get("__name__"), wrapper.__code__.co_qualname) not in _KNOWN:
            _expect_only_calls(wrapper, name)
        if any(_LOOKING_AROUND & {*code.co_names} for code in codes_in(wrapper)) or looks_around(wrapper):
            raise NoPattern(_DECORATED)
        _expect_nothing_of_itself(wrapper, function)
        found.append(inner)
    return tuple(found)


def looks_around(function: FunctionType) -> bool:
    """Return whether a function, or one whose name it has, finds local values without naming them, its caller's too.

    Those are others where parts of a forward are replaced. Functions that do so are known by whatever name.
    """
    waiting, seen = [function], set[FunctionType]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        codes = list(codes_in(each))
        if any(map(_names_local_values, codes)):
            return True
        names = {name for code in codes for name in code.co_names}
        values = [*outer_values(each).values(), *(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()]
        for module in [value for value in values if isinstance(value, ModuleType)]:
            values += [vars(module)[name] for name in names & vars(module).keys()]
        values += [item for value in values if type(value) in (list, tuple, dict) for item in items_of(value)]
        found = [value.func if isinstance(value, functools.partial) else value for value in values]
        if any(value is one for value in found for one in (builtins, *_FUNCTIONS)):
            return True
        waiting += [value for value in found if type(value) is FunctionType and is_followed(value)]
    return False


def _names_local_values(code: CodeType) -> bool:
    """Return whether code names a built-in function that finds local values, or a frame's way to them."""
    return any(
        each.argval in _OF_FRAMES or (each.opname in _NAMING and each.argval in _BUILT_IN)
        for each in dis.get_instructions(code)
    )


def with_inner(layers: tuple[FunctionType, ...], other: FunctionType) -> Callable[..., Any]:
    """Return a forward within its decorators with `other` in its place, as long as all of them are what they were."""
    *wrappers, inner = layers
    if not wrappers:
        return other
    links = [(_cell_of(wrapper, _name_in(wrapper, each)), each) for wrapper, each in pairwise(layers)]
    # Compilers look at what a function holds, and take a cell by itself for something else.
    held = [(FunctionType(_returns_held.__code__, globals(), closure=(cell,)), each) for cell, each in links]
    asks_itself = any(_content(cell) is layers[0] for wrapper in wrappers for cell in wrapper.__closure__ or ())
    before = [(each, each.__code__, each.__defaults__, each.__kwdefaults__) for each in layers]

    def is_as_before() -> bool:
        return all(content() is each for content, each in held) and all(
            each.__code__ is code and _is_same(each.__defaults__, defaults) and each.__kwdefaults__ is named
            for each, code, defaults, named in before
        )

    itself = CellType()

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_as_before() or (asks_itself and is_dynamo_compiling()):
            return layers[0](self, *args, **kwargs)
        if asks_itself:
            # One that asks whether it is its class's forward is it.
            itself.cell_contents = type(self).forward
        return outermost(self, *args, **kwargs)

    @functools.wraps(inner)
    def within(*args: Any, **kwargs: Any) -> Any:
        # A decorator may call it with another block, that is not fused.
        sites = getattr(args[0], "__dict__", {}).get("_fused_sites", {}) if args else {}
        return (other if sites.get("forward") is forward else inner)(*args, **kwargs)

    outermost: Any = within
    for wrapper, (cell, _) in zip(reversed(wrappers), reversed(links), strict=True):
        cells = tuple(
            CellType(outermost) if each is cell else itself if _content(each) is layers[0] else each
            for each in wrapper.__closure__ or ()
        )
        made = FunctionType(wrapper.__code__, wrapper.__globals__, wrapper.__name__, wrapper.__defaults__, cells)
        made.__kwdefaults__ = wrapper.__kwdefaults__
        outermost = functools.wraps(wrapper)(made)
    return forward


def _is_same(given: tuple[Any, ...] | None, before: tuple[Any, ...] | None) -> bool:
    """Return whether defaults are what they were; compilers have tuples of their own, of the same items."""
    if given is None or before is None or not is_dynamo_compiling():
        return given is before
    return len(given) == len(before) and all(one is other for one, other in zip(given, before, strict=True))


def _holding(value: Any) -> Any:
    def returns_held() -> Any:
        return value

    return returns_held


_returns_held = _holding(None)


def _name_in(wrapper: FunctionType, inner: FunctionType) -> str:
    """Return by which outer name a decorator's function has what it decorates."""
    cells = zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=True)
    names = [name for name, cell in cells if _content(cell) is inner]
    if len(names) != 1:
        raise NoPattern(_DECORATED)
    return names[0]


def _cell_of(wrapper: FunctionType, name: str) -> CellType:
    cells: tuple[CellType, ...] = wrapper.__closure__ or ()
    return cells[wrapper.__code__.co_freevars.index(name)]


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _expect_nothing_of_itself(wrapper: FunctionType, outermost: FunctionType) -> None:
    """Expect that a decorator's function does no more with the outermost one than to call or compare it, or its name.

    In a fused block that is another function: attributes that are counted up or set later are not those of its class.
    """
    cells = zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=True)
    names = {name for name, cell in cells if _content(cell) is outermost}
    if any(names & {*code.co_freevars} for code in codes_in(wrapper) if code is not wrapper.__code__):
        raise NoPattern(_OF_ITSELF)
    instructions = list(dis.get_instructions(wrapper.__code__))
    for index, instruction in enumerate(instructions):
        if instruction.argval not in names or not instruction.opname.endswith(("DEREF", "CLOSURE")):
            continue
        behind = instructions[index + 1]
        if instruction.opname != "LOAD_DEREF" or not (
            behind.opname == "IS_OP" or _is_called_or_named(instructions, index)
        ):
            raise NoPattern(_OF_ITSELF)


def _is_called_or_named(instructions: list[dis.Instruction], index: int) -> bool:
    before, behind = instructions[index - 1], instructions[index + 1]
    # Where Python marks what is called.
    is_called = (behind if sys.version_info >= (3, 13) else before).opname == "PUSH_NULL"
    return is_called or (behind.opname == "LOAD_ATTR" and behind.argval in _NAMES)


def _expect_only_calls(wrapper: FunctionType, name: str) -> None:
    if any(name in code.co_freevars for code in codes_in(wrapper) if code is not wrapper.__code__):
        raise NoPattern(_DECORATED)
    instructions = list(dis.get_instructions(wrapper.__code__))
    for index, instruction in enumerate(instructions):
        if instruction.argval != name or not instruction.opname.endswith(("DEREF", "CLOSURE")):
            continue
        if instruction.opname != "LOAD_DEREF" or not _is_called_or_named(instructions, index):
            raise NoPattern(_DECORATED)
