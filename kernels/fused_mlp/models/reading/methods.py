"""Methods of a block's class: which are looked into, what they take and what they read."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from fused_mlp.models.reading.questions import ASKS, FUNCTIONS, NAMES, asks_of_stand_ins
from fused_mlp.models.reading.stand_ins import NoPattern

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

Reader = Callable[[], tuple[Any, ...]]
"""Function that returns values from around another, globals and closures, as that one reads them."""
_OF_TORCH = torch.__name__
METHODS = ("forward", "_ff_block", "feed_forward_chunk")
"""Methods that are looked into: nn.Transformer's layers and BERT's keep their MLP in one beside forward."""
_METACLASSES = {type, ABCMeta, type(Protocol)}
_LEAVING = {*dis.hasjrel, *dis.hasjabs, *(dis.opmap.get(name, -1) for name in ("RETURN_VALUE", "YIELD_VALUE"))}
_STORES = {"STORE_ATTR", "STORE_GLOBAL", "DELETE_ATTR", "DELETE_GLOBAL", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_REGISTERS = {"_buffers", "_parameters"}
UNSEEN = {
    *("print", "type", "id", "next", "setattr", "delattr", "vars", "globals", "exec", "eval", "open", "input"),
    *("hash", "dir", "callable", "locals"),
}
"""Built-in functions that leave no trace in a graph: what they do is lost, what they answer is of the stand-in."""
_UNSEEN_FUNCTIONS = (*(getattr(builtins, name) for name in sorted(UNSEEN)), sys._getframe)  # noqa: SLF001 - to refuse it


def functions_of(kind: type[nn.Module], function: FunctionType) -> tuple[FunctionType, ...]:
    """Return a function and the methods of the class, and its bases, whose names it has."""
    bases = [base for base in kind.__mro__ if base not in nn.Module.__mro__]
    found: dict[FunctionType, None] = {}
    waiting = [function]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found[each] = None
        named = {name for code in codes_in(each) for name in code.co_names}
        methods = [base.__dict__.get(name) for base in bases for name in named]
        waiting += [method for method in methods if isinstance(method, FunctionType)]
    return tuple(found)


def codes_in(function: FunctionType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions written in it."""
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if inspect.iscode(constant)]


def name_of(code: CodeType) -> str:
    """Return what the function of a code is called; a lambda has only its place."""
    name = code.co_qualname.rpartition("<locals>.")[2]
    is_lambda = name.endswith("<lambda>")
    return f"a lambda of {Path(code.co_filename).name}, line {code.co_firstlineno}" if is_lambda else name


def names_asked(code: CodeType) -> frozenset[str]:
    """Return the names that code may ask for by getattr or hasattr: its strings."""
    if not {"getattr", "hasattr"} & {*code.co_names}:
        return frozenset()
    return frozenset(each for each in code.co_consts if isinstance(each, str) and each.isidentifier())


def expect_only_results(functions: Iterable[FunctionType], *, methods: Container[FunctionType]) -> None:
    """Raise NoPattern if a function does anything but return values, or asks what a stand-in cannot answer.

    methods: those that are the block's; any other is named in the reason.
    """
    for each in functions:
        who = "its forward" if each in methods else f"its forward may run {name_of(each.__code__)}, which"
        for code in codes_in(each):
            instructions = list(dis.get_instructions(code))
            for index, instruction in enumerate(instructions):
                is_unseen = instruction.opname == "LOAD_GLOBAL" and instruction.argval in UNSEEN
                if is_unseen and not _is_for_an_exception(instructions[index:]):
                    raise NoPattern(f"{who} calls {instruction.argval}()")
                if reason := _why_not(instruction):
                    raise NoPattern(f"{who} {reason}")
            if asks_of_stand_ins(code, instructions):
                raise NoPattern(f"{who} {ASKS}")


def expect_seen(values: Iterable[Any]) -> None:
    """Raise NoPattern for a function among values that no graph shows, by whatever name code calls it."""
    for value in values:
        if type(value) in (BuiltinFunctionType, type, functools.partial):
            found = value.func if isinstance(value, functools.partial) else value
            if any(found is each for each in _UNSEEN_FUNCTIONS):
                raise NoPattern(f"its forward calls {found.__name__}()")
            if any(found is each for each in FUNCTIONS):
                raise NoPattern(f"its forward {ASKS}")


