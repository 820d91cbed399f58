"""Newest runs of benchmarks, and points left behind at older commits → frozen rows."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, cast

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import (
    OLDEST_FIRST,
    Benchmark,
    Commit,
    Environment,
    Execution,
    Machine,
    Measurement,
    Project,
    Run,
    Series,
)
from results.metrics import LATENCY
from results.questions.series_filters import names_in
from results.questions.sweep_points import sweep_points
from results.questions.sweeps import newest_runs
from results.rows import FreshnessRow, PlaceFilter

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.rows import PointFilter
    from results.store import Store

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def freshness(store: Store, **places: Unpack[PlaceFilter]) -> list[FreshnessRow]:
    """Return when each asv benchmark and each operation of the sweep was last run on each machine and environment.

    Ordered by project, machine, environment, the longest not run first.
    """
    with store.reading() as connection:
        newest = newest_of_benchmarks(connection, places)
        commits_of_points = _commits_of_points(connection, places)
        run_ids = {"run_ids": {one.run_id for one in newest}}
        runs = {row.id: row for row in connection.execute(_RUNS_BY_ID, run_ids)}
        ended: dict[int, datetime] = {row.run_id: row.ended for row in connection.execute(_LAST_MEASURED, run_ids)}
        timelines = _timelines(connection, {one.project_id for one in newest})
    rows = []
    for one in newest:
        run = runs[one.run_id]
        commits = commits_of_points.get((one.project_id, one.machine_id, one.environment_id, one.name))
        row = FreshnessRow(
            project=run.project,
            machine=run.machine,
            environment=run.environment,
            benchmark=one.name,
            commit=run.commit,
            commit_date=run.commit_date,
            commit_subject=run.commit_subject,
            measured_at=ended.get(one.run_id, run.started_at),
            n_commits_behind=timelines[one.project_id].n_after(run.position, run.ordered_at),
            n_points=None if commits is None else commits.total(),
            n_stale_points=None if commits is None else commits.total() - commits[run.commit_id],
        )
        rows.append((run.project, run.machine, run.environment, run.ordered_at, run.position or 0, one.name, row))
    return [row for *_, row in sorted(rows, key=lambda keyed: keyed[:-1])]


class NewestRun(NamedTuple):
    """Newest run of an asv benchmark or operation on a machine and environment, whatever came of it."""

    project_id: int
    machine_id: int
    environment_id: int
    name: str
    run_id: int


def newest_of_benchmarks(connection: Connection, places: PlaceFilter) -> list[NewestRun]:
    """Return the newest run of each benchmark on each machine and environment, whatever came of it."""
    names: dict[tuple[int, int, int], dict[str, list[int]]] = {}
    rows = connection.execute(
        sa.select(Benchmark.project_id, Series.machine_id, Series.environment_id, Benchmark.name, Benchmark.id)
        .join(Series, Series.benchmark_id == Benchmark.id)
        .join(Project, Project.id == Benchmark.project_id)
        .join(Machine, Machine.id == Series.machine_id)
        .join(Environment, Environment.id == Series.environment_id)
        .where(*conditions_on_places(places))
        .distinct()
    )
    for *place, name, benchmark_id in rows:
        names.setdefault((place[0], place[1], place[2]), {}).setdefault(name, []).append(benchmark_id)
    return [
        NewestRun(*place, name, run_id)
        for place, ids_of in names.items()
        for name, run_id in _newest_at(connection, place, ids_of).items()
    ]


def _newest_at(connection: Connection, place: tuple[int, int, int], ids_of: dict[str, list[int]]) -> dict[str, int]:
    """Walk back from the newest run in ever larger steps until every benchmark has been met: most are in the newest."""
    project_id, machine_id, environment_id = place
    where = {"project_id": project_id, "machine_id": machine_id, "environment_id": environment_id}
    run_ids = [row[0] for row in connection.execute(RUNS_OF_PLACE, where)][::-1]
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


# Oldest first.
RUNS_OF_PLACE = (
    sa.select(Run.id, Commit.hash, Commit.date)
    .join(Commit, Commit.id == Run.commit_id)
    .where(
        Run.machine_id == sa.bindparam("machine_id"),
        Run.environment_id == sa.bindparam("environment_id"),
        Run.project_id == sa.bindparam("project_id"),
    )
    .order_by(*OLDEST_FIRST)
)
# asv names what it ran; of the sweep one metric of the points stands for it.
_EXECUTED = sa.select(Execution.run_id, Execution.benchmark_id).where(
    any_of(Execution.run_id, "run_ids"),
    any_of(Execution.benchmark_id, "benchmark_ids"),
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
        any_of(Measurement.run_id, "run_ids"),
        any_of(Benchmark.id, "benchmark_ids"),
        Benchmark.metric == LATENCY.name,
    )
    .distinct()
)


def conditions_on_places(places: PlaceFilter) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for a query that has project, machine and environment joined."""
    return [
        *names_in(Project.name, places.get("project")),
        *names_in(Machine.name, places.get("machine")),
        *names_in(Environment.name, places.get("environment")),
    ]


