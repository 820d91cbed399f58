"""Axes of the sweep as a page offers them: their order, labels and preferred values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from results.rows import PointChoice

AxisValue: TypeAlias = str | int | None


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of the sweep. `name` is its URL parameter, `column` the row's field."""

    name: str
    label: str
    column: str
    preferred: AxisValue = None

    def value_of(self, point: PointChoice) -> AxisValue:
        """Return the value of `point` on this axis."""
        value: AxisValue = getattr(point, self.column)
        return value


@dataclass(frozen=True, kw_only=True)
class ChosenPoint:
    """One value of every axis; its fields are the axes' columns."""

    operation: str
    machine: str
    environment: str
    pass_: str
    dtype: str
    activation: str | None
    hidden: int
    dim: int
    cache: str
    threads: int
    batch: int


# In the order they are settled: an axis offers what was measured at the values chosen before it.
AXES = (
    Axis(name="operation", label="Operation", column="operation", preferred="mlp"),
    Axis(name="machine", label="Machine", column="machine"),
    Axis(name="environment", label="Environment", column="environment"),
    Axis(name="pass", label="Pass", column="pass_", preferred="forward"),
    Axis(name="dtype", label="Type", column="dtype"),
    Axis(name="activation", label="Activation", column="activation"),
    Axis(name="hidden", label="Hidden dim", column="hidden"),
    Axis(name="dim", label="Model dim", column="dim"),
    Axis(name="cache", label="Cache", column="cache", preferred="warm"),
    Axis(name="threads", label="Threads", column="threads"),
    Axis(name="batch", label="Batch", column="batch"),
)


def text_of(value: AxisValue) -> str:
    """Write an axis value as the URL and the selectors show it."""
    return "none" if value is None else str(value)
