"""Folded stacks, `outermost;…;innermost 1234`, one a line: how they are checked, kept and read; pure.

The number is the stack's self time in one call, in nanoseconds: the form every flame graph tool reads.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDED = re.compile(r"[^\n\0]+ \d{1,18}")


class FoldedStack(NamedTuple):
    """One stack, outermost frame first; `time_s` is its self time in one call."""

    frames: tuple[str, ...]
    time_s: float


def is_folded(text: str) -> bool:
    """Whether `text` is one folded stack."""
    return FOLDED.fullmatch(text) is not None


def stacks_as_bytes(folded: Iterable[str]) -> bytes | None:
    """Folded stacks as the store keeps them; None for none. They repeat their frames, so they pack to a tenth."""
    text = "\n".join(folded)
    return zlib.compress(text.encode(), level=6) if text else None


def stacks_from_bytes(stored: bytes | None) -> tuple[FoldedStack, ...]:
    """The stacks that `stacks_as_bytes` was given, in their order."""
    if stored is None:
        return ()
    return tuple(_stack(line) for line in zlib.decompress(stored).decode().split("\n"))


def _stack(line: str) -> FoldedStack:
    frames, _, nanoseconds = line.rpartition(" ")
    return FoldedStack(tuple(frames.split(";")), int(nanoseconds) * 1e-9)
