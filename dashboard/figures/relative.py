"""Histories relative to a commit: every value divided by the line's own there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.quantities import MetricFormat, Ordinate
from results.units import TIMES, ratio, ratio_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeGuard

    from dashboard.lines import HistoryLine
    from results.rows import HistoryValue, SeriesHistory


@dataclass(frozen=True, kw_only=True)
class RelativeFormat(MetricFormat):
    """Format of values that were divided by those at a commit, of that hash."""

    base: str

    @property
    def ordinate(self) -> Ordinate:
        """Y axis of the ratios, 1 where nothing differs."""
        own = super().ordinate
        title = f"{self.label} over that at {self.base[:8]}"
        return Ordinate(title=title, better=own.better, suffix=TIMES, has_prefix=False, reference=1.0)

    def text(self, value: float) -> str:
        """Write one ratio."""
        return ratio(value)

    def interval_text(self, value: float, low: float, high: float) -> str:
        """Write an interval with the decimals that `text` gives `value`."""
        return ratio_interval(value, low, high)


def relative_to(
    lines: Iterable[HistoryLine], histories: Mapping[int, SeriesHistory], *, base: str
) -> tuple[dict[int, SeriesHistory], list[HistoryLine]]:
    """Return the histories divided by their own last values at commit `base`, and the lines without one there.

    A value that is not above 0 is none: nothing is so many times it. Nor is one of another ruler or version: what it
    measured does not compare, and a history of it that has no value at `base` is left out.
    """
    found: dict[int, SeriesHistory] = {}
    without: list[HistoryLine] = []
    for line in lines:
        own = [histories[row.series_id] for row in line.series if row.series_id in histories]
        n_before = len(found)
        for history in own:
            at_base = [one.value for one in history.values if one.commit == base and _is_base(one.value)]
            if at_base:
                values = tuple(_divided(value, at_base[-1]) for value in history.values)
                found[history.series.series_id] = type(history)(series=history.series, values=values)
        if len(found) == n_before:
            without.append(line)
    return found, without


def _is_base(value: float | None) -> TypeGuard[float]:
    """Return whether others can be told as so many times the value."""
    return value is not None and math.isfinite(value) and value > 0


def _divided(value: HistoryValue, by: float) -> HistoryValue:
    number, low, high = (None if end is None else end / by for end in (value.value, value.ci_low, value.ci_high))
    return value._replace(value=number, ci_low=low, ci_high=high)
