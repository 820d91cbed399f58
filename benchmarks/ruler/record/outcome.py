"""Outcome of measuring a point: its state and, where that is ok, its numbers."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


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

    n_samples: how many of the point's samples are this visit's. median_s: their median, seconds per call. disturbed:
    each cause once, with its numbers, `; ` between them.
    machine_speed: 1 where the machine ran as fast as it ever did; a quarter of the visit it was slower.
    slow_quarter_s: seconds that a piece of the probe's work then took, by those parts of the machine that the calls
    use. The rest as in TimingOutcome.
    """

    measured_at: str
    n_samples: int
    median_s: float
    calls_per_sample: int | None = None
    minor_faults_per_call: float | None = None
    speedup_vs_eager: float | None = None
    device_time_s: float | None = None
    device_time_cold_s: float | None = None
    host_time_s: float | None = None
    machine_speed: float | None = None
    slow_quarter_s: Mapping[str, float] = field(default_factory=dict)
    disturbed: str | None = None


@dataclass(frozen=True, kw_only=True)
class TimingOutcome:
    """Outcome of timing a point; names, units and nulls are those of the journal's timing line.

    samples_s: of all visits, one after the other. visits, samples_s: of a point that failed at a later visit, those
    before it.
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
    device_time_cold_s: float | None = None
    device_time_cold_ci_low_s: float | None = None
    device_time_cold_ci_high_s: float | None = None
    host_time_s: float | None = None
    recompile_time_s: float | None = None
    compile_time_cold_s: float | None = None
    time_to_first_call_s: float | None = None
    prepare_time_s: float | None = None
    error_rel: float | None = None


def is_out_of_memory(text: str) -> bool:
    """Tell whether an error's type and message say that there was no memory left."""
    return "can't allocate memory" in text or "out of memory" in text.lower() or text.startswith("MemoryError")


def causes_together(texts: Iterable[str]) -> str | None:
    """Return what disturbed several stretches or visits as one text, each cause once; None without any.

    Numbers and all: whoever reads the record tells the worst of causes that differ in these alone.
    """
    return "; ".join(dict.fromkeys(cause for text in texts for cause in text.split("; "))) or None


@dataclass(frozen=True, kw_only=True)
class OperatorRow:
    """Calls of one operator, averaged per call of the workload. Times on the host, in seconds.

    inputs: each distinct list of inputs, `float32[64] float32[16,256]`, the most frequent first. allocated_bytes,
    freed_bytes: by itself, without what it calls. min_bytes: the least that its calls must read and write
    (operator_traffic.py), or min_bytes_reason, why that is not known.
    outermost: of `count`, the calls that count as compute operators of their own, inside no other; None where an older
    ruler did not tell.
    """

    name: str
    count: float
    self_time_s: float
    total_time_s: float
    is_compute: bool
    inputs: tuple[str, ...] = ()
    allocated_bytes: float | None = None
    freed_bytes: float | None = None
    min_bytes: float | None = None
    min_bytes_reason: str | None = None
    outermost: float | None = None


@dataclass(frozen=True, kw_only=True)
class KernelRow:
    """Launches of one kernel, averaged per call of the workload. device_time_s: their sum, in seconds."""

    name: str
    count: float
    device_time_s: float


@dataclass(frozen=True, kw_only=True)
class GapRow:
    """Stretch of a call in which the device did nothing, between two activities by their names."""

    duration_s: float
    after: str
    before: str


class RuntimeKind(StrEnum):
    """What the host asks of the device's runtime."""

    LAUNCH = "launch"
    MEMCPY = "memcpy"
    MEMSET = "memset"
    SYNCHRONISE = "synchronise"
    OCCUPANCY = "occupancy"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class RuntimeCallRow:
    """Calls of one function of the device's runtime or driver, per call of the workload; the host's time in them."""

    name: str
    kind: RuntimeKind
    count: float
    time_s: float


@dataclass(frozen=True, kw_only=True)
class ProfileOutcome:
    """Outcome of profiling a point, per call; names, units and nulls are those of the journal's profile line.

    operator_count: compute operators, each with what it calls inside; views, allocations and wrappers are not
    counted. operator_time_s: their time on the host, with what they call inside, the least of the profiled calls (CPU
    only). profiled_call_s: least time of a whole profiled call (CPU only). overhead_in: what takes most of the host's
    time outside operators, by name; overhead_parts: that time, in seconds by name (CPU only). kernel_launches,
    device_time_s: CUDA only. peak_memory_bytes: most memory held at once above what existed before the call.
    compilations: of torch.compile; none are expected of a call that is warm. expected_…: by what the provider declares
    (expectation/): bytes that its operators read and write, time at the machine's ceilings. unexpected: how what ran
    differs, in words. trace: the name of the profiler's trace, or None. stacks: folded (stacks.py), in nanoseconds of
    one call.

    From a second pass, which records shapes and memory as well: allocated_bytes, freed_bytes: of the device that
    computes, inside operators or between them. operators_min_bytes: sum of the computing operators' min_bytes.
    device_busy_s: time in which the device did anything; gap_count, gap_time_s, longest_gap_s: of the stretches between
    in which it did nothing (CUDA only); gaps: the longest of these. runtime_calls: CUDA only, without the ruler's own
    synchronisation. missing: why one of these, or of what was
    expected, is null, by its name.
    """

    state: State
    reason: str | None = None
    operator_count: float | None = None
    operator_time_s: float | None = None
    profiled_call_s: float | None = None
    overhead_in: str | None = None
    overhead_parts: Mapping[str, float] = field(default_factory=dict)
    kernel_launches: float | None = None
    device_time_s: float | None = None
    peak_memory_bytes: int | None = None
    expected_operator_count: int | None = None
    expected_kernel_launches: int | None = None
    expected_bytes: int | None = None
    expected_time_s: float | None = None
    compilations: float | None = None
    unexpected: str | None = None
    trace: str | None = None
    operators: tuple[OperatorRow, ...] = ()
    kernels: tuple[KernelRow, ...] = ()
    stacks: tuple[str, ...] = ()
    allocated_bytes: float | None = None
    freed_bytes: float | None = None
    operators_min_bytes: float | None = None
    device_busy_s: float | None = None
    gap_count: float | None = None
    gap_time_s: float | None = None
    longest_gap_s: float | None = None
    gaps: tuple[GapRow, ...] = ()
    runtime_calls: tuple[RuntimeCallRow, ...] | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
