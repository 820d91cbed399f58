"""Questions whether two values are one: `x.dim() is 2` is true of a tensor, and never of what stands in for it.

Python asks nobody, so the code is looked at: `is` may stand between what no stand-in can be.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dis
    from collections.abc import Sequence
    from types import CodeType

ASKS = "asks whether two values are one"
NAMES = {"is_", "is_not"}
FUNCTIONS = (operator.is_, operator.is_not)


def asks_of_stand_ins(code: CodeType, instructions: Sequence[dis.Instruction]) -> bool:
    """Return whether code asks whether two values are one that a stand-in may be.

    None is asked for in all code, and no stand-in's value. What a method's `self`, globals and constants lead to is
    none either; what locals hold, and what calls return, may be.
    """
    listed = [each for each in instructions if each.opname != "EXTENDED_ARG"]
    for index, instruction in enumerate(listed):
        if instruction.opname != "IS_OP":
            continue
        right, before = _operand(code, listed, index - 1)
        left, _ = (_LOCAL, 0) if before is None else _operand(code, listed, before)
        if right is not None and left is not None and not (right is _KNOWN and left is _KNOWN):
            return True
    return False


_LOCAL, _KNOWN = "local", "known"


def _operand(code: CodeType, instructions: Sequence[dis.Instruction], last: int) -> tuple[str | None, int | None]:
    """Return (what the value is that `last` puts on the stack, the instruction before its own).

    The value: None itself, _KNOWN to be no stand-in, or _LOCAL. The instruction: None where that is not looked for.
    """
    index = last
    while index > 0 and instructions[index].opname == "LOAD_ATTR":
        index -= 1
    root = instructions[index]
    if root.opname == "LOAD_CONST":
        return (None if root.argval is None and index == last else _KNOWN), index - 1
    if root.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return _KNOWN, index - 1
    if root.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
        return (_KNOWN if _is_itself(code, root.argval) else _LOCAL), index - 1
    if root.opname.startswith("LOAD_FAST"):
        # One instruction loads two in Python 3.13.
        name: Any = root.argval[-1] if isinstance(root.argval, tuple) else root.argval
        is_single = not isinstance(root.argval, tuple)
        return (_KNOWN if _is_itself(code, name) else _LOCAL), index - 1 if is_single else None
    return _LOCAL, None


def _is_itself(code: CodeType, name: str) -> bool:
    return name == "self" and (name in code.co_freevars or code.co_varnames[:1] == (name,))
