"""Series whose newest value is not ok, and since when → frozen rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import sqlalchemy as sa
from sqlalchemy.orm import aliased

from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import OLDEST_FIRST, Benchmark, Commit, Measurement, Run, Series, Value
from results.files.records import State
from results.metrics import LATENCY
from results.questions.freshness import RUNS_OF_PLACE, newest_of_benchmarks
from results.questions.histories import SERIES_AT_PLACES
from results.questions.joined_series import first_of, joined_series
from results.questions.sweep_points import sweep_points
from results.questions.sweeps import newest_runs
from results.rows import FailureRow, ParameterValue, PlaceFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.rows import PointFilter
    from results.store import Store

# `skipped` is a suite's own choice: the benchmark does not apply there.
FAILED_STATES = tuple(state.value for state in State if state not in {State.OK, State.SKIPPED})
DatabaseRow = Any


def failures(store: Store, **places: Unpack[PlaceFilter]) -> list[FailureRow]:
    """Return every series whose newest value is not ok, with since when; ordered by project and benchmark.

    Newest: of an asv benchmark its last run on that machine and environment; of the sweep the point's own. Of a
    point of the sweep only the latency is looked at, whose state is the point's.
    """
    with store.reading() as connection:
        failing = [
            *_failing_of_suites(connection, places),
            *connection.execute(_failing_points(newest_runs(sweep_points(connection), cast("PointFilter", places)))),
        ]
        described = _described(connection, failing)
        parameters = parameters_of_points(connection, {row.point_id for row in described.values()})
        courses = _courses(connection, described.values())
        rows = [
            _failure_row(described[series_id], run_id, courses[series_id], parameters) for series_id, run_id in failing
        ]
        rows = _with_other_versions(connection, rows)
    return sorted(rows, key=lambda row: (row.project, row.benchmark, row.machine, row.environment, row.series_id))


def _failing_of_suites(connection: Connection, places: PlaceFilter) -> list[tuple[int, int]]:
    """Return (series_id, run_id) of asv's series that are not ok in their benchmark's newest run."""
    names_of: dict[int, set[str]] = {}
    for newest in newest_of_benchmarks(connection, places):
        names_of.setdefault(newest.run_id, set()).add(newest.name)
    return [
        (series_id, run_id)
        for run_id, names in names_of.items()
        for series_id, name in connection.execute(_FAILING, {"run_id": run_id, "states": FAILED_STATES})
        if name in names
    ]


_FAILING = (
    sa.select(Value.series_id, Benchmark.name)
    .join(Series, Series.id == Value.series_id)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .where(
        Value.run_id == sa.bindparam("run_id"),
        any_of(Value.state, "states"),
        ~sa.exists().where(Measurement.run_id == Value.run_id, Measurement.point_id == Series.point_id),
    )
)


def _failing_points(newest: sa.Select[int, int]) -> sa.Select[int, int]:
    """Select (series_id, run_id) of the latency of the sweep's points whose newest measurement is not ok."""
    spots = newest.cte("newest").prefix_with("MATERIALIZED", dialect="postgresql")
    return (
        sa.select(Value.series_id, Value.run_id)
        .select_from(spots)
        .join(Run, Run.id == spots.c.run_id)
        .join(
            Series,
            (Series.point_id == spots.c.point_id)
            & (Series.machine_id == Run.machine_id)
            & (Series.environment_id == Run.environment_id),
        )
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .join(Value, (Value.run_id == spots.c.run_id) & (Value.series_id == Series.id))
        .where(Benchmark.metric == LATENCY.name, Value.state.in_(FAILED_STATES))
    )


_SERIES = SERIES_AT_PLACES.where(any_of(Series.id, "series_ids"))


def _described(connection: Connection, failing: Iterable[Sequence[int]]) -> dict[int, DatabaseRow]:
    series_ids = {series_id for series_id, _ in failing}
    return {row.id: row for row in connection.execute(_SERIES, {"series_ids": series_ids})}


class _Observation(NamedTuple):
    """State of a series in one run."""

    run_id: int
    commit: str
    commit_date: datetime | None
    state: str
    reason: str | None


# The states alone: a hicourse's other columns are not needed.
_STATES = (
    sa.select(Value.series_id, Value.run_id, Value.state, Value.reason)
    .where(
        any_of(Value.series_id, "series_ids"),
        Value.run_id.in_(
            sa.select(Run.id).where(
                Run.machine_id == sa.bindparam("machine_id"),
                Run.environment_id == sa.bindparam("environment_id"),
                Run.project_id == sa.bindparam("project_id"),
            )
        ),
    )
)  # fmt: skip


