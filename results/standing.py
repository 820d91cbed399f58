"""Questions about how things stand: what was measured when, and what fails since when → frozen rows."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.histories import parameters_of_points
from results.joined_series import first_of, joined_series
from results.metrics import LATENCY
from results.records import State
from results.rows import FailureRow, FreshnessRow, ParameterValue, PointFilter, TriageRow
from results.run_order import OLDEST_FIRST
from results.schema import (
    Benchmark,
    Commit,
    Environment,
    Execution,
    Machine,
    Measurement,
    Project,
    Run,
    Series,
    Triage,
    Value,
)
from results.series_filters import names_in
from results.sweep_points import sweep_points
from results.sweeps import newest_runs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from results.store import Store

# `skipped` is what a suite says of its own accord: the benchmark does not apply there.
NOT_OK = tuple(state for state in State if state not in {State.OK, State.SKIPPED})
SERIES_AT_ONCE = 500
DatabaseRow = Any


def freshness(
    store: Store,
    *,
    project: str | Collection[str] | None = None,
    machine: str | Collection[str] | None = None,
    environment: str | Collection[str] | None = None,
) -> list[FreshnessRow]:
    """When each benchmark (of asv) or operation (of the sweep) was last run on each machine and environment.

    Ordered by project, machine, environment, the longest not run first.
    """
    with store.reading() as connection:
        spots = _newest_of_benchmarks(
            connection,
            [
                *names_in(Project.name, project),
                *names_in(Machine.name, machine),
                *names_in(Environment.name, environment),
            ],
        )
        runs = {row.id: row for row in connection.execute(_RUNS_BY_ID, {"run_ids": list({s.run_id for s in spots})})}
        timelines = _timelines(connection, {spot.project_id for spot in spots})
    rows = []
    for spot in spots:
        run = runs[spot.run_id]
        row = FreshnessRow(
            project=run.project,
            machine=run.machine,
            environment=run.environment,
            benchmark=spot.name,
            commit=run.commit,
            commit_date=run.commit_date,
            measured_at=run.started_at,
            n_commits_behind=timelines[spot.project_id].n_after(run.position, run.ordered_at),
        )
        rows.append((run.project, run.machine, run.environment, run.ordered_at, run.position or 0, spot.name, row))
    return [row for *_, row in sorted(rows, key=lambda keyed: keyed[:-1])]


def failures(  # noqa: PLR0913 - what can be chosen
    store: Store,
    *,
    states: Collection[State] = NOT_OK,
    project: str | Collection[str] | None = None,
    machine: str | Collection[str] | None = None,
    environment: str | Collection[str] | None = None,
    benchmark: str | Collection[str] | None = None,
) -> list[FailureRow]:
    """Every series whose newest value is in one of `states`, with since when; ordered by project and benchmark.

    Newest: of an asv benchmark its last run on that machine and environment; of the sweep the point's own. Of a
    point of the sweep only the latency is looked at, whose state is the point's.
    """
    places = [
        *names_in(Project.name, project),
        *names_in(Machine.name, machine),
        *names_in(Environment.name, environment),
    ]
    axes: PointFilter = {
        "project": project,
        "machine": machine,
        "environment": environment,
        "operation": benchmark,
    }
    wanted = [state.value for state in states]
    with store.reading() as connection:
        failing = [
            *_failing_of_suites(connection, [*places, *names_in(Benchmark.name, benchmark)], wanted),
            *connection.execute(_failing_points(newest_runs(sweep_points(connection), axes, commit=None), wanted)),
        ]
        described = _described(connection, failing)
        parameters = parameters_of_points(connection, {row.point_id for row in described.values()})
        stories = _stories(connection, described.values())
    rows = [_failure_row(described[series_id], run_id, stories[series_id], parameters) for series_id, run_id in failing]
    return sorted(rows, key=lambda row: (row.project, row.benchmark, row.machine, row.environment, row.series_id))


class _Spot(NamedTuple):
    """A benchmark at a place, and its newest run there."""

    project_id: int
    machine_id: int
    environment_id: int
    name: str
    run_id: int


def triage(store: Store, *, series_ids: Collection[int] | None = None) -> list[TriageRow]:
    """What people decided about changes (of the chosen series), in the order of series and commits."""
    chosen = [] if series_ids is None else [Triage.series_id.in_(list(series_ids))]
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                Triage.series_id,
                Commit.hash.label("commit"),
                Triage.decision,
                Triage.note,
                Triage.decided_by,
                Triage.decided_at,
            )
            .join(Commit, Commit.id == Triage.commit_id)
            .where(*chosen)
            .order_by(Triage.series_id, Commit.ordered_at, Commit.position, Commit.id)
        )
        return [TriageRow(**row._mapping) for row in rows]  # noqa: SLF001 - its public name


def _newest_of_benchmarks(connection: Connection, places: Sequence[sa.ColumnElement[bool]]) -> list[_Spot]:
    """The newest run of each benchmark at each place, whatever came of it."""
    names: dict[tuple[int, int, int], dict[str, list[int]]] = {}
    rows = connection.execute(
        sa.select(Benchmark.project_id, Series.machine_id, Series.environment_id, Benchmark.name, Benchmark.id)
        .join(Series, Series.benchmark_id == Benchmark.id)
        .join(Project, Project.id == Benchmark.project_id)
        .join(Machine, Machine.id == Series.machine_id)
        .join(Environment, Environment.id == Series.environment_id)
        .where(*places)
        .distinct()
    )
    for *place, name, benchmark_id in rows:
        names.setdefault((place[0], place[1], place[2]), {}).setdefault(name, []).append(benchmark_id)
    return [
        _Spot(*place, name, run_id)
        for place, ids_of in names.items()
        for name, run_id in _newest_at(connection, place, ids_of).items()
    ]


def _newest_at(connection: Connection, place: tuple[int, int, int], ids_of: dict[str, list[int]]) -> dict[str, int]:
    """Walk back from the newest run, in ever larger steps, until every benchmark has been met.

    Most are in the newest run; no database can be told to stop there for those and go on for the others.
    """
    project_id, machine_id, environment_id = place
    where = {"project_id": project_id, "machine_id": machine_id, "environment_id": environment_id}
    run_ids = [row[0] for row in connection.execute(_RUNS, where)][::-1]
    found: dict[str, int] = {}
    name_of = {benchmark_id: name for name, ids in ids_of.items() for benchmark_id in ids}
    start, step = 0, 1
    while start < len(run_ids) and len(found) < len(ids_of):
        chunk = {run_id: i for i, run_id in enumerate(run_ids[start : start + step])}
        wanted = [benchmark_id for benchmark_id, name in name_of.items() if name not in found]
        met = [
            *connection.execute(_EXECUTED, {"run_ids": list(chunk), "benchmark_ids": wanted}),
            *connection.execute(_SWEPT, {"run_ids": list(chunk), "benchmark_ids": wanted}),
        ]
        for run_id, benchmark_id in sorted(met, key=lambda pair: chunk[pair[0]]):
            found.setdefault(name_of[benchmark_id], run_id)
        start, step = start + step, min(2 * step, 128)
    return found


def _failing_of_suites(
    connection: Connection, places: Sequence[sa.ColumnElement[bool]], states: Sequence[str]
) -> list[tuple[int, int]]:
    """(series_id, run_id) of asv's series that have one of `states` in their benchmark's newest run."""
    names_of: dict[int, set[str]] = {}
    for spot in _newest_of_benchmarks(connection, places):
        names_of.setdefault(spot.run_id, set()).add(spot.name)
    return [
        (series_id, run_id)
        for run_id, names in names_of.items()
        for series_id, name in connection.execute(_NOT_OK, {"run_id": run_id, "states": states})
        if name in names
    ]


# What was run in a run: asv's word for it, and for the sweep one metric of its points.
_EXECUTED = sa.select(Execution.run_id, Execution.benchmark_id).where(
    Execution.run_id.in_(sa.bindparam("run_ids", expanding=True)),
    Execution.benchmark_id.in_(sa.bindparam("benchmark_ids", expanding=True)),
)
_SWEPT = (
    sa.select(Measurement.run_id, Benchmark.id)
    .join(Run, Run.id == Measurement.run_id)
    .join(
        Series,
        (Series.point_id == Measurement.point_id)
        & (Series.machine_id == Run.machine_id)
        & (Series.environment_id == Run.environment_id),
    )
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .where(
        Measurement.run_id.in_(sa.bindparam("run_ids", expanding=True)),
        Benchmark.id.in_(sa.bindparam("benchmark_ids", expanding=True)),
        Benchmark.metric == LATENCY.name,
    )
    .distinct()
)
_NOT_OK = (
    sa.select(Value.series_id, Benchmark.name)
    .join(Series, Series.id == Value.series_id)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .where(
        Value.run_id == sa.bindparam("run_id"),
        Value.state.in_(sa.bindparam("states", expanding=True)),
        ~sa.exists().where(Measurement.run_id == Value.run_id, Measurement.point_id == Series.point_id),
    )
)


def _failing_points(newest: sa.Select[int, int], states: Sequence[str]) -> sa.Select[int, int]:
    """(series_id, run_id) of the latency of the sweep's points whose newest measurement has one of `states`."""
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
        .where(Benchmark.metric == LATENCY.name, Value.state.in_(states))
    )


