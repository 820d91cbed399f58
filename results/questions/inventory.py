"""Questions about what is stored: projects, machines, environments, benchmarks, commits → frozen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.schema import (
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
from results.files.parameters import value_from_typed
from results.questions.series_filters import names_in
from results.questions.sweep_points import chosen_places
from results.rows import BenchmarkRow, CommitRow, EnvironmentRow, MachineRow, ParameterRow, ProjectRow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy.engine import Connection

    from results.store import Store


def projects(store: Store) -> list[ProjectRow]:
    """Every project that has anything stored, by name."""
    runs = (
        sa.select(
            Run.project_id,
            sa.func.count().label("n_runs"),
            sa.func.count(sa.distinct(Run.commit_id)).label("n_commits"),
            sa.func.sum(Run.n_values).label("n_values"),
            sa.func.min(Run.ordered_at).label("first_at"),
            sa.func.max(Run.ordered_at).label("last_at"),
        )
        .group_by(Run.project_id)
        .subquery()
    )
    series = (
        sa.select(Benchmark.project_id, sa.func.count().label("n_series"))
        .join(Series, Series.benchmark_id == Benchmark.id)
        .group_by(Benchmark.project_id)
        .subquery()
    )
    n_benchmarks = sa.select(sa.func.count(sa.distinct(Benchmark.name))).where(Benchmark.project_id == Project.id)
    has_sweep = sa.exists().where(Run.project_id == Project.id, Measurement.run_id == Run.id)
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                Project.name.label("project"),
                has_sweep.label("has_sweep"),
                n_benchmarks.scalar_subquery().label("n_benchmarks"),
                sa.func.coalesce(series.c.n_series, 0).label("n_series"),
                sa.func.coalesce(runs.c.n_commits, 0).label("n_commits"),
                sa.func.coalesce(runs.c.n_runs, 0).label("n_runs"),
                sa.func.coalesce(runs.c.n_values, 0).label("n_values"),
                runs.c.first_at,
                runs.c.last_at,
            )
            .outerjoin(runs, runs.c.project_id == Project.id)
            .outerjoin(series, series.c.project_id == Project.id)
            .order_by(Project.name)
        )
        return [ProjectRow(**row._mapping) for row in rows]  # noqa: SLF001 - its public name


def machines(store: Store, *, project: str | Collection[str] | None = None) -> list[MachineRow]:
    """Every machine that has measured anything (for `project`), by name."""
    with store.reading() as connection:
        found = _places(connection, project)
        details = _by_name(connection, Machine)
    return [
        MachineRow(
            machine=name,
            details=_details(details[name]),
            projects=_names(row.project for row in rows),
            environments=_names(row.environment for row in rows),
            n_runs=sum(row.n_runs for row in rows),
            last_at=max(row.last_at for row in rows),
        )
        for name, rows in _by(found, "machine").items()
    ]


def environments(store: Store, *, project: str | Collection[str] | None = None) -> list[EnvironmentRow]:
    """Every environment that anything was measured in (for `project`), by name."""
    with store.reading() as connection:
        found = _places(connection, project)
        details = _by_name(connection, Environment)
    return [
        EnvironmentRow(
            environment=name,
            details=_details(details[name]),
            projects=_names(row.project for row in rows),
            machines=_names(row.machine for row in rows),
            n_runs=sum(row.n_runs for row in rows),
            last_at=max(row.last_at for row in rows),
        )
        for name, rows in _by(found, "environment").items()
    ]


def benchmarks(
    store: Store, *, project: str | Collection[str] | None = None, benchmark: str | Collection[str] | None = None
) -> list[BenchmarkRow]:
    """Every benchmark in every version, with its parameters; ordered by project, name, metric and version."""
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
    """The names of all parameters that points of `project` have, sorted."""
    with store.reading() as connection:
        points = sa.select(Point.id).join(Project).where(*names_in(Project.name, project))
        names = sa.select(Parameter.name).where(Parameter.point_id.in_(points)).distinct().order_by(Parameter.name)
        return list(connection.execute(names).scalars())


def _parameters_of_subjects(
    connection: Connection, subjects: sa.Subquery
) -> dict[tuple[int, str], tuple[ParameterRow, ...]]:
    """What parameters the points of each (project, operation or asv benchmark) have, in their order."""
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


def commits(store: Store, *, machine: str | None = None, project: str | None = None) -> list[CommitRow]:
    """Every commit with anything stored, oldest first (commits without a date come first)."""
    chosen = chosen_places({"machine": machine, "project": project})
    runs = (
        sa.select(Run.commit_id, sa.func.count().label("n_runs"), sa.func.sum(Run.n_values).label("n_values"))
        .where(*chosen)
        .group_by(Run.commit_id)
        .subquery()
    )
    # Almost every commit has one run, whose points are distinct as they are and are counted in the key; telling them
    # apart costs five times as much, and is left to the commits that were measured again.
    of_run = sa.select(sa.func.count()).where(Measurement.run_id == Run.id).scalar_subquery()
    once = sa.select(Run.commit_id, of_run.label("n_points")).where(
        *chosen, Run.commit_id.in_(sa.select(runs.c.commit_id).where(runs.c.n_runs == 1))
    )
    again = (
        sa.select(Run.commit_id, sa.func.count(sa.distinct(Measurement.point_id)))
        .join(Measurement, Measurement.run_id == Run.id)
        .where(*chosen, Run.commit_id.in_(sa.select(runs.c.commit_id).where(runs.c.n_runs > 1)))
        .group_by(Run.commit_id)
    )
    points = sa.union_all(once, again).subquery()
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                Project.name.label("project"),
                Commit.hash.label("commit"),
                Commit.date,
                Commit.subject,
                runs.c.n_runs,
                sa.func.coalesce(points.c.n_points, 0).label("n_points"),
                runs.c.n_values,
                Commit.position,
                Commit.is_orphaned,
            )
            .join(Project, Project.id == Commit.project_id)
            .join(runs, runs.c.commit_id == Commit.id)
            .outerjoin(points, points.c.commit_id == Commit.id)
            .order_by(Commit.ordered_at.asc().nulls_first(), Commit.position.asc().nulls_first(), Commit.id)
        )
        return [CommitRow(**row._mapping) for row in rows]  # noqa: SLF001


# SQLAlchemy's Row; its columns have no names that a type checker could follow.
DatabaseRow = Any


def _places(connection: Connection, project: str | Collection[str] | None) -> list[DatabaseRow]:
    """How many runs each project has on each machine in each environment, and the newest of them."""
    return list(
        connection.execute(
            sa.select(
                Project.name.label("project"),
                Machine.name.label("machine"),
                Environment.name.label("environment"),
                sa.func.count().label("n_runs"),
                sa.func.max(Run.ordered_at).label("last_at"),
            )
            .select_from(Run)
            .join(Project, Project.id == Run.project_id)
            .join(Machine, Machine.id == Run.machine_id)
            .join(Environment, Environment.id == Run.environment_id)
            .where(*names_in(Project.name, project))
            .group_by(Project.name, Machine.name, Environment.name)
            .order_by(Machine.name, Environment.name, Project.name)
        )
    )


def _by(rows: list[DatabaseRow], column: str) -> dict[str, list[DatabaseRow]]:
    groups: dict[str, list[DatabaseRow]] = {}
    for row in sorted(rows, key=lambda row: str(getattr(row, column))):
        groups.setdefault(getattr(row, column), []).append(row)
    return groups


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _by_name(connection: Connection, table: type[Machine | Environment]) -> dict[str, dict[str, Any]]:
    return {row.name: row.details for row in connection.execute(sa.select(table.name, table.details))}


def _details(found: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in sorted(found.items()))
