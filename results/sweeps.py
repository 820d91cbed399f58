"""Questions about sweep points → frozen rows: the newest, along an axis, over commits, who wins."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.metrics import LATENCY
from results.point_rows import by_shape, choices_of, point_row, shape_of, winner_among
from results.revisions import commit_of
from results.rows import PointFilter, PointRow, SweepChoices, WinnerRow
from results.run_order import NEWEST_FIRST, OLDEST_FIRST
from results.schema import (
    Benchmark,
    Commit,
    Environment,
    Machine,
    Measurement,
    Profile,
    Project,
    Run,
    Series,
    Value,
)
from results.sweep_points import chosen_places, chosen_points, sweep_points

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.records import PointRecord
    from results.store import Store

Points = dict[int, "PointRecord"]


def latest_points(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """Each sweep point's newest measurement, or the newest one at commit `revision` (any hash prefix).

    Newest: by the commit's place in the history, then by when the run started. One row per point, machine and
    environment, ordered by operation, pass, dtype, activation, hidden, dim, batch, provider.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    commit = None if revision is None else commit_of(store, revision)
    with store.reading() as connection:
        points = sweep_points(connection)
        rows = point_rows(connection, points, newest_runs(points, axes, commit=commit))
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
        rows = point_rows(connection, points, chosen)
    place_of = {commit: i for i, commit in enumerate(dict.fromkeys(row.commit for row in rows))}
    return sorted(rows, key=lambda row: (place_of[row.commit], by_shape(row)))


def throughput_by_batch(
    store: Store, *, revision: str | Sequence[str] | None = None, **axes: Unpack[PointFilter]
) -> list[PointRow]:
    """The chosen points at one commit or several, ordered by commit as given, then by provider and batch.

    `revision` None is the newest commit that has measured any of the chosen points, so that a curve never mixes
    commits. Raises: UnknownRevision if a revision matches no stored commit, or more than one.
    """
    return _along(store, revision, axes, along=lambda row: row.batch)


def throughput_by_hidden(
    store: Store, *, revision: str | Sequence[str] | None = None, **axes: Unpack[PointFilter]
) -> list[PointRow]:
    """As throughput_by_batch, ordered by commit, provider and hidden."""
    return _along(store, revision, axes, along=lambda row: row.hidden)


def _along(
    store: Store, revision: str | Sequence[str] | None, axes: PointFilter, *, along: Callable[[PointRow], int]
) -> list[PointRow]:
    named = [] if revision is None else [revision] if isinstance(revision, str) else list(revision)
    commits = list(dict.fromkeys(commit_of(store, name) for name in named))
    with store.reading() as connection:
        points = sweep_points(connection)
        if revision is None:
            newest = _newest_commit(connection, chosen_points(points, axes), axes)
            commits = [] if newest is None else [newest]
        rows = [
            row
            for commit in commits
            for row in point_rows(connection, points, newest_runs(points, axes, commit=commit))
        ]
    return sorted(rows, key=lambda row: (commits.index(row.commit), row.provider, along(row), by_shape(row)))


def winners_by_shape(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[WinnerRow]:
    """Who is fastest at each shape, by each point's newest measurement or the newest at `revision`.

    Ordered as latest_points; a shape where nothing is ok is left out.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    rows = latest_points(store, revision=revision, **axes)
    winners = (winner_among(list(group)) for _, group in groupby(rows, key=shape_of))
    return [winner for winner in winners if winner is not None]


def sweep_choices(store: Store) -> SweepChoices:
    """The axis values that have been measured, by operation."""
    with store.reading() as connection:
        points = sweep_points(connection)
        # By series, of which there are few, and not by measurement.
        places = connection.execute(
            sa.select(Series.point_id, Machine.name, Environment.name)
            .join(Benchmark, Benchmark.id == Series.benchmark_id)
            .join(Machine, Machine.id == Series.machine_id)
            .join(Environment, Environment.id == Series.environment_id)
            .where(Benchmark.metric == LATENCY.name)
            .distinct()
        ).all()
    operations = sorted({point.operation for point in points.values()})
    return SweepChoices(
        operations=tuple(
            choices_of(
                operation,
                points=[point for point in points.values() if point.operation == operation],
                places=[
                    (machine, environment)
                    for point_id, machine, environment in places
                    if point_id in points and points[point_id].operation == operation
                ],
            )
            for operation in operations
        )
    )


def newest_runs(points: Points, axes: PointFilter, *, commit: str | None) -> sa.Select[int, int]:
    """(run, point) of each chosen point's newest measurement on each machine and environment, at `commit` or ever."""
    point_ids = chosen_points(points, axes)
    is_chosen = [] if len(point_ids) == len(points) else [Series.point_id.in_(point_ids)]
    spots = (
        sa.select(Series.point_id, Series.machine_id, Series.environment_id)
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .where(Benchmark.metric == LATENCY.name, *is_chosen)
        .distinct()
        .subquery()
    )
    runs = sa.select(Run.id)
    if commit is not None:
        runs = runs.join(Commit, Commit.id == Run.commit_id).where(Commit.hash == commit)
    newest = (
        runs.join(Measurement, Measurement.run_id == Run.id)
        .where(
            Measurement.point_id == spots.c.point_id,
            Run.machine_id == spots.c.machine_id,
            Run.environment_id == spots.c.environment_id,
            *chosen_places(axes),
        )
        .order_by(*NEWEST_FIRST)
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
        .order_by(*NEWEST_FIRST)
        .limit(1)
    ).scalar()


def point_rows(
    connection: Connection, points: Mapping[int, PointRecord], chosen: sa.Select[int, int]
) -> list[PointRow]:
    """The rows of the (run, point) that `chosen` finds, in the order of their runs."""
    # PostgreSQL would otherwise write the search for the newest run into every join and do it again for each.
    wanted = chosen.cte("chosen").prefix_with("MATERIALIZED", dialect="postgresql")
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
        .order_by(*OLDEST_FIRST)
    )
    return [
        point_row(row, points[row.point_id], metrics.get((row.run_id, row.point_id), {}))
        for row in connection.execute(described).all()
    ]