_SERIES = (
    sa.select(
        Series.id,
        Series.point_id,
        Series.machine_id,
        Series.environment_id,
        Benchmark.project_id,
        Project.name.label("project"),
        Machine.name.label("machine"),
        Environment.name.label("environment"),
        Benchmark.name.label("benchmark"),
        Benchmark.metric,
        Benchmark.version,
    )
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .join(Project, Project.id == Benchmark.project_id)
    .join(Machine, Machine.id == Series.machine_id)
    .join(Environment, Environment.id == Series.environment_id)
    .where(Series.id.in_(sa.bindparam("series_ids", expanding=True)))
)


def _described(connection: Connection, failing: Iterable[Sequence[int]]) -> dict[int, DatabaseRow]:
    series_ids = sorted({series_id for series_id, _ in failing})
    return {
        row.id: row
        for start in range(0, len(series_ids), SERIES_AT_ONCE)
        for row in connection.execute(_SERIES, {"series_ids": series_ids[start : start + SERIES_AT_ONCE]})
    }


_RUNS_BY_ID = (
    sa.select(
        Run.id,
        Run.started_at,
        Run.ordered_at,
        Commit.hash.label("commit"),
        Commit.date.label("commit_date"),
        Commit.position,
        Project.name.label("project"),
        Machine.name.label("machine"),
        Environment.name.label("environment"),
    )
    .join(Commit, Commit.id == Run.commit_id)
    .join(Project, Project.id == Run.project_id)
    .join(Machine, Machine.id == Run.machine_id)
    .join(Environment, Environment.id == Run.environment_id)
    .where(Run.id.in_(sa.bindparam("run_ids", expanding=True)))
)


