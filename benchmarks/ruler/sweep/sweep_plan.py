"""What a sweep will do: the groups to visit, the run they belong to, and what that run has recorded already."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.axes import Axes, Contender, DeviceKind, Group, Shape, groups
from benchmarks.ruler.plan.filters import selected
from benchmarks.ruler.record import journal
from benchmarks.ruler.record.journal import ProfileLine, Run, TimingLine
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.provenance import (
    PROJECT,
    RULER_VERSION,
    data_dir,
    environment_name,
    machine_name,
    measured_commit,
    threads,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PointKey = tuple[Shape, Contender]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What the journal holds of one run, by point; of each kind the last line counts."""

    timings: Mapping[PointKey, TimingLine]
    profiles: Mapping[PointKey, ProfileLine]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a sweep will do: the groups to visit, the run they belong to, and where its lines go."""

    operation: str
    run: Run
    path: Path
    device: DeviceKind
    threads: int
    groups: tuple[Group, ...]
    recorded: Recorded

    def untimed(self) -> tuple[Group, ...]:
        """Groups with a point that has no timing line; a group is measured whole or not at all."""
        return tuple(g for g in self.groups if any((g.shape, c) not in self.recorded.timings for c in g.contenders))

    def unprofiled(self) -> tuple[Group, ...]:
        """Groups' contenders that were timed well and have no profile line."""
        left = []
        for group in self.groups:
            missing = tuple(c for c in group.contenders if self._needs_profile((group.shape, c)))
            if missing:
                left.append(replace(group, contenders=missing))
        return tuple(left)

    def _needs_profile(self, key: PointKey) -> bool:
        timing = self.recorded.timings.get(key)
        return timing is not None and timing.outcome.state is State.OK and key not in self.recorded.profiles


def plan_sweep(axes: Axes, *, operation: str, device: DeviceKind) -> Plan:
    """What is to be measured of `operation` on `device`, and what of it this run has already.

    The run is FUSEBENCH_RUN_ID, or the latest of this commit, machine and environment, or a new one.
    Raises: UnknownCommit, JournalError.
    """
    commit, n_threads = measured_commit(), threads()
    run = Run(
        run_id=os.environ.get("FUSEBENCH_RUN_ID") or uuid.uuid4().hex[:12],
        started_at=journal.now(),
        project=PROJECT,
        commit=commit.hash,
        commit_date=commit.date,
        commit_subject=commit.subject,
        machine=machine_name(),
        environment=environment_name(device, n_threads=n_threads),
        ruler_version=RULER_VERSION,
    )
    path = journal.journal_path(data_dir(), run)
    lines = [line for line in journal.read(path) if line.head.run.ruler_version == RULER_VERSION]
    known_runs = {line.head.run.run_id: line.head.run for line in lines}
    if run.run_id in known_runs:
        run = known_runs[run.run_id]
    elif lines and "FUSEBENCH_RUN_ID" not in os.environ:
        run = lines[-1].head.run
    of_run = [line for line in lines if line.head.run.run_id == run.run_id]
    return Plan(
        operation=operation,
        run=run,
        path=path,
        device=device,
        threads=n_threads,
        groups=selected(groups(axes, operation=operation, device=device)),
        recorded=recorded_from_lines(of_run),
    )


def recorded_from_lines(lines: Sequence[journal.Line], before: Recorded | None = None) -> Recorded:
    """`lines`, after what was recorded `before`; of each point and kind the last counts."""
    timings = dict(before.timings) if before else {}
    profiles = dict(before.profiles) if before else {}
    for line in lines:
        key = (line.head.shape, line.head.contender)
        if isinstance(line, TimingLine):
            timings[key] = line
        else:
            profiles[key] = line
    return Recorded(timings=timings, profiles=profiles)
