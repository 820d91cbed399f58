"""Settings of a campaign, reports of its pieces, and their files."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.provenance import git_output, measured_commit

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.plan.points import DeviceKind
    from benchmarks.ruler.plan.settings import Settings


class Budget(StrEnum):
    """Extent of a campaign: QUICK shows that everything runs, HALF_HOUR fits one, FULL fills the tables."""

    QUICK = "quick"
    HALF_HOUR = "half-hour"
    FULL = "full"


class Status(StrEnum):
    """Outcome of a piece. ABSENT: this checkout or machine lacks what it needs."""

    DONE = "done"
    UNFINISHED = "unfinished"
    FAILED = "failed"
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True)
class CampaignSettings:
    """Settings common to all pieces. until: Unix time in seconds after which a piece starts nothing new."""

    ruler: Settings
    device: DeviceKind
    budget: Budget
    out: Path
    until: float

    def seconds_left(self) -> float:
        """Return the seconds until a piece must not start anything new; at least 0."""
        return max(0.0, self.until - time.time())


@dataclass(frozen=True, kw_only=True)
class Report:
    """One-line report of a piece. measured: how much of it is new."""

    status: Status
    words: str
    measured: int = 0


def code_measured(settings: Settings) -> str:
    """Return the measured commit with a digest of uncommitted changes, so that nothing of other code is reused."""
    difference = git_output("diff", "HEAD", "--", "kernels", "benchmarks")
    commit = measured_commit(settings).hash
    return f"{commit}+{hashlib.sha256(difference.encode()).hexdigest()[:12]}" if difference else commit


def table_path(settings: CampaignSettings) -> Path:
    """Return the path of a campaign's table."""
    return settings.out / f"table-{settings.device}.md"


def keep_report(settings: CampaignSettings, piece: str, report: Report) -> None:
    """Store the report of a piece for the summary."""
    write_json(settings.out / "reports" / f"{piece}.json", {**asdict(report), "device": settings.device})


def kept_report(settings: CampaignSettings, piece: str) -> Report | None:
    """Read the latest report of a piece, or None."""
    values = read_json(settings.out / "reports" / f"{piece}.json")
    if values is None:
        return None
    return Report(status=Status(values["status"]), words=values["words"], measured=values["measured"])


def write_json(path: Path, values: object) -> None:
    """Write a small JSON file atomically."""
    write_whole(path, json.dumps(values, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a small JSON file, or None if it is missing or unreadable."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None
