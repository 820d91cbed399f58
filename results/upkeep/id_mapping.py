"""Map foreign ids to local ids by name, creating missing rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.schema import Benchmark, Commit, Environment, Machine, Parameter, Point, Project, Run, Series
from results.files.parameters import ParameterType, Typed
from results.ingest.dimensions import BenchmarkIdentity, Dimensions
from results.ingest.series_ids import Points, Testbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy.engine import Connection

Ids = dict[int, int]


@dataclass(frozen=True, kw_only=True)
class IdMapping:
    """Local id for each foreign id."""

    projects: Ids
    machines: Ids
    environments: Ids
    commits: Ids
    benchmarks: Ids
    points: Ids
    series: Ids


def run_identities(connection: Connection) -> set[tuple[str, str]]:
    """Return the project and uid of every run, by which runs of two databases are the same."""
    query = sa.select(Project.name, Run.uid).join(Project, Project.id == Run.project_id)
    return {(project, uid) for project, uid in connection.execute(query)}


def map_ids(ours: Connection, theirs: Connection) -> IdMapping:
    """Map everything that the runs of `theirs` refer to; rows that `ours` lacks are inserted."""
    dimensions = Dimensions()
    projects = {row.id: dimensions.project(ours, row.name) for row in theirs.execute(sa.select(Project.__table__))}
    environments = {
        row.id: dimensions.environment(ours, row.name, details=row.details)
        for row in theirs.execute(sa.select(Environment.__table__))
    }
    machines = _machines(ours, theirs, dimensions)
    benchmarks = {
        row.id: dimensions.benchmark(
            ours,
            projects[row.project_id],
            BenchmarkIdentity(row.name, row.metric, row.version),
            unit=row.unit,
            interval_level=row.interval_level,
            parameter_names=row.parameter_names,
        )
        for row in theirs.execute(sa.select(Benchmark.__table__))
    }
    points = _points(ours, theirs, dimensions, projects)
    return IdMapping(
        projects=projects,
        machines=machines,
        environments=environments,
        commits=_commits(ours, theirs, projects),
        benchmarks=benchmarks,
        points=points,
        series=_series(ours, theirs, dimensions, (benchmarks, machines, environments, points)),
    )


def _machines(ours: Connection, theirs: Connection, dimensions: Dimensions) -> Ids:
    machines = {}
    for row in theirs.execute(sa.select(Machine.__table__)):
        machines[row.id] = dimensions.machine(ours, row.name)
        known = ours.execute(sa.select(Machine.details).where(Machine.id == machines[row.id])).scalar_one()
        if row.details and not known:
            ours.execute(sa.update(Machine).where(Machine.id == machines[row.id]).values(details=row.details))
    return machines


def _commits(ours: Connection, theirs: Connection, projects: Ids) -> Ids:
    """Map commits; a new one keeps its foreign position until an ingest reads its repository."""
    stored = {(row.project_id, row.hash): row.id for row in ours.execute(sa.select(Commit.__table__))}
    commits: Ids = {}
    new: list[dict[str, Any]] = []
    first = next_id(ours, Commit)
    for row in theirs.execute(sa.select(Commit.__table__).order_by(Commit.id)):
        identity = (projects[row.project_id], row.hash)
        if identity not in stored:
            stored[identity] = first + len(new)
            columns = {**dict(row._mapping), "id": stored[identity], "project_id": identity[0]}  # noqa: SLF001
            new.append(columns)
        commits[row.id] = stored[identity]
    if new:
        ours.execute(sa.insert(Commit), new)
    return commits


def _points(ours: Connection, theirs: Connection, dimensions: Dimensions, projects: Ids) -> Ids:
    ids: Ids = {}
    order = (Point.project_id, Point.subject, Point.id)
    rows = theirs.execute(sa.select(Point.__table__).order_by(*order)).all()
    for (project_id, subject), group in groupby(rows, key=lambda row: (row.project_id, row.subject)):
        points = list(group)
        parameters_of = _parameters(theirs, [point.id for point in points], project_id, subject)
        keys = [point.key for point in points]
        (found,) = dimensions.series.points(ours, projects[project_id], [Points(subject, keys, parameters_of)])
        ids.update(zip((point.id for point in points), found, strict=True))
    return ids


def _parameters(
    theirs: Connection, point_ids: list[int], project_id: int, subject: str
) -> Callable[[int], Iterable[tuple[str, Typed]]]:
    """Return a function from an index into `point_ids` to that point's parameters, which reads them on first use."""
    found: dict[int, list[tuple[str, Typed]]] = {}

    def of(index: int) -> Iterable[tuple[str, Typed]]:
        if not found:
            meant = sa.select(Point.id).where(Point.project_id == project_id, Point.subject == subject)
            query = sa.select(Parameter.__table__).where(Parameter.point_id.in_(meant))
            for row in theirs.execute(query.order_by(Parameter.point_id, Parameter.position)):
                typed = Typed(ParameterType(row.type), row.text, row.number)
                found.setdefault(row.point_id, []).append((row.name, typed))
            found.setdefault(0, [])  # read already, also where there are none
        return found.get(point_ids[index], [])

    return of


def _series(ours: Connection, theirs: Connection, dimensions: Dimensions, known: tuple[Ids, Ids, Ids, Ids]) -> Ids:
    benchmarks, machines, environments, points = known
    ids: Ids = {}
    columns = (Series.benchmark_id, Series.machine_id, Series.environment_id)
    rows = theirs.execute(sa.select(Series.__table__).order_by(*columns, Series.id)).all()
    for (benchmark_id, machine_id, environment_id), group in groupby(
        rows, key=lambda row: (row.benchmark_id, row.machine_id, row.environment_id)
    ):
        series = list(group)
        testbed = Testbed(machines[machine_id], environments[environment_id])
        wanted = (benchmarks[benchmark_id], [points[row.point_id] for row in series])
        (found,) = dimensions.series.of_points(ours, testbed, [wanted])
        ids.update(zip((row.id for row in series), found, strict=True))
    return ids
