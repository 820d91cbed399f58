"""Decisions of people applied to what is stored: versions that continue each other, acknowledged changes.

A decision is stored as written and applied after every ingest: its subject may be stored before it or after it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.schema import (
    Benchmark,
    Decision,
    Project,
    Triage,
)
from results.database.transactions import reading, writing
from results.files.decisions import ACKNOWLEDGEMENT, CONTINUATION, WITHDRAWAL, continuation_chain
from results.files.records import AcknowledgementRecord, Decided, TriageDecision, WithdrawalRecord
from results.ingest.acknowledged_series import acknowledged_series
from results.ingest.unmatched_decisions import notes_of_unmatched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy.engine import Connection, Engine

    from results.files.records import ContinuationRecord, DecisionsRecord
    from results.ingest.acknowledged_series import AcknowledgedSeries
    from results.ingest.runs import LoadContext

Content = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AppliedDecisions:
    """Reach of the decisions: benchmarks that continue another, and acknowledged changes of a series at a commit.

    unmatched: ids of the acknowledgements that no stored series matches.
    """

    n_joined: int
    n_acknowledged: int
    unmatched: frozenset[int]


def load_decisions(context: LoadContext, record: DecisionsRecord) -> int:
    """Store a file's decisions in place of those it held before; return the number of values stored: 0."""
    connection = context.connection
    delete_decisions(connection, context.source_id)
    found = [(CONTINUATION, content_of(one)) for one in record.continuations]
    found += [(ACKNOWLEDGEMENT, content_of(one)) for one in record.acknowledgements]
    found += [(WITHDRAWAL, content_of_withdrawal(one)) for one in record.withdrawals]
    add_decisions(connection, found, source_id=context.source_id)
    apply_decisions(connection)
    return 0


def content_of(record: ContinuationRecord | AcknowledgementRecord) -> Content:
    """Return the record as JSON values."""
    fields = asdict(record)
    del fields["decided"]
    return {**fields, **_content_of_decided(record.decided)}


def content_of_withdrawal(record: WithdrawalRecord) -> Content:
    """Return the record as JSON values: the acknowledgement's, and under `withdrawn` who took it back."""
    return {**content_of(record.acknowledgement), "withdrawn": _content_of_decided(record.withdrawn)}


def acknowledgement_from(content: Content) -> AcknowledgementRecord:
    """Return the record that `content_of` made `content` from."""
    names = ("project", "commit", "benchmark", "metric", "machine", "environment", "parameters")
    fields = {name: content[name] for name in names}
    decision = TriageDecision(content["decision"])
    series = content.get("series")  # of an older store there is none
    return AcknowledgementRecord(
        **fields,
        decision=decision,
        decided=_decided_from(content),
        series=None if series is None else tuple(series),
    )


def withdrawal_from(content: Content) -> WithdrawalRecord:
    """Return the record that `content_of_withdrawal` made `content` from."""
    withdrawn = _decided_from(content["withdrawn"])
    return WithdrawalRecord(acknowledgement=acknowledgement_from(content), withdrawn=withdrawn)


def _content_of_decided(decided: Decided) -> Content:
    return {**asdict(decided), "at": None if decided.at is None else decided.at.isoformat()}


def _decided_from(content: Content) -> Decided:
    at = content["at"]
    return Decided(note=content["note"], by=content["by"], at=None if at is None else datetime.fromisoformat(at))


def add_decisions(connection: Connection, found: Iterable[tuple[str, Content]], *, source_id: int | None) -> None:
    """Insert decisions (kind, content) as those of a file; `source_id` None: of a merged database."""
    first = next_id(connection, Decision)
    rows = [
        {"id": first + i, "source_id": source_id, "kind": kind, "content": content}
        for i, (kind, content) in enumerate(found)
    ]
    if rows:
        connection.execute(sa.insert(Decision), rows)


def delete_decisions(connection: Connection, source_id: int) -> None:
    """Delete a file's decisions and their effects; `apply_decisions` must follow."""
    _delete_decisions(connection, Decision.source_id == source_id)


def withdraw_merged(
    connection: Connection, is_meant: Callable[[AcknowledgementRecord], bool], *, by: Decided
) -> tuple[AcknowledgementRecord, ...]:
    """Withdraw the acknowledgements that are meant of those that came by a merge, which no file here holds."""
    is_merged = (Decision.source_id.is_(None), Decision.kind == ACKNOWLEDGEMENT)
    rows = connection.execute(sa.select(Decision.id, Decision.content).where(*is_merged).order_by(Decision.id)).all()
    found = {row.id: acknowledgement_from(row.content) for row in rows}
    withdrawn = {key: record for key, record in found.items() if is_meant(record)}
    for key in withdrawn:
        _delete_decisions(connection, Decision.id == key)
    if withdrawn:
        records = (WithdrawalRecord(acknowledgement=one, withdrawn=by) for one in withdrawn.values())
        add_decisions(connection, [(WITHDRAWAL, content_of_withdrawal(one)) for one in records], source_id=None)
        apply_decisions(connection)
    return tuple(withdrawn.values())


