"""asv's records → rows: a result file's run replaces what the same run held before."""

from __future__ import annotations

from array import array
from itertools import repeat
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.asv_json import undescribed_benchmark
from results.bulk import insert_rows
from results.dimensions import BenchmarkIdentity, Place
from results.loading import VALUE_COLUMNS, Desk, ValueRow, count_values, store_run
from results.records import State
from results.schema import Benchmark, Execution, Machine, Parameter, Point, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.records import AsvBenchmarkRecord, AsvMachineRecord, AsvResultRecord, AsvRunRecord

ASV_INTERVAL_LEVEL = 0.99


def load_asv_run(
    desk: Desk,
    record: AsvRunRecord,
    *,
    project: str,
    described: Mapping[str, AsvBenchmarkRecord],
    covered: frozenset[str],
) -> int:
    """Store a result file; the number of values stored, failed and skipped ones included.

    `described`: benchmarks.json by name. `covered`: suites left out because a journal is their record.
    """
    dimensions, connection = desk.dimensions, desk.connection
    results = [result for result in record.results if result.name.split(".", 1)[0] not in covered]
    if not results and covered:
        return 0
    project_id = dimensions.project(connection, project)
    details = {"python": record.python, **record.requirements, **record.env_vars}
    place = Place(
        dimensions.machine(connection, record.machine),
        dimensions.environment(connection, record.environment, details=details),
    )
    run_id = store_run(
        desk,
        project_id=project_id,
        uid=record.uid,
        commit=record.commit,
        place=place,
        started_at=record.started_at,
        conditions={},
    )
    for table in (Value, Execution):
        connection.execute(sa.delete(table).where(table.run_id == run_id))
    rows: list[ValueRow] = []
    executions = []
    for result in results:
        benchmark_id, names = _benchmark(desk, project_id, result, described)
        series_ids = dimensions.series_of_combinations(
            connection, project_id, (benchmark_id, result.name), place, result.parameters, names
        )
        rows.extend(_value_rows(run_id, series_ids, result))
        executions.append(
            {
                "run_id": run_id,
                "benchmark_id": benchmark_id,
                "started_at": result.started_at,
                "duration_s": result.duration_s,
            }
        )
    rows.sort(key=_series_of)  # in the order of the key, so that pages fill once
    insert_rows(connection, Value, VALUE_COLUMNS, rows)
    if executions:
        connection.execute(sa.insert(Execution), executions)
    count_values(desk.connection, run_id)
    return len(rows)


def _benchmark(
    desk: Desk, project_id: int, result: AsvResultRecord, described: Mapping[str, AsvBenchmarkRecord]
) -> tuple[int, tuple[str, ...]]:
    benchmark = described.get(result.name) or undescribed_benchmark(
        result.name, version=result.version, n_parameters=len(result.parameters)
    )
    version = benchmark.version if result.version is None else result.version
    benchmark_id = desk.dimensions.benchmark(
        desk.connection,
        project_id,
        BenchmarkIdentity(result.name, benchmark.type, version),
        unit=benchmark.unit,
        interval_level=ASV_INTERVAL_LEVEL,
        parameter_names=benchmark.parameter_names,
    )
    return benchmark_id, benchmark.parameter_names


def _series_of(row: ValueRow) -> int:
    series_id: int = row[1]
    return series_id


def _value_rows(run_id: int, series_ids: Sequence[int], result: AsvResultRecord) -> Iterable[ValueRow]:
    values = result.values
    # NaN is not equal to itself: that is how asv's skipped values are told apart, at no cost to the others.
    states = ["ok" if v == v and v is not None else _state_of(v) for v in values]  # noqa: PLR0124
    reasons = [result.reasons.get(i) for i in range(len(values))] if result.reasons else repeat(None)
    samples = (
        repeat(None) if result.samples is None else [array("d", s).tobytes() if s else None for s in result.samples]
    )
    rows = zip(
        repeat(run_id),
        series_ids,
        states,
        [v if v == v else None for v in values],  # noqa: PLR0124
        result.ci_low or repeat(None),
        result.ci_high or repeat(None),
        result.q25 or repeat(None),
        result.q75 or repeat(None),
        result.sample_count or repeat(None),
        result.calls_per_sample or repeat(None),
        samples,
        reasons,
        strict=False,
    )
    if len(set(series_ids)) == len(series_ids):
        return rows
    return {row[1]: row for row in rows}.values()  # the same value twice in a parameter: the last one counts


def _state_of(value: float | None) -> str:
    return State.FAILED.value if value is None else State.SKIPPED.value


def load_asv_machine(desk: Desk, record: AsvMachineRecord) -> int:
    """Keep what machine.json says; no values are stored: 0."""
    machine_id = desk.dimensions.machine(desk.connection, record.name)
    desk.connection.execute(sa.update(Machine).where(Machine.id == machine_id).values(details=dict(record.details)))
    return 0


def load_asv_benchmarks(desk: Desk, records: Sequence[AsvBenchmarkRecord], *, project: str) -> int:
    """Give stored benchmarks the units and parameter names benchmarks.json knows; no values are stored: 0."""
    project_id = desk.dimensions.project(desk.connection, project)
    stored: dict[str, list[Any]] = {}
    rows = desk.connection.execute(
        sa.select(Benchmark.id, Benchmark.name, Benchmark.unit, Benchmark.parameter_names).where(
            Benchmark.project_id == project_id, Benchmark.interval_level == ASV_INTERVAL_LEVEL
        )
    )
    for row in rows:
        stored.setdefault(row.name, []).append(row)
    for record in records:
        names = list(record.parameter_names)
        for row in stored.get(record.name, ()):
            if (row.unit, row.parameter_names) != (record.unit, names):
                desk.connection.execute(
                    sa.update(Benchmark).where(Benchmark.id == row.id).values(unit=record.unit, parameter_names=names)
                )
                _rename_parameters(desk, project_id, record)
    return 0


def _rename_parameters(desk: Desk, project_id: int, record: AsvBenchmarkRecord) -> None:
    points = sa.select(Point.id).where(Point.project_id == project_id, Point.subject == record.name)
    for position, name in enumerate(record.parameter_names):
        desk.connection.execute(
            sa.update(Parameter).where(Parameter.point_id.in_(points), Parameter.position == position).values(name=name)
        )
