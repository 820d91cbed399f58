"""What is stored: projects, their commits, machines, environments, and benchmarks with their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class ProjectRow:
    """Whose benchmarks are stored, and how much of them. first_at, last_at: where its history begins and ends."""

    project: str
    has_sweep: bool
    n_benchmarks: int
    n_series: int
    n_commits: int
    n_runs: int
    n_values: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class CommitRow:
    """A commit the store knows. `n_points`: sweep points measured there, in any state, over all runs.

    `n_values`: numbers stored for it, of sweeps and of other projects' asv suites together. `position` counts the
    commits of the history from 1, and `is_orphaned` marks one that a rebase removed; None without a repository.
    """

    project: str
    commit: str
    date: datetime | None
    subject: str | None
    n_runs: int
    n_points: int
    n_values: int
    position: int | None = None
    is_orphaned: bool | None = None


@dataclass(frozen=True, kw_only=True)
class MachineRow:
    """A machine: what its machine.json says of it, where it measured, and when it was last heard of."""

    machine: str
    details: tuple[tuple[str, str], ...]
    projects: tuple[str, ...]
    environments: tuple[str, ...]
    n_runs: int
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class EnvironmentRow:
    """What benchmarks ran in: what is known of it, on which machines, and when last."""

    environment: str
    details: tuple[tuple[str, str], ...]
    projects: tuple[str, ...]
    machines: tuple[str, ...]
    n_runs: int
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ParameterRow:
    """One parameter of a benchmark: the types and values it has had, sorted; numbers come before texts.

    least, most: of its numbers; None if it has none.
    """

    name: str
    types: tuple[str, ...]
    values: tuple[float | bool | str | None, ...]
    least: float | None
    most: float | None


@dataclass(frozen=True, kw_only=True)
class BenchmarkRow:
    """A benchmark in one version: one metric of an operation of the sweep, or of an asv benchmark.

    `continues`: the version that was declared equal to this one, whose series it goes on with.
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
