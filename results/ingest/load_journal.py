"""A journal's records → rows: journals only add, and within a run the last line of a kind counts."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from results.database.bulk import insert_rows
from results.database.schema import Benchmark, Measurement, Profile, ProfileKernel, ProfileOperator, Series, Value
from results.files.records import ProfileRecord, State, TimingRecord
from results.files.stacks import stacks_as_bytes
from results.ingest.dimensions import BenchmarkIdentity
from results.ingest.runs import VALUE_COLUMNS, Desk, ValueRow, count_values, store_run
from results.ingest.series_ids import Place
from results.metrics import LATENCY, PROFILE_METRICS, TIMING_METRICS, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.files.records import JournalRecord

SWEEP_INTERVAL_LEVEL = 0.95


class _Spot(NamedTuple):
    """Where a line's rows go."""

    project_id: int
    run_id: int
    point_id: int
    place: Place


def load_journal(desk: Desk, record: JournalRecord) -> int:
    """Add a journal's lines; the number of values stored."""
    timings = {(line.run.project, line.run.run_id, line.point): line for line in record.timings}
    profiles = {(line.run.project, line.run.run_id, line.point): line for line in record.profiles}
    n_values = sum(_load_timing(desk, line) for line in timings.values())
    n_values += sum(_load_profile(desk, line) for line in profiles.values())
    for run_id in desk.dimensions.remembered_runs():
        count_values(desk.connection, run_id)
    return n_values


def _load_timing(desk: Desk, line: TimingRecord) -> int:
    spot = _spot(desk, line)
    if not _make_room(desk, spot, line, (Measurement,), TIMING_METRICS):
        return 0
    desk.connection.execute(
        sa.insert(Measurement).values(
            run_id=spot.run_id,
            point_id=spot.point_id,
            ruler_version=line.run.ruler_version or "",
            measured_at=line.measured_at,
            together=line.group,
            state=line.state.value,
            reason=line.reason,
            disturbed=line.disturbed,
            provider_detail=line.provider_detail,
            stop=line.stop,
            flop=line.flop,
            min_bytes=line.min_bytes,
            floor_s=line.floor_s,
            conditions=dict(line.conditions),
        )
    )
    return _store_metrics(desk, spot, line, TIMING_METRICS)


def _load_profile(desk: Desk, line: ProfileRecord) -> int:
    spot = _spot(desk, line)
    if not _make_room(desk, spot, line, (Profile, ProfileOperator, ProfileKernel), PROFILE_METRICS):
        return 0
    ids = (spot.run_id, spot.point_id)
    desk.connection.execute(
        sa.insert(Profile).values(
            run_id=spot.run_id,
            point_id=spot.point_id,
            measured_at=line.measured_at,
            state=line.state.value,
            reason=line.reason,
            operator_count=line.operator_count,
            operator_time_s=line.operator_time_s,
            kernel_launches=line.kernel_launches,
            device_time_s=line.device_time_s,
            peak_memory_bytes=line.peak_memory_bytes,
            bound=line.bound,
            expected_operator_count=line.expected_operator_count,
            expected_kernel_launches=line.expected_kernel_launches,
            unexpected=line.unexpected,
            stacks=stacks_as_bytes(line.stacks),
            trace=line.trace,
        )
    )
    key = ("run_id", "point_id", "position")
    insert_rows(
        desk.connection,
        ProfileOperator,
        (*key, "name", "count", "self_time_s", "total_time_s", "is_compute"),
        [(*ids, i, o.name, o.count, o.self_time_s, o.total_time_s, o.is_compute) for i, o in enumerate(line.operators)],
    )
    insert_rows(
        desk.connection,
        ProfileKernel,
        (*key, "name", "count", "device_time_s"),
        [(*ids, i, kernel.name, kernel.count, kernel.device_time_s) for i, kernel in enumerate(line.kernels)],
    )
    return _store_metrics(desk, spot, line, PROFILE_METRICS)


