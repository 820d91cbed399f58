"""Everything a figure of curves shows, before it is drawn: what tests look at instead of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dashboard.figures.looks import Look
    from dashboard.quantities import Ordinate, Reading

# Where a mark lies on the x axis: a short hash, a batch, a date.
Place: TypeAlias = str | int | datetime


class Across(StrEnum):
    """What the x axis is."""

    COMMITS = "commits"
    DATES = "dates"
    BATCHES = "batches"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One measured point of a curve. `key` is what a click on it chooses: a commit or a batch."""

    at: Place
    key: str
    reading: Reading
    note: str
    is_disturbed: bool


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line, in pieces: it breaks where a point was tried and is not ok. `name`: a contender, or parameters."""

    name: str
    look: Look
    pieces: tuple[tuple[Mark, ...], ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All marks, in order."""
        return tuple(mark for piece in self.pieces for mark in piece)


@dataclass(frozen=True, kw_only=True)
class Absence:
    """A point that was tried and has no number, and why."""

    name: str
    look: Look
    at: Place
    key: str
    state: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Everything one figure shows. `places`: every position of the x axis, in order, and its click's key.

    `interval_level`: of the readings' intervals, 0.95 for 95 %.
    """

    ordinate: Ordinate
    across: Across
    places: tuple[tuple[Place, str], ...]
    curves: tuple[Curve, ...]
    absences: tuple[Absence, ...]
    interval_level: float = 0.95
