"""Which of two values is worse, and whether they differ by what matters; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.metrics import Direction

if TYPE_CHECKING:
    from results.metrics import Metric


def size_of(ratio: float | None) -> float:
    """Return how far a ratio is from 1, a logarithm, so that twice is as far as half; infinite where there is none."""
    return abs(math.log(ratio)) if ratio is not None and ratio > 0 else math.inf


def is_relevant(before: float, after: float, *, least_change: float) -> bool:
    """Return whether two values differ by more than `least_change`, or at all if that is 0."""
    smaller, larger = sorted((abs(before), abs(after)))
    if least_change == 0:
        return before != after
    # No product of the two: that of 0 and an endless number is none, that of tiny ones is 0.
    is_across = smaller == 0 or (before < 0) != (after < 0)
    return larger != 0 and (is_across or larger / smaller >= 1 + least_change)


def differs(metric: Metric, before: float, after: float) -> bool:
    """Return whether two values of an exact metric differ, beyond its tolerance and its floor."""
    is_above = max(abs(before), abs(after)) > metric.floor
    return is_above and is_relevant(before, after, least_change=metric.tolerance)


def is_worse(metric: Metric, before: float, after: float) -> bool:
    """Return whether `after` is the worse value; never where the better direction is unknown."""
    if metric.direction is Direction.UNKNOWN:
        return False
    return after > before if metric.direction is Direction.LOWER else after < before
