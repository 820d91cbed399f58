"""Metrics: label, unit, better direction, exact or noisy; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache


class Direction(StrEnum):
    """Better direction of a metric."""

    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"


class Precision(StrEnum):
    """Way of comparing two values: exact ones exactly, noisy ones statistically."""

    EXACT = "exact"
    NOISY = "noisy"


class Role(StrEnum):
    """Purpose of a metric: `judged` ones can regress, `context` ones explain."""

    JUDGED = "judged"
    CONTEXT = "context"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Quantity: its name in the store, a label for people, its unit, and how it is judged.

    tolerance: relative change of an exact metric that is none; floor: values of one that differ in no way, up to it.
    """

    name: str
    label: str
    unit: str
    direction: Direction
    precision: Precision
    role: Role
    tolerance: float = 0.0
    floor: float = 0.0


def _timing(name: str, label: str, role: Role) -> Metric:
    return Metric(name=name, label=label, unit="s", direction=Direction.LOWER, precision=Precision.NOISY, role=role)


def _count(name: str, label: str, unit: str = "", *, tolerance: float = 0.0) -> Metric:
    return Metric(
        name=name,
        label=label,
        unit=unit,
        direction=Direction.LOWER,
        precision=Precision.EXACT,
        role=Role.JUDGED,
        tolerance=tolerance,
    )


LATENCY = _timing("latency_s", "latency", Role.JUDGED)
# The same inputs give the same error, but for the order of sums that threads share.
ERROR = _count("error_rel", "relative error", tolerance=1.0)
ROUNDING = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
"""Largest relative error of rounding to a dtype: an error below it is none of the computation."""

# Of a journal's `timing` line. Only the latency has an interval; the others are context.
TIMING_METRICS = (
    LATENCY,
    Metric(
        name="speedup_vs_eager",
        label="speedup over eager",
        unit="",
        direction=Direction.HIGHER,
        precision=Precision.NOISY,
        role=Role.CONTEXT,
    ),
    _timing("device_time_s", "device time", Role.CONTEXT),
    _timing("device_time_cold_s", "device time, cold weights", Role.CONTEXT),
    _timing("host_time_s", "host time", Role.CONTEXT),
    _timing("compile_time_s", "compile time", Role.CONTEXT),
    _timing("compile_time_cold_s", "compile time, cold cache", Role.CONTEXT),
    _timing("recompile_time_s", "recompile time", Role.CONTEXT),
    _timing("time_to_first_call_s", "time to first call", Role.CONTEXT),
    _timing("prepare_time_s", "prepare time", Role.CONTEXT),
    ERROR,
    Metric(
        name="minor_faults_per_call",
        label="page faults per call",
        unit="",
        direction=Direction.LOWER,
        precision=Precision.NOISY,
        role=Role.CONTEXT,
    ),
)

# Of a journal's `profile` line.
PROFILE_METRICS = (
    _count("operator_count", "operators per call"),
    _timing("operator_time_s", "operator time", Role.CONTEXT),
    _timing("overhead_s", "overhead per call", Role.CONTEXT),
    _count("kernel_launches", "kernels per call"),
    _count("peak_memory_bytes", "peak memory", "bytes", tolerance=0.01),  # pages and caches of the allocator
)

SWEEP_METRICS = {metric.name: metric for metric in (*TIMING_METRICS, *PROFILE_METRICS)}

SECONDS = {"s", "sec", "second", "seconds", "ms", "us", "ns"}
BYTES = {"byte", "bytes", "b", "kb", "mb", "gb", "kib", "mib", "gib"}
# By asv's types of benchmark.
ASV_LABELS = {"time": "time", "memory": "size", "peakmemory": "peak memory", "track": "value"}


@lru_cache(maxsize=1024)  # asked for every value of a commit
def metric_of(name: str, *, unit: str, dtype: str | None = None) -> Metric:
    """Return the metric `name`: one of the sweep's, of values of `dtype`, or asv's type in `unit`.

    Seconds and bytes are better lower. The direction of a `track_` in any other unit is unknown, and a change of it
    is never a regression.
    """
    if name == ERROR.name:
        return replace(ERROR, floor=ROUNDING.get(dtype or "", ROUNDING["float64"]))
    if name in SWEEP_METRICS:
        return SWEEP_METRICS[name]
    is_time = name == "time" or unit.strip().lower() in SECONDS
    is_memory = name in {"memory", "peakmemory"} or unit.strip().lower() in BYTES
    return Metric(
        name=name,
        label=ASV_LABELS.get(name, name),
        unit=unit,
        direction=Direction.LOWER if is_time or is_memory else Direction.UNKNOWN,
        # Peak memory varies with the allocator; only the sweep's own counts are exact.
        precision=Precision.NOISY,
        role=Role.JUDGED,
    )
