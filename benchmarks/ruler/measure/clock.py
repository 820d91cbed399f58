"""Clocks for wall time (what a caller waits for), host time and device time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock(Protocol):
    """Source of wall time; injected, so that tests can supply their own."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Return the seconds `calls` back-to-back calls take until their work is done."""

    def timed(self, call: Callable[[], object], *, calls: int) -> Timed:
        """Return what `wall` returns, with the result of the last call; the others are let go as they come."""


class Timed(NamedTuple):
    """Seconds of back-to-back calls, the last one's result, and seconds of what the clock did besides, uncounted."""

    seconds: float
    last_output: object
    uncounted_s: float = 0.0


class CpuClock:
    """Wall clock for the CPU, where a call returns when its work is done."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        return perf_counter()

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Return the seconds `calls` back-to-back calls take."""
        return self.timed(call, calls=calls).seconds

    def timed(self, call: Callable[[], object], *, calls: int) -> Timed:
        """Return the seconds `calls` back-to-back calls take, and the last one's result."""
        # Looked up once: what a call puts in its place times nothing.
        now = perf_counter
        start = now()
        # Two results alive at a time would cost every call a buffer that is not warm.
        for _ in repeat(None, calls - 1):
            call()
        last_output = call()
        return Timed(now() - start, last_output)


class CudaClock:
    """Wall clock for a GPU: enqueue calls back to back, then synchronise once."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        return perf_counter()

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Return the seconds from the first enqueue until the device has finished all `calls` calls."""
        return self.timed(call, calls=calls).seconds

    def timed(self, call: Callable[[], object], *, calls: int) -> Timed:
        """Return the seconds from the first enqueue until all is finished, and the last call's result."""
        now, wait = perf_counter, torch.cuda.synchronize
        wait()
        start = now()
        for _ in repeat(None, calls - 1):
            call()
        last_output = call()
        wait()
        return Timed(now() - start, last_output)


class ColdClock:
    """Wall clock for cold-cache calls: runs `flush`, untimed, before each call."""

    def __init__(self, clock: Clock, flush: Callable[[], object]) -> None:
        self._clock = clock
        self._flush = flush

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        return self._clock.now()

    def wall(self, call: Callable[[], object], *, calls: int) -> float:
        """Return the seconds `calls` calls take, each after an untimed flush."""
        return self.timed(call, calls=calls).seconds

    def timed(self, call: Callable[[], object], *, calls: int) -> Timed:
        """Return the seconds `calls` calls take, each after an untimed flush, and the last one's result."""
        total, uncounted_s, last_output = 0.0, 0.0, None
        for _ in repeat(None, calls):
            last_output = None
            start = self._clock.now()
            self._flush()
            # On a GPU the flush ends in here, before the call begins.
            seconds, last_output, _ = self._clock.timed(call, calls=1)
            uncounted_s += self._clock.now() - start - seconds
            total += seconds
        return Timed(total, last_output, uncounted_s)


@dataclass(frozen=True, kw_only=True)
class EnqueuedTimes:
    """Times of one call enqueued behind a kernel that keeps the stream busy, in seconds."""

    host_time_s: float
    device_time_s: float


class SynchronousCall(Exception):
    """Raised when a call synchronises with the device, so that host and device time cannot be separated."""


def cache_flush(*, n_bytes: int, device: torch.device) -> Callable[[], object]:
    """Return a function that evicts the cache by overwriting `n_bytes` on `device`."""
    buffer = torch.empty(n_bytes, dtype=torch.uint8, device=device)
    return lambda: buffer.add_(1)


_LONGEST_BLOCK_S = 0.5


def _event() -> Any:  # noqa: ANN401 - torch's events are untyped
    return torch.cuda.Event(enable_timing=True)


@cache
def _spins_per_s(device: int) -> float:
    """Measure the cycles per second of torch.cuda._sleep on `device`; not every torch reports its clock."""
    cycles = 20_000_000
    with torch.cuda.device(device):
        start, end = _event(), _event()
        torch.cuda._sleep(cycles)  # noqa: SLF001 - no public one blocks
        start.record()
        torch.cuda._sleep(cycles)  # noqa: SLF001 - the same
        end.record()
        torch.cuda.synchronize()
        return float(cycles / (start.elapsed_time(end) * 1e-3))


def time_behind_blocked_stream(call: Callable[[], object], *, calls: int, block_s: float) -> EnqueuedTimes:
    """Measure host and device time of one call separately, enqueueing while a spinning kernel blocks the stream.

    The device then runs all `calls` calls without waiting for the host. If enqueueing outlasts the block, the
    block is lengthened and the pass repeated, up to half a second; beyond that device_time_s would hold host
    time, so `calls` is halved instead. Raises: SynchronousCall.
    """
    cycles_per_s = _spins_per_s(torch.cuda.current_device())
    while True:
        before, start, end = (_event() for _ in range(3))
        torch.cuda.synchronize()
        before.record()
        torch.cuda._sleep(int(block_s * cycles_per_s))  # noqa: SLF001 - no public one blocks
        start.record()
        enqueue_start = perf_counter()
        for _ in repeat(None, calls):
            call()
        host_s = perf_counter() - enqueue_start
        still_blocked = not start.query()
        end.record()
        torch.cuda.synchronize()
        if still_blocked:
            return EnqueuedTimes(host_time_s=host_s / calls, device_time_s=start.elapsed_time(end) * 1e-3 / calls)
        if block_s < _LONGEST_BLOCK_S:
            block_s = min(_LONGEST_BLOCK_S, 2 * max(block_s, host_s))
        elif calls > 1:
            calls //= 2
        else:
            raise SynchronousCall(
                f"enqueueing one call took over {_LONGEST_BLOCK_S} s; it synchronises with the device"
            )
