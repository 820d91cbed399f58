"""Outcome of measuring a point: its state and, where that is ok, its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """State of a measured point; every state but OK has a reason."""

    OK = "ok"
    UNAVAILABLE = "unavailable"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG = "wrong"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"


class Stop(StrEnum):
    """Reason why sampling of a point ended."""

    PRECISION = "precision"
    BUDGET = "budget"


FAILURES = frozenset(State) - {State.OK, State.UNAVAILABLE}


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One stay at a group: built, checked and sampled in a process of its own; all its contenders share measured_at.

    n_samples: how many of the point's samples are this visit's. median_s: their median, seconds per call.
    machine_speed: 1 where the machine ran as fast as it ever did. The rest as in TimingOutcome.
    """

    measured_at: str
    n_samples: int
    median_s: float
    speedup_vs_eager: float | None = None
    device_time_s: float | None = None
    host_time_s: float | None = None
    machine_speed: float | None = None
    disturbed: str | None = None


@dataclass(frozen=True, kw_only=True)
class TimingOutcome:
    """Outcome of timing a point; names, units and nulls are those of the journal's timing line.

    samples_s: of all visits, one after the other.
    """

    state: State
    reason: str | None = None
    disturbed: str | None = None
    provider_detail: str | None = None
    latency_s: float | None = None
    latency_ci_low_s: float | None = None
    latency_ci_high_s: float | None = None
    latency_between_sd_s: float | None = None
    visits: tuple[Visit, ...] = ()
    samples_s: tuple[float, ...] = ()
    calls_per_sample: int | None = None
    stop: str | None = None
    speedup_vs_eager: float | None = None
    speedup_ci_low: float | None = None
    speedup_ci_high: float | None = None
    speedup_between_sd: float | None = None
    minor_faults_per_call: float | None = None
    device_time_s: float | None = None
    device_time_ci_low_s: float | None = None
    device_time_ci_high_s: float | None = None
    host_time_s: float | None = None
    recompile_time_s: float | None = None
    compile_time_cold_s: float | None = None
    time_to_first_call_s: float | None = None
    prepare_time_s: float | None = None
    error_rel: float | None = None


@dataclass(frozen=True, kw_only=True)
class OperatorRow:
    """Calls of one operator, averaged per call of the workload. Times on the host, in seconds."""

    name: str
    count: float
    self_time_s: float
    total_time_s: float
    is_compute: bool


@dataclass(frozen=True, kw_only=True)
class KernelRow:
    """Launches of one kernel, averaged per call of the workload. device_time_s: their sum, in seconds."""

    name: str
    count: float
    device_time_s: float


@dataclass(frozen=True, kw_only=True)
class ProfileOutcome:
    """Outcome of profiling a point, per call; names, units and nulls are those of the journal's profile line.

    operator_count: compute operators, each with what it calls inside; views, allocations and wrappers are not
    counted. operator_time_s: their time on the host, with what they call inside, the least of the profiled calls (CPU
    only). profiled_call_s: least time of a whole profiled call (CPU only). overhead_in: what takes most of the host's
    time outside operators, by name (CPU only). kernel_launches,
    device_time_s: CUDA only. peak_memory_bytes: most memory held at once above what existed before the call.
    unexpected: how the counts differ from what the provider declares (expectations.py), in words. trace: the name of
    the profiler's trace, or None. stacks: folded (stacks.py), in nanoseconds of one call.
    """

    state: State
    reason: str | None = None
    operator_count: float | None = None
    operator_time_s: float | None = None
    profiled_call_s: float | None = None
    overhead_in: str | None = None
    kernel_launches: float | None = None
    device_time_s: float | None = None
    peak_memory_bytes: int | None = None
    expected_operator_count: int | None = None
    expected_kernel_launches: int | None = None
    unexpected: str | None = None
    trace: str | None = None
    operators: tuple[OperatorRow, ...] = ()
    kernels: tuple[KernelRow, ...] = ()
    stacks: tuple[str, ...] = ()
