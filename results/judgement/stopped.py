"""Benchmarks of which no data comes any more: not run for too long, or left behind by too many commits; pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.rows import FreshnessRow, KnownChange

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """Benchmark at one place whose data stopped coming. age_days: since its newest run, None if that has no time."""

    row: FreshnessRow
    age_days: float | None
    n_commits_behind: int

    @property
    def in_words(self) -> str:
        """What stopped, and for how long."""
        age = "" if self.age_days is None else f"not run for {counted(int(self.age_days), 'day')}"
        behind = f"{counted(self.n_commits_behind, 'commit')} behind" if self.n_commits_behind else ""
        return f"{self.row.benchmark}: {', '.join(filter(None, (age, behind)))}, last at {self.row.commit[:8]}"


def stopped_among(
    rows: Iterable[FreshnessRow],
    *,
    now: datetime,
    most_days: float | None,
    most_behind: int | None,
    known: Iterable[KnownChange] = (),
) -> list[Stopped]:
    """Return the benchmarks whose newest run is older than `most_days` or more than `most_behind` commits behind.

    now: in UTC. None asks for neither; a run without a time is never too old. known: acknowledged changes; a benchmark
    of which one is later than its newest run is known to be gone, and none of them. The longest stopped first.
    """
    found, known_at = [], _newest_known(known)
    for row in rows:
        gone_at = known_at.get((row.project, row.machine, row.environment, row.benchmark))
        if gone_at is not None and row.commit_date is not None and gone_at > row.commit_date:
            continue
        age = None if row.measured_at is None else (now - row.measured_at).total_seconds() / 86_400
        is_old = most_days is not None and age is not None and age > most_days
        is_behind = most_behind is not None and row.n_commits_behind > most_behind
        if is_old or is_behind:
            found.append(Stopped(row=row, age_days=age, n_commits_behind=row.n_commits_behind))
    return sorted(found, key=lambda one: (-(one.age_days or 0.0), -one.n_commits_behind, one.row.benchmark))


def _newest_known(known: Iterable[KnownChange]) -> dict[tuple[str, str, str, str], datetime]:
    """Return the date of the newest acknowledged change of each benchmark at a place."""
    found: dict[tuple[str, str, str, str], datetime] = {}
    for change in known:
        name = (change.project, change.machine, change.environment, change.benchmark)
        if change.commit_date is not None and change.commit_date > found.get(name, _BEFORE_ALL):
            found[name] = change.commit_date
    return found
