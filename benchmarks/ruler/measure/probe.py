"""Probe of the machine's speed: fixed work of about 2 ms, whose time tells a slow machine from slow code."""

from __future__ import annotations

import math
import time
from itertools import repeat
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchmarks.ruler.plan.cpu_caches import last_level_cache_bytes
from benchmarks.ruler.record.part_speed import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PIECES, _LONGEST_PART_S = 4, 0.02
_SETTLING_S, _LOOKED_S = 0.02, 0.5
_SCALAR_STEPS = 2_000
_PRODUCT_SIZE = 128
_WINDOW_BYTES, _LEAST_BYTES, _MOST_BYTES = 2**20, 32 * 2**20, 2**30


class Probe:
    """Fixed work for each part of the machine; times are seconds of one piece of it, with torch's current threads.

    What one thread does is timed by that thread's own processor time, which no waiting for a processor lengthens.
    `now`, `own_now` and `work` (a call for each part) are injected so that the rules are tested on a clock that the
    test turns.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.perf_counter,
        own_now: Callable[[], float] = time.thread_time,
        work: Mapping[Part, Callable[[], object]] | None = None,
    ) -> None:
        self._work = dict(_fixed_work() if work is None else work)
        self._clocks = {part: now if part is Part.PRODUCT and torch.get_num_threads() > 1 else own_now for part in Part}
        end = now() + _SETTLING_S
        self.times_s()
        while now() < end:
            self.times_s()

    def times_s(self) -> dict[Part, float]:
        """Perform a few pieces of each part; return the least seconds of one.

        The least, as an interrupt meets some pieces, and a slow machine all of them.
        """
        return {part: _least_seconds(work, self._clocks[part]) for part, work in self._work.items()}


def usual_best_s(probe: Probe, *, now: Callable[[], float] = time.perf_counter) -> dict[Part, float]:
    """Return the seconds of each part that a fifth of half a second's readings did not exceed: no lucky one's."""
    readings, end = [probe.times_s()], now() + _LOOKED_S
    while now() < end:
        readings.append(probe.times_s())
    return {part: sorted(each[part] for each in readings)[len(readings) // 5] for part in readings[0]}


def _least_seconds(work: Callable[[], object], now: Callable[[], float]) -> float:
    least, begun = math.inf, now()
    for _ in repeat(None, _PIECES):
        start = now()
        work()
        end = now()
        least = min(least, end - start)
        if end - begun > _LONGEST_PART_S:
            break  # on a machine that others use up, it need not be used more
    return least


def median_times_s(readings: Sequence[Mapping[Part, float]]) -> dict[Part, float]:
    """Return the median seconds of each part over `readings`; empty without any."""
    return {part: median(reading[part] for reading in readings) for part in (readings[0] if readings else ())}


def buffer_bytes(cache_bytes: int) -> int:
    """Return the size of the buffer that reading goes round in, for a last-level cache of `cache_bytes`.

    Twice as large, so that no window is still in a cache when its turn comes again, whatever the calls between evict.
    """
    return min(max(2 * cache_bytes, _LEAST_BYTES), _MOST_BYTES)


def _fixed_work() -> dict[Part, Callable[[], object]]:
    # About as much for each thread as for one alone, or most of the time would go to their meeting; of 2 and 3 less.
    size = _PRODUCT_SIZE * round(torch.get_num_threads() ** (1 / 3))
    left, right = (torch.ones(size, size) for _ in range(2))
    out = torch.empty_like(left)
    n_bytes = buffer_bytes(last_level_cache_bytes())
    windows = np.ones((n_bytes // _WINDOW_BYTES, _WINDOW_BYTES // 4), dtype=np.float32)
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
