"""Host and device time of a call on a GPU, apart: on warm weights, and on weights that no cache holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.clock import SynchronousCall, time_behind_blocked_stream
from benchmarks.ruler.measure.statistics import median_interval
from benchmarks.ruler.worker.cold_weights import TIMES_THE_CACHE, cold_weights, rotating_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.record.outcome import TimingOutcome

# Of one pass behind a blocked stream: as many calls as take this long on the device, within reason.
_BEHIND_S, _LEAST_CALLS, _MOST_CALLS = 0.02, 5, 50
_BEHIND_PASSES, _BLOCK_S = 9, 0.01


def with_device_time(outcome: TimingOutcome, call: Callable[[], object]) -> TimingOutcome:
    """Return `outcome` with the host and device time of a call; as it is if the call synchronises."""
    calls = max(_LEAST_CALLS, min(_MOST_CALLS, int(_BEHIND_S / (outcome.latency_s or _BEHIND_S))))
    try:
        passes = [time_behind_blocked_stream(call, calls=calls, block_s=_BLOCK_S) for _ in range(_BEHIND_PASSES)]
    except SynchronousCall:
        return outcome  # it has a wall time; the others are not known
    device_time = median_interval([one.device_time_s for one in passes])
    return replace(
        outcome,
        device_time_s=device_time.median,
        device_time_ci_low_s=device_time.low,
        device_time_ci_high_s=device_time.high,
        host_time_s=median_interval([one.host_time_s for one in passes]).median,
    )


def with_cold_device_time(
    outcome: TimingOutcome,
    call: Callable[[], object],
    function: Callable[[torch.Tensor], torch.Tensor],
    *,
    cache_bytes: int,
) -> TimingOutcome:
    """Return `outcome` with the device time of a call on weights that a cache of `cache_bytes` does not hold.

    function: what `call` calls; if it fetches no parameters, or trains them, the outcome is as it was. Where one set of
    weights is several times the cache, they are cold at every call, and the time is known.
    """
    parameters = rotating_parameters(function)
    if not parameters or outcome.device_time_s is None or any(each.requires_grad for each in parameters):
        return outcome
    cold = outcome
    if sum(each.numel() * each.element_size() for each in parameters) < TIMES_THE_CACHE * cache_bytes:
        nothing = replace(outcome, device_time_s=None, device_time_ci_low_s=None, device_time_ci_high_s=None)
        with cold_weights(call, parameters, cache_bytes=cache_bytes) as on_cold_weights:
            cold = with_device_time(nothing, on_cold_weights)
    return replace(
        outcome,
        device_time_cold_s=cold.device_time_s,
        device_time_cold_ci_low_s=cold.device_time_ci_low_s,
        device_time_cold_ci_high_s=cold.device_time_ci_high_s,
    )


def l2_bytes(device: torch.device) -> int:
    """Return the size of a GPU's L2 cache in bytes."""
    return int(torch.cuda.get_device_properties(device).L2_cache_size)
