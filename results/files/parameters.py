"""Parameters of points: from asv's reprs and the sweep's axes to typed values and back; pure."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

NUMPY_SCALAR = re.compile(r"(?:np|numpy)\.(?:u?int|float)\d+\((?P<number>[^()]*)\)")
BARE_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


class ParameterType(StrEnum):
    """Type of a parameter's value; `other` is a repr that is none of the others."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    NONE = "none"
    STR = "str"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Typed:
    """Value of a parameter: `text` is the text itself or the repr; `number` is set for numbers and booleans."""

    type: ParameterType
    text: str
    number: float | None


def typed_from_value(value: float | bool | str | None) -> Typed:  # noqa: FBT001 - it is the subject
    """Convert an axis value of the sweep."""
    if value is None:
        return Typed(ParameterType.NONE, "None", None)
    if isinstance(value, bool):
        return Typed(ParameterType.BOOL, repr(value), float(value))
    if isinstance(value, int | float):
        kind = ParameterType.INT if isinstance(value, int) else ParameterType.FLOAT
        try:
            return Typed(kind, repr(value), float(value))
        except (OverflowError, ValueError):  # an integer too long for a float, or even to be printed
            return Typed(ParameterType.OTHER, hex(value) if isinstance(value, int) else repr(value), None)
    return Typed(ParameterType.STR, value, None)


@lru_cache(maxsize=65536)
def typed_from_repr(text: str) -> Typed:
    """Convert a parameter that asv wrote as a repr: numbers to numbers, texts without their quotes."""
    other = Typed(ParameterType.OTHER, text, None)
    if text in BARE_FLOATS:
        return Typed(ParameterType.FLOAT, text, BARE_FLOATS[text])
    numpy_scalar = NUMPY_SCALAR.fullmatch(text)
    try:
        value = ast.literal_eval(numpy_scalar["number"] if numpy_scalar else text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return other
    if isinstance(value, str):
        return typed_from_value(value) if is_storable(value) else other
    if value is None or isinstance(value, bool | int | float):
        typed = typed_from_value(value)
        # What is asked for is what was written: `1e3` stays `1e3`, with its number beside it.
        return Typed(typed.type, text, typed.number)
    return other


def is_storable(text: str) -> bool:
    """Return whether every database stores `text`: no NUL, no lone surrogate."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def value_from_typed(kind: str, text: str, number: float | None) -> float | bool | str | None:
    """Return the value that `typed_from_value` was given; a repr of another type stays text."""
    if kind == ParameterType.NONE:
        return None
    if kind == ParameterType.BOOL:
        return bool(number)
    if kind == ParameterType.INT:
        return int(text) if text.lstrip("-").isdigit() else int(number or 0)
    if kind == ParameterType.FLOAT:
        # From the text: a database may lose a zero's sign, or not know NaN.
        numpy_scalar = NUMPY_SCALAR.fullmatch(text)
        return float(numpy_scalar["number"] if numpy_scalar else text)
    return text
