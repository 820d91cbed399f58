"""Published journals: what was measured on each testbed, by commit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from benchmarks.ruler.record.journal import JournalReader
from benchmarks.ruler.record.lines import TimingLine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.ruler.plan.points import Contender, Shape
    from benchmarks.ruler.record.lines import Run

    Timings = Mapping[tuple[Shape, Contender], TimingLine]


@dataclass(frozen=True, kw_only=True)
class MeasuredCommit:
    """Timings of one commit on one testbed; of several runs those of the newest count, point by point."""

    run: Run
    timings: Timings


@dataclass(frozen=True, kw_only=True)
class Testbed:
    """Machine and environment with the commits measured there by their newest ruler, oldest first, at least one."""

    machine: str
    environment: str
    ruler_version: str
    commits: tuple[MeasuredCommit, ...]

    @property
    def is_gpu(self) -> bool:
        """Whether a GPU did the work."""
        return "-cuda-" in self.environment


def published_testbeds(folder: Path) -> tuple[Testbed, ...]:
    """Return the testbeds whose journals lie below `folder`, one folder per machine. Raises: JournalError."""
    lines: dict[tuple[str, str], list[TimingLine]] = defaultdict(list)
    for path in sorted(folder.glob("*/journal/*/*.jsonl")):
        for line in JournalReader(path).read():
            if isinstance(line, TimingLine):
                lines[line.head.run.machine, line.head.run.environment].append(line)
    return tuple(_testbed(*key, lines=lines[key]) for key in sorted(lines))


def _testbed(machine: str, environment: str, *, lines: list[TimingLine]) -> Testbed:
    newest = max((line.head.run.ruler_version for line in lines), key=int)
    by_commit: dict[str, list[TimingLine]] = defaultdict(list)
    for line in lines:
        if line.head.run.ruler_version == newest:
            by_commit[line.head.run.commit].append(line)
    # Within one run the last line of a point counts, and later runs replace earlier ones.
    commits = [
        MeasuredCommit(
            run=of_commit[-1].head.run,
            timings={
                (line.head.shape, line.head.contender): line
                for line in sorted(of_commit, key=lambda line: line.head.run.started_at)
            },
        )
        for of_commit in by_commit.values()
    ]
    return Testbed(
        machine=machine,
        environment=environment,
        ruler_version=newest,
        commits=tuple(sorted(commits, key=lambda each: (_moment(each.run), each.run.commit))),
    )


def shapes_of(timings: Timings) -> set[Shape]:
    """Return the shapes that were timed."""
    return {shape for shape, _ in timings}


def _moment(run: Run) -> float:
    return datetime.fromisoformat(run.commit_date).timestamp() if run.commit_date else 0.0
