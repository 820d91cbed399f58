"""Load a journal's records as rows: journals only add, and within a run the last line of a kind counts."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from results.database.bulk import insert_rows
from results.database.key_lists import any_of
from results.database.schema import Benchmark, Measurement, Profile, ProfileKernel, ProfileOperator, Series, Value
from results.errors import UnreadableFile
from results.files.journal_lines import ProfileRecord, TimingRecord
from results.files.records import State
from results.ingest.dimensions import BenchmarkIdentity
from results.ingest.measurements import insert_measurements, insert_profiles
from results.ingest.runs import (
    VALUE_COLUMNS,
    LoadContext,
    ValueRow,
    count_values,
    path_of_source,
    store_run,
    stored_run,
)
from results.ingest.series_ids import Testbed
from results.metrics import LATENCY, PROFILE_METRICS, TIMING_METRICS, Metric
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.files.journal import JournalRecord
    from results.files.journal_lines import RunRecord
    from results.files.records import PointRecord

    Line = TimingRecord | ProfileRecord

LineT = TypeVar("LineT", TimingRecord, ProfileRecord)

SWEEP_INTERVAL_LEVEL = 0.95


def load_journal(context: LoadContext, journal: JournalRecord) -> int:
    """Add a journal's lines; return the number of values stored.

    Raises: UnreadableFile if a run is of another machine or commit than the stored run of its identity.
    """
    _refuse_two_machines(context, [*journal.timings, *journal.profiles])
    runs: dict[tuple[str, str], tuple[dict[PointRecord, TimingRecord], dict[PointRecord, ProfileRecord]]] = {}
    for timing in journal.timings:
        runs.setdefault((timing.run.project, timing.run.run_id), ({}, {}))[0][timing.point] = timing
    for profile in journal.profiles:
        runs.setdefault((profile.run.project, profile.run.run_id), ({}, {}))[1][profile.point] = profile
    return sum(_load_run(context, timings, profiles) for timings, profiles in runs.values())


def _load_run(
    context: LoadContext, timings: Mapping[PointRecord, TimingRecord], profiles: Mapping[PointRecord, ProfileRecord]
) -> int:
    connection, dimensions = context.connection, context.dimensions
    lines: list[Line] = [*timings.values(), *profiles.values()]
    first = lines[0]
    project_id = dimensions.project(connection, first.run.project)
    stored = stored_run(context, project_id, first.run.run_id)
    run_id = store_run(
        context,
        stored,
        project_id=project_id,
        uid=first.run.run_id,
        commit=first.run.commit,
        testbed=_testbed(context, first),
        started_at=first.run.started_at,
        conditions=dict(first.conditions),
    )
    ids = dimensions.series.sweep_points(connection, project_id, list({**timings, **profiles}))
    timed = {ids[point]: line for point, line in timings.items()}
    profiled = {ids[point]: line for point, line in profiles.items()}
    if stored is not None:
        is_elsewhere = stored.source_id != context.source_id
        other = path_of_source(context, stored.source_id) if is_elsewhere else None
        timed = _without_outdated(context, run_id, timed, Measurement, other=other)
        profiled = _without_outdated(context, run_id, profiled, Profile, other=None)
    insert_measurements(connection, run_id, timed)
    insert_profiles(connection, run_id, profiled)
    rows = _value_rows(context, project_id, run_id, timed, TIMING_METRICS)
    rows += _value_rows(context, project_id, run_id, profiled, PROFILE_METRICS)
    insert_rows(connection, Value, VALUE_COLUMNS, sorted(rows, key=lambda row: row[1]))
    count_values(connection, run_id)
    return len(rows)


def _refuse_two_machines(context: LoadContext, lines: Sequence[Line]) -> None:
    first_of: dict[tuple[str, str], RunRecord] = {}
    for line in lines:
        run = line.run
        first = first_of.setdefault((run.project, run.run_id), run)
        if (run.machine, run.commit_hash) != (first.machine, first.commit_hash):
            raise UnreadableFile(
                context.path,
                f"run {run.run_id} is of machine {first.machine} at commit {first.commit_hash[:12]}, and of machine "
                f"{run.machine} at commit {run.commit_hash[:12]}: one identity for two runs",
            )


def _testbed(context: LoadContext, line: Line) -> Testbed:
    return Testbed(
        context.dimensions.machine(context.connection, line.run.machine),
        context.dimensions.environment(context.connection, line.run.environment, details={}),
    )


def _without_outdated(
    context: LoadContext,
    run_id: int,
    lines: Mapping[int, LineT],
    table: type[Measurement | Profile],
    *,
    other: str | None,
) -> dict[int, LineT]:
    """Leave out lines older than the stored ones of their points, and delete the stored ones that the rest replaces.

    `other`: the file that the run was read from before, if it is not this one.
    """
    connection = context.connection
    at = {
        point_id: moment
        for point_id, moment in connection.execute(
            sa.select(table.point_id, table.measured_at).where(table.run_id == run_id)
        )
        if point_id in lines
    }
    again = {point_id for point_id, moment in at.items() if moment != lines[point_id].measured_at}
    if other is not None and again:
        groups = {getattr(lines[point_id], "group", None) for point_id in again}
        context.notes.append(
            f"{context.path}: run {next(iter(lines.values())).run.run_id} measured {counted(len(groups), 'group')} "
            f"twice, for this file and for {other}; the later measurement of each point counts"
        )
    kept = {
        point_id: line for point_id, line in lines.items() if point_id not in at or at[point_id] <= line.measured_at
    }
    if replaced := sorted(at.keys() & kept.keys()):
        metrics = TIMING_METRICS if table is Measurement else PROFILE_METRICS
        series = (
            sa.select(Series.id)
            .join(Benchmark, Benchmark.id == Series.benchmark_id)
            .where(any_of(Series.point_id, keys=replaced), Benchmark.metric.in_([metric.name for metric in metrics]))
        )
        connection.execute(sa.delete(Value).where(Value.run_id == run_id, Value.series_id.in_(series)))
        for child in (ProfileOperator, ProfileKernel, Profile) if table is Profile else (Measurement,):
            connection.execute(sa.delete(child).where(child.run_id == run_id, any_of(child.point_id, keys=replaced)))
    return kept


def _value_rows(
    context: LoadContext, project_id: int, run_id: int, lines: Mapping[int, Line], metrics: Sequence[Metric]
) -> list[ValueRow]:
    """Return the rows of all numbers in `lines`; a point that is not ok has one, of its latency, with the reason."""
    connection, dimensions = context.connection, context.dimensions
    groups: dict[tuple[str, str, str], dict[int, Line]] = {}
    for point_id, line in lines.items():
        groups.setdefault((line.run.environment, line.point.operation, line.run.ruler_version), {})[point_id] = line
    dimensions.load_benchmarks(connection, project_id, {operation for _, operation, _ in groups})
    rows: list[ValueRow] = []
    for (_, operation, version), group in groups.items():
        measured: list[Metric] = []
        wanted: list[tuple[int, list[int]]] = []
        for metric in metrics:
            name = metric.name
            point_ids = [
                point_id
                for point_id, line in group.items()
                if getattr(line, name) is not None or (metric is LATENCY and line.state is not State.OK)
            ]
            if point_ids:
                benchmark_id = dimensions.benchmark(
                    connection,
                    project_id,
                    BenchmarkIdentity(operation, name, version),
                    unit=metric.unit,
                    interval_level=SWEEP_INTERVAL_LEVEL,
                    parameter_names=(),
                )
                measured.append(metric)
                wanted.append((benchmark_id, point_ids))
        testbed = _testbed(context, next(iter(group.values())))
        series = dimensions.series.of_points(connection, testbed, wanted)
        for metric, (_, point_ids), series_ids in zip(measured, wanted, series, strict=True):
            rows += (_value_row(run_id, s, metric, group[p]) for s, p in zip(series_ids, point_ids, strict=True))
    return rows


def _value_row(run_id: int, series_id: int, metric: Metric, line: Line) -> ValueRow:
    number = getattr(line, metric.name)
    state, reason = ("ok", None) if number is not None else (line.state.value, line.reason)
    low = high = q25 = q75 = count = calls = samples = None
    if metric is LATENCY and isinstance(line, TimingRecord):
        # An ok value's reason is what disturbed it: the gate does not build on it.
        reason = reason or line.disturbed
        low, high = line.latency_ci_low_s, line.latency_ci_high_s
        calls = line.calls_per_sample
        # What failed at a later visit keeps the samples of earlier ones, which are no value of it.
        if counted := line.counted_samples_s if number is not None else []:
            ordered = sorted(counted)
            q25, q75 = percentile(ordered, 0.25), percentile(ordered, 0.75)
            count = len(ordered)
            samples = array("d", counted).tobytes()
    elif metric.name == "speedup_vs_eager" and isinstance(line, TimingRecord):
        low, high = line.speedup_ci_low, line.speedup_ci_high
    return (run_id, series_id, state, number, low, high, q25, q75, count, calls, samples, reason)


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Interpolate linearly between ordered samples, to the bit as numpy.percentile; numpy is slower on few."""
    position = fraction * (len(ordered) - 1)
    below = int(position)
    weight = position - below
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (high - low) * weight if weight < 0.5 else high - (high - low) * (1 - weight)
