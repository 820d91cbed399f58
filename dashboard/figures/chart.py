"""Content of a figure of curves as a frozen value, before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboard.looks import Look
    from dashboard.quantities import Ordinate, Reading

# Position of a mark on the x axis: a short hash, a batch or a date.
Position: TypeAlias = str | int | datetime

MOST_FEW = 2


class Across(StrEnum):
    """Quantity of the x axis."""

    COMMITS = "commits"
    DATES = "dates"
    BATCHES = "batches"


class Mark(NamedTuple):  # a dataclass takes five times as long to make, of which a figure may have thousands
    """Measured point of a curve. `key`: the commit or batch that a click on it chooses. `text`: the value in words."""

    at: Position
    key: str
    reading: Reading
    text: str
    note: str
    is_disturbed: bool


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Line in pieces, broken at points that are not ok. `name`: a contender, or parameters."""

    name: str
    look: Look
    pieces: tuple[tuple[Mark, ...], ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All marks, in order."""
        return tuple(mark for piece in self.pieces for mark in piece)


@dataclass(frozen=True, kw_only=True)
class Absence:
    """Point measured without a value, and the reason."""

    name: str
    look: Look
    at: Position
    key: str
    state: str
    note: str


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """Position where a new level begins. `text`: its size; `kind`: good, bad, or neither; `note`: what is known."""

    at: Position
    text: str
    kind: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Content of one figure. `positions`: all of the x axis, in order, each with its click's key.

    `labels`: of positions that are named otherwise on the axis. `interval_level`: of the readings' intervals, 0.95
    for 95 %. `change_points`: marked above the curves, in order.
    """

    ordinate: Ordinate
    across: Across
    positions: tuple[tuple[Position, str], ...]
    curves: tuple[Curve, ...]
    absences: tuple[Absence, ...]
    interval_level: float = 0.95
    labels: Mapping[Position, str] = field(default_factory=dict)
    change_points: tuple[ChangePoint, ...] = ()

    @property
    def are_few(self) -> bool:
        """Whether the axis has so few batches that curves would have no course: bars fit them."""
        return self.across is Across.BATCHES and len(self.positions) <= MOST_FEW

    @property
    def is_positive(self) -> bool:
        """Whether all that is drawn is above 0, as a logarithmic axis holds nothing else."""
        readings = (mark.reading for curve in self.curves for mark in curve.marks)
        return all((one.value if one.low is None else one.low) > 0 for one in readings)
