"""Changes that people acknowledged, and what they took back of that → frozen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import Benchmark, Commit, Decision, Environment, Machine, Project, Series, Triage
from results.files.decisions import WITHDRAWAL
from results.ingest.decisions import withdrawal_from
from results.questions.histories import history_of, parameters_of_points
from results.questions.joined_series import all_of, first_of, joined_series
from results.questions.series_filters import conditions_from
from results.rows import KnownChange, KnownLevel, SeriesFilter, TakenBack

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Unpack

    from sqlalchemy.engine import Connection

    from results.files.records import AcknowledgementRecord, WithdrawalRecord
    from results.rows import HistoryValue
    from results.store import Store


def known_changes(store: Store, **chosen: Unpack[SeriesFilter]) -> list[KnownChange]:
    """Return the acknowledged changes of the series that `chosen` takes, the newest commit's first.

    Where versions were declared equal, `series_id` is the oldest's, as in `values_at`.
    """
    with store.reading() as connection:
        return _known_changes(connection, conditions_from(chosen), joined_series(connection))


def known_levels(store: Store, *, base: str, head: str, series_ids: Collection[int]) -> list[KnownLevel]:
    """Return the newest acknowledged change after commit `base` and up to `head`, of those of the series with any.

    Full hashes, as for `values_at`. What was acknowledged at `head` itself counts wherever `base` stands.
    """
    with store.reading() as connection:
        joined = joined_series(connection)
        is_chosen = any_of(Triage.series_id, keys=all_of(series_ids, joined))
        changes = _known_changes(connection, [is_chosen], joined)
    of_series: dict[int, list[KnownChange]] = {}
    for change in changes:
        of_series.setdefault(change.series_id, []).append(change)
    found = (
        _level_from(of_series[history.series.series_id], history.values, base=base, head=head)
        for history in history_of(store, series_ids=of_series)
    )
    return [level for level in found if level is not None]


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
    changes: Sequence[KnownChange], values: Sequence[HistoryValue], *, base: str, head: str
) -> KnownLevel | None:
    last = {value.commit: i for i, value in enumerate(values)}
    if head not in last:
        return None
    after = last.get(base, len(values))
    within = [
        (last[change.commit], change)
        for change in changes
        if change.commit == head or after < last.get(change.commit, -1) < last[head]
    ]
    if not within:
        return None
    at, change = max(within, key=lambda pair: pair[0])
    return KnownLevel(change=change, value=values[at], later=tuple(values[at + 1 : last[head]]))


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
        Commit.ordered_at.desc().nulls_last(), Commit.position.desc().nulls_last(), Commit.id.desc(), Triage.series_id
    )
)
