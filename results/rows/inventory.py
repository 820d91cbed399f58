"""Stored projects, places, commits, points, and benchmarks with their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

PLAIN_WEIGHTS = "plain"


def contender_name(provider: str, weights: str) -> str:
    """Return the name a provider competes under: `fused`, or `fused:packed` for a weight layout of its own."""
    return provider if weights == PLAIN_WEIGHTS else f"{provider}:{weights}"


class PointChoice(NamedTuple):
    """Axes of a project's sweep point on one machine and environment; a tuple, because there are thousands.

    `measured_at`: when it was measured last, in any state.
    """

    project: str
    machine: str
    environment: str
    operation: str
    provider: str
    pass_: str
    dtype: str
    activation: str | None
    batch: int
    hidden: int
    dim: int
    cache: str
    weights: str
    threads: int
    measured_at: datetime

    @property
    def contender(self) -> str:
        """Name the provider competes under."""
        return contender_name(self.provider, self.weights)


@dataclass(frozen=True, kw_only=True)
class CommitRow:
    """Commit with at least one run. `machines`: where any run was; `sweep_machines`: where the sweep was measured.

    is_on_main_line, position: None where no repository tells.
    """

    project: str
    commit: str
    date: datetime | None
    subject: str | None
    machines: frozenset[str]
    sweep_machines: frozenset[str]
    is_on_main_line: bool | None = None
    position: int | None = None


@dataclass(frozen=True, kw_only=True)
class ProjectRow:
    """Project with at least one value; `has_sweep` where sweep points are among what it measured."""

    project: str
    has_sweep: bool


@dataclass(frozen=True, kw_only=True)
class PlaceRow:
    """Machine and environment a project was measured on, and where its newest run stands in the history."""

    project: str
    machine: str
    environment: str
    last_at: datetime


class SeriesPlace(NamedTuple):
    """Metric of a benchmark, with a machine and environment that has a series of it."""

    metric: str
    machine: str
    environment: str


@dataclass(frozen=True, kw_only=True)
class ParameterRow:
    """Parameter of a benchmark: the types and values it has had, sorted; numbers come before texts.

    least, most: of its numbers; None if it has none.
    """

    name: str
    types: tuple[str, ...]
    values: tuple[float | bool | str | None, ...]
    least: float | None
    most: float | None


@dataclass(frozen=True, kw_only=True)
class BenchmarkRow:
    """Metric of an operation or asv benchmark in one version.

    continues: the older version whose series it continues, if one was declared.
    """

    project: str
    benchmark: str
    metric: str
    unit: str
    version: str
    continues: str | None
    interval_level: float
    n_series: int
    parameters: tuple[ParameterRow, ...]
