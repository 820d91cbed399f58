"""Lines of the page *History*: the series of one benchmark that differ in parameters, and what their values mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.quantities import HIGHER, LOWER, Ordinate
from results.metrics import Direction, metric_of
from results.rows import parameters_in_words
from results.units import BYTE_NAMES, SECOND_NAMES, si, si_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.rows import SeriesRow

NO_PARAMETERS = "no parameters"
NO_UNIT = "unit"  # what asv writes where a benchmark names none
BETTER = {
    Direction.LOWER: LOWER,
    Direction.HIGHER: HIGHER,
    Direction.UNKNOWN: "",  # nobody said
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """The series of all versions of a benchmark at the same parameters. `label`: those that differ between lines."""

    name: str
    label: str
    series: tuple[SeriesRow, ...]


def lines_from(series: Iterable[SeriesRow]) -> list[Line]:
    """One line per set of parameters, in the order the parameters' values came."""
    by_name: dict[str, list[SeriesRow]] = {}
    for row in series:
        by_name.setdefault(parameters_in_words(row.parameters) or NO_PARAMETERS, []).append(row)
    shared = _shared([rows[0] for rows in by_name.values()])
    labels = {name: parameters_in_words(rows[0].parameters, without=shared) for name, rows in by_name.items()}
    return [Line(name=name, label=labels[name] or NO_PARAMETERS, series=tuple(rows)) for name, rows in by_name.items()]


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """How values of one metric and unit are written."""

    metric: str
    unit: str

    @property
    def ordinate(self) -> Ordinate:
        """The y axis they are drawn on, with the unit on its labels or in its title."""
        metric = metric_of(self.metric, unit=self.unit)
        label, symbol = metric.label[:1].upper() + metric.label[1:], self._symbol
        if symbol is not None:
            return Ordinate(title=label, better=BETTER[metric.direction], suffix=symbol)
        title = label if self.unit in {NO_UNIT, ""} else f"{self.unit[:1].upper()}{self.unit[1:]}"
        return Ordinate(title=title, better=BETTER[metric.direction], has_prefix=False)

    def text(self, value: float) -> str:
        """One value: with its unit where that is a symbol, else the bare number, as on the axis."""
        return f"{value:.4g}" if self._symbol is None else si(value, self._symbol)

    def interval_text(self, value: float, low: float, high: float) -> str:
        """An interval, in the prefix that `text` gives `value`."""
        return f"[{low:.4g}, {high:.4g}]" if self._symbol is None else si_interval(value, low, high)

    @property
    def _symbol(self) -> str | None:
        """What takes an SI prefix: seconds and bytes."""
        if self.unit in SECOND_NAMES:
            return "s"
        return "B" if self.unit in BYTE_NAMES else None


def _shared(rows: Sequence[SeriesRow]) -> frozenset[str]:
    """Parameters that have one value in all lines: they tell nobody anything."""
    if len(rows) < 2:
        return frozenset()
    return frozenset(parameter.name for parameter in set.intersection(*(set(row.parameters) for row in rows)))
