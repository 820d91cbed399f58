"""Values of many series over the runs of a place → one table each, to judge all at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from results.database.fetching import datetime_decoder, fetch_rows, gc_paused
from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import OLDEST_FIRST, Benchmark, Commit, Run, Series, Value
from results.database.snapshot_cache import cached_for_snapshot
from results.files.records import State
from results.questions.histories import SERIES_AT_PLACES, runs_of, series_row
from results.questions.joined_series import all_of, first_of, joined_series
from results.questions.series_filters import conditions_from
from results.rows import HistoryRun, HistoryTable, RunValues, SeriesFilter, beside_main_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Unpack

    from numpy.typing import NDArray
    from sqlalchemy.engine import Connection

    from results.database.point_parameters import ParametersOfPoint
    from results.store import Store

    Place = tuple[int, int, int]  # project, machine, environment
    OfRuns = tuple[NDArray[np.float64], NDArray[np.bool_] | None]  # values in runs, and which are known, None for all

RUNS_AT_ONCE = 50
MOST_KEPT = 500_000  # values of a place's latest runs that a connection keeps: 5 MB
FEW_MORE = 1.5  # times as many runs as are asked for are read at once
FEW_SERIES = 300  # are looked up one by one; of more, a run's values are read in one stretch

_RUNS = (
    sa.select(
        Run.id, Run.uid, Run.started_at, Commit.hash, Commit.date, Commit.subject, Commit.position,
        Commit.is_on_main_line,
    )
    .join(Commit, Commit.id == Run.commit_id)
    .where(
        Run.project_id == sa.bindparam("project_id"),
        Run.machine_id == sa.bindparam("machine_id"),
        Run.environment_id == sa.bindparam("environment_id"),
    )
    .order_by(*OLDEST_FIRST)
)  # fmt: skip
_VALUES = sa.select(Value.run_id, Value.series_id, Value.median).where(
    any_of(Value.run_id, "run_ids"), Value.state == State.OK.value, Value.median.is_not(None)
)
_VALUES_OF_SERIES = _VALUES.where(any_of(Value.series_id, "series_ids"))
_IS_DISTURBED = Value.reason.is_not(None)
_PLACES = (
    sa.select(Series.id, Series.machine_id, Series.environment_id, Benchmark.project_id)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .where(any_of(Series.id, "series_ids"))
)
RUN_UID = 3  # index in the first fields of a HistoryValue


def history_tables(store: Store, **chosen: Unpack[SeriesFilter]) -> list[HistoryTable]:
    """Return the values of all series that `chosen` takes, one table for each project, machine and environment.

    Ordered by place; one whose runs were all pruned has none. Runs of the main line alone, where that is known and
    holds a history (results.rows.main_line). Series of versions that were declared equal are one, with the newest
    version's description.
    """
    with store.reading() as connection, gc_paused():
        rows = connection.execute(SERIES_AT_PLACES.where(*conditions_from(chosen))).all()
        parameters = parameters_of_points(connection, {row.point_id for row in rows})
        joined = joined_series(connection)
        of_place: dict[Place, list[Any]] = {}
        for row in sorted(rows, key=lambda row: (row.project, row.machine, row.environment, row.benchmark, row.id)):
            of_place.setdefault((row.project_id, row.machine_id, row.environment_id), []).append(row)
        tables = [_table(connection, place, found, joined, parameters) for place, found in of_place.items()]
        return [table for table in tables if table.runs]


def run_values(store: Store, *, series_ids: Iterable[int], latest: int | None = None) -> list[RunValues]:
    """Return the values of the chosen series that are ok, in the order of `series_ids`; unknown ids are left out.

    A series whose version was declared equal to others' has their values too. One statement for all of a place: many
    series cost a tenth of what their histories do. latest: of a place with many more runs only so many are read, and
    the series are not whole.
    """
    ids = list(dict.fromkeys(series_ids))
    with store.reading() as connection, gc_paused():
        joined = joined_series(connection)
        of_place: dict[Place, list[int]] = {}
        for series_id, *place in fetch_rows(connection, _PLACES, {"series_ids": ids}):
            of_place.setdefault((place[0], place[1], place[2]), []).append(series_id)
        found = [
            one
            for place, chosen in of_place.items()
            for one in _run_values(connection, place, chosen, joined, latest=latest)
        ]
    of_id = {one.series_id: one for one in found}
    return [of_id[series_id] for series_id in ids if series_id in of_id]


def _run_values(
    connection: Connection,
    place: Place,
    series_ids: Sequence[int],
    joined: dict[int, tuple[int, ...]],
    *,
    latest: int | None,
) -> Iterator[RunValues]:
    runs = cached_for_snapshot(connection, (runs_of, place), partial(runs_of, connection, place))
    ordered = sorted(runs, key=lambda run_id: runs[run_id][0])
    is_whole = latest is None or len(ordered) <= FEW_MORE * latest
    ordered = ordered if is_whole else ordered[-(latest or 0) :]
    read: dict[int, OfRuns] = {}
    if latest is not None:  # few of each, and comparisons of a place ask for many of the same
        read = cached_for_snapshot(connection, (_run_values, place, len(ordered)), dict)
        if (len(read) + len(series_ids)) * len(ordered) > MOST_KEPT:
            read.clear()
    if unread := [series_id for series_id in series_ids if series_id not in read]:
        read.update(_of_runs(connection, unread, ordered, joined))
    uids = tuple([runs[run_id][1][RUN_UID] for run_id in ordered])
    commits = tuple([runs[run_id][1][0] for run_id in ordered])
    for series_id in series_ids:
        values, is_known = read[series_id]
        if is_known is None:  # most: what they share is one tuple
            yield RunValues(series_id, uids, commits, tuple(values.tolist()), is_whole=is_whole)
            continue
        places = np.flatnonzero(is_known).tolist()
        yield RunValues(
            series_id=series_id,
            run_ids=tuple([uids[one] for one in places]),
            commits=tuple([commits[one] for one in places]),
            values=tuple(values[places].tolist()),
            is_whole=is_whole,
        )


def _of_runs(
    connection: Connection, series_ids: Sequence[int], ordered: list[int], joined: dict[int, tuple[int, ...]]
) -> Iterator[tuple[int, OfRuns]]:
    """Read the values of series in runs, in the order of these, and which of them there are."""
    rows = fetch_rows(connection, _VALUES_OF_SERIES, {"run_ids": ordered, "series_ids": all_of(series_ids, joined)})
    if joined:
        # By version, so that of a run that measured two of them the newer one's value is last, as in a history.
        age = {series_id: i for group in joined.values() for i, series_id in enumerate(group)}
        rows.sort(key=lambda row: age.get(row[1], 0))
    line = {one: i for i, one in enumerate(dict.fromkeys(first_of(series_id, joined) for series_id in series_ids))}
    column = {run_id: i for i, run_id in enumerate(ordered)}
    values, is_known = np.empty((len(line), len(ordered))), np.zeros((len(line), len(ordered)), dtype=np.bool_)
    if rows:
        run_ids, of_series, medians = zip(*rows, strict=True)
        lines = of_series if not joined else [first_of(one, joined) for one in of_series]
        at = [line[one] for one in lines], [column[one] for one in run_ids]
        values[at] = medians
        is_known[at] = True
    is_in_all = np.all(is_known, axis=1)
    for series_id in series_ids:
        i = line[first_of(series_id, joined)]
        yield series_id, (values[i], None if is_in_all[i] else is_known[i])


def _by_commit(runs: Iterable[Any]) -> list[Any]:
    """Return the runs of each commit one after the other, from where its first one stands.

    Commits of one second, or of unknown dates, have no order but that in which they were measured.
    """
    of_commit: dict[str, list[Any]] = {}
    for row in runs:
        of_commit.setdefault(row[3], []).append(row)
    return [row for each in of_commit.values() for row in each]


def _table(
    connection: Connection,
    place: Place,
    rows: list[Any],
    joined: dict[int, tuple[int, ...]],
    parameters: ParametersOfPoint,
) -> HistoryTable:
    moment = datetime_decoder(connection)
    ids = dict(zip(("project_id", "machine_id", "environment_id"), place, strict=True))
    of_place = fetch_rows(connection, _RUNS, ids)
    beside = beside_main_line({row[3]: None if row[7] is None else bool(row[7]) for row in of_place})
    runs = _by_commit(row for row in of_place if row[3] not in beside)
    column = {row[0]: i for i, row in enumerate(runs)}
    first = {row.id: first_of(row.id, joined) for row in rows}
    # The newest version is last.
    of_first = {
        first[row.id]: replace(series_row(row, parameters.get(row.point_id, ())), series_id=first[row.id])
        for row in rows
    }
    line = {series_id: i for i, series_id in enumerate(of_first)}
    index = {series_id: line[one] for series_id, one in first.items()}
    values = np.full((len(line), len(runs)), np.nan)
    disturbed = np.zeros(values.shape, dtype=np.bool_)
    is_few = len(index) <= FEW_SERIES
    statement, keys = (_VALUES_OF_SERIES, {"series_ids": list(index)}) if is_few else (_VALUES, {})
    statement, run_ids = statement.add_columns(_IS_DISTURBED), list(column)
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        found = fetch_rows(connection, statement, {"run_ids": run_ids[start : start + RUNS_AT_ONCE], **keys})
        known = [(index[row[1]], column[row[0]], *row[2:]) for row in found if row[1] in index]
        if known:
            at, run, median, is_disturbed = zip(*known, strict=True)
            values[at, run] = median
            disturbed[at, run] = is_disturbed
    return HistoryTable(
        project=rows[0].project,
        machine=rows[0].machine,
        environment=rows[0].environment,
        series=tuple(of_first.values()),
        runs=tuple(
            HistoryRun(
                commit=commit,
                commit_date=moment(date),
                commit_subject=subject,
                position=position,
                run_id=uid,
                measured_at=moment(started_at),
            )
            for _, uid, started_at, commit, date, subject, position, _ in runs
        ),
        values=values,
        disturbed=disturbed,
        beside=tuple({row[3]: row[6] for row in of_place if row[3] in beside}.values()),
    )
