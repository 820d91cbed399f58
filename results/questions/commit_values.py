"""Values of any suite at one commit, with their samples → frozen rows."""

from __future__ import annotations

from array import array
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.database.fetching import fetch_rows, gc_paused
from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import Benchmark, Commit, Environment, Machine, Measurement, Project, Run, Series, Value
from results.database.snapshot_cache import cached_for_snapshot
from results.metrics import LATENCY
from results.questions.histories import SERIES_AT_PLACES
from results.questions.joined_series import first_of, joined_series
from results.questions.series_filters import conditions_from
from results.rows import ProcessValue, SeriesFilter, SeriesValueRow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.database.point_parameters import ParametersOfPoint
    from results.questions.histories import DatabaseRow
    from results.store import Store


# What differs from run to run of a series, and what of it commits are compared by.
_COMPARED = (Value.state, Value.reason, Value.median, Value.ci_low, Value.ci_high)
_MEASURED = (
    *_COMPARED,
    Value.q25,
    Value.q75,
    Value.sample_count,
    Value.samples,
    Value.calls_per_sample,
)
_NOT_ASKED = (None,) * 4  # quartiles, the number of samples, and these
_fields_of = attrgetter("benchmark", "metric", "unit", "version")
_place_of = attrgetter("project", "benchmark", "metric", "series_id")  # in a list


def values_at(store: Store, *, commit: str, **chosen: Unpack[SeriesFilter]) -> list[SeriesValueRow]:
    """Return the newest value at `commit`, a full hash, of every series that `chosen` takes.

    Ordered by project, benchmark and metric. Where versions were declared equal, `series_id` is the oldest's, so
    that values before and after belong together.
    """
    with store.reading() as connection, gc_paused():
        # Ids, not a subquery: with one SQLite reads every value there is.
        runs = sa.select(Run.id).join(Commit, Commit.id == Run.commit_id).where(Commit.hash == commit)
        run_ids = list(connection.execute(runs).scalars())
        found = connection.execute(_values_at(run_ids).where(*conditions_from(chosen))).all()
        parameters = parameters_of_points(connection, {row.point_id for row in found})
        joined = joined_series(connection)
        # Ordered, so that the newest run is last.
        newest = {first_of(row.series_id, joined): _series_value(row, parameters, joined) for row in found}
    return sorted(newest.values(), key=_place_of)


def all_values_at(
    store: Store, *, commit: str, run_ids: Collection[str] | None = None, **chosen: Unpack[SeriesFilter]
) -> list[SeriesValueRow]:
    """Return the value of every run at `commit`, a full hash, of every series that `chosen` takes, with its visits.

    Without samples and what is made of them but the interval. run_ids: only these runs. Ordered by series, and then by
    run, oldest first; `series_id` is as for `values_at`.
    """
    with store.reading() as connection, gc_paused():
        every = cached_for_snapshot(connection, (_runs_at, commit), partial(_runs_at, connection, commit))
        runs = {run.id: run for run in every if run_ids is None or run.uid in run_ids}
        ids = list(runs)
        found = fetch_rows(connection, _columns_at(ids).where(*conditions_from(chosen)))
        joined = joined_series(connection)
        described = _described(connection, {row[0] for row in found})
        of_point = sa.select(Measurement.run_id, Measurement.point_id, Measurement.visits)
        visits = {
            (run_id, point_id): of_run
            for run_id, point_id, of_run in connection.execute(of_point.where(Measurement.run_id.in_(ids)))
        }
        rows = [_value_of_run(row, runs[row[1]], described[row[0]], joined, visits) for row in found]
        return sorted(rows, key=_place_of)


class _RunAt(NamedTuple):
    """Run of a commit, and what all its rows begin and end with."""

    id: int
    uid: str
    beginning: tuple[Any, ...]
    end: tuple[Any, ...]


def _runs_at(connection: Connection, commit: str) -> list[_RunAt]:
    return [
        _RunAt(run_id, uid, tuple(beginning), (uid, started_at))
        for run_id, uid, started_at, *beginning in connection.execute(_RUNS.where(Commit.hash == commit))
    ]


class _Description(NamedTuple):
    """Point of a series, its metric, and the fields of its rows that are the same in every run."""

    point_id: int
    metric: str
    fields: tuple[Any, ...]


def _described(connection: Connection, series_ids: set[int]) -> dict[int, _Description]:
    """Return the descriptions of at least these series, each of which is read once for a snapshot."""
    known: dict[int, _Description] = cached_for_snapshot(connection, _described, dict)
    if unknown := series_ids - known.keys():
        rows = connection.execute(
            SERIES_AT_PLACES.where(any_of(Series.id, "series_ids")), {"series_ids": unknown}
        ).all()
        parameters = parameters_of_points(connection, {row.point_id for row in rows})
        for row in rows:
            fields = _fields_of(row)
            known[row.id] = _Description(row.point_id, row.metric, (*fields, parameters.get(row.point_id, ())))
    return known


