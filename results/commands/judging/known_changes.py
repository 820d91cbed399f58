"""Acknowledged changes of the rows that a command shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.queries import known_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import KnownChange, PointRow, SeriesValueRow
    from results.store import Store


def known_of_points(store: Store, rows: Sequence[PointRow]) -> list[KnownChange]:
    """Return the changes of these sweep points that were acknowledged at their commits or before."""
    shown = {(row.point_id, row.machine, row.environment): row for row in rows}
    return [
        change
        for change in known_changes(store)
        if _is_reached(change, shown.get((change.point_id, change.machine, change.environment)))
    ]


def known_of_values(store: Store, rows: Sequence[SeriesValueRow]) -> list[KnownChange]:
    """Return the changes of these series that were acknowledged at their commits or before."""
    shown = {row.series_id: row for row in rows}
    return [change for change in known_changes(store) if _is_reached(change, shown.get(change.series_id))]


def _is_reached(change: KnownChange, row: PointRow | SeriesValueRow | None) -> bool:
    if row is None or row.commit == change.commit:
        return row is not None
    return change.commit_date is not None and row.commit_date is not None and change.commit_date <= row.commit_date
