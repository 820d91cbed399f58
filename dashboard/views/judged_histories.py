"""Findings of all histories, judged once for each state of store and settings, each series once for the same values."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dashboard.views.settings import judged_state, settings_for
from results.queries import ranked_changes

if TYPE_CHECKING:
    from collections.abc import Hashable

    from results.judgement.changes.ranked import RankedFinding
    from results.rows import JudgedSeries
    from results.store import Store

_lock = threading.Lock()
_judged: WeakKeyDictionary[Store, tuple[Hashable, tuple[RankedFinding, ...]]] = WeakKeyDictionary()
# What the store does not keep; this process only reads it.
_series: WeakKeyDictionary[Store, dict[bytes, JudgedSeries]] = WeakKeyDictionary()


def judged_histories(store: Store) -> tuple[RankedFinding, ...]:
    """Return the findings of the store, by descending weight; who asks while they are being found waits for them."""
    with _lock:
        state = judged_state(store)
        known = _judged.get(store)
        if known is None or known[0] != state:
            earlier = _series.get(store, {})
            found = ranked_changes(store, earlier=earlier, settings=settings_for(store))
            if found.judged:
                _series[store] = {one.digest: one for one in (*earlier.values(), *found.judged)}
            known = _judged[store] = (state, tuple(sorted(found.findings, key=lambda one: -one.weight)))
        return known[1]


def known_histories(store: Store) -> tuple[RankedFinding, ...] | None:
    """Return the findings of the store if they are found for its present state and settings; None, at once, if not."""
    known = _judged.get(store)
    return known[1] if known is not None and known[0] == judged_state(store) else None
