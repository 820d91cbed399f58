"""Sweep points, the newest, over batch and over commits → frozen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import NEWEST_FIRST, Benchmark, Commit, Measurement, Run, Series
from results.metrics import LATENCY
from results.questions.measured_points import POINT_METRICS, measured_pairs, point_rows, runs_of_points
from results.questions.measuring_runs import runs_at, runs_by_id
from results.questions.point_rows import by_shape
from results.questions.revisions import commit_of
from results.questions.sweep_points import allowed_places, chosen_places, chosen_points, sweep_points

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.files.records import PointRecord
    from results.questions.measured_points import RunPoint, RunsOfPoints
    from results.questions.measuring_runs import MeasuringRun
    from results.rows import PointFilter, PointRow
    from results.store import Store


def latest_points(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """Return each sweep point's newest measurement, or the newest one at commit `revision` (any hash prefix).

    Newest: by the commit's place in the history, then by when the run started. One row per point, machine and
    environment, ordered by operation, pass, dtype, activation, hidden, dim, batch, provider.
    Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    commit = None if revision is None else commit_of(store, revision)
    with store.reading() as connection:
        points = sweep_points(connection)
        if commit is None:
            pairs = _newest(connection, points, axes)
        else:
            pairs = newest_at(connection, points, axes, commit=commit)
        rows = point_rows(
            connection, points, runs_of_points(pairs), runs=runs_by_id(connection, (run_id for run_id, _ in pairs))
        )
    return sorted(rows, key=by_shape)


def rows_by_ruler(store: Store, *, point: PointRow) -> dict[str, PointRow]:
    """Return `point` as each ruler measured it at its commit and place, the newest measurement, by the version."""
    place: PointFilter = {"project": point.project, "machine": point.machine, "environment": point.environment}
    with store.reading() as connection:
        points = sweep_points(connection)
        runs = _runs_of_commit(connection, place, commit=point.commit)
        pairs = measured_pairs(connection, runs, [point.point_id])
        rows = point_rows(connection, points, runs_of_points(pairs), runs=runs)
    return {row.ruler_version: row for row in rows}  # the newest run's is the last


def throughput_by_commit(
    store: Store, *, metrics: Collection[str] = POINT_METRICS, **axes: Unpack[PointFilter]
) -> list[PointRow]:
    """Return the chosen points at every commit that measured them, oldest first, each from the commit's newest run.

    Only `metrics` are looked up, by their names in results.metrics; fields of other metrics are None.
    """
    with store.reading() as connection:
        points = sweep_points(connection)
        point_ids = chosen_points(points, axes)
        runs = _chosen_runs(connection, point_ids, axes)
        groups = _newest_of_commits(connection, point_ids, runs)
        rows = point_rows(connection, points, groups, runs=runs, metrics=metrics)
    position = {commit: i for i, commit in enumerate(dict.fromkeys(row.commit for row in rows))}
    # The same few points at every commit: sorted once.
    some = {(row.point_id, row.machine, row.environment): row for row in rows}
    rank = {key: i for i, key in enumerate(sorted(some, key=lambda key: by_shape(some[key])))}
    return sorted(rows, key=lambda row: (position[row.commit], rank[row.point_id, row.machine, row.environment]))


def _chosen_runs(connection: Connection, point_ids: list[int], axes: PointFilter) -> dict[int, MeasuringRun]:
    """Return the runs, oldest first, of the chosen places that may have measured any of the points."""
    query = sa.select(Series.machine_id, Series.environment_id).where(any_of(Series.point_id, "point_ids")).distinct()
    found = connection.execute(query, {"point_ids": point_ids})
    return _allowed(runs_at(connection, {(row.machine_id, row.environment_id) for row in found}), axes)


def _newest_of_commits(
    connection: Connection, point_ids: list[int], runs: Mapping[int, MeasuringRun]
) -> list[RunsOfPoints]:
    """Return the newest run of each point at each commit and testbed."""
    run_ids_of: dict[tuple[object, ...], list[int]] = {}
    for run_id, run in runs.items():
        run_ids_of.setdefault((run.project, run.commit, run.testbed), []).append(run_id)
    once = [run_ids[0] for run_ids in run_ids_of.values() if len(run_ids) == 1]
    again = {run_id: key for key, run_ids in run_ids_of.items() if len(run_ids) > 1 for run_id in run_ids}
    # A later run of the same commit replaces an earlier one, so those commits need a look at what each run measured.
    in_order = {run_id: i for i, run_id in enumerate(runs)}
    found = sorted(measured_pairs(connection, again, point_ids), key=lambda ids: in_order[ids[0]])
    newest = {(again[run_id], point_id): (run_id, point_id) for run_id, point_id in found}
    return [(once, point_ids), *runs_of_points(newest.values())]


