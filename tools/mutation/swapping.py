"""Put a planted fault into a running process: code of functions is exchanged, numbers are set wherever they went."""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mutation.planting import Fault

PACKAGE = "results."


def plant(fault: Fault) -> bool:
    """Put the fault into its module, which is imported; whether it could be."""
    module = sys.modules[fault.module]
    compiled = compile(fault.tree, module.__file__ or fault.module, "exec")
    codes = {code.co_qualname: code for code in _codes(compiled)}
    if fault.function not in codes:
        return _set_number(fault)
    found: object = module
    for name in fault.function.split("."):
        found = vars(found)[name]
    function = _function_in(found)
    if function is None:
        return False
    function.__code__ = codes[fault.function]
    return True


def _function_in(found: object) -> FunctionType | None:
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, classmethod | staticmethod):
        found = found.__func__
    found = getattr(found, "__wrapped__", found)
    return found if isinstance(found, FunctionType) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            if constant.co_name == constant.co_qualname:  # a class's body has its methods in it
                yield from _codes(constant)


def _set_number(fault: Fault) -> bool:
    """Set a module's number, in the modules that import it by name and in defaults that are this very object, too."""
    old = vars(sys.modules[fault.module])[fault.function]
    new = type(old)(eval(fault.after))  # noqa: S307 - a number that this tool wrote
    for name, module in list(sys.modules.items()):
        if not name.startswith(PACKAGE) or module is None:
            continue
        if vars(module).get(fault.function) is old:
            setattr(module, fault.function, new)
        for function in vars(module).values():
            if isinstance(old, float) and isinstance(function, FunctionType) and function.__kwdefaults__:
                function.__kwdefaults__ = {k: new if v is old else v for k, v in function.__kwdefaults__.items()}
    return True
