"""What people decided about changes → frozen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.key_lists import any_of
from results.database.schema import Commit, Triage
from results.rows import TriageRow

if TYPE_CHECKING:
    from collections.abc import Collection

    from results.store import Store


def triage(store: Store, *, series_ids: Collection[int] | None = None) -> list[TriageRow]:
    """What people decided about changes (of the chosen series), in the order of series and commits."""
    chosen = [] if series_ids is None else [any_of(Triage.series_id, keys=series_ids)]
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                Triage.series_id,
                Commit.hash.label("commit"),
                Triage.decision,
                Triage.note,
                Triage.decided_by,
                Triage.decided_at,
            )
            .join(Commit, Commit.id == Triage.commit_id)
            .where(*chosen)
            .order_by(Triage.series_id, Commit.ordered_at, Commit.position, Commit.id)
        )
        return [TriageRow(**row._mapping) for row in rows]  # noqa: SLF001 - its public name