def _value_of_run(
    columns: tuple[Any, ...],
    run: _RunAt,
    description: _Description,
    joined: dict[int, tuple[int, ...]],
    visits: Mapping[tuple[int, int], list[dict[str, Any]]],
) -> SeriesValueRow:
    series_id, run_id, state, reason, median, low, high = columns
    processes: tuple[ProcessValue, ...] = ()
    if visits and description.metric == LATENCY.name and median is not None:
        made = visits.get((run_id, description.point_id))
        processes = _of_visits(made, run.uid) if made else ()
    # In the order of its fields: naming thousands of them takes as long as reading them.
    return SeriesValueRow._make(
        (
            first_of(series_id, joined) if joined else series_id, *run.beginning, *description.fields,
            state, reason, median, low, high, *_NOT_ASKED, *run.end, None, processes,
        )
    )  # fmt: skip


def _of_visits(visits: list[dict[str, Any]], run_id: str) -> tuple[ProcessValue, ...]:
    """Return the visits of a run of a series as processes; none where one has no value, and the run itself is one."""
    if not all(visit.get("median_s") for visit in visits):
        return ()
    return tuple(
        ProcessValue(run_id, i, visit["median_s"], None, None, visit.get("disturbed"), visit.get("machine_speed"))
        for i, visit in enumerate(visits)
    )


def _columns_at(run_ids: list[int]) -> sa.Select[*tuple[Any, ...]]:
    """Select what differs from run to run of a series; its description is read once, and beside it."""
    return _values_at(run_ids).with_only_columns(Value.series_id, Value.run_id, *_COMPARED)


def _values_at(run_ids: list[int]) -> sa.Select[*tuple[Any, ...]]:
    return (
        sa.select(
            Value.series_id,
            Project.name.label("project"),
            Commit.hash.label("commit"),
            Commit.date.label("commit_date"),
            Commit.subject.label("commit_subject"),
            Machine.name.label("machine"),
            Environment.name.label("environment"),
            Benchmark.name.label("benchmark"),
            Benchmark.metric,
            Benchmark.unit,
            Benchmark.version,
            *_MEASURED,
            Run.id.label("run"),
            Run.uid,
            Run.started_at,
            Series.point_id,
        )
        .select_from(Value)
        .join(Run, Run.id == Value.run_id)
        .join(Commit, Commit.id == Run.commit_id)
        .join(Series, Series.id == Value.series_id)
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .join(Project, Project.id == Commit.project_id)
        .join(Machine, Machine.id == Run.machine_id)
        .join(Environment, Environment.id == Run.environment_id)
        .where(Value.run_id.in_(run_ids))
        .order_by(Run.started_at.asc().nulls_first(), Run.id)
    )


def _series_value(
    row: DatabaseRow,
    parameters: ParametersOfPoint,
    joined: dict[int, tuple[int, ...]],
) -> SeriesValueRow:
    # In the order of the statement's columns: looking each up by its name takes as long as reading them.
    (
        series_id, project, commit, commit_date, commit_subject, machine, environment, benchmark, metric, unit, version,
        state, reason, value, ci_low, ci_high, q25, q75, sample_count, samples, calls_per_sample, _, run_id,
        measured_at, point_id,
    ) = row  # fmt: skip
    return SeriesValueRow(
        series_id=first_of(series_id, joined) if joined else series_id,
        project=project,
        commit=commit,
        commit_date=commit_date,
        commit_subject=commit_subject,
        machine=machine,
        environment=environment,
        benchmark=benchmark,
        metric=metric,
        unit=unit,
        version=version,
        parameters=parameters.get(point_id, ()),
        state=state,
        reason=reason,
        value=value,
        ci_low=ci_low,
        ci_high=ci_high,
        q25=q25,
        q75=q75,
        sample_count=sample_count,
        samples=None if samples is None else tuple(array("d", samples)),
        run_id=run_id,
        measured_at=measured_at,
        calls_per_sample=calls_per_sample,
    )


_RUNS = (
    sa.select(
        Run.id,
        Run.uid,
        Run.started_at,
        Project.name,
        Commit.hash,
        Commit.date,
        Commit.subject,
        Machine.name,
        Environment.name,
    )
    .join(Commit, Commit.id == Run.commit_id)
    .join(Project, Project.id == Commit.project_id)
    .join(Machine, Machine.id == Run.machine_id)
    .join(Environment, Environment.id == Run.environment_id)
)