def throughput_by_batch(store: Store, *, revision: str | None = None, **axes: Unpack[PointFilter]) -> list[PointRow]:
    """Return the chosen points at one commit, ordered by provider and batch.

    `revision` None is the newest commit that has measured any of the chosen points, so that a curve never mixes
    commits. Raises: UnknownRevision if `revision` matches no stored commit, or more than one.
    """
    commit = None if revision is None else commit_of(store, revision)
    with store.reading() as connection:
        points = sweep_points(connection)
        if commit is None:
            # Oldest first: the last run is the newest that measured any of the points.
            newest = runs_by_id(connection, (run_id for run_id, _ in _newest(connection, points, axes)))
            commit = next((run.commit for run in reversed(newest.values())), None)
        pairs = [] if commit is None else newest_at(connection, points, axes, commit=commit)
        runs = runs_by_id(connection, (run_id for run_id, _ in pairs))
        rows = point_rows(connection, points, runs_of_points(pairs), runs=runs)
    return sorted(rows, key=lambda row: (row.provider, row.batch, by_shape(row)))


def newest_runs(points: Mapping[int, PointRecord], axes: PointFilter) -> sa.Select[int, int]:
    """Select (run, point) of each chosen point's newest measurement on each machine and environment."""
    point_ids = chosen_points(points, axes)
    is_chosen = [] if len(point_ids) == len(points) else [any_of(Series.point_id, keys=point_ids)]
    series = (
        sa.select(Series.point_id, Series.machine_id, Series.environment_id)
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .where(Benchmark.metric == LATENCY.name, *is_chosen)
        .distinct()
        .subquery()
    )
    newest = (
        sa.select(Run.id)
        .join(Measurement, Measurement.run_id == Run.id)
        .where(
            Measurement.point_id == series.c.point_id,
            Run.machine_id == series.c.machine_id,
            Run.environment_id == series.c.environment_id,
            *chosen_places(axes),
        )
        .order_by(*NEWEST_FIRST)
        .limit(1)
        .correlate(series)
        .scalar_subquery()
    )
    # Null where the chosen places have none.
    return sa.select(newest.label("run_id"), series.c.point_id)


def _newest(connection: Connection, points: Mapping[int, PointRecord], axes: PointFilter) -> list[RunPoint]:
    return [(run_id, i) for run_id, i in connection.execute(newest_runs(points, axes)) if run_id is not None]


def newest_at(
    connection: Connection, points: Mapping[int, PointRecord], axes: PointFilter, *, commit: str
) -> list[RunPoint]:
    """Return (run, point) of each chosen point's newest measurement at `commit` on each machine and environment."""
    runs = _runs_of_commit(connection, axes, commit=commit)
    in_order = {run_id: i for i, run_id in enumerate(runs)}
    found = sorted(
        measured_pairs(connection, runs, chosen_points(points, axes)), key=lambda measured: in_order[measured[0]]
    )
    return list({(point_id, runs[run_id].testbed): (run_id, point_id) for run_id, point_id in found}.values())


def _runs_of_commit(connection: Connection, axes: PointFilter, *, commit: str) -> dict[int, MeasuringRun]:
    """Return the runs of a commit at the chosen places, oldest first."""
    commit_ids = [commit_id for (commit_id,) in connection.execute(sa.select(Commit.id).where(Commit.hash == commit))]
    at_commit = connection.execute(sa.select(Run.id).where(Run.commit_id.in_(commit_ids)))
    return _allowed(runs_by_id(connection, (run_id for (run_id,) in at_commit)), axes)


def _allowed(runs: Mapping[int, MeasuringRun], axes: PointFilter) -> dict[int, MeasuringRun]:
    allowed = allowed_places(axes)
    return {
        run_id: run
        for run_id, run in runs.items()
        if all(getattr(run, name) in names for name, names in allowed.items())
    }
