"""Quantities of a curve, each with its interval, unit and y axis: those of a sweep point, and any metric."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from results.metrics import Direction, metric_of
from results.units import BYTE_NAMES, SECOND_NAMES, THIN_SPACE, TIMES, ratio, si, si_interval, without_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.rows import PointRow


@dataclass(frozen=True, kw_only=True)
class Ordinate:
    """Y axis of a chart. `suffix` ends every label; `has_prefix`: labels carry an SI prefix before it.

    `better`: the better direction in words; empty where it is unknown. `reference`: the value that means no
    difference, drawn as a line.
    """

    title: str
    better: str
    suffix: str = ""
    has_prefix: bool = True
    reference: float | None = None

    @property
    def tick_format(self) -> str:
        """Format of the labels, in d3's words: with a prefix, or with separators of thousands."""
        return "~s" if self.has_prefix else f",.{MOST_DIGITS}~g"


class Quantity(StrEnum):
    """Quantity of a sweep point; the value is its name in the URL."""

    ROWS_PER_S = "rows_per_s"
    LATENCY = "latency"
    SPEEDUP = "speedup"
    FLOP_PER_S = "flop_per_s"
    BYTES_PER_S = "bytes_per_s"
    PERCENT_OF_FLOOR = "percent_of_floor"
    DEVICE_TIME = "device_time"
    HOST_TIME = "host_time"
    OPERATOR_TIME = "operator_time"
    LAUNCHES = "launches"
    OPERATORS = "operators"
    PEAK_MEMORY = "peak_memory"
    COMPILE_TIME = "compile_time"
    RECOMPILE_TIME = "recompile_time"
    PREPARE_TIME = "prepare_time"

    @property
    def label(self) -> str:
        """Name in the selector."""
        return _LABELS.get(self, self.value.replace("_", " "))

    @property
    def ordinate(self) -> Ordinate:
        """Y axis it is drawn on."""
        return _ORDINATES[self]

    @property
    def unit(self) -> str:
        """Unit after a number with an SI prefix; empty where there is none."""
        return _RATE_UNITS.get(self, _ORDINATES[self].suffix if _ORDINATES[self].has_prefix else "")

    @property
    def metric(self) -> str | None:
        """Stored metric that it is read from; None for what follows from latency, work and eager."""
        return FIELDS.get(self)

    @property
    def judged_as(self) -> str:
        """Metric whose findings are about it: a rate follows from the latency."""
        return "latency_s" if self in _RATES else self.metric or _JUDGED[self]

    @property
    def is_rate(self) -> bool:
        """Whether it is an amount of work divided by the latency: it falls where the latency rises."""
        return self in _RATES

    def text(self, value: float) -> str:
        """Write the number with its unit."""
        if self is Quantity.SPEEDUP:
            return ratio(value)
        return si(value, self.unit) if self.unit else f"{without_prefix(value)}{self.ordinate.suffix}"


# Fields of a row, and metrics of the store, that are shown as they are.
FIELDS = {
    Quantity.DEVICE_TIME: "device_time_s",
    Quantity.HOST_TIME: "host_time_s",
    Quantity.OPERATOR_TIME: "operator_time_s",
    Quantity.LAUNCHES: "kernel_launches",
    Quantity.OPERATORS: "operator_count",
    Quantity.PEAK_MEMORY: "peak_memory_bytes",
    Quantity.COMPILE_TIME: "compile_time_cold_s",
    Quantity.RECOMPILE_TIME: "recompile_time_s",
    Quantity.PREPARE_TIME: "prepare_time_s",
}
_JUDGED = {Quantity.LATENCY: "latency_s", Quantity.SPEEDUP: "speedup_vs_eager"}
_LABELS = {
    Quantity.ROWS_PER_S: "rows/s", Quantity.FLOP_PER_S: "FLOP/s", Quantity.BYTES_PER_S: "B/s",
    Quantity.PERCENT_OF_FLOOR: "% of the floor", Quantity.LAUNCHES: "kernel launches",
}  # fmt: skip
_RATE_UNITS = {Quantity.ROWS_PER_S: "rows/s", Quantity.FLOP_PER_S: "FLOP/s", Quantity.BYTES_PER_S: "B/s"}
MOST_DIGITS = 12  # of a label; a number that has more before the point is written with an exponent
LOWER, HIGHER = "lower is better", "higher is better"
BETTER = {Direction.LOWER: LOWER, Direction.HIGHER: HIGHER, Direction.UNKNOWN: ""}
NO_UNIT = "unit"  # what asv writes where a benchmark names none
_ORDINATES = {
    Quantity.ROWS_PER_S: Ordinate(title="Throughput, rows/s", better=HIGHER),
    Quantity.LATENCY: Ordinate(title="Latency of one call", better=LOWER, suffix="s"),
    Quantity.FLOP_PER_S: Ordinate(title="Work rate, FLOP/s", better=HIGHER),
    Quantity.SPEEDUP: Ordinate(
        title="Speedup over eager", better=HIGHER, suffix=TIMES, has_prefix=False, reference=1.0
    ),
    Quantity.BYTES_PER_S: Ordinate(title="Least traffic over latency, B/s", better=HIGHER),
    Quantity.PERCENT_OF_FLOOR: Ordinate(
        title="Speed of the floor reached", better=HIGHER, suffix="\N{NARROW NO-BREAK SPACE}%", has_prefix=False,
        reference=100.0,
    ),
    Quantity.DEVICE_TIME: Ordinate(title="Time of one call's kernels", better=LOWER, suffix="s"),
    Quantity.HOST_TIME: Ordinate(title="Host time to enqueue one call", better=LOWER, suffix="s"),
    Quantity.OPERATOR_TIME: Ordinate(title="Time of one call's operators", better=LOWER, suffix="s"),
    Quantity.LAUNCHES: Ordinate(title="Kernel launches of one call", better=LOWER, has_prefix=False),
    Quantity.OPERATORS: Ordinate(title="Operators of one call", better=LOWER, has_prefix=False),
    Quantity.PEAK_MEMORY: Ordinate(title="Peak memory of one call", better=LOWER, suffix="B"),
    Quantity.COMPILE_TIME: Ordinate(title="Time to compile", better=LOWER, suffix="s"),
    Quantity.RECOMPILE_TIME: Ordinate(title="Time to compile for another shape", better=LOWER, suffix="s"),
    Quantity.PREPARE_TIME: Ordinate(title="Time to prepare the weights", better=LOWER, suffix="s"),
}  # fmt: skip


