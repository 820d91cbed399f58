"""Filters of places, sweep points and series. A name left out takes all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@dataclass(frozen=True)
class Between:
    """Range from `least` to `most`, both included; an end that is None is open."""

    least: float | None = None
    most: float | None = None

    def __contains__(self, number: object) -> bool:
        """Tell whether `number` lies within; anything else does not."""
        if isinstance(number, bool) or not isinstance(number, int | float):
            return False
        return (self.least is None or self.least <= number) and (self.most is None or number <= self.most)


class PlaceFilter(TypedDict, total=False):
    """Filter of places: one name or several of each; None takes all."""

    project: str | Collection[str] | None
    machine: str | Collection[str] | None
    environment: str | Collection[str] | None


class PointFilter(PlaceFilter, total=False):
    """Filter of sweep points: each axis is one value, a collection of them or a range; None takes all."""

    operation: str | Collection[str] | None
    provider: str | Collection[str] | None
    pass_: str | Collection[str] | None
    dtype: str | Collection[str] | None
    activation: str | Collection[str | None] | None
    batch: int | Collection[int] | Between | None
    hidden: int | Collection[int] | Between | None
    dim: int | Collection[int] | Between | None
    cache: str | Collection[str] | None
    weights: str | Collection[str] | None
    threads: int | Collection[int] | Between | None


class SeriesFilter(TypedDict, total=False):
    """Filter of series of any suite; None takes all.

    parameters: by name, one value, a collection of values or a range. A number takes the same number however it was
    written; a text takes the same text.
    """

    project: str | Collection[str] | None
    machine: str | Collection[str] | None
    environment: str | Collection[str] | None
    benchmark: str | Collection[str] | None
    metric: str | Collection[str] | None
    unit: str | Collection[str] | None
    version: str | Collection[str] | None
    parameters: Mapping[str, float | bool | str | Collection[float | bool | str | None] | Between | None] | None
