"""Probe of the machine's speed: fixed work of about 2 ms, whose time tells a slow machine from slow code."""

from __future__ import annotations

import math
import time
from enum import StrEnum
from itertools import repeat
from statistics import median
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.conditions import last_level_cache_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PIECES, _LONGEST_PART_S = 4, 5e-3
_SETTLING_S = 0.02
_REPEATS_FOR_BEST = 15
_SCALAR_STEPS = 2_000
_PRODUCT_SIZE = 128
_WINDOW_BYTES, _LEAST_BYTES, _MOST_BYTES = 2**20, 32 * 2**20, 64 * 2**20


class Part(StrEnum):
    """Part of the machine that a piece of the probe's work uses.

    CORE: one core's scalar instructions; PRODUCT: the vector units of all threads; MEMORY: reading what no cache of
    one core holds.
    """

    CORE = "core"
    PRODUCT = "product"
    MEMORY = "memory"


class Probe:
    """Fixed work for each part of the machine; times are seconds of one piece of it, with torch's current threads.

    `now` and `work` (a call for each part) are injected so that the rules are tested on a clock that the test turns.
    """

    def __init__(
        self, *, now: Callable[[], float] = time.perf_counter, work: Mapping[Part, Callable[[], object]] | None = None
    ) -> None:
        self._now = now
        self._work = dict(_fixed_work() if work is None else work)
        end = self._now() + _SETTLING_S
        self.times_s()
        while self._now() < end:
            self.times_s()

    def times_s(self) -> dict[Part, float]:
        """Perform a few pieces of each part; return the least seconds of one.

        The least, as a scheduler that takes the processor away meets some pieces, and a slow machine all of them.
        """
        return {part: self._least_seconds(work) for part, work in self._work.items()}

    def usual_times_s(self) -> dict[Part, float]:
        """Perform the work a few times over; return the median seconds of a piece of each part."""
        return median_times_s([self.times_s() for _ in range(_REPEATS_FOR_BEST)])

    def _least_seconds(self, work: Callable[[], object]) -> float:
        least, begun = math.inf, self._now()
        for _ in repeat(None, _PIECES):
            start = self._now()
            work()
            end = self._now()
            least = min(least, end - start)
            if end - begun > _LONGEST_PART_S:
                break  # on a machine that others use up, it need not be used more
        return least


def median_times_s(readings: Sequence[Mapping[Part, float]]) -> dict[Part, float]:
    """Return the median seconds of each part over `readings`; empty without any."""
    return {part: median(reading[part] for reading in readings) for part in (readings[0] if readings else ())}


def _fixed_work() -> dict[Part, Callable[[], object]]:
    left, right = (torch.ones(_PRODUCT_SIZE, _PRODUCT_SIZE) for _ in range(2))
    out = torch.empty_like(left)
    # Reading goes round a buffer larger than the caches, so that no window is still in one when its turn comes again.
    n_bytes = min(max(4 * last_level_cache_bytes(), _LEAST_BYTES), _MOST_BYTES)
    windows = torch.ones(n_bytes // 4).split(_WINDOW_BYTES // 4)
    turn = 0

    def read_next_window() -> None:
        nonlocal turn
        turn = (turn + 1) % len(windows)
        windows[turn].sum()

    return {
        Part.CORE: _scalar_work,
        Part.PRODUCT: lambda: torch.mm(left, right, out=out),
        Part.MEMORY: read_next_window,
    }


def _scalar_work() -> int:
    value = 1
    for _ in repeat(None, _SCALAR_STEPS):
        value = (value * 5 + 3) & 0xFFFF
    return value
