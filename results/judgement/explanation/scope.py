"""Scope of a finding: which of the points that were measured it concerns, and along which axis they lie; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from results.rows import ParameterValue

_MOST_LISTED = 4


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Number of points that changed, of those measured; along: the axis that parts them, in words, or None."""

    n_changed: int
    n_points: int
    along: str | None = None

    @property
    def words(self) -> str:
        """Write `3 of 12 points, all with batch ≤ 64`."""
        if self.n_points <= 1:
            return "the only point compared"
        if self.n_changed >= self.n_points:
            return f"all {self.n_points:,} points"
        along = f", {self.along}" if self.along else ""
        return f"{self.n_changed:,} of {self.n_points:,} points{along}"


def scope_of(
    changed: Sequence[tuple[ParameterValue, ...]],
    measured: Collection[tuple[ParameterValue, ...]] | None,
    *,
    n_points: int,
) -> Scope:
    """Return the scope of the points that changed.

    measured: all points of the surface; None where only their number `n_points` is known. An axis parts them if it has
    no value in common between points that changed and points that did not.
    """
    if measured is None or len(changed) >= len(measured):
        return Scope(n_changed=len(changed), n_points=max(n_points, len(changed)))
    inside = {_key(point) for point in changed}
    others = [point for point in measured if _key(point) not in inside]
    names = dict.fromkeys(one.name for point in changed for one in point)
    found = (_along(name, changed, others) for name in names)
    return Scope(n_changed=len(changed), n_points=len(measured), along=next((words for words in found if words), None))


def _key(point: Iterable[ParameterValue]) -> frozenset[tuple[str, object]]:
    return frozenset((one.name, _comparable(one.value)) for one in point)


def _along(name: str, changed: Iterable[Iterable[ParameterValue]], others: Iterable[Iterable[ParameterValue]]) -> str:
    inside, outside = (_values(name, points) for points in (changed, others))
    if not inside or inside & outside:
        return ""
    numbers = [
        {value for value in values if isinstance(value, int | float) and not isinstance(value, bool)}
        for values in (inside, outside)
    ]
    are_numbers = len(numbers[0]) == len(inside) and len(numbers[1]) == len(outside)
    if are_numbers and len(inside) > 1:
        if max(numbers[0]) < min(numbers[1]):
            return f"all with {name} ≤ {max(numbers[0]):g}"
        if min(numbers[0]) > max(numbers[1]):
            return f"all with {name} ≥ {min(numbers[0]):g}"
    listed = sorted(map(str, inside))
    if len(listed) > _MOST_LISTED:
        return ""
    return f"all with {name} {' or '.join(listed)}"


def _values(name: str, points: Iterable[Iterable[ParameterValue]]) -> set[object]:
    return {_comparable(one.value) for point in points for one in point if one.name == name}


def _comparable(value: object) -> object:
    """Return the value; of NaN, which is not even itself, its text."""
    return str(value) if isinstance(value, float) and math.isnan(value) else value
