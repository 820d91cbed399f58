"""Freshness of benchmarks, failing series, known changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from results.rows.series import HistoryValue, ParameterValue


@dataclass(frozen=True, kw_only=True)
class FreshnessRow:
    """Newest run of an asv benchmark or operation on a machine and environment, whatever came of it.

    measured_at: when the run measured last, of asv when it began; None where unknown.
    n_commits_behind: commits of the project's history after it, up to the newest stored one: of all commits where git
    gave positions, else of the stored ones. n_points: sweep points the operation has there, n_stale_points: those
    that were not measured at `commit` but at an older one; None for asv's benchmarks.
    """

    project: str
    machine: str
    environment: str
    benchmark: str
    commit: str
    commit_date: datetime | None
    commit_subject: str | None
    measured_at: datetime | None
    n_commits_behind: int
    n_points: int | None
    n_stale_points: int | None


@dataclass(frozen=True, kw_only=True)
class FailureRow:
    """Series whose latest run produced no value: its state, and the reason where the file gave one.

    commit: of the latest run. since: first commit of the unbroken row of failures up to there, n_runs long.
    first_failed: first commit ever that failed, in whatever way. last_ok: last commit with a value, or None; then
    last_ok_otherwise is the last one with a value of other_series_id, which is of another ruler or version.
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
    last_ok_otherwise: str | None = None
    other_series_id: int | None = None

    @property
    def was_ok(self) -> bool:
        """Whether it ever had a value, by whichever ruler or version."""
        return self.last_ok is not None or self.last_ok_otherwise is not None


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
        decided = _decided_in_words(self.note, self.decided_by, self.decided_at)
        return f"{self.decision.replace('_', ' ')} at {self.commit[:8]}{decided}"


@dataclass(frozen=True, kw_only=True)
class TakenBack:
    """Acknowledgement that holds no longer: what was decided by whom and why, and who took it back; None: not given."""

    decision: str
    note: str | None
    decided_by: str | None
    decided_at: datetime | None
    withdrawn_note: str | None
    withdrawn_by: str | None
    withdrawn_at: datetime | None

    @property
    def words(self) -> str:
        """Both decisions as one phrase."""
        decided = _decided_in_words(self.note, self.decided_by, self.decided_at)
        withdrawn = _decided_in_words(self.withdrawn_note, self.withdrawn_by, self.withdrawn_at)
        return f"{self.decision.replace('_', ' ')}{decided}; taken back{withdrawn}"


def _decided_in_words(note: str | None, by: str | None, at: datetime | None) -> str:
    parts = (f" by {by}" if by else "", f" on {at:%Y-%m-%d}" if at else "", f": {note}" if note else "")
    return "".join(parts)


@dataclass(frozen=True, kw_only=True)
class KnownLevel:
    """Value of a series at the commit of a known change, and its later values before the commit that is judged.

    value: None where the series is gone there, and at the commit that is judged.
    """

    change: KnownChange
    value: HistoryValue | None
    later: tuple[HistoryValue, ...]