def _courses(connection: Connection, described: Iterable[DatabaseRow]) -> dict[int, list[_Observation]]:
    """Return the states of each series in all its runs, oldest first."""
    by_place: dict[tuple[int, int, int], list[int]] = {}
    for row in described:
        by_place.setdefault((row.machine_id, row.environment_id, row.project_id), []).append(row.id)
    joined = joined_series(connection) if by_place else {}
    courses: dict[int, list[_Observation]] = {}
    for place, series_ids in by_place.items():
        where = dict(zip(("machine_id", "environment_id", "project_id"), place, strict=True))
        runs = {
            run_id: (i, commit, date)
            for i, (run_id, commit, date) in enumerate(connection.execute(RUNS_OF_PLACE, where))
        }
        asked = {one: first_of(i, joined) for i in series_ids for one in joined.get(i, (i,))}
        found: dict[int, list[tuple[int, _Observation]]] = {}
        for series_id, run_id, state, reason in connection.execute(_STATES, {**where, "series_ids": asked}):
            standing, commit, date = runs[run_id]
            observation = _Observation(run_id, commit, date, state, reason)
            found.setdefault(asked[series_id], []).append((standing, observation))
        for series_id in series_ids:
            in_order = sorted(found[first_of(series_id, joined)], key=lambda pair: pair[0])
            courses[series_id] = [observation for _, observation in in_order]
    return courses


_THEIRS, _THEIR_BENCHMARK = aliased(Series), aliased(Benchmark)
# By the key of a value, which begins with the run.
_OK_OTHERWISE = (
    sa.select(Series.id, _THEIRS.id, Commit.hash)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .join(
        _THEIR_BENCHMARK,
        (_THEIR_BENCHMARK.project_id == Benchmark.project_id)
        & (_THEIR_BENCHMARK.name == Benchmark.name)
        & (_THEIR_BENCHMARK.metric == Benchmark.metric)
        & (_THEIR_BENCHMARK.id != Benchmark.id),
    )
    .join(
        _THEIRS,
        (_THEIRS.benchmark_id == _THEIR_BENCHMARK.id)
        & (_THEIRS.point_id == Series.point_id)
        & (_THEIRS.machine_id == Series.machine_id)
        & (_THEIRS.environment_id == Series.environment_id),
    )
    .join(
        Run,
        (Run.machine_id == Series.machine_id)
        & (Run.environment_id == Series.environment_id)
        & (Run.project_id == Benchmark.project_id),
    )
    .join(Value, (Value.run_id == Run.id) & (Value.series_id == _THEIRS.id) & (Value.state == State.OK.value))
    .join(Commit, Commit.id == Run.commit_id)
    .where(any_of(Series.id, "series_ids"))
    .order_by(*OLDEST_FIRST)
)


def _with_other_versions(connection: Connection, rows: Sequence[FailureRow]) -> list[FailureRow]:
    """Return the rows, those that never had a value with the newest one of another ruler or version."""
    never = {row.series_id for row in rows if row.last_ok is None}
    if not never:
        return list(rows)
    values = connection.execute(_OK_OTHERWISE, {"series_ids": never})
    found = {ours: (theirs, commit) for ours, theirs, commit in values}  # the newest is the last
    others = ((row, *found.get(row.series_id, (None, None))) for row in rows)
    return [replace(row, other_series_id=theirs, last_ok_otherwise=commit) for row, theirs, commit in others]


def _failure_row(
    series: DatabaseRow,
    run_id: int,
    course: Sequence[_Observation],
    parameters: Mapping[int, tuple[ParameterValue, ...]],
) -> FailureRow:
    last = next(i for i, one in enumerate(course) if one.run_id == run_id)
    has_number = [i for i in range(last) if course[i].state == State.OK]
    since = course[has_number[-1] + 1 if has_number else 0]
    first = next(one for one in course if one.state != State.OK)
    newest = course[last]
    return FailureRow(
        series_id=series.id,
        project=series.project,
        machine=series.machine,
        environment=series.environment,
        benchmark=series.benchmark,
        metric=series.metric,
        version=series.version,
        parameters=parameters.get(series.point_id, ()),
        state=newest.state,
        reason=newest.reason,
        commit=newest.commit,
        commit_date=newest.commit_date,
        since=since.commit,
        since_date=since.commit_date,
        first_failed=first.commit,
        first_failed_date=first.commit_date,
        last_ok=course[has_number[-1]].commit if has_number else None,
        n_runs=last + 1 - (has_number[-1] + 1 if has_number else 0),
    )
