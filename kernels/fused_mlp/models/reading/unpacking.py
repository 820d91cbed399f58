"""Assignments to several names at once: `rows, columns = x.shape` takes two, or raises. A step of a graph does, too."""

from __future__ import annotations

from dis import opname
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


def unpacked(values: Any, number: int) -> tuple[Any, ...]:
    """Return what values hold as a tuple of `number`. Raises: ValueError, in Python's words, where they are others."""
    items = tuple(values)
    if len(items) > number:
        raise ValueError(f"too many values to unpack (expected {number})")
    if len(items) < number:
        raise ValueError(f"not enough values to unpack (expected {number}, got {len(items)})")
    return items


def operation_at(frame: FrameType) -> str:
    """Return the name of the instruction that a frame is at."""
    # Behind an instruction are its caches: zeros.
    return next(opname[each] for each in frame.f_code.co_code[frame.f_lasti :: -2] if each)


def number_unpacked(frame: FrameType) -> int | None:
    """Return to how many names a frame assigns what it goes over; None if it does something else with it."""
    code, place = frame.f_code.co_code, frame.f_lasti
    # More than a byte tells would need an instruction before.
    is_told = operation_at(frame) == "UNPACK_SEQUENCE" and opname[code[place - 2]] != "EXTENDED_ARG"
    return code[place + 1] if is_told else None
