"""Logarithmic axes: labels between decades where these are few, never too many; intervals that reach below zero."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from dashboard.quantities import MOST_DIGITS

if TYPE_CHECKING:
    from dashboard.figures.chart import Chart, Mark
    from dashboard.quantities import Ordinate

# Possible tick labels of a logarithmic axis before their suffix, with SI prefixes and without.
PREFIXED_LABELS = tuple(
    f"{digit * ten}{prefix}"
    for prefix in ("p", "n", "µ", "m", "", "k", "M", "G", "T", "P")
    for ten in (1, 10, 100)
    for digit in (1, 2, 5)
)
PLAIN_LABELS = tuple(f"{digit * 10.0**power:,.{MOST_DIGITS}g}" for power in range(-6, 10) for digit in (1, 2, 5))
FEWEST = math.log10(3)  # decades; an axis of less is labelled as a linear one
MOST_RATIO, SMALL_RATIO = 1e5, 1e2
MOST_DECADES = 20  # with a label each


def decade_ticks(decades: float, ordinate: Ordinate, *, most_ratio: float = MOST_RATIO) -> dict[str, object]:
    """Return where an axis of so many decades has labels, and how they are written.

    most_ratio: of the ends of one that has labels between its decades.
    """
    suffix = ordinate.suffix
    if decades <= FEWEST:
        return {"ticksuffix": suffix, "tickformat": ordinate.tick_format}
    axis: dict[str, object] = {
        # Left alone, an axis of one decade labels 900k and 1M into each other.
        "dtick": "D2" if decades < math.log10(most_ratio) else decades_of_labels(decades),
        # Without a format plotly writes 200 between 100 and 1000 as a small 2.
        "tickformat": ordinate.tick_format,
    }
    if suffix:
        # plotly leaves the suffix out between decades; it shows an alias everywhere.
        labels = PREFIXED_LABELS if ordinate.has_prefix else PLAIN_LABELS
        axis["labelalias"] = {label: f"{label}{suffix}" for label in labels}
    return axis


def decades_of_labels(decades: float) -> int:
    """Return how many decades lie between two labels; drawing hundreds of labels takes a browser a minute."""
    return math.ceil(decades / MOST_DECADES) or 1


def above_zero(chart: Chart) -> Chart:
    """Return the chart with intervals cut where they leave a logarithmic axis: at the least number on it.

    A chart of a value that is not above zero is returned as it is, since it has no such axis.
    """
    readings = [mark.reading for curve in chart.curves for mark in curve.marks]
    ends = [end for one in readings for end in (one.value, one.low) if end is not None]
    if not ends or min(ends) > 0 or min(one.value for one in readings) <= 0:
        return chart
    least = min(end for end in ends if end > 0)

    def cut(mark: Mark) -> Mark:
        low = mark.reading.low
        return mark if low is None or low > 0 else mark._replace(reading=mark.reading._replace(low=least))

    curves = (replace(one, pieces=tuple(tuple(map(cut, piece)) for piece in one.pieces)) for one in chart.curves)
    return replace(chart, curves=tuple(curves))
