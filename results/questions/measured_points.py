"""What runs measured of sweep points, put together from the store's rows → PointRow.

A question may take thousands of points: rows come as the driver has them, nothing is joined that a look-up here can
do, and quotients of stored quantities are formed here.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.database.fetching import datetime_decoder, fetch_rows, gc_paused
from results.database.key_lists import any_of
from results.database.schema import (
    OLDEST_FIRST,
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
from results.database.snapshot_cache import cached_for_snapshot
from results.metrics import LATENCY
from results.questions.point_rows import quotient
from results.questions.sweep_points import sweep_points
from results.rows import PointRow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from results.files.records import PointRecord

# Runs, and points that each of them may have measured.
Measured = tuple["Collection[int]", "Collection[int]"]
Found = tuple[Any, ...]
Ids = tuple[int, int]

# The metrics a row tells of, in the order in which `_row` takes their values.
TOLD = (
    LATENCY.name,
    "speedup_vs_eager",
    "device_time_s",
    "host_time_s",
    "operator_time_s",
    "kernel_launches",
    "operator_count",
    "peak_memory_bytes",
    "compile_time_s",
    "prepare_time_s",
    "error_rel",
    "compile_time_cold_s",
)
AXES = (
    "operation",
    "provider",
    "pass_",
    "dtype",
    "activation",
    "batch",
    "hidden",
    "dim",
    "cache",
    "weights",
    "threads",
)
axes_of = attrgetter(*AXES)
BATCH = AXES.index("batch")
# A value is a row of _VALUES: of what, then median, interval and number of samples.
MEDIAN = 2
NO_VALUE = (None,) * 6


class MeasuringRun(NamedTuple):
    """A run as the rows of its points tell of it."""

    project: str
    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    machine: str
    environment: str
    uid: str
    place: Ids  # machine and environment


def runs_by_id(connection: Connection, run_ids: Iterable[int]) -> dict[int, MeasuringRun]:
    """The runs of these ids, oldest first."""
    rows = fetch_rows(connection, _RUNS_BY_ID, {"run_ids": set(run_ids)})

    def standing(row: Found) -> tuple[object, ...]:
        ordered_at, position, started_at, run_id = row[-4:]
        return (ordered_at, position, started_at is not None, started_at, run_id)

    return _runs(connection, (row[:-4] for row in sorted(rows, key=standing)))


def runs_at(connection: Connection, places: Collection[Ids]) -> Mapping[int, MeasuringRun]:
    """Every run on these (machine, environment), oldest first."""
    return cached_for_snapshot(connection, (runs_at, frozenset(places)), partial(_runs_at, connection, places))


def _runs_at(connection: Connection, places: Collection[Ids]) -> dict[int, MeasuringRun]:
    machine_ids, environment_ids = ({place[i] for place in places} for i in (0, 1))
    where = {"machine_ids": machine_ids, "environment_ids": environment_ids}
    found = _runs(connection, fetch_rows(connection, _RUNS_AT, where))
    return {run_id: run for run_id, run in found.items() if run.place in places}


def measured_of(connection: Connection, run_ids: Iterable[int], point_ids: Iterable[int]) -> list[Ids]:
    """(run, point) of those of the points that any of the runs measured."""
    return [(run_id, point_id) for run_id, point_id in _of_both(connection, _MEASURED, run_ids, point_ids)]


def together(pairs: Iterable[Ids]) -> list[Measured]:
    """(run, point) each → groups: the runs that measured the same points."""
    points_of: dict[int, list[int]] = {}
    for run_id, point_id in pairs:
        points_of.setdefault(run_id, []).append(point_id)
    runs_of: dict[frozenset[int], list[int]] = {}
    for run_id, point_ids in points_of.items():
        runs_of.setdefault(frozenset(point_ids), []).append(run_id)
    return [(run_ids, point_ids) for point_ids, run_ids in runs_of.items()]


def point_rows(
    connection: Connection,
    points: Mapping[int, PointRecord],
    groups: Iterable[Measured],
    *,
    runs: Mapping[int, MeasuringRun],
    metrics: Collection[str] = TOLD,
) -> list[PointRow]:
    """The rows of the runs and points of `groups`, in the order of `runs`; what was not measured is left out.

    Only `metrics` are looked up; what the others tell is None.
    """
    place_of = {run_id: i for i, run_id in enumerate(runs)}
    with gc_paused():
        rows = [
            (place_of[run_id], row)
            for one_place in _by_place(groups, runs)
            for run_id, row in _rows_at_a_place(connection, points, one_place, runs=runs, metrics=metrics)
        ]
        rows.sort(key=itemgetter(0))
        return [row for _, row in rows]


def _by_place(groups: Iterable[Measured], runs: Mapping[int, MeasuringRun]) -> Iterator[Measured]:
    for run_ids, point_ids in groups:
        at: dict[Ids, list[int]] = {}
        for run_id in run_ids:
            at.setdefault(runs[run_id].place, []).append(run_id)
        for found in at.values():
            yield found, point_ids


def _rows_at_a_place(
    connection: Connection,
    points: Mapping[int, PointRecord],
    group: Measured,
    *,
    runs: Mapping[int, MeasuringRun],
    metrics: Collection[str],
) -> Iterator[tuple[int, PointRow]]:
    run_ids, point_ids = group
    measured = _of_both(connection, _MEASUREMENTS, run_ids, point_ids)
    bounds = {
        (run_id, point_id): bound for run_id, point_id, bound in _of_both(connection, _BOUNDS, run_ids, point_ids)
    }
    values = {(row[0], row[1]): [NO_VALUE] * len(TOLD) for row in measured}
    at_place = _series_at(connection, runs[next(iter(run_ids))].place)
    wanted = {i for i, metric in enumerate(TOLD) if metric in metrics}
    series = {
        series_id: (point_id, metric)
        for point_id in point_ids
        for series_id, metric in at_place.get(point_id, ())
        if metric in wanted
    }
    for value in _of_both(connection, _VALUES, run_ids, series):
        point_id, metric = series[value[1]]
        if (of_point := values.get((value[0], point_id))) is not None:
            of_point[metric] = value
    moment = datetime_decoder(connection)
    axes = {point_id: axes_of(points[point_id]) for point_id in point_ids}
    for row in measured:
        ids = (row[0], row[1])
        yield ids[0], _row(runs[ids[0]], axes[ids[1]], row, values[ids], (bounds.get(ids), moment(row[2])))


def _row(run: MeasuringRun, axes: Found, measured: Found, values: Sequence[Found], others: Found) -> PointRow:
    """In the order of PointRow's fields: by name it would take three times as long."""
    _, point_id, _, ruler_version, state, reason, disturbed, detail, flop, min_bytes, floor_s = measured
    latency, speedup, device, host, operator, launches, operators, memory, compiling, preparing, error, cold = values
    bound, measured_at = others
    latency_s = latency[MEDIAN]
    return PointRow._make(
        (
            *run[:6],
            ruler_version,
            *axes,
            *(state, reason, disturbed, detail),
            *latency[MEDIAN:],
            *(device[MEDIAN], host[MEDIAN], operator[MEDIAN], launches[MEDIAN], operators[MEDIAN], memory[MEDIAN]),
            quotient(axes[BATCH], latency_s),
            quotient(flop, latency_s, scale=1e-12),
            quotient(min_bytes, latency_s, scale=1e-9),
            floor_s,
            quotient(floor_s, latency_s, scale=100.0),
            *speedup[MEDIAN : MEDIAN + 3],
            bound,
            *(compiling[MEDIAN], preparing[MEDIAN], error[MEDIAN]),
            *(run.uid, point_id, measured_at),
            cold[MEDIAN],
        )
    )


