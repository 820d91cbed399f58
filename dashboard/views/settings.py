"""Settings by which the pages over a store judge: those of the project that the dashboard was started for."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from results.judgement.thresholds import NO_SETTINGS, limits_of
from results.judgement.verdicts import LEAST_RELEVANT_CHANGE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from results.judgement.thresholds import Relevance, Settings
    from results.metrics import Direction
    from results.rows import SeriesRow, SeriesValueRow
    from results.store import Store

_chosen: WeakKeyDictionary[Store, Settings] = WeakKeyDictionary()


def judge_by(settings: Settings, *, store: Store) -> None:
    """Have all pages over `store`, of whichever app, judge by `settings` from now on, as the commands do."""
    _chosen[store] = settings


def settings_for(store: Store) -> Settings:
    """Return the settings that pages over `store` judge by; by themselves they have none."""
    return _chosen.get(store, NO_SETTINGS)


def judged_state(store: Store) -> Hashable:
    """Return a value that differs once what is judged may: stored rows may have changed, or the settings did.

    Raises: StoreError if the database fails.
    """
    return store.fingerprint(), settings_for(store)


def relevance_for(store: Store) -> Relevance:
    """Return the settings as a judgement of two commits takes them."""
    return settings_for(store).relevance(LEAST_RELEVANT_CHANGE)


def better_of(store: Store, series: Iterable[SeriesRow | SeriesValueRow]) -> Direction | None:
    """Return the better direction that the settings tell of all of `series`; None if they tell none or several."""
    settings = settings_for(store)
    if not settings.thresholds:
        return None
    told = {limits_of(settings.thresholds, row, least_change=LEAST_RELEVANT_CHANGE).better for row in series}
    return told.pop() if len(told) == 1 else None
