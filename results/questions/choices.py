"""What a selector can offer → frozen rows; no measured number is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.fetching import datetime_decoder, fetch_rows, gc_paused
from results.database.schema import Benchmark, Commit, Environment, Machine, Measurement, Project, Run
from results.questions.series_filters import names_in
from results.questions.sweep_points import sweep_points
from results.questions.sweeps import newest_runs
from results.rows import CommitChoice, PlaceChoice, PointChoice, ProjectChoice

if TYPE_CHECKING:
    from collections.abc import Collection

    from results.store import Store


def point_choices(store: Store) -> list[PointChoice]:
    """Return every sweep point on every machine and environment it was measured on, the newest measurement first."""
    with store.reading() as connection, gc_paused():
        points = sweep_points(connection)
        newest = newest_runs(points, {}).cte("newest").prefix_with("MATERIALIZED", dialect="postgresql")
        rows = fetch_rows(
            connection,
            sa.select(newest.c.point_id, Machine.name, Environment.name, Measurement.measured_at)
            .select_from(newest)
            .join(Run, Run.id == newest.c.run_id)
            .join(Machine, Machine.id == Run.machine_id)
            .join(Environment, Environment.id == Run.environment_id)
            .join(Measurement, (Measurement.run_id == newest.c.run_id) & (Measurement.point_id == newest.c.point_id))
            .order_by(Measurement.measured_at.desc(), newest.c.point_id),
        )
        moment = datetime_decoder(connection)
        axes = PointChoice._fields[2:-1]
        values = {i: tuple(getattr(point, axis) for axis in axes) for i, point in points.items()}
        return [
            PointChoice._make((machine, environment, *values[point_id], moment(at)))
            for point_id, machine, environment, at in rows
        ]


def commit_choices(store: Store, *, project: str | Collection[str] | None = None) -> list[CommitChoice]:
    """Return every commit with a run (of `project`), oldest first; commits without a date come first."""
    has_sweep = sa.exists().where(Measurement.run_id == Run.id)
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                Commit.id,
                Project.name,
                Commit.hash,
                Commit.date,
                Commit.subject,
                Machine.name.label("machine"),
                has_sweep.label("has_sweep"),
            )
            .select_from(Run)
            .join(Commit, Commit.id == Run.commit_id)
            .join(Project, Project.id == Commit.project_id)
            .join(Machine, Machine.id == Run.machine_id)
            .where(*names_in(Project.name, project))
            .order_by(Commit.ordered_at.asc().nulls_first(), Commit.position.asc().nulls_first(), Commit.id)
        ).all()
    machines: dict[int, set[str]] = {}
    sweep_machines: dict[int, set[str]] = {}
    for row in rows:
        machines.setdefault(row.id, set()).add(row.machine)
        if row.has_sweep:
            sweep_machines.setdefault(row.id, set()).add(row.machine)
    return [
        CommitChoice(
            project=row.name,
            commit=row.hash,
            date=row.date,
            subject=row.subject,
            machines=frozenset(machines[commit_id]),
            sweep_machines=frozenset(sweep_machines.get(commit_id, ())),
        )
        for commit_id, row in {row.id: row for row in rows}.items()
    ]


def project_choices(store: Store) -> list[ProjectChoice]:
    """Return every project with a stored value, by name; none: the store is empty."""
    has_values = sa.exists().where(Run.project_id == Project.id, Run.n_values > 0)
    has_sweep = sa.exists().where(Run.project_id == Project.id, Measurement.run_id == Run.id)
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(Project.name, has_sweep.label("has_sweep")).where(has_values).order_by(Project.name)
        )
        return [ProjectChoice(project=row.name, has_sweep=row.has_sweep) for row in rows]


def place_choices(store: Store, *, project: str | Collection[str] | None = None) -> list[PlaceChoice]:
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
        return [PlaceChoice(**row._mapping) for row in rows]  # noqa: SLF001 - its public name


def benchmark_names(store: Store, *, project: str | Collection[str] | None = None) -> list[str]:
    """Return the names of the operations and asv benchmarks (of `project`), sorted."""
    with store.reading() as connection:
        names = sa.select(Benchmark.name).join(Project, Project.id == Benchmark.project_id)
        chosen = names.where(*names_in(Project.name, project)).distinct().order_by(Benchmark.name)
        return list(connection.execute(chosen).scalars())