def _runs(connection: Connection, rows: Iterable[Found]) -> dict[int, MeasuringRun]:
    moment = datetime_decoder(connection)
    return {
        run_id: MeasuringRun(
            project, commit, moment(date), subject, machine, environment, uid, (machine_id, environment_id)
        )
        for run_id, project, commit, date, subject, machine, environment, uid, machine_id, environment_id in rows
    }


def _series_at(connection: Connection, place: Ids) -> Mapping[int, Sequence[Ids]]:
    """Of each sweep point its series at a place: their ids, and where TOLD has their metrics."""
    return cached_for_snapshot(connection, (_series_at, place), partial(_read_series_at, connection, place))


def _read_series_at(connection: Connection, place: Ids) -> dict[int, list[Ids]]:
    told = {metric: i for i, metric in enumerate(TOLD)}
    where = {"machine_id": place[0], "environment_id": place[1], "point_ids": sweep_points(connection)}
    found: dict[int, list[Ids]] = {}
    for series_id, point_id, metric in fetch_rows(connection, _SERIES, where):
        if metric in told:
            found.setdefault(point_id, []).append((series_id, told[metric]))
    return found


def _of_both(
    connection: Connection, query: sa.Select[*tuple[Any, ...]], run_ids: Iterable[int], others: Iterable[int]
) -> list[Found]:
    """What `query` finds of any of the runs and any of the others, points or series."""
    return fetch_rows(connection, query, {"run_ids": run_ids, "others": others})


