"""Whose turn it is in the worker, in memory shared with the sweep: no message, so no cost to what is timed."""

from __future__ import annotations

import mmap
import os
import struct

_LAYOUT = struct.Struct("=qq")


class Turn:
    """A place in the request's contenders, and a count that grows whenever it is taken; −1 before the first."""

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, _LAYOUT.size)
        self._count = 0

    def take(self, place: int) -> None:
        """Say that it is the turn of the contender at `place`."""
        self._count += 1
        _LAYOUT.pack_into(self._memory, 0, place, self._count)

    def clear(self) -> None:
        """Say that it is nobody's turn."""
        self.take(-1)

    def read(self) -> tuple[int, int]:
        """The place, and how often the turn has changed."""
        place, count = _LAYOUT.unpack_from(self._memory, 0)
        return place, count


def turn_file() -> int:
    """A file descriptor for a new Turn, to be inherited by the worker; nobody's turn yet."""
    fd = os.memfd_create("fusebench-turn")
    os.write(fd, _LAYOUT.pack(-1, 0))
    return fd
