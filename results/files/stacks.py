"""Folded stacks, `kind;outermost;…;innermost 1234`, one a line: checked, packed and unpacked; pure.

The number is the stack's self time in one call, in nanoseconds: the form every flame graph tool reads.
"""

from __future__ import annotations

import re
import zlib
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDED = re.compile(r"[^\n\0]+ \d{1,18}")


class StackKind(StrEnum):
    """Side whose time a stack holds. The two overlap, so they are never added up or drawn in one flame graph."""

    HOST = "host"
    DEVICE = "device"


class FoldedStack(NamedTuple):
    """Stack of frames, outermost frame first; `time_s` is its self time in one call."""

    frames: tuple[str, ...]
    time_s: float

    def __str__(self) -> str:
        """Return the folded text, in nanoseconds."""
        return f"{';'.join(self.frames)} {round(self.time_s * 1e9)}"


def is_folded(text: str) -> bool:
    """Return whether `text` is one folded stack."""
    return FOLDED.fullmatch(text) is not None


def stacks_as_bytes(folded: Iterable[str]) -> bytes | None:
    """Compress folded stacks for the store, to about a tenth; None for none."""
    text = "\n".join(folded)
    return zlib.compress(text.encode(), level=6) if text else None


def stacks_from_bytes(stored: bytes | None) -> tuple[FoldedStack, ...]:
    """Return the stacks that `stacks_as_bytes` was given, in their order."""
    if stored is None:
        return ()
    return tuple(_stack(line) for line in zlib.decompress(stored).decode().split("\n"))


def stacks_of_kind(stacks: Iterable[FoldedStack], kind: StackKind) -> tuple[FoldedStack, ...]:
    """Select the stacks of `kind`, without the frame that names it; unnamed ones are the host's."""
    found = []
    for stack in stacks:
        outermost, *inner = stack.frames
        names_kind = bool(inner) and outermost in set(StackKind)
        if (outermost if names_kind else StackKind.HOST) == kind:
            found.append(stack._replace(frames=tuple(inner)) if names_kind else stack)
    return tuple(found)


def _stack(line: str) -> FoldedStack:
    frames, _, nanoseconds = line.rpartition(" ")
    return FoldedStack(tuple(frames.split(";")), int(nanoseconds) * 1e-9)
