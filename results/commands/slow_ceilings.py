"""Ceilings of a slow machine, told beside the points that have a floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.queries import ceilings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import PointRow
    from results.store import Store


def slow_ceilings_in_words(store: Store, rows: Sequence[PointRow]) -> list[str]:
    """Return a line for each machine and environment of `rows` with a floor whose ceilings are of a slow machine."""
    places = dict.fromkeys((row.machine, row.environment) for row in rows if row.floor_s is not None)
    found = (ceilings_of(store, machine=machine, environment=environment) for machine, environment in places)
    return [
        f"present ceilings of {each.machine} in {each.environment}: measured {words}"
        for each in found
        if each is not None and (words := each.slow_in_words)
    ]
