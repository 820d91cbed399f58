"""Lines of the page *Explore*: series of one benchmark that differ in their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.rows import contender_of, parameters_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.rows import SeriesRow

NO_PARAMETERS = "no parameters"


@dataclass(frozen=True, kw_only=True)
class HistoryLine:
    """Series of all versions of a benchmark at the same parameters. `label`: those that differ between lines."""

    name: str
    label: str
    series: tuple[SeriesRow, ...]

    @property
    def contender(self) -> str | None:
        """Name its provider competes under; None where the benchmark has no providers."""
        return contender_of(self.series[0].parameters)


def lines_from(series: Iterable[SeriesRow]) -> list[HistoryLine]:
    """Group `series` into one line per set of parameters, in the order the parameters' values came."""
    by_name: dict[str, list[SeriesRow]] = {}
    for row in series:
        by_name.setdefault(parameters_in_words(row.parameters) or NO_PARAMETERS, []).append(row)
    shared = _shared([rows[0] for rows in by_name.values()])
    labels = {name: parameters_in_words(rows[0].parameters, without=shared) for name, rows in by_name.items()}
    return [
        HistoryLine(name=name, label=labels[name] or NO_PARAMETERS, series=tuple(rows))
        for name, rows in by_name.items()
    ]


def _shared(rows: Sequence[SeriesRow]) -> frozenset[str]:
    """Return the parameters with one value in all lines, which need no mention."""
    if len(rows) < 2:
        return frozenset()
    return frozenset(parameter.name for parameter in set.intersection(*(set(row.parameters) for row in rows)))


def parameter_names_of(lines: Sequence[HistoryLine]) -> tuple[str, ...]:
    """Return the names of the parameters that tell the lines apart, in their order."""
    rows = [line.series[0] for line in lines]
    shared = _shared(rows)
    return tuple(dict.fromkeys(one.name for row in rows for one in row.parameters if one.name not in shared))


def parameter_choices(lines: Sequence[HistoryLine]) -> dict[str, tuple[str, ...]]:
    """Return `name=value` of each parameter that tells the lines apart, by its name, values in their order."""
    found: dict[str, dict[str, None]] = {name: {} for name in parameter_names_of(lines)}
    for line in lines:
        for one in line.series[0].parameters:
            if one.name in found:
                found[one.name][f"{one.name}={one.value}"] = None
    return {name: tuple(values) for name, values in found.items()}


def words_of(line: HistoryLine) -> set[str]:
    """Return `name=value` of each parameter of a line."""
    return {f"{one.name}={one.value}" for one in line.series[0].parameters}
