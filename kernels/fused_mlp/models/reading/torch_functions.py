"""Functions and methods of torch that a fused call stands for: somebody may put others in their place.

Profilers, counters and patches do: `torch.Tensor.relu = …`, `torch.nn.functional.dropout = …`. What code calls is
found by its names, from the block's own functions through the forwards of torch's modules to what these call.
"""

from __future__ import annotations

import dis
import operator
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from fused_mlp.models.reading.elementwise import STEPS
from fused_mlp.models.reading.methods import codes_in
from fused_mlp.models.reading.stand_ins import NoPattern
from fused_mlp.models.reading.surrounding_values import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import fx, nn

_TORCH = str(Path(torch.__file__).parent)
_HOLDERS: tuple[Any, ...] = (torch.Tensor, functional, torch, torch._C._nn)  # noqa: SLF001 - where functional has its functions from
_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "**": "pow"}


def functions_stood_for(
    functions: Iterable[FunctionType], kinds: Iterable[type[nn.Module]], nodes: Iterable[fx.Node]
) -> Iterator[Place]:
    """Yield where the code that a fused call stands for finds torch's functions and methods.

    Args:
        functions: of the block's, and of modules that are not called.
        kinds: of the modules that are not called.
        nodes: of the block's graph that are replaced.

    Raises: NoPattern, where one is not torch's own by now.
    """
    forwards: list[Any] = []
    for kind in kinds:
        if kind.__module__.startswith("torch.nn."):
            if not _is_of_torch(kind.forward):
                raise NoPattern(f"the forward of {kind.__name__} is not torch's own")
            forwards.append(kind.forward)
    functions = tuple(functions)
    operators = {name for node in nodes for name in _methods_of(node)} | set(_operators_in(functions))
    wanted: set[tuple[Any, str]] = {(torch.Tensor, name) for name in operators}
    wanted |= {(holder, name) for name in _names_in([*functions, *forwards]) for holder in _HOLDERS}
    for holder, name in sorted(wanted, key=lambda each: (each[1], _HOLDERS.index(each[0]))):
        value = getattr(holder, name, None)
        if value is None or (holder is torch._C._nn and value is getattr(functional, name, None)):  # noqa: SLF001 - as above
            continue
        if value is not _OWN.get((holder, name)):
            home = "torch.Tensor" if holder is torch.Tensor else holder.__name__
            raise NoPattern(f"{home}.{name} is not torch's own")
        yield Place(holder, name, value, None)


def _names_in(functions: Iterable[FunctionType]) -> set[str]:
    """Return the names of torch's steps in functions, and in those of torch's that they lead to."""
    names: set[str] = set()
    waiting, seen = list(functions), set[FunctionType]()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        found = {name for code in codes_in(function) for name in code.co_names} & STEPS
        names |= found
        waiting += [each for name in found if type(each := getattr(functional, name, None)) is FunctionType]
    return names


def _methods_of(node: fx.Node) -> Iterator[str]:
    """Yield which methods of a tensor a step calls, by their names."""
    if node.op == "call_method":
        yield str(node.target)
    elif node.op == "call_function" and getattr(node.target, "__module__", "") == "_operator":
        yield from _special(getattr(node.target, "__name__", ""))


def _operators_in(functions: Iterable[FunctionType]) -> Iterator[str]:
    """Yield which methods of tensors the operators in functions call."""
    for function in functions:
        for code in codes_in(function):
            for instruction in dis.get_instructions(code):
                written = instruction.argrepr if instruction.opname == "BINARY_OP" else ""
                if (name := _SIGNS.get(written.removesuffix("="))) is not None:
                    yield from _special(f"i{name}" if written.endswith("=") else name)
                elif instruction.opname == "UNARY_NEGATIVE":
                    yield "__neg__"


def _special(name: str) -> Iterator[str]:
    name = name.strip("_")
    plain = name[1:] if name[:1] == "i" and hasattr(operator, name[1:]) else name
    kinds = (f"__{name}__", f"__{plain}__", f"__r{plain}__")
    yield from (each for each in dict.fromkeys(kinds) if hasattr(torch.Tensor, each))


def _is_of_torch(value: Any) -> bool:
    """Return whether a function or method is one of C's, or written in torch's files."""
    return not isinstance(value, FunctionType) or value.__code__.co_filename.startswith(_TORCH)


_OPERATORS = [name for name in vars(operator) if not name.startswith("_")]
_OWN = {
    (holder, name): value
    for holder in _HOLDERS
    for name in (*STEPS, *(name for each in _OPERATORS for name in _special(each)))
    if (value := getattr(holder, name, None)) is not None and _is_of_torch(value)
}
"""What torch has there, found when this module is imported."""
