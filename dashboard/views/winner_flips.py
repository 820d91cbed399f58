"""Winner flips: who leads at which shape of the sweep since when, over each project's newest commits on a machine."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dashboard.tables.winner_flips import flips_of
from results.queries import commits, latest_points
from results.rows import beside_among

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dashboard.tables.winner_flips import WinnerFlip
    from results.rows import CommitRow
    from results.store import Store

MOST_COMMITS = 20  # that are looked back upon; a flip further back is on the page Throughput of its shape

_lock = threading.Lock()
_found: WeakKeyDictionary[Store, tuple[Hashable, tuple[WinnerFlip, ...]]] = WeakKeyDictionary()


def winner_flips_of(store: Store) -> tuple[WinnerFlip, ...]:
    """Return the shapes that lead otherwise than before, the latest flip first; found once for a state of the store."""
    with _lock:
        state = store.fingerprint()
        known = _found.get(store)
        if known is None or known[0] != state:
            known = _found[store] = (state, _flips_of(store))
        return known[1]


def _flips_of(store: Store) -> tuple[WinnerFlip, ...]:
    measured: dict[tuple[str, str], list[CommitRow]] = {}
    rank = {}
    for place, row in enumerate(commits(store)):
        rank[row.commit] = place
        for machine in sorted(row.sweep_machines):
            measured.setdefault((row.project, machine), []).append(row)
    found: list[WinnerFlip] = []
    n_projects = Counter(machine for _, machine in measured)
    for (project, machine), rows in measured.items():
        beside = beside_among(rows)
        newest = [row.commit for row in rows if row.commit not in beside][-MOST_COMMITS:]
        if len(newest) > 1:
            flips = flips_of(
                [latest_points(store, revision=commit, project=project, machine=machine) for commit in newest]
            )
            found += [replace(one, is_of_several=n_projects[machine] > 1) for one in flips]
    return tuple(sorted(found, key=lambda one: (-rank[one.since.commit], -(one.margin or 1.0))))
