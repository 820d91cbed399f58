"""Changes that people acknowledged, and what they took back of that → frozen rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.point_parameters import parameters_of_points
from results.database.schema import (
    OLDEST_FIRST,
    Benchmark,
    Commit,
    Decision,
    Environment,
    Machine,
    Project,
    Run,
    Series,
    Triage,
)
from results.files.decisions import WITHDRAWAL
from results.ingest.decisions import withdrawal_from
from results.questions.histories import history_of
from results.questions.joined_series import all_of, first_of, joined_series
from results.questions.series_filters import conditions_from
from results.rows import KnownChange, KnownLevel, SeriesFilter, TakenBack

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.files.records import AcknowledgementRecord, WithdrawalRecord
    from results.rows import HistoryValue, SeriesHistory, SeriesRow
    from results.store import Store

Place = tuple[str, str, str]  # project, machine and environment


def known_changes(store: Store, **chosen: Unpack[SeriesFilter]) -> list[KnownChange]:
    """Return the acknowledged changes of the series that `chosen` takes, the newest commit's first.

    Where versions were declared equal, `series_id` is the oldest's, as in `values_at`.
    """
    with store.reading() as connection:
        return _known_changes(connection, conditions_from(chosen), joined_series(connection))


def known_levels(store: Store, *, base: str, head: str, series_ids: Collection[int]) -> list[KnownLevel]:
    """Return the newest acknowledged change after commit `base` and up to `head`, of those of the series with any.

    Full hashes, as for `values_at`. What was acknowledged at `head` itself counts wherever `base` stands. Of a series
    that `head` did not measure it is a change at which it was gone already. Between two commits of the main line values
    of other branches are no later ones: they may be of code from before the change.
    """
    with store.reading() as connection:
        joined = joined_series(connection)
        is_chosen = any_of(Triage.series_id, keys=all_of(series_ids, joined))
        changes = _known_changes(connection, [is_chosen], joined)
    of_series: dict[int, list[KnownChange]] = {}
    for change in changes:
        of_series.setdefault(change.series_id, []).append(change)
    histories = history_of(store, series_ids=of_series)
    in_part = {_place_of(one.series) for one in histories if not all(_is_measured(one, at) for at in (base, head))}
    with store.reading() as connection:
        orders = {place: _order_of(connection, place) for place in in_part}
        on_line = {row.hash: row.is_on_main_line for row in connection.execute(_ON_LINE)} if histories else {}
    found = [
        _level_from(
            of_series[one.series.series_id], one.values, orders.get(_place_of(one.series)), base=base, head=head
        )
        if _is_measured(one, head)
        else _level_of_gone(
            of_series[one.series.series_id], one.values, orders[_place_of(one.series)], base=base, head=head
        )
        for one in histories
    ]
    return [_along_the_line(level, on_line, head=head) for level in found if level is not None]


def taken_back(store: Store, change: AcknowledgementRecord) -> list[TakenBack]:
    """Return the acknowledgements of a change, or of a part of it, that were taken back, the oldest first.

    change: what an acknowledgement of all of it would hold; who decided what does not count.
    """
    asked = sa.select(Decision.content).where(Decision.kind == WITHDRAWAL).order_by(Decision.id)
    with store.reading() as connection:
        found = [withdrawal_from(content) for content in connection.execute(asked).scalars()]
    return [_taken_back_from(one) for one in found if _overlap(one.acknowledgement, change)]


def _taken_back_from(record: WithdrawalRecord) -> TakenBack:
    decided, withdrawn = record.acknowledgement.decided, record.withdrawn
    return TakenBack(
        decision=record.acknowledgement.decision,
        note=decided.note,
        decided_by=decided.by,
        decided_at=decided.at,
        withdrawn_note=withdrawn.note,
        withdrawn_by=withdrawn.by,
        withdrawn_at=withdrawn.at,
    )


def _overlap(one: AcknowledgementRecord, other: AcknowledgementRecord) -> bool:
    names = ("benchmark", "metric", "machine", "environment")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    pairs += [(value, other.parameters.get(name)) for name, value in one.parameters.items()]
    return (one.project, one.commit) == (other.project, other.commit) and all(
        None in pair or pair[0] == pair[1] for pair in pairs
    )


def _level_from(
    changes: Sequence[KnownChange],
    values: Sequence[HistoryValue],
    order: Mapping[str, int] | None,
    *,
    base: str,
    head: str,
) -> KnownLevel | None:
    """Return what is known of a series that `head` measured. order: of its place's commits, among which `base` is."""
    last = {value.commit: i for i, value in enumerate(values)}
    # What another ruler measured at the base has no value there.
    order = last if order is None or base in last else order
    after = order.get(base, len(order))
    within = [
        (last[change.commit], change)
        for change in changes
        if change.commit in last and (change.commit == head or after < order[change.commit] < order[head])
    ]
    if not within:
        return None
    at, change = max(within, key=lambda pair: pair[0])
    return KnownLevel(change=change, value=values[at], later=tuple(values[at + 1 : last[head]]))


