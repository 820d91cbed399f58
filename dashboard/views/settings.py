"""Settings by which the pages over a store judge: those of the project that the dashboard was started for."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from results.judgement.thresholds import NO_SETTINGS, limits_of_rows, metric_of_row
from results.judgement.verdicts import LEAST_RELEVANT_CHANGE
from results.metrics import Direction

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from results.judgement.thresholds import Relevance, Settings
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
    """Return the better direction of all of `series`, each one's own or that of the settings; None if it is not one.

    None, too, without thresholds: then a metric's own is all there is.
    """
    settings = settings_for(store)
    if not settings.thresholds:
        return None
    rows = dict(enumerate(series))
    limits = limits_of_rows(rows, settings.thresholds, LEAST_RELEVANT_CHANGE)
    told = {limits[number].applied_to(metric_of_row(row)).direction for number, row in rows.items()}
    return told.pop() if len(told) == 1 and Direction.UNKNOWN not in told else None