def _described(run: sa.FromClause) -> sa.Select[*tuple[Any, ...]]:
    return (
        sa.select(
            run.c.id,
            Project.name,
            Commit.hash,
            Commit.date,
            Commit.subject,
            Machine.name,
            Environment.name,
            run.c.uid,
            run.c.machine_id,
            run.c.environment_id,
        )
        .select_from(run)
        .join(Commit, Commit.id == run.c.commit_id)
        .join(Project, Project.id == run.c.project_id)
        .join(Machine, Machine.id == run.c.machine_id)
        .join(Environment, Environment.id == run.c.environment_id)
    )


# Found before anything is joined: asked for both at once, PostgreSQL may read every run of a small store.
_WANTED = (
    sa.select(Run.__table__)
    .where(any_of(Run.id, "run_ids"))
    .cte("wanted")
    .prefix_with("MATERIALIZED", dialect="postgresql")
)
_STANDING = tuple(_WANTED.c[column.key] for column in OLDEST_FIRST)
_RUNS_BY_ID = _described(_WANTED).add_columns(*_STANDING)
_RUNS_AT = (
    _described(Run.__table__)
    .where(any_of(Run.machine_id, "machine_ids"), any_of(Run.environment_id, "environment_ids"))
    .order_by(*OLDEST_FIRST)
)
_SERIES = (
    sa.select(Series.id, Series.point_id, Benchmark.metric)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .where(
        Series.machine_id == sa.bindparam("machine_id"),
        Series.environment_id == sa.bindparam("environment_id"),
        any_of(Series.point_id, "point_ids"),
    )
)
_VALUES = sa.select(Value.run_id, Value.series_id, Value.median, Value.ci_low, Value.ci_high, Value.sample_count).where(
    any_of(Value.run_id, "run_ids"), any_of(Value.series_id, "others")
)
_BOUNDS = sa.select(Profile.run_id, Profile.point_id, Profile.bound).where(
    any_of(Profile.run_id, "run_ids"), any_of(Profile.point_id, "others")
)
_MEASURED = sa.select(Measurement.run_id, Measurement.point_id).where(
    any_of(Measurement.run_id, "run_ids"), any_of(Measurement.point_id, "others")
)
_MEASUREMENTS = sa.select(
    Measurement.run_id,
    Measurement.point_id,
    Measurement.measured_at,
    Measurement.ruler_version,
    Measurement.state,
    Measurement.reason,
    Measurement.disturbed,
    Measurement.provider_detail,
    Measurement.flop,
    Measurement.min_bytes,
    Measurement.floor_s,
).where(any_of(Measurement.run_id, "run_ids"), any_of(Measurement.point_id, "others"))
