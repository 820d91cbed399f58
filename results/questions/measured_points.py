"""Measurements of sweep points → PointRow.

A question may take thousands of points: rows come as the driver has them, nothing is joined that a look-up here can
do, and quotients of stored quantities are formed here.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.fetching import datetime_decoder, fetch_rows, gc_paused
from results.database.key_lists import any_of
from results.database.schema import (
    Benchmark,
    Measurement,
    Profile,
    Series,
    Value,
)
from results.database.snapshot_cache import cached_for_snapshot
from results.metrics import LATENCY
from results.questions.point_rows import quotient
from results.questions.sweep_points import sweep_points
from results.rows import MOST_PERCENT_OF_FLOOR, PointRow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from results.files.records import PointRecord
    from results.questions.measuring_runs import FetchedRow, MeasuringRun, Testbed

# RunPoint of runs, and of points that each of them may have measured.
RunsOfPoints = tuple["Collection[int]", "Collection[int]"]
RunPoint = tuple[int, int]
SeriesMetric = tuple[int, int]  # id of a series and the index of its metric in POINT_METRICS

# Metrics of a PointRow, in the order in which `_row` takes their values.
POINT_METRICS = (
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
    "minor_faults_per_call",
    "recompile_time_s",
    "time_to_first_call_s",
    "overhead_s",
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
# A row of _VALUES: run, series, then median, interval and number of samples.
MEDIAN = 2
NO_VALUE = (None,) * 6
OF_PROFILES = (
    *("allocated_bytes", "operators_min_bytes", "device_busy_s", "gap_count", "gap_time_s"),
    *("expected_operator_count", "expected_kernel_launches", "expected_bytes", "expected_time_s"),
    *("compilations", "unexpected"),
)
NO_PROFILE = (None,) * (2 + len(OF_PROFILES))


def measured_pairs(connection: Connection, run_ids: Iterable[int], point_ids: Iterable[int]) -> list[RunPoint]:
    """Return (run, point) of those of the points that any of the runs measured."""
    return [(run_id, point_id) for run_id, point_id in _fetch_of(connection, _MEASURED, run_ids, point_ids)]


def runs_of_points(pairs: Iterable[RunPoint]) -> list[RunsOfPoints]:
    """Group the runs that measured the same points."""
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
    groups: Iterable[RunsOfPoints],
    *,
    runs: Mapping[int, MeasuringRun],
    metrics: Collection[str] = POINT_METRICS,
) -> list[PointRow]:
    """Return the rows of the runs and points of `groups`, in the order of `runs`; what was not measured is left out.

    Only `metrics` are looked up; fields of other metrics are None.
    """
    position = {run_id: i for i, run_id in enumerate(runs)}
    with gc_paused():
        rows = [
            (position[run_id], row)
            for of_testbed in _by_testbed(groups, runs)
            for run_id, row in _rows_of_testbed(connection, points, of_testbed, runs=runs, metrics=metrics)
        ]
        rows.sort(key=itemgetter(0))
        return [row for _, row in rows]


def _by_testbed(groups: Iterable[RunsOfPoints], runs: Mapping[int, MeasuringRun]) -> Iterator[RunsOfPoints]:
    for run_ids, point_ids in groups:
        at: dict[Testbed, list[int]] = {}
        for run_id in run_ids:
            at.setdefault(runs[run_id].testbed, []).append(run_id)
        for found in at.values():
            yield found, point_ids


def _rows_of_testbed(
    connection: Connection,
    points: Mapping[int, PointRecord],
    group: RunsOfPoints,
    *,
    runs: Mapping[int, MeasuringRun],
    metrics: Collection[str],
) -> Iterator[tuple[int, PointRow]]:
    run_ids, point_ids = group
    measured = _fetch_of(connection, _MEASUREMENTS, run_ids, point_ids)
    profiled = {(row[0], row[1]): row[2:] for row in _fetch_of(connection, _PROFILED, run_ids, point_ids)}
    values = {(row[0], row[1]): [NO_VALUE] * len(POINT_METRICS) for row in measured}
    series_of = _series_at(connection, runs[next(iter(run_ids))].testbed)
    wanted = {i for i, metric in enumerate(POINT_METRICS) if metric in metrics}
    series = {
        series_id: (point_id, metric)
        for point_id in point_ids
        for series_id, metric in series_of.get(point_id, ())
        if metric in wanted
    }
    for value in _fetch_of(connection, _VALUES, run_ids, series):
        point_id, metric = series[value[1]]
        if (of_point := values.get((value[0], point_id))) is not None:
            of_point[metric] = value
    moment = datetime_decoder(connection)
    axes = {point_id: axes_of(points[point_id]) for point_id in point_ids}
    for row in measured:
        ids = (row[0], row[1])
        others = (moment(row[2]), *profiled.get(ids, NO_PROFILE))
        yield ids[0], _row(runs[ids[0]], axes[ids[1]], row, values[ids], others)


def _row(
    run: MeasuringRun, axes: FetchedRow, measured: FetchedRow, values: Sequence[FetchedRow], others: FetchedRow
) -> PointRow:
    """Build a row in the order of PointRow's fields: by name it would take three times as long."""
    _, point_id, _, ruler_version, state, reason, disturbed, detail, flop, min_bytes, floor_s, *visits, planned = (
        measured
    )
    latency, speedup, device, host, operator, launches, operators, memory, compiling, preparing, error, *newer = values
    cold, faults, recompiling, first_call, overhead = newer
    measured_at, bound, bound_detail, *of_profile = others
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
            _percent_of_floor(floor_s, latency_s),
            *speedup[MEDIAN : MEDIAN + 3],
            bound,
            *(compiling[MEDIAN], preparing[MEDIAN], error[MEDIAN]),
            *(run.uid, point_id, measured_at),
            *(cold[MEDIAN], *visits, faults[MEDIAN], recompiling[MEDIAN], first_call[MEDIAN], overhead[MEDIAN]),
            bound_detail,
            _count(planned),
            *of_profile,
        )
    )