def _why_not(instruction: dis.Instruction) -> str | None:
    operation, name = instruction.opname, instruction.argval
    is_attribute = operation in ("LOAD_ATTR", "LOAD_METHOD")
    found = {
        f"stores {name or 'values'}": operation in _STORES,
        "catches exceptions": operation == "CHECK_EXC_MATCH",
        f"imports {name}": operation == "IMPORT_NAME",
        "has a with-statement, whose object may do anything": operation == "BEFORE_WITH",
        "reads a __dict__, which it may write into": is_attribute and name == "__dict__",
        f"asks for {name}, which may become others": is_attribute and name in _REGISTERS,
        ASKS: name in NAMES and "LOAD" in operation,
    }
    return next((reason for reason, is_so in found.items() if is_so), None)


def _is_for_an_exception(instructions: Sequence[dis.Instruction]) -> bool:
    """Return whether code asks for a type and goes straight on to an exception, which alone may say it."""
    if instructions[0].argval != "type":
        return False
    for instruction in instructions[1:]:
        if instruction.opname == "RAISE_VARARGS":
            return True
        if instruction.is_jump_target or instruction.opcode in _LEAVING or instruction.opname in _STORES:
            return False
    return False


def method_of(block: nn.Module, name: str) -> FunctionType | None:
    """Return a method of the block's class as a plain function; None if it has none of its own."""
    function = getattr(type(block), name, None)
    return function if isinstance(function, FunctionType) and function is not nn.Module.forward else None


def why_not_derived(block: nn.Module, name: str) -> str | None:
    """Return why no class can be derived that computes a method in another way, in words; None if one can."""
    if type(type(block)) not in _METACLASSES:
        return f"its class is one of {type(type(block)).__name__}, which may do anything with a class derived from it"
    held: object = getattr(type(block), name, None)
    if held is None or isinstance(held, FunctionType) or "forward" in block.__dict__:
        return None
    return f"its {name} is a {type(held).__name__}, no function of Python's"


def arguments_of(function: FunctionType) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the names that must be given, and the others' defaults. Raises: NoPattern if they cannot be named."""
    kinds = inspect.Parameter
    required, defaults = [], {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL):
            continue
        if parameter.default is not kinds.empty:
            defaults[parameter.name] = parameter.default
        elif parameter.kind is kinds.POSITIONAL_OR_KEYWORD:
            required.append(parameter.name)
        else:
            raise NoPattern(f"its forward takes {parameter.name} by position or by name only")
    if not required:
        raise NoPattern("its forward takes no argument by name")
    return tuple(required), defaults


def with_required_only(function: FunctionType, required: tuple[str, ...]) -> FunctionType:
    """Return the function with the others' defaults fixed, so that a graph of it has no stand-in for them."""
    names = ", ".join(required)
    made: dict[str, Any] = {"function": function}
    exec(f"def forward(self, {names}):\n    return function(self, {names})", made)  # noqa: S102 - names from a signature
    forward: FunctionType = made["forward"]
    return forward


def reader_of(function: FunctionType) -> Reader | None:
    """Return a function that reads the outer names of a function; None if there are none.

    Modules and classes of torch are left out.
    """
    values = {name: value for name, value in outer_values(function).items() if _may_change(value)}
    return _reader(function, tuple(values)) if values else None


def outer_values(function: FunctionType) -> dict[str, Any]:
    """Return what a function reads by names that are not its own: of its module and of the functions around it."""
    loaded = {
        instruction.argval
        for code in codes_in(function)
        for instruction in dis.get_instructions(code)
        if instruction.opname == "LOAD_GLOBAL"
    }
    values = {name: function.__globals__[name] for name in sorted(loaded) if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return values


def _may_change(value: Any) -> bool:
    if not isinstance(value, ModuleType | type):
        return True
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
    return home.partition(".")[0] != _OF_TORCH


def _reader(function: FunctionType, names: tuple[str, ...]) -> Reader:
    """Return a function with the globals and cells of another that returns the values of `names`."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    arguments = ", ".join(name for name in names if name in cells)
    made: dict[str, Any] = {}
    exec(f"def outer({arguments}):\n    def read():\n        return ({', '.join(names)},)", made)  # noqa: S102 - names from code
    code = next(each for each in made["outer"].__code__.co_consts if inspect.iscode(each))
    return FunctionType(code, function.__globals__, "read", None, tuple(cells[name] for name in code.co_freevars))
