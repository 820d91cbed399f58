"""The questions the dashboard and the judgement may ask; answers are frozen rows (results.rows).

Every question takes the store first and everything else by keyword. Nothing here writes.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.histories import history_of, values_at
from results.metrics import LATENCY
from results.point_rows import by_shape, choices_of, point_row, shape_of, winner_among
from results.revisions import commit_of
from results.rows import (
    CommitRow,
    HistoryValue,
    KernelRow,
    OperationChoices,
    OperatorRow,
    ParameterValue,
    PointFilter,
    PointRow,
    ProfileRow,
    SeriesHistory,
    SeriesRow,
    SeriesValueRow,
    SweepChoices,
    WinnerRow,
)
from results.schema import (
    Benchmark,
    Commit,
    Environment,
    Machine,
    Measurement,
    Profile,
    ProfileKernel,
    ProfileOperator,
    Project,
    Run,
    Series,
    Value,
)
from results.sweep_points import chosen_places, chosen_points, sweep_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.records import PointRecord
    from results.store import Store

__all__ = [
    "CommitRow",
    "HistoryValue",
    "KernelRow",
    "OperationChoices",
    "OperatorRow",
    "ParameterValue",
    "PointFilter",
    "PointRow",
    "ProfileRow",
    "SeriesHistory",
    "SeriesRow",
    "SeriesValueRow",
    "SweepChoices",
    "WinnerRow",
    "commits",
    "history_of",
    "latest_points",
    "profile_of",
    "sweep_choices",
    "throughput_by_batch",
    "throughput_by_commit",
    "values_at",
    "winners_by_shape",
]


def latest_points(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """Each sweep point's newest measurement, or the newest one at commit `revision` (any hash prefix).

    Newest: by commit date, then by when the run started. One row per point, machine and environment, ordered
    by operation, pass, dtype, activation, hidden, dim, batch, provider.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    commit = None if revision is None else commit_of(store, revision)
    with store.reading() as connection:
        points = sweep_points(connection)
        chosen = _newest_runs(chosen_points(points, axes), axes, commit=commit)
        rows = _point_rows(connection, points, chosen)
    return sorted(rows, key=by_shape)