def _commits_of_points(connection: Connection, places: PlaceFilter) -> dict[tuple[int, int, int, str], Counter[int]]:
    """Count the points of each operation by the commit of their newest run, on each machine and environment."""
    points = sweep_points(connection)
    found: dict[tuple[int, int, int, str], Counter[int]] = {}
    newest = (
        newest_runs(points, cast("PointFilter", places)).cte("newest").prefix_with("MATERIALIZED", dialect="postgresql")
    )
    rows = connection.execute(
        sa.select(newest.c.point_id, Run.project_id, Run.machine_id, Run.environment_id, Run.commit_id)
        .select_from(newest)
        .join(Run, Run.id == newest.c.run_id)
    )
    for point_id, *place, commit_id in rows:
        key = (place[0], place[1], place[2], points[point_id].operation)
        found.setdefault(key, Counter())[commit_id] += 1
    return found


_RUNS_BY_ID = (
    sa.select(
        Run.id,
        Run.started_at,
        Run.ordered_at,
        Commit.hash.label("commit"),
        Run.commit_id,
        Commit.date.label("commit_date"),
        Commit.subject.label("commit_subject"),
        Commit.position,
        Project.name.label("project"),
        Machine.name.label("machine"),
        Environment.name.label("environment"),
    )
    .join(Commit, Commit.id == Run.commit_id)
    .join(Project, Project.id == Run.project_id)
    .join(Machine, Machine.id == Run.machine_id)
    .join(Environment, Environment.id == Run.environment_id)
    .where(any_of(Run.id, "run_ids"))
)

# A sweep goes on for hours after its run began, and is gone on with on other days.
_LAST_MEASURED = (
    sa.select(Measurement.run_id, sa.func.max(Measurement.measured_at).label("ended"))
    .where(any_of(Measurement.run_id, "run_ids"))
    .group_by(Measurement.run_id)
)


@dataclass(frozen=True)
class _Timeline:
    """Commits of a project: the last position git gave, and the moments that order the stored ones."""

    last_position: int | None
    moments: Sequence[datetime]

    def n_after(self, position: int | None, moment: datetime | None) -> int:
        """Count the commits after one."""
        if position is not None and self.last_position is not None:
            return self.last_position - position
        return len(self.moments) - bisect_right(self.moments, moment or _BEFORE_ALL)


def _timelines(connection: Connection, project_ids: Collection[int]) -> dict[int, _Timeline]:
    found: dict[int, list[tuple[int | None, datetime]]] = {project_id: [] for project_id in project_ids}
    first_run = sa.select(sa.func.min(Run.ordered_at)).where(Run.commit_id == Commit.id).scalar_subquery()
    moment = sa.func.coalesce(Commit.ordered_at, first_run, type_=Run.__table__.c.ordered_at.type)
    rows = connection.execute(
        sa.select(Commit.project_id, Commit.position, moment).where(Commit.project_id.in_(project_ids))
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