def _count(condition: object) -> int | None:
    """Return a count among a line's conditions, which SQLite gives as it was written and PostgreSQL as text."""
    text = str(condition)
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _percent_of_floor(floor_s: float | None, latency_s: float | None) -> float | None:
    percent = quotient(floor_s, latency_s, scale=100.0)
    return percent if percent is None or percent <= MOST_PERCENT_OF_FLOOR else None


def _series_at(connection: Connection, testbed: Testbed) -> Mapping[int, Sequence[SeriesMetric]]:
    """Return (series, index of its metric in POINT_METRICS) of each sweep point on a testbed."""
    return cached_for_snapshot(connection, (_series_at, testbed), partial(_read_series_at, connection, testbed))


def _read_series_at(connection: Connection, testbed: Testbed) -> dict[int, list[SeriesMetric]]:
    index_of = {metric: i for i, metric in enumerate(POINT_METRICS)}
    where = {"machine_id": testbed[0], "environment_id": testbed[1], "point_ids": sweep_points(connection)}
    found: dict[int, list[SeriesMetric]] = {}
    for series_id, point_id, metric in fetch_rows(connection, _SERIES, where):
        if metric in index_of:
            found.setdefault(point_id, []).append((series_id, index_of[metric]))
    return found


def _fetch_of(
    connection: Connection, query: sa.Select[*tuple[Any, ...]], run_ids: Iterable[int], others: Iterable[int]
) -> list[FetchedRow]:
    """Fetch what `query` finds of any of the runs and any of the others, points or series."""
    return fetch_rows(connection, query, {"run_ids": run_ids, "others": others})


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
_PROFILED = sa.select(
    Profile.run_id,
    Profile.point_id,
    Profile.bound,
    Profile.bound_detail,
    *(Profile.__table__.c[name] for name in OF_PROFILES),
).where(any_of(Profile.run_id, "run_ids"), any_of(Profile.point_id, "others"))
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
    sa.func.json_array_length(Measurement.visits),
    Measurement.latency_between_sd_s,
    Measurement.speedup_between_sd,
    Measurement.conditions["visits_planned"].as_string(),
).where(any_of(Measurement.run_id, "run_ids"), any_of(Measurement.point_id, "others"))
