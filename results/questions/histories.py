"""Series of any suite and their values over commits → frozen rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from results.database.fetching import datetime_decoder, fetch_rows, gc_paused
from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import (
    OLDEST_FIRST,
    Benchmark,
    Commit,
    Environment,
    Machine,
    Parameter,
    Project,
    Run,
    Series,
    Value,
)
from results.database.snapshot_cache import cached_for_snapshot
from results.files.parameters import value_from_typed
from results.questions.joined_series import joined_series
from results.questions.series_filters import conditions_from
from results.rows import (
    HistoryValue,
    ParameterValue,
    SeriesFilter,
    SeriesHistory,
    SeriesRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.store import Store

# SQLAlchemy's Row: a type checker cannot follow its columns.
DatabaseRow = Any
Place = tuple[int, int, int]  # machine, environment and project
REASON = 2  # index in a row of `_values`
NO_REASON = (None,)


class _Chosen(NamedTuple):
    """Series whose history is asked for, with what is needed to find it."""

    series: SeriesRow
    place: Place
    may_be_joined: bool  # with another version
    has_reasons: bool


def series_where(store: Store, **chosen: Unpack[SeriesFilter]) -> list[SeriesRow]:
    """Return every series that `chosen` takes, ordered by project, benchmark, metric, version, machine, environment."""
    with store.reading() as connection:
        rows = connection.execute(SERIES_AT_PLACES.where(*conditions_from(chosen))).all()
        parameters = parameters_of_points(connection, {row.point_id for row in rows})
    found = [series_row(row, parameters.get(row.point_id, ())) for row in rows]
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


def history_of(store: Store, *, series_ids: Iterable[int]) -> list[SeriesHistory]:
    """Return the chosen series with all their values, in the order of `series_ids`; unknown ids are left out.

    A series whose version was declared equal to others' has their values too.
    """
    with store.reading() as connection, gc_paused():
        found = _chosen(connection, series_ids)
        joined = joined_series(connection) if any(chosen.may_be_joined for chosen in found) else {}
        runs = {
            place: cached_for_snapshot(connection, (runs_of, place), partial(runs_of, connection, place))
            for place in {chosen.place for chosen in found}
        }
        return [
            SeriesHistory(
                series=chosen.series,
                values=_history(connection, chosen, runs[chosen.place], joined.get(chosen.series.series_id)),
            )
            for chosen in found
        ]


def runs_of(connection: Connection, place: Place) -> dict[int, tuple[int, DatabaseRow]]:
    """Return the runs of a place by id: index in their order, and the first fields of a HistoryValue."""
    moment = datetime_decoder(connection)
    rows = fetch_rows(connection, _RUNS, _at(place))
    return {
        run_id: (i, (commit, moment(date), subject, uid, moment(started_at)))
        for i, (run_id, commit, date, subject, uid, started_at) in enumerate(rows)
    }


def _history(
    connection: Connection,
    chosen: _Chosen,
    runs: Mapping[int, tuple[int, DatabaseRow]],
    joined_ids: tuple[int, ...] | None,
) -> tuple[HistoryValue, ...]:
    if joined_ids is None:
        found = _values(connection, chosen.place, chosen.series.series_id, may_have_reasons=chosen.has_reasons)
    else:
        of_each = [_values(connection, chosen.place, series_id) for series_id in joined_ids]
        found = [row for rows in of_each for row in rows]
    found.sort(key=lambda row: runs[row[0]][0])
    return tuple(map(HistoryValue._make, [runs[row[0]][1] + row[1:] for row in found]))


def _values(
    connection: Connection, place: Place, series_id: int, *, may_have_reasons: bool = True
) -> list[tuple[Any, ...]]:
    """Return the run and then the other fields of a HistoryValue, for each value of a series."""
    of_series = {"series_id": series_id}
    if connection.dialect.name == "sqlite":
        return fetch_rows(connection, _VALUES_BY_RUN, {**_at(place), **of_series})
    found = fetch_rows(connection, _VALUES_BY_SERIES, of_series)
    if not may_have_reasons:
        return found
    reasons = {row[0]: row[1:] for row in fetch_rows(connection, _REASONS, of_series)}
    return [row[:REASON] + reasons.get(row[0], NO_REASON) + row[REASON + 1 :] for row in found]


def _at(place: Place) -> dict[str, int]:
    return dict(zip(("machine_id", "environment_id", "project_id"), place, strict=True))


def _chosen(connection: Connection, series_ids: Iterable[int]) -> list[_Chosen]:
    """Return those of the series that exist, in the order of `series_ids`."""
    ids = list(series_ids)
    rows_of: dict[int, list[DatabaseRow]] = {}
    for row in connection.execute(_CHOSEN[connection.dialect.name], {"series_ids": ids}):
        rows_of.setdefault(row.id, []).append(row)
    return [_chosen_from(rows_of[series_id]) for series_id in ids if series_id in rows_of]


def _chosen_from(rows: list[DatabaseRow]) -> _Chosen:
    """Build one from a row for each parameter, or from the only row where there is none."""
    row = rows[0]
    parameters = tuple(
        ParameterValue(name=row.parameter_name, value=value_from_typed(row.type, row.text, row.number))
        for row in rows
        if row.parameter_name is not None
    )
    return _Chosen(
        series=series_row(row, parameters),
        place=(row.machine_id, row.environment_id, row.project_id),
        may_be_joined=row.continues_id is not None or row.is_continued,
        has_reasons=row.has_reasons,
    )


def series_row(row: DatabaseRow, parameters: tuple[ParameterValue, ...]) -> SeriesRow:
    """Return a row of SERIES_AT_PLACES with its parameters."""
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
        parameters=parameters,
    )


# Statements are built once: that costs as much as a small query. This one is each series with the names of its
# benchmark and place.
SERIES_AT_PLACES = (
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
_NEWER = sa.orm.aliased(Benchmark)
# With the parameters, and whether there is a reason to ask for: each statement less is a round trip less to a server.
_WITH_PARAMETERS = (
    SERIES_AT_PLACES.add_columns(
        Benchmark.continues_id,
        sa.exists().where(_NEWER.continues_id == Benchmark.id).label("is_continued"),
        Parameter.name.label("parameter_name"),
        Parameter.type,
        Parameter.text,
        Parameter.number,
    )
    .outerjoin(Parameter, Parameter.point_id == Series.point_id)
    .where(any_of(Series.id, "series_ids"))
    .order_by(Series.id, Parameter.position)
)
# Only PostgreSQL has an index of the reasons; SQLite brings them with the values. With EXISTS it might look through all
# reasons there are.
_A_REASON = sa.select(Value.run_id).where(Value.series_id == Series.id, Value.reason.is_not(None)).limit(1)
_HAS_REASONS = {"sqlite": sa.true(), "postgresql": _A_REASON.correlate(Series).scalar_subquery().is_not(None)}
_CHOSEN = {name: _WITH_PARAMETERS.add_columns(has.label("has_reasons")) for name, has in _HAS_REASONS.items()}

_PLACE = (
    Run.machine_id == sa.bindparam("machine_id"),
    Run.environment_id == sa.bindparam("environment_id"),
    Run.project_id == sa.bindparam("project_id"),
)
_RUNS = (
    sa.select(Run.id, Commit.hash, Commit.date, Commit.subject, Run.uid, Run.started_at)
    .join(Commit, Commit.id == Run.commit_id)
    .where(*_PLACE)
    .order_by(*OLDEST_FIRST)
)
_OF_SERIES = Value.series_id == sa.bindparam("series_id")
_NUMBERS = (Value.median, Value.ci_low, Value.ci_high, Value.q25, Value.q75, Value.sample_count)
# SQLite: one look-up by key for each run of the series' machine and environment, in the order of the runs' index (see
# schema.Value). The project is left out: it is not in the index.
_VALUES_BY_RUN = (
    sa.select(Value.run_id, Value.state, Value.reason, *_NUMBERS)
    .select_from(Run)
    .join(Value, Value.run_id == Run.id)
    .where(_OF_SERIES, *_PLACE[:2])
)
# PostgreSQL: all that its second index has; reasons are few, and have a small one of their own.
_VALUES_BY_SERIES = sa.select(Value.run_id, Value.state, sa.null().label("reason"), *_NUMBERS).where(_OF_SERIES)
_REASONS = sa.select(Value.run_id, Value.reason).where(_OF_SERIES, Value.reason.is_not(None))
