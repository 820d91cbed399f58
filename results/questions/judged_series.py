"""Judgements of single series that were kept, for whoever judges histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.fetching import fetch_rows
from results.database.schema import JudgedSeries as Kept
from results.rows import JudgedSeries

if TYPE_CHECKING:
    from results.store import Store

_KEPT = sa.select(Kept.series_id, Kept.least_change, Kept.digest, Kept.found)


def judged_series(store: Store) -> dict[bytes, JudgedSeries]:
    """Return every judgement that is kept, by its digest."""
    with store.reading() as connection:
        return {
            digest: JudgedSeries(series_id=series_id, least_change=least_change, digest=digest, found=found)
            for series_id, least_change, digest, found in fetch_rows(connection, _KEPT)
        }
