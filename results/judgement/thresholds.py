"""Which threshold counts for a series: of those whose patterns match, the most specific; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeVar

from results.files.settings import NO_SETTINGS, PATTERNS, Relevance, Settings, Threshold
from results.metrics import ERROR, Direction, Metric, Precision, metric_of
from results.rows import contender_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from results.rows import SeriesRow, SeriesValueRow

Key = TypeVar("Key")
__all__ = [
    "NO_SETTINGS",
    "Limits",
    "Relevance",
    "Settings",
    "Threshold",
    "limits_of",
    "limits_of_rows",
    "metric_of_row",
    "unmatched",
    "without_effect",
]

_WILD = frozenset("*?[")
EFFECTIVE: Mapping[str, Callable[[Metric], bool]] = {
    "least_change": lambda metric: metric.precision is Precision.NOISY,
    "tolerance": lambda metric: metric.precision is Precision.EXACT,
    "better": lambda metric: metric.direction is Direction.UNKNOWN,
}
"""Of which metrics a key of a threshold says something."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is relevant of one series. tolerance, better: None where the metric's own count."""

    least_change: float
    tolerance: float | None = None
    better: Direction | None = None

    def applied_to(self, metric: Metric) -> Metric:
        """Return the metric with this tolerance, and with this direction if it has none of its own."""
        if self.tolerance is not None:
            metric = replace(metric, tolerance=self.tolerance)
        if self.better is not None and metric.direction is Direction.UNKNOWN:
            metric = replace(metric, direction=self.better)
        return metric


def metric_of_row(row: SeriesRow | SeriesValueRow) -> Metric:
    """Return the metric that a series or a value is of."""
    if row.metric != ERROR.name:  # all others are the same of every dtype
        return metric_of(row.metric, unit=row.unit)
    dtype = next((str(one.value) for one in row.parameters if one.name == "dtype"), None)
    return metric_of(row.metric, unit=row.unit, dtype=dtype)


def limits_of(thresholds: Sequence[Threshold], row: SeriesRow | SeriesValueRow, *, least_change: float) -> Limits:
    """Return the limits of a series: each from the most specific threshold that has one, else `least_change`.

    More specific is what has more patterns without wildcards, then more patterns other than `*`, then more letters;
    of two alike the later one in the file.
    """
    if not thresholds:
        return Limits(least_change=least_change)
    named = _named(row)
    found = sorted((one for one in thresholds if _is_match(one, named)), key=_specificity)
    changes = [one.least_change for one in found if one.least_change is not None]
    tolerances = [one.tolerance for one in found if one.tolerance is not None]
    directions = [one.better for one in found if one.better is not None]
    return Limits(
        least_change=changes[-1] if changes else least_change,
        tolerance=tolerances[-1] if tolerances else None,
        better=directions[-1] if directions else None,
    )


def limits_of_rows(
    rows: Mapping[Key, SeriesRow | SeriesValueRow], thresholds: Sequence[Threshold], least_change: float
) -> dict[Key, Limits]:
    """Return the limits of each series or value, asked once for all that no pattern tells apart."""
    if not thresholds:
        return dict.fromkeys(rows, Limits(least_change=least_change))
    alike: dict[tuple[str | None, ...], Limits] = {}
    found = {}
    for key, row in rows.items():
        name = tuple(_named(row).values())
        if name not in alike:
            alike[name] = limits_of(thresholds, row, least_change=least_change)
        found[key] = alike[name]
    return found


def unmatched(thresholds: Iterable[Threshold], series: Iterable[SeriesRow | SeriesValueRow]) -> list[Threshold]:
    """Return the thresholds that match none of `series`."""
    left = list(thresholds)
    for row in series:
        if not left:
            break
        named = _named(row)
        left = [one for one in left if not _is_match(one, named)]
    return left


def without_effect(
    thresholds: Iterable[Threshold], series: Iterable[SeriesRow | SeriesValueRow]
) -> list[tuple[Threshold, str]]:
    """Return what the thresholds say to no purpose, by its key: it is about other metrics than all that they match.

    A threshold that matches nothing is not among them.
    """
    left = [(one, key) for one in thresholds for key in EFFECTIVE if getattr(one, key) is not None]
    matched: set[tuple[Threshold, str]] = set()
    for row in series:
        if not left:
            break
        metric = metric_of_row(row)
        named = _named(row)
        found = {(one, key) for one, key in left if _is_match(one, named)}
        matched |= found
        left = [pair for pair in left if pair not in found or not EFFECTIVE[pair[1]](metric)]
    return [pair for pair in left if pair in matched]


def _named(row: SeriesRow | SeriesValueRow) -> dict[str, str | None]:
    """Return what the patterns are matched with, in the order of PATTERNS."""
    return {
        "project": row.project,
        "benchmark": row.benchmark,
        "provider": contender_of(row.parameters),
        "metric": row.metric,
    }


def _is_match(threshold: Threshold, named: dict[str, str | None]) -> bool:
    return all(
        (pattern := getattr(threshold, name)) == "*" or (named[name] is not None and fnmatchcase(named[name], pattern))
        for name in PATTERNS
    )


def _specificity(threshold: Threshold) -> tuple[int, int, int, int]:
    patterns = [getattr(threshold, name) for name in PATTERNS]
    return (
        sum(not _WILD & set(pattern) for pattern in patterns),
        sum(pattern != "*" for pattern in patterns),
        sum(character not in _WILD for pattern in patterns for character in pattern),
        threshold.place,
    )
