"""Where a run stands in its history: the one order that every question follows, and its index yields."""

from __future__ import annotations

from results.database.schema import Run

OLDEST_FIRST = (Run.ordered_at, Run.position, Run.started_at, Run.id)
NEWEST_FIRST = tuple(column.desc() for column in OLDEST_FIRST)
