"""Where the benchmarks stand: how fresh each is, which series fail since when, what people decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from results.rows.series import ParameterValue


@dataclass(frozen=True, kw_only=True)
class FreshnessRow:
    """When a benchmark was last run on a machine in an environment, whatever came of it.

    `n_commits_behind`: commits of the project's history since then, up to the newest one stored: of all commits
    where git gave positions, else of those stored.
    """

    project: str
    machine: str
    environment: str
    benchmark: str
    commit: str
    commit_date: datetime | None
    measured_at: datetime | None
    n_commits_behind: int


@dataclass(frozen=True, kw_only=True)
class FailureRow:
    """A series that its newest run has no number of: state, and the reason where the file gave one.

    `commit`: the newest. `since`: the first commit of the unbroken row of failures that it ends.
    `first_failed`: the first commit ever at which it failed so or otherwise. `last_ok`: the last commit that had a
    number, None if none ever had.
    """

    series_id: int
    project: str
    machine: str
    environment: str
    benchmark: str
    metric: str
    version: str
    parameters: tuple[ParameterValue, ...]
    state: str
    reason: str | None
    commit: str
    commit_date: datetime | None
    since: str
    since_date: datetime | None
    first_failed: str
    first_failed_date: datetime | None
    last_ok: str | None
    n_runs: int


@dataclass(frozen=True, kw_only=True)
class TriageRow:
    """What a person decided about the change of a series at a commit."""

    series_id: int
    commit: str
    decision: str
    note: str | None
    decided_by: str | None
    decided_at: datetime | None
