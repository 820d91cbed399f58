"""Declare and withdraw decisions: in their file, and in the store.

The command `fusebench store acknowledge` and the dashboard's page *Regressions* both end here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from results.database.error_translation import translate_db_errors
from results.database.transactions import writing
from results.errors import NotADecisionsFile, ResultsError
from results.files.decisions import (
    DECISIONS_NAME,
    WHERE_DECISIONS,
    append_decision,
    decisions_file_of_environment,
    withdraw_acknowledgements,
)
from results.files.parameters import is_storable
from results.files.records import Decided, TriageDecision
from results.ingest.acknowledged_series import acknowledged_series
from results.ingest.decisions import apply_decisions, content_of, withdraw_merged
from results.ingest.series_digests import digests_of_series
from results.judgement.findings import acknowledgement_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from results.files.records import AcknowledgementRecord, ContinuationRecord
    from results.ingest.acknowledged_series import AcknowledgedSeries
    from results.ingest.decisions import AppliedDecisions
    from results.judgement.findings import Finding
    from results.store import Store

__all__ = [
    "WHERE_DECISIONS",
    "acknowledge_finding",
    "acknowledged_by",
    "decisions_file_of_environment",
    "declare",
    "is_within",
    "of_these_series",
    "take_back_finding",
    "withdraw",
]


def declare(store: Store, record: ContinuationRecord | AcknowledgementRecord, *, file: Path) -> AppliedDecisions:
    """Write a decision to its file and apply it. Raises: NotADecisionsFile, OSError, UnreadableFile, StoreError."""
    if file.name != DECISIONS_NAME:  # or it would be in no store, neither now nor rebuilt
        raise NotADecisionsFile(
            f"decisions are read from files called {DECISIONS_NAME} alone, not from {file.name}; nothing was written"
        )
    append_decision(file, record)
    store.ingest([file])
    with translate_db_errors(store.engine.url), writing(store.engine) as connection:
        return apply_decisions(connection)


def withdraw(
    store: Store, is_meant: Callable[[AcknowledgementRecord], bool], *, by: Decided, file: Path
) -> tuple[AcknowledgementRecord, ...]:
    """Take acknowledgements back in their file and in the store, also those that came by a merge and have no file.

    `by`: who takes them back, and why, which is kept. Raises: OSError, UnreadableFile, StoreError.
    """
    withdrawn = withdraw_acknowledgements(file, is_meant, withdrawn=by)
    if withdrawn:
        store.ingest([file])
    with translate_db_errors(store.engine.url), writing(store.engine) as connection:
        merged = withdraw_merged(connection, is_meant, by=by)
    return (*withdrawn, *(record for record in merged if record not in withdrawn))


def acknowledged_by(store: Store, record: AcknowledgementRecord) -> AcknowledgedSeries:
    """Return the stored series that an acknowledgement applies to."""
    with store.reading() as connection:
        return acknowledged_series(connection, content_of(record))


def of_these_series(store: Store, record: AcknowledgementRecord, found: AcknowledgedSeries) -> AcknowledgementRecord:
    """Return the acknowledgement of the series `found` alone: one that is measured at its commit later is none."""
    with store.reading() as connection:
        digests = digests_of_series(connection, {one.series_id for one in found})
    return replace(record, series=tuple(sorted(digests.values())))


def is_within(stored: AcknowledgementRecord, selection: AcknowledgementRecord) -> bool:
    """Tell whether `stored` is of the same commit and names all that `selection` does."""
    names = ("benchmark", "metric", "machine", "environment")
    return (
        (stored.project, stored.commit) == (selection.project, selection.commit)
        and all(getattr(selection, name) in {None, getattr(stored, name)} for name in names)
        and selection.parameters.items() <= stored.parameters.items()
    )


def acknowledge_finding(  # noqa: PLR0913 - who decided what, and why
    store: Store, finding: Finding, *, decision: str, by: str, note: str, file: Path
) -> int:
    """Declare a finding known, at its first bad commit; return the number of series that this is about.

    Raises: ResultsError without a name or a reason or for a decision that there is not, OSError, UnreadableFile,
    StoreError; nothing is written then.
    """
    decided = _decided_now(by=by, note=note)
    if decision not in set(TriageDecision):
        raise ResultsError(f"the decision is {decision!r}, not one of {', '.join(TriageDecision)}; nothing was written")
    record = acknowledgement_of(finding, decision=TriageDecision(decision), decided=decided)
    found = acknowledged_by(store, record)
    if not found:
        raise ResultsError(f"no stored series of {finding.benchmark} was measured at {finding.first_bad[:8]} any more")
    declare(store, of_these_series(store, record, found), file=file)
    return len(found)


def take_back_finding(store: Store, finding: Finding, *, by: str, note: str, file: Path) -> int:
    """Take back what was acknowledged of a finding, at its first bad commit; return the number of acknowledgements.

    Raises: ResultsError if there is none, or without a name or a reason, OSError, UnreadableFile, StoreError.
    """
    decided = _decided_now(by=by, note=note)
    selection = acknowledgement_of(finding, decision=TriageDecision.ACCEPTED, decided=decided)
    withdrawn = withdraw(store, lambda stored: is_within(stored, selection), by=decided, file=file)
    if not withdrawn:
        raise ResultsError(
            f"{file.name} has no acknowledgement of just {finding.benchmark} at {finding.first_bad[:8]}; "
            f"what was acknowledged there more widely is taken back with "
            f"`fusebench store acknowledge {finding.first_bad[:8]} --undo`"
        )
    return len(withdrawn)


def _decided_now(*, by: str, note: str) -> Decided:
    """Return who decides now, and why. Raises: ResultsError without a name or a reason."""
    for what, text in (("name", by), ("reason", note)):
        if not text.strip() or not is_storable(text):
            raise ResultsError(f"an acknowledgement, or taking one back, needs a {what}, in words; nothing was written")
    return Decided(note=note.strip(), by=by.strip(), at=datetime.now(tz=UTC).replace(microsecond=0))
