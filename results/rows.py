"""What the store answers: frozen rows, SI units, the unit in the name; None means not known.

Long because it is a list: one class for each kind of answer, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime


PLAIN_WEIGHTS = "plain"


class PointRow(NamedTuple):
    """One sweep point as one run measured it: everything `show --format json` prints. A tuple: they come by thousands.

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
    compile_time_cold_s: float | None = None

    @property
    def contender(self) -> str:
        """The name of a rival: `fused`, or `fused:packed` for a layout of weights of its own."""
        return self.provider if self.weights == PLAIN_WEIGHTS else f"{self.provider}:{self.weights}"


@dataclass(frozen=True)
class Between:
    """Every number from `least` to `most`, both included; an end that is None is open."""

    least: float | None = None
    most: float | None = None

    def __contains__(self, number: object) -> bool:
        """Whether `number` lies within; what is no number does not."""
        if isinstance(number, bool) or not isinstance(number, int | float):
            return False
        return (self.least is None or self.least <= number) and (self.most is None or number <= self.most)


class PointFilter(TypedDict, total=False):
    """Which points: each axis is one value, a collection of them or a range; one left out or None takes all."""

    project: str | Collection[str] | None
    machine: str | Collection[str] | None
    environment: str | Collection[str] | None
    operation: str | Collection[str] | None
    provider: str | Collection[str] | None
    pass_: str | Collection[str] | None
    dtype: str | Collection[str] | None
    activation: str | Collection[str | None] | None
    batch: int | Collection[int] | Between | None
    hidden: int | Collection[int] | Between | None
    dim: int | Collection[int] | Between | None
    cache: str | Collection[str] | None
    weights: str | Collection[str] | None
    threads: int | Collection[int] | Between | None


class SeriesFilter(TypedDict, total=False):
    """Which series of any suite: one left out or None takes all.

    `parameters`: by name, one value, a collection of values or a range. A number takes the same number however
    it was written; a text takes the same text.
    """

    project: str | Collection[str] | None
    machine: str | Collection[str] | None
    environment: str | Collection[str] | None
    benchmark: str | Collection[str] | None
    metric: str | Collection[str] | None
    unit: str | Collection[str] | None
    version: str | Collection[str] | None
    parameters: Mapping[str, float | bool | str | Collection[float | bool | str | None] | Between | None] | None


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
    """What one call does inside: counts and times per call, operators and kernels by descending time.

    expected_…: what the provider declares; `unexpected`: how the counts differ from it, in words. `trace`: the name
    of a file under traces/, which may have been removed since. Its stacks are asked for apart (stacks_of).
    """

    state: str
    reason: str | None
    measured_at: datetime
    operator_count: float | None
    operator_time_s: float | None
    kernel_launches: float | None
    device_time_s: float | None
    peak_memory_bytes: float | None
    bound: str | None
    expected_operator_count: float | None
    expected_kernel_launches: float | None
    unexpected: str | None
    trace: str | None
    operators: tuple[OperatorRow, ...]
    kernels: tuple[KernelRow, ...]


@dataclass(frozen=True, kw_only=True)
class NeighboursRow:
    """What a profile is compared with. None or empty where nothing was measured.

    previous, next: the same point in the run before and after, on the same machine and environment; the runs
    that did not measure it are passed over. The others are of the same commit's newest run: `providers`, the same
    shape by everybody else, in the order of latency; the same provider at the next smaller and larger batch, and
    at the next smaller and larger hidden (with the dim nearest to the same fraction of it).
    """

    previous: PointRow | None
    next: PointRow | None
    providers: tuple[PointRow, ...]
    smaller_batch: PointRow | None
    larger_batch: PointRow | None
    smaller_hidden: PointRow | None
    larger_hidden: PointRow | None


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

    `n_values`: numbers stored for it, of sweeps and of other projects' asv suites together. `position` counts the
    commits of the history from 1, and `is_orphaned` marks one that a rebase removed; None without a repository.
    """

    project: str
    commit: str
    date: datetime | None
    subject: str | None
    n_runs: int
    n_points: int
    n_values: int
    position: int | None = None
    is_orphaned: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ProjectRow:
    """Whose benchmarks are stored, and how much of them. first_at, last_at: where its history begins and ends."""

    project: str
    has_sweep: bool
    n_benchmarks: int
    n_series: int
    n_commits: int
    n_runs: int
    n_values: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class MachineRow:
    """A machine: what its machine.json says of it, where it measured, and when it was last heard of."""

    machine: str
    details: tuple[tuple[str, str], ...]
    projects: tuple[str, ...]
    environments: tuple[str, ...]
    n_runs: int
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class EnvironmentRow:
    """What benchmarks ran in: what is known of it, on which machines, and when last."""

    environment: str
    details: tuple[tuple[str, str], ...]
    projects: tuple[str, ...]
    machines: tuple[str, ...]
    n_runs: int
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ParameterRow:
    """One parameter of a benchmark: the types and values it has had, sorted; numbers come before texts.

    least, most: of its numbers; None if it has none.
    """

    name: str
    types: tuple[str, ...]
    values: tuple[float | bool | str | None, ...]
    least: float | None
    most: float | None


@dataclass(frozen=True, kw_only=True)
class BenchmarkRow:
    """A benchmark in one version: one metric of an operation of the sweep, or of an asv benchmark.

    `continues`: the version that was declared equal to this one, whose series it goes on with.
    """

    project: str
    benchmark: str
    metric: str
    unit: str
    version: str
    continues: str | None
    interval_level: float
    n_series: int
    parameters: tuple[ParameterRow, ...]


@dataclass(frozen=True, kw_only=True)
class TriageRow:
    """What a person decided about the change of a series at a commit."""

    series_id: int
    commit: str
    decision: str
    note: str | None
    decided_by: str | None
    decided_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class FreshnessRow:
    """When a benchmark was last run on a machine in an environment, whatever came of it.

    `n_commits_behind`: commits of the project's history since then, up to the newest one stored: of all commits
    where git gave positions, else of those stored.
    """

    project: str
    machine: str
    environment: str
    benchmark: str
    commit: str
    commit_date: datetime | None
    measured_at: datetime | None
    n_commits_behind: int


@dataclass(frozen=True, kw_only=True)
class FailureRow:
    """A series that its newest run has no number of: state, and the reason where the file gave one.

    `commit`: the newest. `since`: the first commit of the unbroken row of failures that it ends.
    `first_failed`: the first commit ever at which it failed so or otherwise. `last_ok`: the last commit that had a
    number, None if none ever had.
    """

    series_id: int
    project: str
    machine: str
    environment: str
    benchmark: str
    metric: str
    version: str
    parameters: tuple[ParameterValue, ...]
    state: str
    reason: str | None
    commit: str
    commit_date: datetime | None
    since: str
    since_date: datetime | None
    first_failed: str
    first_failed_date: datetime | None
    last_ok: str | None
    n_runs: int


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
    calls_per_sample: int | None = None


@dataclass(frozen=True, kw_only=True)
class ExecutionRow:
    """When an asv benchmark was run at a commit, and for how long."""

    project: str
    machine: str
    environment: str
    benchmark: str
    version: str
    started_at: datetime | None
    duration_s: float | None
