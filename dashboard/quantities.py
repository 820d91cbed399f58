"""What a curve can show: throughput, latency, work rate or speedup, each with its interval and unit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from results.units import TIMES, ratio, si

if TYPE_CHECKING:
    from results.rows import PointRow


@dataclass(frozen=True, kw_only=True)
class Ordinate:
    """What a y axis shows. `suffix` ends every label; `has_prefix`: labels carry an SI prefix before it.

    `better`: which way is good, in words; empty where nobody said. `reference`: the value that means no difference,
    drawn as a line.
    """

    title: str
    better: str
    suffix: str = ""
    has_prefix: bool = True
    reference: float | None = None


class Quantity(StrEnum):
    """What the y axis shows; the value is what stands in the URL."""

    ROWS_PER_S = "rows_per_s"
    LATENCY = "latency"
    FLOP_PER_S = "flop_per_s"
    SPEEDUP = "speedup"

    @property
    def label(self) -> str:
        """The name a reader sees on the switch."""
        return {"rows_per_s": "rows/s", "latency": "latency", "flop_per_s": "FLOP/s", "speedup": "speedup"}[self]

    @property
    def ordinate(self) -> Ordinate:
        """The y axis it is drawn on."""
        return _ORDINATES[self]

    @property
    def unit(self) -> str:
        """The unit after a number with an SI prefix; empty for a ratio."""
        return {"rows_per_s": "rows/s", "latency": "s", "flop_per_s": "FLOP/s", "speedup": ""}[self]

    def text(self, value: float) -> str:
        """The number as a reader sees it."""
        return ratio(value) if self is Quantity.SPEEDUP else si(value, self.unit)


LOWER, HIGHER = "lower is better", "higher is better"
_ORDINATES = {
    Quantity.ROWS_PER_S: Ordinate(title="Throughput, rows/s", better=HIGHER),
    Quantity.LATENCY: Ordinate(title="Latency of one call", better=LOWER, suffix="s"),
    Quantity.FLOP_PER_S: Ordinate(title="Work rate, FLOP/s", better=HIGHER),
    Quantity.SPEEDUP: Ordinate(
        title="Speedup over eager", better=HIGHER, suffix=TIMES, has_prefix=False, reference=1.0
    ),
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A value and its 95 % interval, in the quantity's own unit; None where an end is not known."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None


def reading_of(row: PointRow, *, quantity: Quantity) -> Reading | None:
    """The quantity at `row`; None unless the point is ok and the quantity known there.

    Rates are work divided by latency, so the upper end of the latency's interval is their lower end.
    """
    if row.state != "ok":
        return None
    if quantity is Quantity.LATENCY:
        return _reading(row.latency_s, row.latency_ci_low_s, row.latency_ci_high_s)
    if quantity is Quantity.SPEEDUP:
        return _reading(row.speedup_vs_eager, row.speedup_ci_low, row.speedup_ci_high)
    if quantity is Quantity.ROWS_PER_S:
        return _rate(row, row.rows_per_s)
    return _rate(row, None if row.tflop_per_s is None else 1e12 * row.tflop_per_s)


def _reading(value: float | None, low: float | None, high: float | None) -> Reading | None:
    return None if value is None else Reading(value=value, low=low, high=high)


def _rate(row: PointRow, rate: float | None) -> Reading | None:
    """`rate` with the interval of the latency turned over."""
    if rate is None:
        return None
    if not (row.latency_s and row.latency_ci_low_s and row.latency_ci_high_s):
        return Reading(value=rate)
    work = rate * row.latency_s
    return Reading(value=rate, low=work / row.latency_ci_high_s, high=work / row.latency_ci_low_s)
