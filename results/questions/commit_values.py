"""Values of any suite at one commit, with their samples → frozen rows."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.fetching import gc_paused
from results.database.point_parameters import parameters_of_points
from results.database.schema import Benchmark, Commit, Environment, Machine, Measurement, Project, Run, Series, Value
from results.metrics import LATENCY
from results.questions.joined_series import first_of, joined_series
from results.questions.series_filters import conditions_from
from results.rows import ProcessValue, SeriesFilter, SeriesValueRow

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Unpack

    from results.database.point_parameters import ParametersOfPoint
    from results.questions.histories import DatabaseRow
    from results.store import Store


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
    return sorted(newest.values(), key=lambda row: (row.project, row.benchmark, row.metric, row.series_id))


def all_values_at(
    store: Store, *, commit: str, run_ids: Collection[str] | None = None, **chosen: Unpack[SeriesFilter]
) -> list[SeriesValueRow]:
    """Return the value of every run at `commit`, a full hash, of every series that `chosen` takes, with its processes.

    run_ids: only these runs. Ordered by series, and then by run, oldest first; `series_id` is as for `values_at`.
    """
    with store.reading() as connection, gc_paused():
        runs = sa.select(Run.id).join(Commit, Commit.id == Run.commit_id).where(Commit.hash == commit)
        if run_ids is not None:
            runs = runs.where(Run.uid.in_(run_ids))
        ids = list(connection.execute(runs).scalars())
        found = connection.execute(_values_at(ids).where(*conditions_from(chosen))).all()
        parameters = parameters_of_points(connection, {row.point_id for row in found})
        joined = joined_series(connection)
        of_point = sa.select(Measurement.run_id, Measurement.point_id, Measurement.visits)
        visits = {
            (run_id, point_id): of_run
            for run_id, point_id, of_run in connection.execute(of_point.where(Measurement.run_id.in_(ids)))
        }
        rows = [
            _series_value(
                row,
                parameters,
                joined,
                _processes(row, visits.get((row.run, row.point_id)) if row.metric == LATENCY.name else None),
            )
            for row in found
        ]
    return sorted(rows, key=lambda row: (row.project, row.benchmark, row.metric, row.series_id))


def _processes(row: DatabaseRow, visits: list[dict[str, Any]] | None) -> tuple[ProcessValue, ...]:
    """Return the processes of a run of a series: its visits, or the run itself where it made none."""
    if row.median is None:
        return ()
    if visits and all(visit.get("median_s") for visit in visits):
        return tuple(
            ProcessValue(row.uid, i, visit["median_s"], None, None, visit.get("disturbed"), visit.get("machine_speed"))
            for i, visit in enumerate(visits)
        )
    return (ProcessValue(row.uid, 0, row.median, row.ci_low, row.ci_high, row.reason),)


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
            Value.state,
            Value.reason,
            Value.median,
            Value.ci_low,
            Value.ci_high,
            Value.q25,
            Value.q75,
            Value.sample_count,
            Value.samples,
            Value.calls_per_sample,
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
    processes: tuple[ProcessValue, ...] = (),
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
        processes=processes,
    )