def _delete_decisions(connection: Connection, where: sa.ColumnElement[bool]) -> None:
    meant = sa.select(Decision.id).where(where)
    connection.execute(sa.delete(Triage).where(Triage.decision_id.in_(meant)))
    connection.execute(sa.delete(Decision).where(where))


def apply_stored_decisions(engine: Engine) -> list[str]:
    """Apply every decision to what has been stored since; costs nothing where there is none.

    Returns notes for a person: acknowledgements that are about nothing stored.
    """
    with reading(engine) as connection:
        if connection.execute(sa.select(Decision.id).limit(1)).first() is None:
            return []
    with writing(engine) as connection:
        return notes_of_unmatched(connection, apply_decisions(connection).unmatched)


def apply_decisions(connection: Connection) -> AppliedDecisions:
    """Apply every decision to what is stored, and undo effects that no decision has any more."""
    decisions = connection.execute(sa.select(Decision.__table__).order_by(Decision.id)).all()
    older = _continued(connection, [row.content for row in decisions if row.kind == CONTINUATION])
    _write_continuations(connection, older)  # before one asks which series are gone: those of joined versions are one
    contents = {row.id: row.content for row in decisions if row.kind == ACKNOWLEDGEMENT}
    matching = {key: acknowledged_series(connection, content) for key, content in contents.items()}
    known = _acknowledged(contents, matching)
    _write_triage(connection, known)
    unmatched = frozenset(key for key, found in matching.items() if not found)
    return AppliedDecisions(n_joined=len(older), n_acknowledged=len(known), unmatched=unmatched)


def _continued(connection: Connection, contents: Iterable[Content]) -> dict[int, int]:
    """Return which benchmark continues which, newer to older; one that would close a circle is left out."""
    older: dict[int, int] = {}
    for content in contents:
        where = [
            Project.name == content["project"],
            Benchmark.name == content["benchmark"],
            Benchmark.version.in_([content["old"], content["new"]]),
        ]
        if content["metric"] is not None:
            where.append(Benchmark.metric == content["metric"])
        versions: dict[str, dict[str, int]] = {}
        columns = (Benchmark.id, Benchmark.metric, Benchmark.version)
        for row in connection.execute(
            sa.select(*columns).join(Project, Project.id == Benchmark.project_id).where(*where)
        ):
            versions.setdefault(row.metric, {})[row.version] = row.id
        for of_metric in versions.values():
            if len(of_metric) == 2 and of_metric[content["new"]] not in continuation_chain(
                of_metric[content["old"]], older
            ):
                older[of_metric[content["new"]]] = of_metric[content["old"]]
    return older


def _write_continuations(connection: Connection, older: Mapping[int, int]) -> None:
    rows = connection.execute(
        sa.select(Benchmark.id, Benchmark.continues_id).where(Benchmark.continues_id.is_not(None))
    )
    stored = {row.id: row.continues_id for row in rows}
    for benchmark_id in stored.keys() | older.keys():
        if stored.get(benchmark_id) != older.get(benchmark_id):
            where = Benchmark.id == benchmark_id
            connection.execute(sa.update(Benchmark).where(where).values(continues_id=older.get(benchmark_id)))


def _acknowledged(
    contents: Mapping[int, Content], matching: Mapping[int, AcknowledgedSeries]
) -> dict[tuple[int, int], dict[str, Any]]:
    """Return triage rows by series and commit; of two decisions about the same change the later one counts."""
    known: dict[tuple[int, int], dict[str, Any]] = {}
    for decision_id, content in contents.items():
        at = content["at"]
        columns = {
            "decision_id": decision_id,
            "decision": content["decision"],
            "note": content["note"],
            "decided_by": content["by"],
            "decided_at": None if at is None else datetime.fromisoformat(at),
        }
        for series_id, commit_id in matching[decision_id]:
            known[series_id, commit_id] = {"series_id": series_id, "commit_id": commit_id, **columns}
    return known


def _write_triage(connection: Connection, known: Mapping[tuple[int, int], dict[str, Any]]) -> None:
    stored = {(row.series_id, row.commit_id): row for row in connection.execute(sa.select(Triage.__table__))}
    stale = [
        row.id
        for key, row in stored.items()
        if row.decision_id is not None and {**dict(row._mapping), "id": None} != {"id": None, **known.get(key, {})}  # noqa: SLF001
    ]
    for triage_id in stale:
        connection.execute(sa.delete(Triage).where(Triage.id == triage_id))
    kept = {key for key, row in stored.items() if row.id not in set(stale)}
    first = next_id(connection, Triage)
    rows = [{"id": first + i, **known[key]} for i, key in enumerate(sorted(known.keys() - kept))]
    if rows:
        connection.execute(sa.insert(Triage), rows)
