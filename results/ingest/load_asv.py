"""asv's records → rows: a result file's run replaces what the same run held before."""

from __future__ import annotations

from array import array
from itertools import chain, count, islice, repeat
from operator import attrgetter, lt
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import insert_columns, insert_rows
from results.database.schema import Benchmark, Execution, Machine, Parameter, Point, Run, Value
from results.files.asv_descriptions import undescribed_benchmark
from results.files.records import State
from results.ingest.dimensions import BenchmarkIdentity
from results.ingest.runs import BEGINNING, LoadContext, path_of_source, store_run, stored_run
from results.ingest.series_ids import Grid, Testbed
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from results.files.records import AsvBenchmarkRecord, AsvMachineRecord, AsvResultRecord, AsvRunRecord
    from results.ingest.runs import StoredRun

ASV_INTERVAL_LEVEL = 0.99
OK, FAILED, SKIPPED = State.OK.value, State.FAILED.value, State.SKIPPED.value

# Its points are the operations' own, by the names of the models that have them.
_SUITE_OF_MODELS = "models"


def load_asv_run(
    context: LoadContext,
    record: AsvRunRecord,
    *,
    project: str,
    described: Mapping[str, AsvBenchmarkRecord],
    covered: frozenset[str],
) -> int:
    """Store a result file; return the number of values stored, failed and skipped ones included.

    `described`: benchmarks.json by name. `covered`: suites left out because a journal is their record.
    """
    dimensions, connection = context.dimensions, context.connection
    results = [result for result in record.results if not _is_of_journal(result, covered)]
    if not results and covered:
        return 0
    project_id = dimensions.project(connection, project)
    details = {"python": record.python, **record.requirements, **record.env_vars}
    testbed = Testbed(
        dimensions.machine(connection, record.machine),
        dimensions.environment(connection, record.environment, details=details),
    )
    stored = stored_run(context, project_id, record.uid)
    if (
        stored is not None
        and stored.source_id != context.source_id
        and not _is_newest(context, stored, record, results)
    ):
        return 0
    run_id = store_run(
        context,
        stored,
        project_id=project_id,
        uid=record.uid,
        commit=record.commit,
        testbed=testbed,
        started_at=record.started_at,
        conditions={},
    )
    # Of a copy in another file _is_newest tells.
    before = _started_at(connection, run_id) if stored and stored.source_id == context.source_id else {}
    for table in (Value, Execution):
        connection.execute(sa.delete(table).where(table.run_id == run_id))
    dimensions.load_benchmarks(connection, project_id, [result.name for result in results])
    grids = [_grid(context, project_id, result, described) for result in results]
    series = dimensions.series.of_grids(connection, project_id, testbed, grids)
    columns = _value_columns(series, results)
    n_values = len(columns["series_id"])
    if n_values:
        insert_columns(connection, Value, {"run_id": [run_id] * n_values, **columns})
    executions = [
        (run_id, grid.benchmark_id, result.started_at, result.duration_s)
        for grid, result in zip(grids, results, strict=True)
    ]
    _tell_measured_again(context, record, before, executions)
    insert_rows(connection, Execution, ("run_id", "benchmark_id", "started_at", "duration_s"), executions)
    connection.execute(sa.update(Run).where(Run.id == run_id).values(n_values=n_values))
    return n_values


def _started_at(connection: Connection, run_id: int) -> dict[int, datetime]:
    """Return when each benchmark of a run was started, by its id, where that is known."""
    rows = connection.execute(
        sa.select(Execution.benchmark_id, Execution.started_at).where(
            Execution.run_id == run_id, Execution.started_at.is_not(None)
        )
    )
    return {row.benchmark_id: row.started_at for row in rows}


def _tell_measured_again(
    context: LoadContext,
    record: AsvRunRecord,
    before: Mapping[int, datetime],
    executions: Sequence[tuple[int, int, datetime | None, float | None]],
) -> None:
    """Note that a commit was measured again: asv's file holds the newer values alone, so nothing later can tell."""
    again = [
        benchmark_id
        for _, benchmark_id, started_at, _ in executions
        if started_at is not None and benchmark_id in before and started_at > before[benchmark_id]
    ]
    if again:
        context.notes.append(
            f"{context.path}: {counted(len(again), 'benchmark')} of {record.commit.hash[:8]} measured again; of plain "
            "asv's values the newer ones alone are known from now on"
        )


def _is_newest(
    context: LoadContext, stored: StoredRun, record: AsvRunRecord, results: Sequence[AsvResultRecord]
) -> bool:
    """Decide between two files of one run, say copies of a tree: the later and then the fuller one counts."""
    before, now = stored.started_at or BEGINNING, record.started_at or BEGINNING
    other = path_of_source(context, stored.source_id)
    n_values = sum(len(result.values) for result in results)
    age, counts = ("an older", "newer") if now != before else ("a less complete", "fuller")
    if (now, n_values) >= (before, stored.n_values):
        if (now, n_values) != (before, stored.n_values):
            context.notes.append(f"{context.path}: replaces {age} file of the same run, {other}")
        return True
    context.notes.append(f"{context.path}: {age} file of the same run as {other}; the {counts} one counts")
    return False


