"""Allocator of the measuring process: what it does with freed memory, and the page faults that follow."""

from __future__ import annotations

import ctypes
import platform
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.counters import minor_faults
from benchmarks.ruler.plan.points import Allocator

if TYPE_CHECKING:
    from collections.abc import Callable

# glibc's malloc.h. What is set explicitly glibc no longer adapts to what the process did before.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_NEVER = -1
_GLIBC_THRESHOLD_BYTES = 128 * 1024
_OPTIONS = {
    Allocator.RETAINING: {_MMAP_MAX: 0, _TRIM_THRESHOLD: _NEVER},
    Allocator.RETURNING: {_MMAP_THRESHOLD: _GLIBC_THRESHOLD_BYTES, _TRIM_THRESHOLD: _GLIBC_THRESHOLD_BYTES},
}
_OTHERS = ("jemalloc", "tcmalloc", "mimalloc")
_CALLS, _LONGEST_S = 5, 0.02


class AllocatorNotSet(Exception):
    """Raised if this process's allocator cannot be put into the state asked for; the message says why."""


def set_allocator(asked: Allocator) -> None:
    """Put glibc's malloc into the state `asked`, for the rest of this process. Raises: AllocatorNotSet."""
    if (other := _not_glibc()) is not None:
        raise AllocatorNotSet(f"memory is allocated by {other}, and only glibc's malloc has the state {asked}")
    glibc = ctypes.CDLL(None)
    for option, value in _OPTIONS[asked].items():
        if glibc.mallopt(option, value) != 1:
            raise AllocatorNotSet(f"glibc's malloc refused option {option} = {value}, which the state {asked} needs")


def faults_per_call(
    call: Callable[[], object],
    *,
    read: Callable[[], int] = minor_faults,
    now: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the pages that one call has mapped without reading a disk, where it has run often enough to settle.

    The median of a few calls, of fewer if they are long.
    """
    counts: list[int] = []
    start = now()
    while not counts or (len(counts) < _CALLS and now() - start < _LONGEST_S):
        before = read()
        call()
        counts.append(read() - before)
    return float(median(counts))


def _not_glibc() -> str | None:
    """Return what allocates memory here if it is not glibc."""
    if platform.libc_ver()[0] != "glibc":
        return f"the C library of {platform.system()}"
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((name for name in _OTHERS if f"lib{name}" in mapped), None)