# Field of a row and its scale; all are an amount of work divided by the latency.
_RATES = {
    Quantity.ROWS_PER_S: ("rows_per_s", 1.0),
    Quantity.FLOP_PER_S: ("tflop_per_s", 1e12),
    Quantity.BYTES_PER_S: ("gb_per_s", 1e9),
    Quantity.PERCENT_OF_FLOOR: ("percent_of_floor", 1.0),
}


@dataclass(frozen=True, kw_only=True)
class MetricFormat:
    """Format of the values of one metric and unit. `better`: the direction of a metric that tells none itself."""

    metric: str
    unit: str
    better: Direction | None = None

    @property
    def ordinate(self) -> Ordinate:
        """Y axis of the values, with the unit on its labels or in its title."""
        direction = metric_of(self.metric, unit=self.unit).direction
        if direction is Direction.UNKNOWN and self.better is not None:
            direction = self.better
        symbol = self._symbol
        if symbol is not None:
            return Ordinate(title=self.label, better=BETTER[direction], suffix=symbol)
        # Letters keep their case: Ms is a million seconds.
        title = f"{self.label}, {self._named_unit}".removesuffix(", ")
        return Ordinate(title=title, better=BETTER[direction], has_prefix=False)

    @property
    def label(self) -> str:
        """What is measured, as a title begins."""
        label = metric_of(self.metric, unit=self.unit).label
        return label[:1].upper() + label[1:]

    def text(self, value: float) -> str:
        """Write one value with its unit, if it has one."""
        if self._symbol is not None:
            return si(value, self._symbol)
        return f"{without_prefix(value)}{THIN_SPACE}{self._named_unit}".rstrip()

    def interval_text(self, value: float, low: float, high: float) -> str:
        """Write an interval in the prefix that `text` gives `value`."""
        if self._symbol is not None:
            return si_interval(value, low, high)
        return f"[{without_prefix(low)}, {without_prefix(high)}]"

    @property
    def _named_unit(self) -> str:
        return "" if self.unit == NO_UNIT else self.unit

    @property
    def _symbol(self) -> str | None:
        """Symbol that takes an SI prefix, of seconds or bytes."""
        if self.unit in SECOND_NAMES:
            return "s"
        return "B" if self.unit in BYTE_NAMES else None


class Reading(NamedTuple):  # one of each mark
    """Value with its interval, in the quantity's own unit; None where an end is unknown."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def has_interval(self) -> bool:
        """True if both ends are known."""
        return self.low is not None and self.high is not None


def reading_of(row: PointRow, *, quantity: Quantity) -> Reading | None:
    """Return the quantity at `row`; None unless the point is ok and the quantity known there.

    Rates are work divided by latency, so the upper end of the latency's interval is their lower end.
    """
    if row.state != "ok":
        return None
    if quantity is Quantity.LATENCY:
        return _reading(row.latency_s, row.latency_ci_low_s, row.latency_ci_high_s)
    if quantity is Quantity.SPEEDUP:
        return _reading(row.speedup_vs_eager, row.speedup_ci_low, row.speedup_ci_high)
    if quantity in FIELDS:
        value: float | None = getattr(row, FIELDS[quantity])
        return None if value is None else Reading(value=value)
    rate, scale = _RATES[quantity]
    value = getattr(row, rate)
    return _rate(row, None if value is None else scale * value)


def measured_quantities(rows: Iterable[PointRow]) -> tuple[Quantity, ...]:
    """Return the quantities that any of `rows` has a reading of."""
    known = list(rows)
    return tuple(one for one in Quantity if any(reading_of(row, quantity=one) is not None for row in known))


def _reading(value: float | None, low: float | None, high: float | None) -> Reading | None:
    # Intervals of older journals may reach below nothing, which no time or ratio is.
    return None if value is None else Reading(value=value, low=None if low is None else max(low, 0.0), high=high)


def _rate(row: PointRow, rate: float | None) -> Reading | None:
    """Return `rate` with the inverted interval of the latency; without one where that reaches down to nothing."""
    if rate is None:
        return None
    if not (row.latency_s and row.latency_ci_low_s and row.latency_ci_high_s) or row.latency_ci_low_s <= 0:
        return Reading(value=rate)
    work = rate * row.latency_s
    return Reading(value=rate, low=work / row.latency_ci_high_s, high=work / row.latency_ci_low_s)
