"""Stored projects, places, commits, points and benchmarks, without any measured number → frozen rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.fetching import datetime_decoder, fetch_rows, gc_paused
from results.database.schema import (
    OLDEST_FIRST,
    Benchmark,
    Commit,
    Environment,
    Machine,
    Measurement,
    Parameter,
    Point,
    Project,
    Run,
    Series,
)
from results.database.snapshot_cache import cached_for_snapshot
from results.files.parameters import value_from_typed
from results.questions.series_filters import names_in
from results.questions.sweep_points import sweep_points
from results.questions.sweeps import newest_runs
from results.rows import BenchmarkRow, CommitRow, ParameterRow, PlaceRow, PointChoice, ProjectRow, SeriesPlace

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy.engine import Connection

    from results.store import Store


def point_choices(store: Store) -> list[PointChoice]:
    """Return every sweep point on every machine and environment it was measured on, the newest measurement first."""
    with store.reading() as connection:
        return list(cached_for_snapshot(connection, point_choices, partial(_point_choices, connection)))


def _point_choices(connection: Connection) -> list[PointChoice]:
    with gc_paused():
        points = sweep_points(connection)
        newest = newest_runs(points, {}).cte("newest").prefix_with("MATERIALIZED", dialect="postgresql")
        rows = fetch_rows(
            connection,
            sa.select(newest.c.point_id, Project.name, Machine.name, Environment.name, Measurement.measured_at)
            .select_from(newest)
            .join(Run, Run.id == newest.c.run_id)
            .join(Project, Project.id == Run.project_id)
            .join(Machine, Machine.id == Run.machine_id)
            .join(Environment, Environment.id == Run.environment_id)
            .join(Measurement, (Measurement.run_id == newest.c.run_id) & (Measurement.point_id == newest.c.point_id))
            .order_by(Measurement.measured_at.desc(), newest.c.point_id),
        )
        moment = datetime_decoder(connection)
        axes = PointChoice._fields[3:-1]
        values = {i: tuple(getattr(point, axis) for axis in axes) for i, point in points.items()}
        return [
            PointChoice._make((project, machine, environment, *values[point_id], moment(at)))
            for point_id, project, machine, environment, at in rows
        ]


def commits(store: Store, *, project: str | Collection[str] | None = None) -> list[CommitRow]:
    """Return every commit with a run (of `project`), oldest first: one without a date stands where its first run does.

    That is the order of every history.
    """
    names = None if project is None else frozenset({project} if isinstance(project, str) else project)
    with store.reading() as connection:
        return list(cached_for_snapshot(connection, (commits, names), partial(_commits, connection, names)))


def _commits(connection: Connection, project: Collection[str] | None) -> list[CommitRow]:
    has_sweep = sa.exists().where(Measurement.run_id == Run.id)
    rows = connection.execute(
        sa.select(
            Commit.id,
            Project.name,
            Commit.hash,
            Commit.date,
            Commit.subject,
            Commit.is_on_main_line,
            Commit.position,
            Machine.name.label("machine"),
            has_sweep.label("has_sweep"),
        )
        .select_from(Run)
        .join(Commit, Commit.id == Run.commit_id)
        .join(Project, Project.id == Commit.project_id)
        .join(Machine, Machine.id == Run.machine_id)
        .where(*names_in(Project.name, project))
        .order_by(*OLDEST_FIRST)
    ).all()
    machines: dict[int, set[str]] = {}
    sweep_machines: dict[int, set[str]] = {}
    for row in rows:
        machines.setdefault(row.id, set()).add(row.machine)
        if row.has_sweep:
            sweep_machines.setdefault(row.id, set()).add(row.machine)
    return [
        CommitRow(
            project=row.name,
            commit=row.hash,
            date=row.date,
            subject=row.subject,
            machines=frozenset(machines[commit_id]),
            sweep_machines=frozenset(sweep_machines.get(commit_id, ())),
            is_on_main_line=row.is_on_main_line,
            position=row.position,
        )
        for commit_id, row in {row.id: row for row in rows}.items()
    ]


def projects(store: Store) -> list[ProjectRow]:
    """Return every project with a stored value, by name; none: the store is empty."""
    has_values = sa.exists().where(Run.project_id == Project.id, Run.n_values > 0)
    has_sweep = sa.exists().where(Run.project_id == Project.id, Measurement.run_id == Run.id)
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(Project.name, has_sweep.label("has_sweep")).where(has_values).order_by(Project.name)
        )
        return [ProjectRow(project=row.name, has_sweep=row.has_sweep) for row in rows]


def places(store: Store, *, project: str | Collection[str] | None = None) -> list[PlaceRow]:
    """Return every machine and environment with a run (of `project`), the newest run's first."""
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                Project.name.label("project"),
                Machine.name.label("machine"),
                Environment.name.label("environment"),
                sa.func.max(Run.ordered_at).label("last_at"),
            )
            .select_from(Run)
            .join(Project, Project.id == Run.project_id)
            .join(Machine, Machine.id == Run.machine_id)
            .join(Environment, Environment.id == Run.environment_id)
            .where(*names_in(Project.name, project))
            .group_by(Project.name, Machine.name, Environment.name)
            .order_by(sa.func.max(Run.ordered_at).desc(), Project.name, Machine.name, Environment.name)
        )
        return [PlaceRow(**row._mapping) for row in rows]  # noqa: SLF001 - its public name


