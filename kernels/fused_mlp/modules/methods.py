"""Methods of a block's class: which are looked into, what they take and what they read."""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FunctionType
from typing import Any

from torch import nn

from fused_mlp.modules.tracing import NoPattern

METHODS = ("forward", "_ff_block", "feed_forward_chunk")
"""Methods that are looked into: nn.Transformer's layers and BERT's keep their MLP in one beside forward."""
_STORES = {"STORE_ATTR", "STORE_GLOBAL", "DELETE_ATTR", "DELETE_GLOBAL", "STORE_SUBSCR", "DELETE_SUBSCR"}


def codes_of(kind: type[nn.Module], function: Any) -> tuple[CodeType, ...]:
    """Return the code of a function and of the methods of the class, and its bases, whose names it has."""
    bases = [base for base in kind.__mro__ if base not in nn.Module.__mro__]
    found: dict[CodeType, None] = {}
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        if code in found:
            continue
        found[code] = None
        waiting += [constant for constant in code.co_consts if inspect.iscode(constant)]
        methods = [base.__dict__.get(name) for base in bases for name in code.co_names]
        waiting += [method.__code__ for method in methods if isinstance(method, FunctionType)]
    return tuple(found)


def names_read(kind: type[nn.Module], function: Any) -> frozenset[str]:
    """Return the names that a function reads, in methods of the class that it names, too."""
    return frozenset(name for code in codes_of(kind, function) for name in code.co_names)


def expect_no_stores(kind: type[nn.Module], function: Any) -> None:
    """Raise NoPattern if a function keeps anything but local values: a graph of it would not."""
    for code in codes_of(kind, function):
        for instruction in dis.get_instructions(code):
            if instruction.opname in _STORES:
                raise NoPattern(f"its forward stores {instruction.argval or 'values'}")


def method_of(block: nn.Module, name: str) -> FunctionType | None:
    """Return a method of the block's class as a plain function; None if it has none of its own."""
    function = getattr(type(block), name, None)
    return function if isinstance(function, FunctionType) and function is not nn.Module.forward else None


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
