"""Questions about series of any suite, asv's as well as our own → frozen rows."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.parameters import value_from_typed
from results.rows import HistoryValue, ParameterValue, SeriesHistory, SeriesRow, SeriesValueRow
from results.schema import Benchmark, Commit, Environment, Machine, Parameter, Project, Run, Series, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy.engine import Connection

    from results.store import Store


def values_at(store: Store, *, commit: str) -> list[SeriesValueRow]:
    """Every series' newest value at the commit with the full hash `commit`, ordered by benchmark."""
    with store.reading() as connection:
        # The runs by name: given a subquery, SQLite reads every value there is.
        runs = sa.select(Run.id).join(Commit, Commit.id == Run.commit_id).where(Commit.hash == commit)
        run_ids = list(connection.execute(runs).scalars())
        points = sa.select(Series.point_id).join(Value, Value.series_id == Series.id)
        parameters = _parameters_of_points(connection, points.where(Value.run_id.in_(run_ids)))
        newest: dict[int, SeriesValueRow] = {}
        for row in connection.execute(_values(run_ids)).all():
            newest[row.series_id] = _series_value(row, parameters)  # ordered, so that the newest run is last
    return sorted(newest.values(), key=lambda row: (row.project, row.benchmark, row.metric, row.series_id))


def history_of(store: Store, *, series_ids: Iterable[int]) -> list[SeriesHistory]:
    """The chosen series with all their values, in the order of `series_ids`; unknown ids are left out."""
    chosen = list(series_ids)
    with store.reading() as connection:
        found = _series(connection, chosen)
        return [
            SeriesHistory(series=found[series_id][0], values=_history(connection, found[series_id][1]))
            for series_id in chosen
            if series_id in found
        ]


def _history(connection: Connection, place: Mapping[str, int]) -> tuple[HistoryValue, ...]:
    return tuple(map(HistoryValue._make, connection.execute(_HISTORY, place).all()))


def _series(connection: Connection, series_ids: list[int]) -> dict[int, tuple[SeriesRow, dict[str, int]]]:
    """Each series by id, and what `_HISTORY` needs to know of it."""
    points = sa.select(Series.point_id).where(Series.id.in_(series_ids))
    parameters = _parameters_of_points(connection, points)
    rows = connection.execute(
        sa.select(
            Series.id,
            Series.point_id,
            Series.machine_id,
            Series.environment_id,
            Benchmark.project_id,
            Project.name.label("project"),
            Machine.name.label("machine"),
            Environment.name.label("environment"),
            Benchmark.name.label("benchmark"),
            Benchmark.metric,
            Benchmark.unit,
            Benchmark.version,
            Benchmark.interval_level,
        )
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .join(Project, Project.id == Benchmark.project_id)
        .join(Machine, Machine.id == Series.machine_id)
        .join(Environment, Environment.id == Series.environment_id)
        .where(Series.id.in_(series_ids))
    )
    return {row.id: (_series_row(row, parameters), _place_of(row)) for row in rows}


def _place_of(row: DatabaseRow) -> dict[str, int]:
    return {
        "series_id": row.id,
        "machine_id": row.machine_id,
        "environment_id": row.environment_id,
        "project_id": row.project_id,
    }


def _series_row(row: DatabaseRow, parameters: ParametersOfPoint) -> SeriesRow:
    return SeriesRow(
        series_id=row.id,
        project=row.project,
        machine=row.machine,
        environment=row.environment,
        benchmark=row.benchmark,
        metric=row.metric,
        unit=row.unit,
        version=row.version,
        interval_level=row.interval_level,
        parameters=parameters.get(row.point_id, ()),
    )


# One look-up by key for each run of the series' machine and environment (see schema.Value).
_HISTORY = (
    sa.select(
        Commit.hash,
        Commit.date,
        Commit.subject,
        Run.uid,
        Run.started_at,
        Value.state,
        Value.reason,
        Value.median,
        Value.ci_low,
        Value.ci_high,
        Value.q25,
        Value.q75,
        Value.sample_count,
    )
    .select_from(Run)
    .join(Value, Value.run_id == Run.id)
    .join(Commit, Commit.id == Run.commit_id)
    .where(
        Run.machine_id == sa.bindparam("machine_id"),
        Run.environment_id == sa.bindparam("environment_id"),
        Run.project_id == sa.bindparam("project_id"),
        Value.series_id == sa.bindparam("series_id"),
    )
    .order_by(Run.ordered_at, Run.started_at, Run.id)
)


def _columns() -> list[Any]:
    return [
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
        Run.uid,
        Run.started_at,
        Series.point_id,
    ]


def _values(run_ids: list[int]) -> sa.Select[Any]:
    return (
        sa.select(*_columns())
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


# SQLAlchemy's Row; its columns have no names that a type checker could follow.
DatabaseRow = Any
ParametersOfPoint = dict[int, tuple[ParameterValue, ...]]


def _parameters_of_points(connection: Connection, points: sa.Select[Any]) -> ParametersOfPoint:
    found: dict[int, list[ParameterValue]] = {}
    rows = connection.execute(
        sa.select(Parameter.point_id, Parameter.name, Parameter.type, Parameter.text, Parameter.number)
        .where(Parameter.point_id.in_(points))
        .order_by(Parameter.point_id, Parameter.position)
    )
    for point_id, name, kind, text, number in rows:
        value = ParameterValue(name=name, value=value_from_typed(kind, text, number))
        found.setdefault(point_id, []).append(value)
    return {point_id: tuple(values) for point_id, values in found.items()}


def _series_value(row: DatabaseRow, parameters: ParametersOfPoint) -> SeriesValueRow:
    return SeriesValueRow(
        series_id=row.series_id,
        project=row.project,
        commit=row.commit,
        commit_date=row.commit_date,
        commit_subject=row.commit_subject,
        machine=row.machine,
        environment=row.environment,
        benchmark=row.benchmark,
        metric=row.metric,
        unit=row.unit,
        version=row.version,
        parameters=parameters.get(row.point_id, ()),
        state=row.state,
        reason=row.reason,
        value=row.median,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        q25=row.q25,
        q75=row.q75,
        sample_count=row.sample_count,
        samples=None if row.samples is None else tuple(array("d", row.samples)),
        run_id=row.uid,
        measured_at=row.started_at,
    )