def benchmark_names(store: Store, *, project: str | Collection[str] | None = None) -> list[str]:
    """Return the names of the operations and asv benchmarks (of `project`), sorted."""
    with store.reading() as connection:
        names = sa.select(Benchmark.name).join(Project, Project.id == Benchmark.project_id)
        chosen = names.where(*names_in(Project.name, project)).distinct().order_by(Benchmark.name)
        return list(connection.execute(chosen).scalars())


def series_places(store: Store, *, project: str, benchmark: str) -> list[SeriesPlace]:
    """Return each metric of a benchmark with each machine and environment that has a series of it, sorted."""
    found = (
        sa.select(Benchmark.metric, Machine.name, Environment.name)
        .select_from(Series)
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .join(Project, Project.id == Benchmark.project_id)
        .join(Machine, Machine.id == Series.machine_id)
        .join(Environment, Environment.id == Series.environment_id)
        .where(Project.name == project, Benchmark.name == benchmark)
        .distinct()
    )
    with store.reading() as connection:
        return sorted(SeriesPlace._make(row) for row in connection.execute(found))


def benchmarks(
    store: Store, *, project: str | Collection[str] | None = None, benchmark: str | Collection[str] | None = None
) -> list[BenchmarkRow]:
    """Return every benchmark in every version, with its parameters; ordered by project, name, metric and version."""
    continued = sa.orm.aliased(Benchmark)
    chosen = [*names_in(Project.name, project), *names_in(Benchmark.name, benchmark)]
    n_series = sa.select(sa.func.count()).where(Series.benchmark_id == Benchmark.id).scalar_subquery()
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                Project.name.label("project"),
                Benchmark.project_id,
                Benchmark.name,
                Benchmark.metric,
                Benchmark.unit,
                Benchmark.version,
                continued.version.label("continues"),
                Benchmark.interval_level,
                n_series.label("n_series"),
            )
            .join(Project, Project.id == Benchmark.project_id)
            .outerjoin(continued, continued.id == Benchmark.continues_id)
            .where(*chosen)
            .order_by(Project.name, Benchmark.name, Benchmark.metric, Benchmark.version)
        ).all()
        subjects = sa.select(Benchmark.project_id, Benchmark.name).join(Project).where(*chosen).distinct().subquery()
        parameters = _parameters_of_subjects(connection, subjects)
    return [
        BenchmarkRow(
            project=row.project,
            benchmark=row.name,
            metric=row.metric,
            unit=row.unit,
            version=row.version,
            continues=row.continues,
            interval_level=row.interval_level,
            n_series=row.n_series,
            parameters=parameters.get((row.project_id, row.name), ()),
        )
        for row in rows
    ]


def parameter_names(store: Store, *, project: str | Collection[str] | None = None) -> list[str]:
    """Return the names of all parameters that points of `project` have, sorted."""
    with store.reading() as connection:
        points = sa.select(Point.id).join(Project).where(*names_in(Project.name, project))
        names = sa.select(Parameter.name).where(Parameter.point_id.in_(points)).distinct().order_by(Parameter.name)
        return list(connection.execute(names).scalars())


def _parameters_of_subjects(
    connection: Connection, subjects: sa.Subquery
) -> dict[tuple[int, str], tuple[ParameterRow, ...]]:
    """Return the parameters of each (project, operation or asv benchmark), in their order."""
    found: dict[tuple[int, str], dict[tuple[int, str], dict[str, tuple[str, float | None]]]] = {}
    rows = connection.execute(
        sa.select(
            Point.project_id,
            Point.subject,
            Parameter.position,
            Parameter.name,
            Parameter.type,
            Parameter.text,
            Parameter.number,
        )
        .select_from(subjects)
        .join(Point, (Point.project_id == subjects.c.project_id) & (Point.subject == subjects.c.name))
        .join(Parameter, Parameter.point_id == Point.id)
        .distinct()
        .order_by(Parameter.position)
    )
    for project_id, subject, position, name, kind, text, number in rows:
        of_subject = found.setdefault((project_id, subject), {})
        of_subject.setdefault((position, name), {})[text] = (kind, number)
    return {
        subject: tuple(_parameter(name, values) for (_, name), values in of_subject.items())
        for subject, of_subject in found.items()
    }


def _parameter(name: str, found: dict[str, tuple[str, float | None]]) -> ParameterRow:
    numbers = [number for kind, number in found.values() if number is not None and kind in {"int", "float"}]
    ordered = sorted(found.items(), key=lambda item: (item[1][1] is None, item[1][1] or 0.0, item[0]))
    return ParameterRow(
        name=name,
        types=tuple(sorted({kind for kind, _ in found.values()})),
        values=tuple(value_from_typed(kind, text, number) for text, (kind, number) in ordered),
        least=min(numbers, default=None),
        most=max(numbers, default=None),
    )