def throughput_by_commit(store: Store, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """Every measured commit's rows of the chosen points, oldest commit first; each commit's newest run."""
    with store.reading() as connection:
        points = sweep_points(connection)
        place = (Measurement.point_id, Run.machine_id, Run.environment_id, Run.commit_id)
        order = sa.func.row_number().over(partition_by=place, order_by=(Run.started_at.desc(), Run.id.desc()))
        ranked = (
            sa.select(Measurement.run_id, Measurement.point_id, order.label("place"))
            .join(Run, Run.id == Measurement.run_id)
            .where(Measurement.point_id.in_(chosen_points(points, axes)), *chosen_places(axes))
            .subquery()
        )
        chosen = sa.select(ranked.c.run_id, ranked.c.point_id).where(ranked.c.place == 1)
        rows = _point_rows(connection, points, chosen)
    return sorted(rows, key=lambda row: (row.commit_date or row.measured_at, row.commit, by_shape(row)))


def throughput_by_batch(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """The chosen points at one commit, ordered by provider and batch.

    `revision` None is the newest commit (by date) that has measured any of the chosen points, so that a curve
    never mixes commits.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    commit = None if revision is None else commit_of(store, revision)
    with store.reading() as connection:
        points = sweep_points(connection)
        point_ids = chosen_points(points, axes)
        commit = commit or _newest_commit(connection, point_ids, axes)
        rows = _point_rows(connection, points, _newest_runs(point_ids, axes, commit=commit))
    return sorted(rows, key=lambda row: (row.provider, row.batch, by_shape(row)))


def winners_by_shape(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[WinnerRow]:
    """Who is fastest at each shape, by each point's newest measurement or the newest at `revision`.

    Ordered as latest_points; a shape where nothing is ok is left out.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    rows = latest_points(store, revision=revision, **axes)
    winners = (winner_among(list(group)) for _, group in groupby(rows, key=shape_of))
    return [winner for winner in winners if winner is not None]


def profile_of(store: Store, *, point: PointRow) -> ProfileRow | None:
    """What one call of `point` does inside, from the same run; None if that run took no profile of it."""
    with store.reading() as connection:
        run_id = connection.execute(
            sa.select(Run.id)
            .join(Project, Project.id == Run.project_id)
            .where(Run.uid == point.run_id, Project.name == point.project)
        ).scalar()
        table = Profile.__table__
        profile = connection.execute(
            sa.select(table).where(Profile.run_id == run_id, Profile.point_id == point.point_id)
        ).first()
        if profile is None:
            return None
        operators = connection.execute(
            sa.select(
                ProfileOperator.name,
                ProfileOperator.count,
                ProfileOperator.self_time_s,
                ProfileOperator.total_time_s,
                ProfileOperator.is_compute,
            )
            .where(ProfileOperator.run_id == run_id, ProfileOperator.point_id == point.point_id)
            .order_by(ProfileOperator.self_time_s.desc().nulls_last(), ProfileOperator.position)
        )
        kernels = connection.execute(
            sa.select(ProfileKernel.name, ProfileKernel.count, ProfileKernel.device_time_s)
            .where(ProfileKernel.run_id == run_id, ProfileKernel.point_id == point.point_id)
            .order_by(ProfileKernel.device_time_s.desc().nulls_last(), ProfileKernel.position)
        )
        return ProfileRow(
            state=profile.state,
            reason=profile.reason,
            measured_at=profile.measured_at,
            operator_count=profile.operator_count,
            operator_time_s=profile.operator_time_s,
            kernel_launches=profile.kernel_launches,
            device_time_s=profile.device_time_s,
            peak_memory_bytes=profile.peak_memory_bytes,
            bound=profile.bound,
            operators=tuple(OperatorRow(**row._mapping) for row in operators),  # noqa: SLF001 - its public name
            kernels=tuple(KernelRow(**row._mapping) for row in kernels),  # noqa: SLF001
        )


def sweep_choices(store: Store) -> SweepChoices:
    """The axis values that have been measured, by operation."""
    with store.reading() as connection:
        points = sweep_points(connection)
        places = connection.execute(
            sa.select(Measurement.point_id, Machine.name, Environment.name)
            .join(Run, Run.id == Measurement.run_id)
            .join(Machine, Machine.id == Run.machine_id)
            .join(Environment, Environment.id == Run.environment_id)
            .distinct()
        ).all()
    operations = sorted({point.operation for point in points.values()})
    return SweepChoices(
        operations=tuple(
            choices_of(
                operation,
                points=[point for point in points.values() if point.operation == operation],
                places=[(place[1], place[2]) for place in places if points[place[0]].operation == operation],
            )
            for operation in operations
        )
    )


def commits(store: Store, *, machine: str | None = None) -> list[CommitRow]:
    """Every commit with anything stored, oldest first (commits without a date come first)."""
    on_machine = chosen_places({"machine": machine})
    runs = (
        sa.select(Run.commit_id, sa.func.count().label("n_runs"), sa.func.sum(Run.n_values).label("n_values"))
        .where(*on_machine)
        .group_by(Run.commit_id)
        .subquery()
    )
    points = (
        sa.select(Run.commit_id, sa.func.count(sa.distinct(Measurement.point_id)).label("n_points"))
        .join(Measurement, Measurement.run_id == Run.id)
        .where(*on_machine)
        .group_by(Run.commit_id)
        .subquery()
    )
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
            )
            .join(Project, Project.id == Commit.project_id)
            .join(runs, runs.c.commit_id == Commit.id)
            .outerjoin(points, points.c.commit_id == Commit.id)
            .order_by(Commit.date.asc().nulls_first(), Commit.id)
        )
        return [CommitRow(**row._mapping) for row in rows]  # noqa: SLF001


