"""Values of axes that a URL chooses, one axis after the other, each among what was measured at those before it."""

from __future__ import annotations

from collections import Counter
from math import log
from typing import TYPE_CHECKING

from dashboard.sweep_axes import text_of
from results.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.sweep_axes import Axis, AxisValue
    from results.rows import PointChoice

MOST_DIGITS = 18
MOST_SHOWN = 60  # characters of a value that was not measured


def settled(
    axis: Axis,
    values: Sequence[AxisValue],
    *,
    wanted: Mapping[str, str],
    before: Mapping[str, AxisValue],
    problems: list[str],
) -> AxisValue:
    """Return the value the URL wants of `axis`, or the nearest of `values`, adding to `problems`; else its default.

    `values` come newest measurement first; `before` has the columns of the axes settled so far. Raises: ResultsError
    without any value, as where the database of an open page was replaced by one that has no sweep.
    """
    if not values:
        raise ResultsError("no point of a sweep is stored any more; reload the page")
    default = _default(axis, values, before)
    if axis.name not in wanted:
        return default
    value = _nearest(wanted[axis.name], values, default=default)
    if text_of(value) != wanted[axis.name]:
        problems.append(_not_measured(axis, wanted[axis.name], value, values))
    return value


def settled_axes(
    points: Sequence[PointChoice],
    axes: Sequence[Axis],
    *,
    wanted: Mapping[str, str],
    problems: list[str],
    prefers: str | None = None,
) -> tuple[dict[str, AxisValue], dict[str, tuple[AxisValue, ...]], list[PointChoice]]:
    """Settle `axes` one after the other: their values by column, what each had to offer by name, and the points left.

    `points` come newest first. What the URL wants and was not measured is added to `problems`. An axis that it leaves
    open takes a value that the axes after it, which it names, were measured with; by one project: the one that is
    preferred, else the newest.
    Raises: ResultsError without any point.
    """
    columns: dict[str, AxisValue] = {}
    options: dict[str, tuple[AxisValue, ...]] = {}
    left = list(points)
    for axis in axes:
        options[axis.name] = in_order(tuple(dict.fromkeys(axis.value_of(row) for row in left)))
        fitting = left if axis.name in wanted else _fitting(left, axes[axes.index(axis) + 1 :], wanted, prefers)
        values = _newest_or_most(axis, fitting)
        columns[axis.column] = settled(axis, values, wanted=wanted, before=columns, problems=problems)
        left = [row for row in left if axis.value_of(row) == columns[axis.column]]
    return columns, options, left


def in_order(values: Sequence[AxisValue]) -> tuple[AxisValue, ...]:
    """Order None first, then numbers by size and names alphabetically."""
    return tuple(sorted(values, key=_sort_key))


def _fitting(
    points: Sequence[PointChoice], later: Sequence[Axis], wanted: Mapping[str, str], prefers: str | None
) -> Sequence[PointChoice]:
    """Return the points of one project at the values that the URL wants of the later axes, as far as there are any."""
    for axis in later:
        if axis.name in wanted:
            points = [row for row in points if text_of(axis.value_of(row)) == wanted[axis.name]] or points
    for project in (prefers, *(row.project for row in points[:1])):
        if of_project := [row for row in points if row.project == project]:
            return of_project
    return points


def _newest_or_most(axis: Axis, points: Sequence[PointChoice]) -> tuple[AxisValue, ...]:
    """Return the values of `axis`, the newest first; of the activation the one with the most points, as the maps do."""
    n_points = Counter(axis.value_of(row) for row in points)
    return tuple(sorted(n_points, key=lambda value: -n_points[value]) if axis.name == "activation" else n_points)


def _default(axis: Axis, values: Sequence[AxisValue], before: Mapping[str, AxisValue]) -> AxisValue:
    if axis.preferred in values:
        return axis.preferred
    numbers = sorted(value for value in values if isinstance(value, int))
    hidden = before.get("hidden")
    if axis.name == "dim" and isinstance(hidden, int):
        return min(numbers, key=lambda dim: abs(log(4 * dim / hidden)))
    return numbers[len(numbers) // 2] if numbers else values[0]


def _nearest(requested: str, values: Sequence[AxisValue], *, default: AxisValue) -> AxisValue:
    """Return the value spelled `requested`; else the number nearest to it by ratio; else `default`."""
    exact = next((value for value in values if text_of(value) == requested), None)
    if exact is not None:
        return exact
    numbers = [value for value in values if isinstance(value, int)]
    if numbers and requested.isdecimal() and len(requested) <= MOST_DIGITS and int(requested) > 0:
        return min(numbers, key=lambda value: abs(log(value / int(requested))))
    return default


def _not_measured(axis: Axis, requested: str, shown: AxisValue, values: Sequence[AxisValue]) -> str:
    measured = ", ".join(text_of(value) for value in in_order(values))
    asked = requested if len(requested) <= MOST_SHOWN else f"{requested[:MOST_SHOWN]}…"
    return (
        f"{axis.label} {asked} was not measured with the rest of this choice; "
        f"showing {text_of(shown)}. Measured: {measured}."
    )


def _sort_key(value: AxisValue) -> tuple[bool, int, str]:
    return (value is not None, value if isinstance(value, int) else 0, str(value))
