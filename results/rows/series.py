"""Series of any suite and their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from results.rows.inventory import PLAIN_WEIGHTS, contender_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from numpy import bool_, float64
    from numpy.typing import NDArray


class ParameterValue(NamedTuple):
    """Parameter of a benchmark as it was given; a tuple, because points are looked up by theirs."""

    name: str
    value: float | bool | str | None


def parameters_in_words(parameters: Iterable[ParameterValue], *, without: Collection[str] = ()) -> str:
    """Write `batch=64, dtype=float32`, leaving out the names in `without`; empty where there are no parameters."""
    return ", ".join([f"{name}={value}" for name, value in parameters if name not in without])


def contender_of(parameters: Iterable[ParameterValue]) -> str | None:
    """Return the name under which the provider of a sweep point competes; None for other benchmarks."""
    own = dict(parameters)
    return contender_name(str(own["provider"]), str(own.get("weights", PLAIN_WEIGHTS))) if "provider" in own else None


@dataclass(frozen=True, kw_only=True)
class SeriesRow:
    """Series: a metric of an asv benchmark or of the sweep, with all that identifies it."""

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
    """Value of a series in one run; `value` is None unless `state` is "ok", the interval where there is none."""

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
    """Series and its values in the order of their runs, oldest commit first."""

    series: SeriesRow
    values: tuple[HistoryValue, ...]


class RunValues(NamedTuple):
    """Values of a series in the runs that were ok, oldest commit first, as columns: of each its run and its commit.

    is_whole: whether they are all; else they are those of the latest runs of its place.
    """

    series_id: int
    run_ids: tuple[str, ...]
    commits: tuple[str, ...]
    values: tuple[float, ...]
    is_whole: bool = True


class ProcessValue(NamedTuple):
    """Value of a series in one process: a visit, counted from 0 within its run, or a run that made but one.

    The interval is None where no samples tell it. disturbed: what disturbed the process, in words. speed: of the
    machine meanwhile, 1 where it ran as fast as it ever did; None if that is not known.
    """

    run_id: str
    visit: int
    value: float
    ci_low: float | None
    ci_high: float | None
    disturbed: str | None
    speed: float | None = None


class HistoryRun(NamedTuple):
    """Run as a column of a table: its commit, and that commit's place among all of the history, None without git."""

    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    position: int | None
    run_id: str
    measured_at: datetime | None


@dataclass(frozen=True, kw_only=True, eq=False)
class HistoryTable:
    """Values of many series of one place over its runs, the oldest commit first.

    values: [series, runs], in the series' units, NaN where there is none or its state is not "ok". disturbed: [series,
    runs], whether the value comes with a reason that says so. beside: places in the history of the measured
    commits of other branches, which are left out.
    """

    project: str
    machine: str
    environment: str
    series: tuple[SeriesRow, ...]
    runs: tuple[HistoryRun, ...]
    values: NDArray[float64]
    disturbed: NDArray[bool_]
    beside: tuple[int | None, ...] = ()


class SeriesValueRow(NamedTuple):
    """Value at one commit, with its series and samples; a tuple, because there are thousands.

    value: None unless `state` is "ok". reason: why it is not, or what disturbed a value that is. The interval is None
    where the file gave none; asv's is 99 %, the sweep's 95 %. `metrics.metric_of` has the better direction. processes:
    of a run that made several, in order; empty where the run itself is one, or the question does not ask for them.
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
    processes: tuple[ProcessValue, ...] = ()
