"""Thinning of long curves to what a screen can show: of neighbouring commits the least and the greatest value stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Row = TypeVar("Row")

MOST_POINTS = 5_000  # of a figure, its bands included
POINTS_PER_MARK = 3  # its own, and the two ends of its interval


def thinned(
    rows: Sequence[Row], *, curve: Callable[[Row], str], value: Callable[[Row], float | None], keep: Iterable[Row] = ()
) -> tuple[Row, ...]:
    """Return so many of `rows` that their figure has MOST_POINTS at most, in their order; all where they are few.

    Each curve's rows are cut into stretches of equal length; the least and the greatest `value` of each stays, and
    so do the curve's first and last, whatever has no value, and the rows in `keep`.
    """
    if POINTS_PER_MARK * len(rows) <= MOST_POINTS:
        return tuple(rows)
    by_curve: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        by_curve.setdefault(curve(row), []).append(i)
    n_stretches = max(MOST_POINTS // (POINTS_PER_MARK * 2 * len(by_curve)) - 1, 1)
    kept_rows = set(map(id, keep))
    values = [value(row) for row in rows]
    kept = {i for i, number in enumerate(values) if number is None}
    kept |= {i for i, row in enumerate(rows) if id(row) in kept_rows}
    for places in by_curve.values():
        kept |= {places[0], places[-1]}
        known = [(number, i) for i in places if (number := values[i]) is not None]
        length = max(-(-len(known) // n_stretches), 1)
        for start in range(0, len(known), length):
            stretch = known[start : start + length]
            kept |= {min(stretch)[1], max(stretch)[1]}
    return tuple(row for i, row in enumerate(rows) if i in kept)
