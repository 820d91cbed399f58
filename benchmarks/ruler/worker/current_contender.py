"""Contender that a worker is running, in memory shared with the sweep: no message, so no cost to what is timed."""

from __future__ import annotations

import mmap
import os
import struct

_LAYOUT = struct.Struct("=qq")
_NONE = -1


class CurrentContender:
    """Index into the request's contenders, with a count of its changes, in shared memory."""

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, _LAYOUT.size)
        self._n_changes = 0

    def set(self, index: int) -> None:
        """Announce that the contender at `index` runs now."""
        self._n_changes += 1
        _LAYOUT.pack_into(self._memory, 0, index, self._n_changes)

    def clear(self) -> None:
        """Announce that no contender runs."""
        self.set(_NONE)

    def read(self) -> tuple[int | None, int]:
        """Return the index, or None if no contender runs, and the number of changes."""
        index, n_changes = _LAYOUT.unpack_from(self._memory, 0)
        return (None if index == _NONE else index), n_changes


def shared_memory_fd() -> int:
    """Return a descriptor for a new CurrentContender, for the worker to inherit; no contender runs yet."""
    fd = os.memfd_create("fusebench-current-contender")
    os.write(fd, _LAYOUT.pack(_NONE, 0))
    return fd
