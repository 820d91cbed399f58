"""What the store answers: frozen rows, SI units, the unit in the name; None means not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class PointRow:
    """One sweep point as one run measured it: everything `show --format json` prints.

    Every number is None unless `state` is "ok" (`error_rel` is also given when "wrong").
    latency: median seconds of one call, with its 95 % interval. `percent_of_floor`: 100 means as fast as the
    machine allows. `point_id` and `run_id` together find the point's profile.
    """

    project: str
    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    machine: str
    environment: str
    ruler_version: str
    operation: str
    provider: str
    pass_: str
    dtype: str
    activation: str | None
    batch: int
    hidden: int
    dim: int
    cache: str
    weights: str
    threads: int
    state: str
    reason: str | None
    disturbed: str | None
    provider_detail: str | None
    latency_s: float | None
    latency_ci_low_s: float | None
    latency_ci_high_s: float | None
    sample_count: int | None
    device_time_s: float | None
    host_time_s: float | None
    operator_time_s: float | None
    kernel_launches: float | None
    operator_count: float | None
    peak_memory_bytes: float | None
    rows_per_s: float | None
    tflop_per_s: float | None
    gb_per_s: float | None
    floor_s: float | None
    percent_of_floor: float | None
    speedup_vs_eager: float | None
    speedup_ci_low: float | None
    speedup_ci_high: float | None
    bound: str | None
    compile_time_s: float | None
    prepare_time_s: float | None
    error_rel: float | None
    run_id: str
    point_id: int
    measured_at: datetime


class PointFilter(TypedDict, total=False):
    """Which points: each axis is one value or a collection of them; an axis left out or None takes all."""

    machine: str | Collection[str] | None
    environment: str | Collection[str] | None
    operation: str | Collection[str] | None
    provider: str | Collection[str] | None
    pass_: str | Collection[str] | None
    dtype: str | Collection[str] | None
    activation: str | Collection[str] | None
    batch: int | Collection[int] | None
    hidden: int | Collection[int] | None
    dim: int | Collection[int] | None
    cache: str | Collection[str] | None
    weights: str | Collection[str] | None
    threads: int | Collection[int] | None


@dataclass(frozen=True, kw_only=True)
class OperationChoices:
    """The axis values one operation has been measured at, each sorted; `shapes` are (hidden, dim)."""

    operation: str
    machines: tuple[str, ...]
    environments: tuple[str, ...]
    providers: tuple[str, ...]
    passes: tuple[str, ...]
    dtypes: tuple[str, ...]
    activations: tuple[str | None, ...]
    batches: tuple[int, ...]
    hiddens: tuple[int, ...]
    shapes: tuple[tuple[int, int], ...]
    caches: tuple[str, ...]
    weights: tuple[str, ...]
    threads: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SweepChoices:
    """Everything selectors need. `operations` is empty when no journal has been ingested yet."""

    operations: tuple[OperationChoices, ...]

    def of(self, operation: str) -> OperationChoices | None:
        """The choices of `operation`; None if it was never measured."""
        return next((choices for choices in self.operations if choices.operation == operation), None)


@dataclass(frozen=True, kw_only=True)
class OperatorRow:
    """One operator of a profile, per call; times on the host in seconds."""

    name: str
    count: float
    self_time_s: float | None
    total_time_s: float | None
    is_compute: bool


@dataclass(frozen=True, kw_only=True)
class KernelRow:
    """One device kernel of a profile, per call."""

    name: str
    count: float
    device_time_s: float | None


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """What one call does inside: counts and times per call, operators and kernels by descending time."""

    state: str
    reason: str | None
    measured_at: datetime
    operator_count: float | None
    operator_time_s: float | None
    kernel_launches: float | None
    device_time_s: float | None
    peak_memory_bytes: float | None
    bound: str | None
    operators: tuple[OperatorRow, ...]
    kernels: tuple[KernelRow, ...]


@dataclass(frozen=True, kw_only=True)
class WinnerRow:
    """Who is fastest at one shape. `winner`: the point of the least latency; `runner_up`: the next, if any.

    `margin`: the runner-up's latency over the winner's. `is_clear`: their intervals do not touch, so that noise
    alone did not choose. `eager`: the eager point, if measured.
    """

    winner: PointRow
    runner_up: PointRow | None
    eager: PointRow | None
    margin: float | None
    is_clear: bool


@dataclass(frozen=True, kw_only=True)
class CommitRow:
    """A commit the store knows. `n_points`: sweep points measured there, in any state, over all runs.

    `n_values`: numbers stored for it, of sweeps and of other projects' asv suites together.
    """

    project: str
    commit: str
    date: datetime | None
    subject: str | None
    n_runs: int
    n_points: int
    n_values: int


@dataclass(frozen=True, kw_only=True)
class ParameterValue:
    """One parameter of a benchmark as it was given: `value` is an int, float, bool, None or text."""

    name: str
    value: float | bool | str | None


@dataclass(frozen=True, kw_only=True)
class SeriesRow:
    """What stays the same along a series: any metric of any asv suite or of our own sweep."""

    series_id: int
    project: str
    machine: str
    environment: str
    benchmark: str
    metric: str
    unit: str
    version: str
    interval_level: float
    parameters: tuple[ParameterValue, ...]


class HistoryValue(NamedTuple):
    """One value along a series. `value` is None unless `state` is "ok"; the interval where there is none."""

    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    run_id: str
    measured_at: datetime | None
    state: str
    reason: str | None
    value: float | None
    ci_low: float | None
    ci_high: float | None
    q25: float | None
    q75: float | None
    sample_count: int | None


@dataclass(frozen=True, kw_only=True)
class SeriesHistory:
    """A series and its values in the order of their runs, oldest commit first."""

    series: SeriesRow
    values: tuple[HistoryValue, ...]


@dataclass(frozen=True, kw_only=True)
class SeriesValueRow:
    """One value of one series: any metric of any asv suite or of our own sweep.

    `value` is None unless `state` is "ok"; `reason` says why it is not, or what disturbed a value that is.
    Lower, higher or unknown is better: see `metrics.metric_of`.
    The interval is None where the file gave none; asv's is 99 %, the sweep's 95 %.
    """

    series_id: int
    project: str
    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    machine: str
    environment: str
    benchmark: str
    metric: str
    unit: str
    version: str
    parameters: tuple[ParameterValue, ...]
    state: str
    reason: str | None
    value: float | None
    ci_low: float | None
    ci_high: float | None
    q25: float | None
    q75: float | None
    sample_count: int | None
    samples: tuple[float, ...] | None
    run_id: str
    measured_at: datetime | None