def _spot(desk: Desk, line: TimingRecord | ProfileRecord) -> _Spot:
    connection, dimensions, run = desk.connection, desk.dimensions, line.run
    project_id = dimensions.project(connection, run.project)
    place = Place(
        dimensions.machine(connection, run.machine),
        dimensions.environment(connection, run.environment, details={}),
    )
    run_id = dimensions.remembered_run(
        (project_id, run.run_id),
        lambda: store_run(
            desk,
            project_id=project_id,
            uid=run.run_id,
            commit=run.commit,
            place=place,
            started_at=run.started_at,
            conditions=dict(line.conditions),
        ),
    )
    point_id = dimensions.series.sweep_point(connection, project_id, line.point)
    return _Spot(project_id, run_id, point_id, place)


def _make_room(
    desk: Desk,
    spot: _Spot,
    line: TimingRecord | ProfileRecord,
    tables: tuple[type[Measurement]] | tuple[type[Profile], type[ProfileOperator], type[ProfileKernel]],
    metrics: Iterable[Metric],
) -> bool:
    """Remove an earlier line of this kind and its values; False if a later one is stored and must stay."""
    table = tables[0]
    where = (table.run_id == spot.run_id, table.point_id == spot.point_id)
    stored_at = desk.connection.execute(sa.select(table.measured_at).where(*where)).scalar()
    if stored_at is None:
        return True
    if stored_at > line.measured_at:
        return False
    for child in reversed(tables):
        desk.connection.execute(sa.delete(child).where(child.run_id == spot.run_id, child.point_id == spot.point_id))
    series = (
        sa.select(Series.id)
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .where(Series.point_id == spot.point_id, Benchmark.metric.in_([metric.name for metric in metrics]))
    )
    desk.connection.execute(sa.delete(Value).where(Value.run_id == spot.run_id, Value.series_id.in_(series)))
    return True


def _store_metrics(desk: Desk, spot: _Spot, line: TimingRecord | ProfileRecord, metrics: Iterable[Metric]) -> int:
    rows: list[ValueRow] = []
    for metric in metrics:
        if getattr(line, metric.name) is None and (metric is not LATENCY or line.state == State.OK):
            continue
        benchmark_id = desk.dimensions.benchmark(
            desk.connection,
            spot.project_id,
            BenchmarkIdentity(line.point.operation, metric.name, line.run.ruler_version or ""),
            unit=metric.unit,
            interval_level=SWEEP_INTERVAL_LEVEL,
            parameter_names=(),
        )
        series_id = desk.dimensions.series.of_point(desk.connection, benchmark_id, spot.place, spot.point_id)
        rows.append(_value_row(spot.run_id, series_id, metric, line))
    insert_rows(desk.connection, Value, VALUE_COLUMNS, rows)
    return len(rows)


def _value_row(run_id: int, series_id: int, metric: Metric, line: TimingRecord | ProfileRecord) -> ValueRow:
    number = getattr(line, metric.name)
    state, reason = ("ok", None) if number is not None else (line.state.value, line.reason)
    low = high = q25 = q75 = count = calls = samples = None
    if isinstance(line, TimingRecord) and metric is LATENCY:
        # An ok value's reason is what disturbed it: the gate does not build on it.
        reason = reason or line.disturbed
        low, high = line.latency_ci_low_s, line.latency_ci_high_s
        calls = line.calls_per_sample
        if line.samples_s:
            import numpy as np  # noqa: PLC0415 - a tenth of a second that an asv tree need not pay

            q25, q75 = (float(q) for q in np.percentile(line.samples_s, [25, 75]))
            count = len(line.samples_s)
            samples = array("d", line.samples_s).tobytes()
    elif isinstance(line, TimingRecord) and metric.name == "speedup_vs_eager":
        low, high = line.speedup_ci_low, line.speedup_ci_high
    return (run_id, series_id, state, number, low, high, q25, q75, count, calls, samples, reason)
