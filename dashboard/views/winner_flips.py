"""Winner flips between the newest two commits of the sweep on each machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.tables.winner_flips import flips_between
from results.queries import commits, latest_points

if TYPE_CHECKING:
    from dashboard.tables.winner_flips import WinnerFlip
    from results.rows import CommitRow
    from results.store import Store


def winner_flips_of(store: Store) -> tuple[WinnerFlip, ...]:
    """Return the flips between the newest two commits of the sweep on each machine, the largest margin first."""
    measured: dict[tuple[str, str], list[CommitRow]] = {}
    for row in commits(store):
        for machine in sorted(row.sweep_machines):
            measured.setdefault((row.project, machine), []).append(row)
    found: list[WinnerFlip] = []
    for (_, machine), rows in measured.items():
        if len(rows) > 1:
            at_base, at_head = (
                latest_points(store, revision=row.commit, machine=machine) for row in (rows[-2], rows[-1])
            )
            found += flips_between(at_base, at_head, base=rows[-2], head=rows[-1])
    return tuple(sorted(found, key=lambda one: -(one.margin or 1.0)))
