"""What a campaign is told, what its pieces answer, and where they keep it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.record.provenance import ROOT, measured_commit

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.plan.axes import DeviceKind


class Budget(StrEnum):
    """How much is measured: QUICK shows that everything runs, FULL is for the tables."""

    QUICK = "quick"
    FULL = "full"


class Status(StrEnum):
    """How a piece ended. ABSENT: this checkout, or this machine, does not have what it needs."""

    DONE = "done"
    UNFINISHED = "unfinished"
    FAILED = "failed"
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every piece is told. until: seconds since 1970 after which a piece begins nothing new."""

    device: DeviceKind
    budget: Budget
    out: Path
    until: float

    def seconds_left(self) -> float:
        """Seconds until a piece shall begin nothing new; 0 if that is past."""
        return max(0.0, self.until - time.time())


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a piece says at its end, in one line. measured: how much of it is new."""

    status: Status
    words: str
    measured: int = 0


def code_measured() -> str:
    """The commit that is measured, with a digest of what differs from it: nothing is reused of other code."""
    difference = subprocess.run(
        ["git", "-C", str(ROOT), "diff", "HEAD", "--", "kernels", "benchmarks"], capture_output=True, check=False
    ).stdout
    commit = measured_commit().hash
    return f"{commit}+{hashlib.sha256(difference).hexdigest()[:12]}" if difference else commit


def keep_report(settings: Settings, piece: str, report: Report) -> None:
    """Write down how a piece ended, for the summary of all."""
    write_json(settings.out / "reports" / f"{piece}.json", {**asdict(report), "device": settings.device})


def kept_report(settings: Settings, piece: str) -> Report | None:
    """How a piece ended the last time, or None if it never did."""
    values = read_json(settings.out / "reports" / f"{piece}.json")
    if values is None:
        return None
    return Report(status=Status(values["status"]), words=values["words"], measured=values["measured"])


def write_json(path: Path, values: object) -> None:
    """Write a small file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """What a small file holds, or None if there is none that can be read."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None
