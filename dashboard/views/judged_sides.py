"""Values of the sides of a comparison, and judgements of two of them, kept while the store and the settings are."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast
from weakref import WeakKeyDictionary

from dashboard.views.settings import judged_state, relevance_for
from results.metrics import Role, metric_of
from results.queries import all_values_at, judged_commits, judged_values

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from results.judgement.verdicts import Judgement
    from results.rows import SeriesValueRow
    from results.store import Store

Kept = TypeVar("Kept")

MOST_KEPT = 10
MOST_ROWS = 60_000  # of all entries; 0.7 kB each (docs/serving.md)
COMPARED_AS_STORED = frozenset({"device_time_s"})  # not judged, and asked for all the same: is it the GPU or the host?
OF_A_COMPARISON = 3  # two sides and a judgement: kept whatever their size, as one question asks for each of them again


@dataclass
class _OfState:
    state: Hashable
    entries: OrderedDict[Hashable, tuple[object, int]] = field(default_factory=OrderedDict)

    def keep(self, key: Hashable, made: object, n_rows: int) -> None:
        """Keep what was made of that many rows; forget what was not asked for the longest where there is no room."""
        self.entries[key] = made, n_rows
        while len(self.entries) > MOST_KEPT or (
            len(self.entries) > OF_A_COMPARISON and sum(n for _, n in self.entries.values()) > MOST_ROWS
        ):
            self.entries.popitem(last=False)


_lock = threading.Lock()
_kept: WeakKeyDictionary[Store, _OfState] = WeakKeyDictionary()


def values_of_side(
    store: Store, *, project: str, commit: str, machine: str, environment: str
) -> tuple[SeriesValueRow, ...]:
    """Return the values of every compared metric and run at a commit and place; those of a series come oldest first."""

    def values() -> tuple[SeriesValueRow, ...]:
        rows = all_values_at(store, project=project, commit=commit, machine=machine, environment=environment)
        measured = {(row.metric, row.unit) for row in rows}
        told = {(name, unit) for name, unit in measured if name in COMPARED_AS_STORED or is_judged(name, unit)}
        return tuple(rows if told == measured else [row for row in rows if (row.metric, row.unit) in told])

    return _once(store, (project, commit, machine, environment), values, n_rows=len)


def judged_sides(  # noqa: PLR0913 - two sides at one place, and a metric
    store: Store, *, project: str, base: str, head: str, machine: str, environment: str, metric: str
) -> Judgement:
    """Judge one metric of two commits at a place, as the gate does."""

    def judgement() -> Judgement:
        sides = (
            values_of_side(store, project=project, commit=commit, machine=machine, environment=environment)
            for commit in (base, head)
        )
        before, after = ([row for row in rows if row.metric == metric] for rows in sides)
        return judged_values(store, before, after, base=base, head=head, **relevance_for(store))

    key = (project, base, head, machine, environment, metric)
    return _once(store, key, judgement, n_rows=lambda made: len(made.verdicts))


def judged_benchmark(  # noqa: PLR0913 - two commits at one place, and what of them
    store: Store,
    *,
    project: str,
    base: str,
    head: str,
    machine: str,
    environment: str,
    benchmark: str | None,
    metric: str,
) -> Judgement:
    """Judge one metric of a benchmark, or of all for None, between two commits at a place, as the gate does."""

    def judgement() -> Judgement:
        return judged_commits(
            store, base=base, head=head, project=project, benchmark=benchmark, metric=metric, machine=machine,
            environment=environment, **relevance_for(store),
        )  # fmt: skip

    key = (project, base, head, machine, environment, benchmark, metric)
    return _once(store, key, judgement, n_rows=lambda made: len(made.verdicts))


def is_judged(metric: str, unit: str = "") -> bool:
    """Return whether a metric is judged between commits; others are compared by their values."""
    return metric_of(metric, unit=unit).role is Role.JUDGED


def kept_of(store: Store) -> OrderedDict[Hashable, tuple[object, int]]:
    """Return what is kept for a store, the least recently used first, each with its number of rows."""
    known = _kept.get(store)
    return OrderedDict() if known is None else known.entries


def _once(store: Store, key: Hashable, make: Callable[[], Kept], *, n_rows: Callable[[Kept], int]) -> Kept:
    """Return what `make` does, kept under `key` until store or settings change, or others were used more recently."""
    state = judged_state(store)
    with _lock:
        known = _kept.get(store)
        if known is not None and known.state == state and key in known.entries:
            known.entries.move_to_end(key)
            return cast("Kept", known.entries[key][0])
    made = make()
    if judged_state(store) == state:
        with _lock:
            known = _kept.get(store)
            if known is None or known.state != state:
                known = _kept[store] = _OfState(state)
            known.keep(key, made, n_rows(made))
    return made