def _newest_runs(point_ids: Iterable[int], axes: PointFilter, *, commit: str | None) -> sa.Select[tuple[int, int]]:
    """(run, point) of each point's newest measurement on each machine and environment, at `commit` or ever."""
    at_commit = [] if commit is None else [Commit.hash == commit]
    later = sa.select(Run.id).join(Commit, Commit.id == Run.commit_id).where(*at_commit)
    spots = (
        sa.select(Series.point_id, Series.machine_id, Series.environment_id)
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .where(Benchmark.metric == LATENCY.name, Series.point_id.in_(list(point_ids)))
        .distinct()
        .subquery()
    )
    newest = (
        later.join(Measurement, Measurement.run_id == Run.id)
        .where(
            Measurement.point_id == spots.c.point_id,
            Run.machine_id == spots.c.machine_id,
            Run.environment_id == spots.c.environment_id,
            *chosen_places(axes),
        )
        .order_by(Run.ordered_at.desc(), Run.started_at.desc(), Run.id.desc())
        .limit(1)
        .correlate(spots)
        .scalar_subquery()
    )
    # Null where there is none at `commit`; joining the measurement then leaves the point out.
    return sa.select(newest.label("run_id"), spots.c.point_id)


def _newest_commit(connection: Connection, point_ids: list[int], axes: PointFilter) -> str | None:
    return connection.execute(
        sa.select(Commit.hash)
        .join(Run, Run.commit_id == Commit.id)
        .join(Measurement, Measurement.run_id == Run.id)
        .where(Measurement.point_id.in_(point_ids), *chosen_places(axes))
        .order_by(Run.ordered_at.desc(), Run.started_at.desc(), Run.id.desc())
        .limit(1)
    ).scalar()


def _point_rows(
    connection: Connection, points: Mapping[int, PointRecord], chosen: sa.Select[tuple[int, int]]
) -> list[PointRow]:
    wanted = chosen.cte("chosen")
    metrics: dict[tuple[int, int], dict[str, Any]] = {}
    values = (
        sa.select(
            wanted.c.run_id,
            wanted.c.point_id,
            Benchmark.metric,
            Value.median,
            Value.ci_low,
            Value.ci_high,
            Value.sample_count,
        )
        .join(Run, Run.id == wanted.c.run_id)
        .join(
            Series,
            (Series.point_id == wanted.c.point_id)
            & (Series.machine_id == Run.machine_id)
            & (Series.environment_id == Run.environment_id),
        )
        .join(Value, (Value.run_id == wanted.c.run_id) & (Value.series_id == Series.id))
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
    )
    for row in connection.execute(values).all():
        metrics.setdefault((row.run_id, row.point_id), {})[row.metric] = row
    described = (
        sa.select(
            wanted.c.run_id,
            wanted.c.point_id,
            Project.name.label("project"),
            Commit.hash.label("commit"),
            Commit.date.label("commit_date"),
            Commit.subject.label("commit_subject"),
            Machine.name.label("machine"),
            Environment.name.label("environment"),
            Run.uid,
            Measurement.ruler_version,
            Measurement.state,
            Measurement.reason,
            Measurement.disturbed,
            Measurement.provider_detail,
            Measurement.flop,
            Measurement.min_bytes,
            Measurement.floor_s,
            Measurement.measured_at,
            Profile.bound,
        )
        .join(Measurement, (Measurement.run_id == wanted.c.run_id) & (Measurement.point_id == wanted.c.point_id))
        .join(Run, Run.id == wanted.c.run_id)
        .join(Commit, Commit.id == Run.commit_id)
        .join(Project, Project.id == Run.project_id)
        .join(Machine, Machine.id == Run.machine_id)
        .join(Environment, Environment.id == Run.environment_id)
        .outerjoin(Profile, (Profile.run_id == wanted.c.run_id) & (Profile.point_id == wanted.c.point_id))
    )
    return [
        point_row(row, points[row.point_id], metrics.get((row.run_id, row.point_id), {}))
        for row in connection.execute(described).all()
    ]
