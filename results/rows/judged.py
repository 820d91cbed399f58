"""What was found in the values of one series, kept so that it need not be found again; where that is lacking."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - of a tuple's fields
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class JudgedSeries:
    """Judgement of the values of one series. It holds for whatever has the same digest, and for nothing else.

    least_change: smallest relative change that was looked for. digest: of all that the judgement depends on. found: its
    content as text, None where no change was found; results.judgement.changes.judged writes and reads both.
    """

    series_id: int
    least_change: float
    digest: bytes
    found: str | None


class RunsOfPlace(NamedTuple):
    """Runs of a place that are judged, as far as it takes to notice that they are others.

    positions: sum of their places in the history, which a repository may give later. read_at: when the last of their
    files was read, None without any, as of what came by a merge.
    """

    n_runs: int
    n_values: int
    positions: int
    read_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class UnjudgedPlace:
    """Place with values that came after its series were judged last.

    n_series: all of its series, however few of them have new values. runs: its runs as they are now.
    """

    project: str
    machine: str
    environment: str
    n_series: int
    runs: RunsOfPlace

    @property
    def place(self) -> tuple[str, str, str]:
        """Project, machine and environment."""
        return (self.project, self.machine, self.environment)