class _Moment(NamedTuple):
    """A run of a series: its commit and what came of it."""

    run_id: int
    commit: str
    commit_date: datetime | None
    state: str
    reason: str | None


# The runs of a place in their order, and beside it the states alone: a history's other columns are not needed.
_RUNS = (
    sa.select(Run.id, Commit.hash, Commit.date)
    .join(Commit, Commit.id == Run.commit_id)
    .where(
        Run.machine_id == sa.bindparam("machine_id"),
        Run.environment_id == sa.bindparam("environment_id"),
        Run.project_id == sa.bindparam("project_id"),
    )
    .order_by(*OLDEST_FIRST)
)
_STATES = (
    sa.select(Value.series_id, Value.run_id, Value.state, Value.reason)
    .where(
        Value.series_id.in_(sa.bindparam("series_ids", expanding=True)),
        Value.run_id.in_(
            sa.select(Run.id).where(
                Run.machine_id == sa.bindparam("machine_id"),
                Run.environment_id == sa.bindparam("environment_id"),
                Run.project_id == sa.bindparam("project_id"),
            )
        ),
    )
)  # fmt: skip


def _stories(connection: Connection, described: Iterable[DatabaseRow]) -> dict[int, list[_Moment]]:
    """What came of each series in every run, oldest first."""
    by_place: dict[tuple[int, int, int], list[int]] = {}
    for row in described:
        by_place.setdefault((row.machine_id, row.environment_id, row.project_id), []).append(row.id)
    joined = joined_series(connection) if by_place else {}
    stories: dict[int, list[_Moment]] = {}
    for place, series_ids in by_place.items():
        where = dict(zip(("machine_id", "environment_id", "project_id"), place, strict=True))
        runs = {run_id: (i, commit, date) for i, (run_id, commit, date) in enumerate(connection.execute(_RUNS, where))}
        asked = {one: first_of(i, joined) for i in series_ids for one in joined.get(i, (i,))}
        found: dict[int, list[tuple[int, _Moment]]] = {}
        every = sorted(asked)
        for start in range(0, len(every), SERIES_AT_ONCE):
            chunk = {**where, "series_ids": every[start : start + SERIES_AT_ONCE]}
            for series_id, run_id, state, reason in connection.execute(_STATES, chunk):
                place_in_order, commit, date = runs[run_id]
                moment = _Moment(run_id, commit, date, state, reason)
                found.setdefault(asked[series_id], []).append((place_in_order, moment))
        for series_id in series_ids:
            in_order = sorted(found[first_of(series_id, joined)], key=lambda pair: pair[0])
            stories[series_id] = [moment for _, moment in in_order]
    return stories


