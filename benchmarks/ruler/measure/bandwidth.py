"""Measure how fast bytes move, by the size of the data they lie in: from the smallest cache to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.best_rates import Trial
from benchmarks.ruler.measure.clock import CpuClock, time_behind_blocked_stream
from benchmarks.ruler.measure.conditions import available_memory_bytes
from benchmarks.ruler.plan.cpu_caches import last_level_cache_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COPY = "copy_bytes_per_s"
BANDWIDTH = "bandwidth_bytes_per_s."
_LARGEST = 2**30
# Of a thread's share at the smallest size: below a first-level cache, above what a loop costs to begin.
_LEAST_SHARE = 2**14
# A sample moves as much as takes about half a millisecond at a core's fastest.
_BYTES_OF_A_SAMPLE = 2**25
_MOST_CALLS = 64
_VALUES = 2**18


def trials_on_cpu(*, n_threads: int) -> Iterator[Trial]:
    """Yield three ways to move the data of every size: reading it, changing it in place, copying a half to the other.

    Sizes double from 16 KiB a thread to 6 times the last level cache, at most 1 GiB or an eighth of the free memory. A
    change in place reads and writes each byte once, a copy reads one half and writes the other; what a cache reads
    beforehand in order to write is not counted. All memory is written before anything is timed.
    """
    sizes = sizes_on_cpu(n_threads, last_level_cache=last_level_cache_bytes(), free=available_memory_bytes())
    data = _values(sizes[-1], torch.device("cpu"))
    for size in sizes:
        yield from _trials_of_size(data, size, n_threads=n_threads, is_largest=size == sizes[-1])


def _trials_of_size(data: torch.Tensor, size: int, *, n_threads: int, is_largest: bool) -> Iterator[Trial]:
    clock = CpuClock()
    n_passes = max(1, _BYTES_OF_A_SAMPLE * n_threads // size)
    # One dispatch reads the data over and over: a view repeats it without a copy, and each thread has its share.
    share = size // 4 // n_threads
    read = data[: share * n_threads].view(n_threads, 1, share).expand(-1, n_passes, -1)
    whole, source, target = _halves(data, size)
    name = f"{BANDWIDTH}{size}"
    n_read = 4 * share * n_threads * n_passes
    yield Trial(name, n_read, lambda: clock.wall(lambda: read.sum((1, 2)), calls=1))
    calls = min(n_passes, _MOST_CALLS)
    yield Trial(name, 2 * size * calls, lambda: clock.wall(lambda: whole.mul_(1.0), calls=calls))
    copy = Trial(name, size * calls, lambda: clock.wall(lambda: target.copy_(source), calls=calls))
    yield copy
    if is_largest:
        yield copy._replace(quantity=COPY)


def _halves(data: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    whole, half = data[: size // 4], size // 8
    return whole, whole[:half], whole[half:]


def sizes_on_cpu(n_threads: int, *, last_level_cache: int, free: int | None) -> list[int]:
    """Return the working sets to measure, in bytes: powers of two."""
    smallest = _power_of_two(_LEAST_SHARE * n_threads)
    largest = _power_of_two(min(6 * last_level_cache, _LARGEST))
    if free is not None:
        largest = min(largest, _power_of_two(free // 8 + 1) // 2)
    sizes = [smallest]
    while sizes[-1] < largest:
        sizes.append(2 * sizes[-1])
    return sizes


def trials_on_cuda(device: torch.device, *, launch_s: float) -> Iterator[Trial]:
    """Yield two ways to move the data of every size, in place and copied: from an eighth of the L2 to 1 GiB or less.

    Kernels run behind a blocked stream, so that no host time is in it; the launch of each, which a floor adds of its
    own, is taken off.
    """
    smallest = _power_of_two(int(torch.cuda.get_device_properties(device).L2_cache_size) // 8)
    free, _ = torch.cuda.mem_get_info(device)
    largest = max(smallest, min(_LARGEST, _power_of_two(free // 8 + 1) // 2))
    data = _values(largest, device)
    size = smallest
    while size <= largest:
        yield from _trials_of_size_on_cuda(data, size, launch_s=launch_s, is_largest=size == largest)
        size *= 2


def _trials_of_size_on_cuda(data: torch.Tensor, size: int, *, launch_s: float, is_largest: bool) -> Iterator[Trial]:
    whole, source, target = _halves(data, size)
    calls = max(3, min(50, _LARGEST // size))

    def without_launch(call: Callable[[], object]) -> float:
        seconds = time_behind_blocked_stream(call, calls=calls, block_s=0.01).device_time_s
        return max(seconds - launch_s, seconds / 2)

    yield Trial(f"{BANDWIDTH}{size}", 2 * size, lambda: without_launch(lambda: whole.mul_(1.0)))
    copy = Trial(f"{BANDWIDTH}{size}", size, lambda: without_launch(lambda: target.copy_(source)))
    yield copy
    if is_largest:
        yield copy._replace(quantity=COPY)


def _values(n_bytes: int, device: torch.device) -> torch.Tensor:
    """Return `n_bytes` of N(0, 1), repeated: no page is without content, and drawing takes no second."""
    data = torch.empty(n_bytes // 4, device=device)
    drawn = torch.randn(min(_VALUES, data.numel()), device=device)
    data[: data.numel() // drawn.numel() * drawn.numel()].view(-1, drawn.numel()).copy_(drawn)
    return data


def _power_of_two(at_least: int) -> int:
    return 1 << max(0, at_least - 1).bit_length()
