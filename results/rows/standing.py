"""Where the benchmarks stand: how fresh each is, which series fail since when, which changes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from results.rows.series import HistoryValue, ParameterValue


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
class KnownChange:
    """Change of a series at a commit that a person acknowledged.

    decision: accepted, false_alarm or to_fix. note, decided_by, decided_at: None where nobody gave them.
    """

    series_id: int
    point_id: int
    project: str
    machine: str
    environment: str
    benchmark: str
    metric: str
    parameters: tuple[ParameterValue, ...]
    commit: str
    commit_date: datetime | None
    decision: str
    note: str | None
    decided_by: str | None
    decided_at: datetime | None

    @property
    def reason(self) -> str:
        """Decision, commit, person, day and note as one phrase."""
        by = f" by {self.decided_by}" if self.decided_by else ""
        on = f" on {self.decided_at:%Y-%m-%d}" if self.decided_at else ""
        note = f": {self.note}" if self.note else ""
        return f"{self.decision.replace('_', ' ')} at {self.commit[:8]}{by}{on}{note}"


@dataclass(frozen=True, kw_only=True)
class KnownLevel:
    """Value of a series at the commit of a known change, and its later values before the commit that is judged."""

    change: KnownChange
    value: HistoryValue
    later: tuple[HistoryValue, ...]
