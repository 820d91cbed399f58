"""Questions about series of any suite, asv's as well as our own → frozen rows."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.joined_series import first_of, joined_series
from results.parameters import value_from_typed
from results.rows import (
    ExecutionRow,
    HistoryValue,
    ParameterValue,
    SeriesFilter,
    SeriesHistory,
    SeriesRow,
    SeriesValueRow,
)
from results.run_order import OLDEST_FIRST
from results.schema import (
    Benchmark,
    Commit,
    Environment,
    Execution,
    Machine,
    Parameter,
    Project,
    Run,
    Series,
    Value,
)
from results.series_filters import conditions_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.store import Store

# SQLAlchemy's Row; its columns have no names that a type checker could follow.
DatabaseRow = Any
ParametersOfPoint = dict[int, tuple[ParameterValue, ...]]
# Fewer than any database allows in one statement.
MANY = 10_000


def series_where(store: Store, **chosen: Unpack[SeriesFilter]) -> list[SeriesRow]:
    """Every series that `chosen` takes, ordered by project, benchmark, metric, version, machine, environment."""
    with store.reading() as connection:
        rows = connection.execute(_SERIES.where(*conditions_from(chosen))).all()
        parameters = parameters_of_points(connection, {row.point_id for row in rows})
    found = [_series_row(row, parameters) for row in rows]
    return sorted(
        found,
        key=lambda row: (
            row.project,
            row.benchmark,
            row.metric,
            row.version,
            row.machine,
            row.environment,
            row.series_id,
        ),
    )


def values_at(store: Store, *, commit: str, **chosen: Unpack[SeriesFilter]) -> list[SeriesValueRow]:
    """The newest value at the commit with the full hash `commit` of every series that `chosen` takes.

    Ordered by project, benchmark and metric. Where versions were declared equal, `series_id` is the oldest's, so
    that values before and after belong together.
    """
    with store.reading() as connection:
        # The runs by name: given a subquery, SQLite reads every value there is.
        runs = sa.select(Run.id).join(Commit, Commit.id == Run.commit_id).where(Commit.hash == commit)
        run_ids = list(connection.execute(runs).scalars())
        found = connection.execute(_values(run_ids).where(*conditions_from(chosen))).all()
        parameters = parameters_of_points(connection, {row.point_id for row in found})
        joined = joined_series(connection)
    # Ordered, so that the newest run is last.
    newest = {first_of(row.series_id, joined): _series_value(row, parameters, joined) for row in found}
    return sorted(newest.values(), key=lambda row: (row.project, row.benchmark, row.metric, row.series_id))


def executions(store: Store, *, commit: str) -> list[ExecutionRow]:
    """When and how long asv's benchmarks ran at the commit with the full hash `commit`; by project and benchmark."""
    with store.reading() as connection:
        runs = sa.select(Run.id).join(Commit, Commit.id == Run.commit_id).where(Commit.hash == commit)
        rows = connection.execute(
            sa.select(
                Project.name.label("project"),
                Machine.name.label("machine"),
                Environment.name.label("environment"),
                Benchmark.name.label("benchmark"),
                Benchmark.version,
                Execution.started_at,
                Execution.duration_s,
            )
            .join(Run, Run.id == Execution.run_id)
            .join(Benchmark, Benchmark.id == Execution.benchmark_id)
            .join(Project, Project.id == Run.project_id)
            .join(Machine, Machine.id == Run.machine_id)
            .join(Environment, Environment.id == Run.environment_id)
            .where(Execution.run_id.in_(list(connection.execute(runs).scalars())))
            .order_by(Project.name, Machine.name, Environment.name, Benchmark.name, Benchmark.version)
        )
        return [ExecutionRow(**row._mapping) for row in rows]  # noqa: SLF001 - its public name


def history_of(store: Store, *, series_ids: Iterable[int]) -> list[SeriesHistory]:
    """The chosen series with all their values, in the order of `series_ids`; unknown ids are left out.

    A series whose version was declared equal to others' has their values too.
    """
    chosen = list(series_ids)
    with store.reading() as connection:
        found = _series(connection, chosen)
        joined = joined_series(connection)
        return [
            SeriesHistory(
                series=found[series_id][0],
                values=_history(connection, found[series_id][1], joined.get(series_id, (series_id,))),
            )
            for series_id in chosen
            if series_id in found
        ]


def _history(connection: Connection, place: Mapping[str, int], series_ids: tuple[int, ...]) -> tuple[HistoryValue, ...]:
    # Binary: PostgreSQL otherwise spends most of its time writing numbers as text, and we reading them.
    found = connection.execute(_HISTORY, {**place, "series_ids": series_ids}, execution_options={"is_binary": True})
    if connection.dialect.name == "sqlite" or found.cursor is None:
        return tuple(map(HistoryValue._make, found.all()))
    # psycopg's own rows are right as they come; SQLAlchemy's would be made of each only to be taken apart again.
    return tuple(map(HistoryValue._make, found.cursor.fetchall()))


def _series(connection: Connection, series_ids: list[int]) -> dict[int, tuple[SeriesRow, dict[str, int]]]:
    """Each series by id, and what `_HISTORY` needs to know of it."""
    rows = [
        row
        for start in range(0, len(series_ids), MANY)
        for row in connection.execute(_SERIES_BY_ID, {"series_ids": series_ids[start : start + MANY]})
    ]
    parameters = parameters_of_points(connection, {row.point_id for row in rows})
    return {row.id: (_series_row(row, parameters), _place_of(row)) for row in rows}


def _place_of(row: DatabaseRow) -> dict[str, int]:
    return {
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


# Statements are made once: putting one together costs as much as asking a small one.
_SERIES = (
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
)
_SERIES_BY_ID = _SERIES.where(Series.id.in_(sa.bindparam("series_ids", expanding=True)))

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
        Value.series_id.in_(sa.bindparam("series_ids", expanding=True)),
    )
    .order_by(*OLDEST_FIRST)
)

_PARAMETERS = (
    sa.select(Parameter.point_id, Parameter.name, Parameter.type, Parameter.text, Parameter.number)
    .where(Parameter.point_id.in_(sa.bindparam("point_ids", expanding=True)))
    .order_by(Parameter.point_id, Parameter.position)
)


def _values(run_ids: list[int]) -> sa.Select[*tuple[Any, ...]]:
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


def parameters_of_points(connection: Connection, point_ids: Iterable[int]) -> ParametersOfPoint:
    """The parameters of each point, in their order; a point without any is left out."""
    wanted = sorted(point_ids)
    found: dict[int, list[ParameterValue]] = {}
    for start in range(0, len(wanted), MANY):
        for point_id, name, kind, text, number in connection.execute(
            _PARAMETERS, {"point_ids": wanted[start : start + MANY]}
        ):
            value = ParameterValue(name=name, value=value_from_typed(kind, text, number))
            found.setdefault(point_id, []).append(value)
    return {point_id: tuple(values) for point_id, values in found.items()}


def _series_value(
    row: DatabaseRow, parameters: ParametersOfPoint, joined: dict[int, tuple[int, ...]]
) -> SeriesValueRow:
    return SeriesValueRow(
        series_id=first_of(row.series_id, joined),
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
        calls_per_sample=row.calls_per_sample,
    )
