"""Sides of the charts: the choice at each value of the coloured axis, and the commits drawn beside the chosen one."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, TypeVar

from dashboard.scales import Colour
from dashboard.sweep_axes import AXES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dashboard.sweep_axes import ChosenPoint
    from results.rows import PointChoice

Choice = TypeVar("Choice", bound="ChosenPoint")

MOST_SIDES = 8  # more colours than that nobody tells apart
MOST_PANELS = 12
# What a coloured axis brings along: another machine has its own environment.
FREE = {Colour.DTYPE: ("dtype",), Colour.MACHINE: ("machine", "environment", "threads")}


def sides_of(points: Iterable[PointChoice], choice: Choice, colour: Colour) -> tuple[Choice, ...]:
    """Return the choice at each measured value of the coloured axis, in order; the chosen one alone of other axes.

    `points` come newest first: of a machine with several environments the newest counts.
    """
    free = FREE.get(colour, ())
    found: dict[str, Choice] = {getattr(choice, free[0]) if free else "": choice}
    if free:
        for point in _alike(points, choice, free=free):
            own = {column: getattr(point, column) for column in free}
            found.setdefault(own[free[0]], replace(choice, **own))
    return tuple(found[value] for value in sorted(found))


def panels_of(points: Iterable[PointChoice], choice: Choice) -> tuple[Choice, ...]:
    """Return the choice at each hidden dim measured for the otherwise same shape, the smallest first.

    The model dim is the one nearest to the chosen one's share of the hidden dim.
    """
    dims: dict[int, set[int]] = {}
    for point in _alike(points, choice, free=("hidden", "dim")):
        dims.setdefault(point.hidden, set()).add(point.dim)
    share = choice.dim / choice.hidden
    return tuple(replace(choice, hidden=hidden, dim=_nearest(dims[hidden], share * hidden)) for hidden in sorted(dims))


def nearest_panels(panels: Sequence[Choice], hidden: int) -> tuple[Choice, ...]:
    """Return at most MOST_PANELS of the panels, the nearest to a hidden dim by ratio, in their order."""
    near = sorted(panels, key=lambda one: abs(log(one.hidden / hidden)))[:MOST_PANELS]
    return tuple(one for one in panels if one in near)


def _alike(points: Iterable[PointChoice], choice: ChosenPoint, *, free: Collection[str]) -> Iterable[PointChoice]:
    same = [(axis, getattr(choice, axis.column)) for axis in AXES if axis.column not in {*free, "batch"}]
    return (point for point in points if all(axis.value_of(point) == value for axis, value in same))


def _nearest(values: Iterable[int], wanted: float) -> int:
    return min(values, key=lambda value: (abs(log(value / wanted)), value))
