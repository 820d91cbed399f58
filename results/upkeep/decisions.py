"""Declare and withdraw decisions: in their file, and in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.database.error_translation import translate_db_errors
from results.database.transactions import writing
from results.files.decisions import append_decision, withdraw_acknowledgements
from results.ingest.decisions import acknowledged_series, apply_decisions, content_of, withdraw_merged

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from results.files.records import AcknowledgementRecord, ContinuationRecord
    from results.ingest.decisions import AppliedDecisions
    from results.store import Store


def declare(store: Store, record: ContinuationRecord | AcknowledgementRecord, *, file: Path) -> AppliedDecisions:
    """Write a decision to its file and apply it. Raises: OSError, UnreadableFile, StoreError."""
    append_decision(file, record)
    store.ingest([file])
    with translate_db_errors(store.engine.url), writing(store.engine) as connection:
        return apply_decisions(connection)


def withdraw(
    store: Store, is_meant: Callable[[AcknowledgementRecord], bool], *, file: Path
) -> tuple[AcknowledgementRecord, ...]:
    """Remove acknowledgements from their file and from the store, also those that came by a merge and have no file.

    Raises: OSError, UnreadableFile, StoreError.
    """
    withdrawn = withdraw_acknowledgements(file, is_meant)
    if withdrawn:
        store.ingest([file])
    with translate_db_errors(store.engine.url), writing(store.engine) as connection:
        merged = withdraw_merged(connection, is_meant)
    return (*withdrawn, *(record for record in merged if record not in withdrawn))


def count_acknowledged_series(store: Store, record: AcknowledgementRecord) -> int:
    """Return the number of stored series that an acknowledgement applies to."""
    with store.reading() as connection:
        return len(connection.execute(acknowledged_series(content_of(record))).all())
