"""Findings of all histories, judged once for each state of the store: that takes seconds with a million values."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from results.queries import ranked_changes

if TYPE_CHECKING:
    from collections.abc import Hashable

    from results.judgement.changes.ranked import RankedFinding
    from results.store import Store

_lock = threading.Lock()
_judged: WeakKeyDictionary[Store, tuple[Hashable, tuple[RankedFinding, ...]]] = WeakKeyDictionary()


def judged_histories(store: Store) -> tuple[RankedFinding, ...]:
    """Return the findings of the store, by descending weight; who asks while they are being found waits for them."""
    with _lock:
        state = store.fingerprint()
        known = _judged.get(store)
        if known is None or known[0] != state:
            found = sorted(ranked_changes(store), key=lambda one: -one.weight)
            known = _judged[store] = (state, tuple(found))
        return known[1]


def known_histories(store: Store) -> tuple[RankedFinding, ...] | None:
    """Return the findings of the store if they have been found for its present state; None, at once, if not."""
    known = _judged.get(store)
    return known[1] if known is not None and known[0] == store.fingerprint() else None