def _failure_row(
    series: DatabaseRow,
    run_id: int,
    story: Sequence[_Moment],
    parameters: Mapping[int, tuple[ParameterValue, ...]],
) -> FailureRow:
    last = next(i for i, moment in enumerate(story) if moment.run_id == run_id)
    has_number = [i for i in range(last) if story[i].state == State.OK]
    since = story[has_number[-1] + 1 if has_number else 0]
    first = next(moment for moment in story if moment.state != State.OK)
    newest = story[last]
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
        last_ok=story[has_number[-1]].commit if has_number else None,
        n_runs=last + 1 - (has_number[-1] + 1 if has_number else 0),
    )


@dataclass(frozen=True)
class _Timeline:
    """A project's commits: the last position git gave, and when each stored one stands in the order."""

    last_position: int | None
    moments: Sequence[datetime]

    def n_after(self, position: int | None, moment: datetime | None) -> int:
        """How many commits came after one."""
        if position is not None and self.last_position is not None:
            return self.last_position - position
        return len(self.moments) - bisect_right(self.moments, moment or _BEFORE_ALL)


_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def _timelines(connection: Connection, project_ids: Collection[int]) -> dict[int, _Timeline]:
    found: dict[int, list[tuple[int | None, datetime]]] = {project_id: [] for project_id in project_ids}
    rows = connection.execute(
        sa.select(Commit.project_id, Commit.position, Commit.ordered_at).where(Commit.project_id.in_(project_ids))
    )
    for project_id, position, ordered_at in rows:
        found[project_id].append((position, ordered_at or _BEFORE_ALL))
    return {
        project_id: _Timeline(
            last_position=max((position for position, _ in commits if position is not None), default=None),
            moments=sorted(moment for _, moment in commits),
        )
        for project_id, commits in found.items()
    }