def _level_of_gone(
    changes: Sequence[KnownChange], values: Sequence[HistoryValue], order: Mapping[str, int], *, base: str, head: str
) -> KnownLevel | None:
    """Return what is known of a series that `head` did not measure. order: of its place's measured commits."""
    measured = {value.commit for value in values}
    after, until = order.get(base, len(order)), order.get(head, len(order))
    within = [
        (order[change.commit], change)
        for change in changes
        if change.commit in order.keys() - measured and (change.commit == head or after < order[change.commit] < until)
    ]
    if not within:
        return None
    at, change = max(within, key=lambda pair: pair[0])
    later = (value for value in values if at < order[value.commit] < until)
    return KnownLevel(change=change, value=None, later=tuple(later))


def _along_the_line(level: KnownLevel, on_line: Mapping[str, bool | None], *, head: str) -> KnownLevel:
    """Return the level without later values beside the main line, where its commit and `head` are on it."""
    if not (on_line.get(level.change.commit) and on_line.get(head)):
        return level
    return replace(level, later=tuple(value for value in level.later if on_line.get(value.commit) is not False))


def _is_measured(history: SeriesHistory, commit: str) -> bool:
    return any(value.commit == commit for value in history.values)


def _place_of(series: SeriesRow) -> Place:
    return series.project, series.machine, series.environment


def _order_of(connection: Connection, place: Place) -> dict[str, int]:
    names = dict(zip(("project", "machine", "environment"), place, strict=True))
    return {commit: i for i, commit in enumerate(connection.execute(_COMMITS_OF_PLACE, names).scalars())}


def _known_changes(
    connection: Connection, conditions: Sequence[sa.ColumnElement[bool]], joined: dict[int, tuple[int, ...]]
) -> list[KnownChange]:
    rows = connection.execute(_KNOWN_CHANGES.where(*conditions)).all()
    parameters = parameters_of_points(connection, {row.point_id for row in rows})
    return [
        KnownChange(
            series_id=first_of(row.series_id, joined),
            point_id=row.point_id,
            project=row.project,
            machine=row.machine,
            environment=row.environment,
            benchmark=row.benchmark,
            metric=row.metric,
            parameters=parameters.get(row.point_id, ()),
            commit=row.commit,
            commit_date=row.commit_date,
            decision=row.decision,
            note=row.note,
            decided_by=row.decided_by,
            decided_at=row.decided_at,
        )
        for row in rows
    ]


_ON_LINE = sa.select(Commit.hash, Commit.is_on_main_line).where(Commit.is_on_main_line.is_not(None))
_COMMITS_OF_PLACE = (
    sa.select(Commit.hash)
    .join(Run, Run.commit_id == Commit.id)
    .join(Project, Project.id == Run.project_id)
    .join(Machine, Machine.id == Run.machine_id)
    .join(Environment, Environment.id == Run.environment_id)
    .where(
        Project.name == sa.bindparam("project"),
        Machine.name == sa.bindparam("machine"),
        Environment.name == sa.bindparam("environment"),
    )
    .order_by(*OLDEST_FIRST)
)
# A commit without a date stands where its first run does, as in every history.
_FIRST_RUN_AT = sa.select(sa.func.min(Run.ordered_at)).where(Run.commit_id == Commit.id).scalar_subquery()
_KNOWN_CHANGES = (
    sa.select(
        Triage.series_id,
        Series.point_id,
        Project.name.label("project"),
        Machine.name.label("machine"),
        Environment.name.label("environment"),
        Benchmark.name.label("benchmark"),
        Benchmark.metric,
        Commit.hash.label("commit"),
        Commit.date.label("commit_date"),
        Triage.decision,
        Triage.note,
        Triage.decided_by,
        Triage.decided_at,
    )
    .join(Commit, Commit.id == Triage.commit_id)
    .join(Series, Series.id == Triage.series_id)
    .join(Benchmark, Benchmark.id == Series.benchmark_id)
    .join(Project, Project.id == Benchmark.project_id)
    .join(Machine, Machine.id == Series.machine_id)
    .join(Environment, Environment.id == Series.environment_id)
    .order_by(
        sa.func.coalesce(Commit.ordered_at, _FIRST_RUN_AT).desc().nulls_last(),
        Commit.position.desc().nulls_last(),
        Commit.id.desc(),
        Triage.series_id,
    )
)
