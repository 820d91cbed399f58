"""Clocks: how long calls take, as a caller waits for them and as the device works on them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock(Protocol):
    """Wall time. The timing logic knows no other way to time, so that a test can give it a clock of its own."""

    def now(self) -> float:
        """Seconds since some start."""

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Seconds that `calls` calls take, back to back, until their work is done."""


class CpuClock:
    """Wall time on the CPU, where a call returns when its work is done."""

    def now(self) -> float:
        """Seconds since some start."""
        return time.perf_counter()

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Seconds that `calls` calls take, back to back."""
        start = time.perf_counter()
        for _ in repeat(None, calls):
            call()
        return time.perf_counter() - start


class CudaClock:
    """Wall time on a GPU: the calls are enqueued back to back, then awaited once."""

    def now(self) -> float:
        """Seconds since some start."""
        return time.perf_counter()

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Seconds from the first enqueueing until the device is done with all `calls` calls."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in repeat(None, calls):
            call()
        torch.cuda.synchronize()
        return time.perf_counter() - start


class ColdClock:
    """Wall time of calls that find neither weights nor inputs in the cache: `flush` runs untimed before each."""

    def __init__(self, clock: Clock, flush: Callable[[], object]) -> None:
        self._clock = clock
        self._flush = flush

    def now(self) -> float:
        """Seconds since some start."""
        return self._clock.now()

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Seconds that `calls` calls take, each after a flush that is not counted."""
        total = 0.0
        for _ in repeat(None, calls):
            self._flush()
            total += self._clock.wall(call, calls=1)
        return total


@dataclass(frozen=True, kw_only=True)
class Behind:
    """Times of one call enqueued behind a kernel that keeps the stream busy, in seconds."""

    host_time_s: float
    device_time_s: float


class Synchronises(Exception):
    """A call waits for the device, so that host and device time cannot be told apart."""


def cache_flush(*, n_bytes: int, device: torch.device) -> Callable[[], object]:
    """A function that overwrites `n_bytes`, so that what was cached before no longer is."""
    buffer = torch.empty(n_bytes, dtype=torch.uint8, device=device)
    return lambda: buffer.add_(1)


_LONGEST_BLOCK_S = 0.5


def _event() -> Any:  # noqa: ANN401 - torch's events are untyped
    return torch.cuda.Event(enable_timing=True)


@cache
def _spins_per_s(device: int) -> float:
    """How many cycles of torch.cuda._sleep a second has on `device`: measured, for not every torch says its clock."""
    cycles = 20_000_000
    with torch.cuda.device(device):
        start, end = _event(), _event()
        torch.cuda._sleep(cycles)  # noqa: SLF001 - no public one blocks
        start.record()
        torch.cuda._sleep(cycles)  # noqa: SLF001 - the same
        end.record()
        torch.cuda.synchronize()
        return float(cycles / (start.elapsed_time(end) * 1e-3))


def behind_a_blocked_stream(call: Callable[[], object], *, calls: int, block_s: float) -> Behind:
    """Host and device time of one call, apart: the host enqueues while the device is held by a spinning kernel.

    The device then runs all `calls` calls without waiting for the host. If enqueueing outlasts the block, the
    block is lengthened and the pass repeated, up to half a second; beyond that device_time_s would hold host
    time, so `calls` is halved instead. Raises: Synchronises.
    """
    cycles_per_s = _spins_per_s(torch.cuda.current_device())
    while True:
        before, start, end = (_event() for _ in range(3))
        torch.cuda.synchronize()
        before.record()
        torch.cuda._sleep(int(block_s * cycles_per_s))  # noqa: SLF001 - no public one blocks
        start.record()
        enqueue_start = time.perf_counter()
        for _ in repeat(None, calls):
            call()
        host_s = time.perf_counter() - enqueue_start
        still_blocked = not start.query()
        end.record()
        torch.cuda.synchronize()
        if still_blocked:
            return Behind(host_time_s=host_s / calls, device_time_s=start.elapsed_time(end) * 1e-3 / calls)
        if block_s < _LONGEST_BLOCK_S:
            block_s = min(_LONGEST_BLOCK_S, 2 * max(block_s, host_s))
        elif calls > 1:
            calls //= 2
        else:
            raise Synchronises(f"enqueueing one call took over {_LONGEST_BLOCK_S} s; it synchronises with the device")