def _grid(
    context: LoadContext, project_id: int, result: AsvResultRecord, described: Mapping[str, AsvBenchmarkRecord]
) -> Grid:
    benchmark = described.get(result.name) or undescribed_benchmark(
        result.name, version=result.version, n_parameters=len(result.parameters)
    )
    version = benchmark.version if result.version is None else result.version
    benchmark_id = context.dimensions.benchmark(
        context.connection,
        project_id,
        BenchmarkIdentity(result.name, benchmark.type, version),
        unit=benchmark.unit,
        interval_level=ASV_INTERVAL_LEVEL,
        parameter_names=benchmark.parameter_names,
    )
    return Grid(benchmark_id, result.name, result.parameters, benchmark.parameter_names)


def _value_columns(series: Sequence[tuple[int, ...]], results: Sequence[AsvResultRecord]) -> dict[str, Sequence[Any]]:
    """Return all values as columns, in the order of their series, so that the key's pages fill once."""
    pairs = sorted(zip(series, results, strict=True), key=lambda pair: pair[0][:1])
    series_ids = list(chain.from_iterable(ids for ids, _ in pairs))
    columns: dict[str, Sequence[Any]] = {"series_id": series_ids}
    for name, column_of in COLUMNS.items():
        parts = [column_of(result) for _, result in pairs]
        if any(part is not None for part in parts):
            whole = (
                repeat(None, len(ids)) if part is None else part for part, (ids, _) in zip(parts, pairs, strict=True)
            )
            columns[name] = list(chain.from_iterable(whole))
    if all(map(lt, series_ids, islice(series_ids, 1, None))):
        return columns
    # The same value twice in a parameter: the last one counts.
    last = dict(zip(series_ids, count(), strict=False))
    places = [last[series_id] for series_id in sorted(last)]
    return {name: [column[place] for place in places] for name, column in columns.items()}


def _states(result: AsvResultRecord) -> list[str]:
    # NaN is not equal to itself: that is how asv's skipped values are told apart, at no cost to the others.
    return [OK if v == v and v is not None else FAILED if v is None else SKIPPED for v in result.values]  # noqa: PLR0124


def _is_of_journal(result: AsvResultRecord, covered: frozenset[str]) -> bool:
    """Return whether a journal is the record of `result`: of its suite, or of a run that filtered the suite out."""
    if not covered:
        return False
    suite = result.name.split(".", 1)[0]
    return suite == _SUITE_OF_MODELS or suite in covered or all(state == SKIPPED for state in _states(result))


def _medians(result: AsvResultRecord) -> list[float | None]:
    return [value if value == value else None for value in result.values]  # noqa: PLR0124


def _samples(result: AsvResultRecord) -> list[bytes | None] | None:
    if result.samples is None:
        return None
    return [array("d", samples).tobytes() if samples else None for samples in result.samples]


def _reasons(result: AsvResultRecord) -> list[str | None] | None:
    return [result.reasons.get(i) for i in range(len(result.values))] if result.reasons else None


# None: every row's is NULL.
COLUMNS: dict[str, Callable[[AsvResultRecord], Sequence[Any] | None]] = {
    "state": _states,
    "median": _medians,
    **{name: attrgetter(name) for name in ("ci_low", "ci_high", "q25", "q75", "sample_count", "calls_per_sample")},
    "samples": _samples,
    "reason": _reasons,
}


def load_asv_machine(context: LoadContext, record: AsvMachineRecord) -> int:
    """Store the details of a machine; return the number of values stored: 0."""
    machine_id = context.dimensions.machine(context.connection, record.name)
    context.connection.execute(sa.update(Machine).where(Machine.id == machine_id).values(details=dict(record.details)))
    return 0


def load_asv_benchmarks(context: LoadContext, records: Sequence[AsvBenchmarkRecord], *, project: str) -> int:
    """Update units and parameter names of stored benchmarks; return the number of values stored: 0.

    asv's result files hold no unit: what is stored of another version keeps the one that its own description gave.
    """
    project_id = context.dimensions.project(context.connection, project)
    stored: dict[str, list[Any]] = {}
    rows = context.connection.execute(
        sa.select(Benchmark.id, Benchmark.name, Benchmark.version, Benchmark.unit, Benchmark.parameter_names).where(
            Benchmark.project_id == project_id, Benchmark.interval_level == ASV_INTERVAL_LEVEL
        )
    )
    for row in rows:
        stored.setdefault(row.name, []).append(row)
    for record in records:
        names = list(record.parameter_names)
        usual = undescribed_benchmark(record.name, version=None, n_parameters=0).unit
        for row in stored.get(record.name, ()):
            is_described = row.unit != usual
            unit = row.unit if is_described and row.version != record.version else record.unit
            if is_described and unit != row.unit:
                context.notes.append(
                    f"{context.path}: the unit of {record.name} was {row.unit} and is {unit}, of the same version: as "
                    f"asv's results hold no unit, older values are read in {unit}, too; another `version` of the "
                    "benchmark begins a new series"
                )
            if (row.unit, row.parameter_names) != (unit, names):
                context.connection.execute(
                    sa.update(Benchmark).where(Benchmark.id == row.id).values(unit=unit, parameter_names=names)
                )
                _rename_parameters(context, project_id, record)
    return 0


def _rename_parameters(context: LoadContext, project_id: int, record: AsvBenchmarkRecord) -> None:
    points = sa.select(Point.id).where(Point.project_id == project_id, Point.subject == record.name)
    for position, name in enumerate(record.parameter_names):
        context.connection.execute(
            sa.update(Parameter).where(Parameter.point_id.in_(points), Parameter.position == position).values(name=name)
        )
