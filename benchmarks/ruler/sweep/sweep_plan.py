"""Plan of a sweep: the groups to visit and the run they belong to, made once and handed on in a file."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass, replace
from pathlib import Path  # noqa: TC003 - the same
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.axes import Axes, all_groups
from benchmarks.ruler.plan.filters import selected
from benchmarks.ruler.plan.points import BASELINE, Contender, DeviceKind, Group, Operation, Shape
from benchmarks.ruler.record import journal
from benchmarks.ruler.record.codec import json_from_value, value_from_json
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.journal import JournalReader
from benchmarks.ruler.record.lines import ProfileLine, Run, TimingLine
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.record.provenance import PROJECT, RULER_VERSION, environment_name, machine_name, measured_commit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.lines import Line

PointKey = tuple[Shape, Contender]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Groups to visit and the run they belong to. path: the journal. axes: those the groups were selected from."""

    run: Run
    path: Path
    device: DeviceKind
    threads: int
    axes: Axes
    groups: tuple[Group, ...]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Lines that the journal holds of one run, by point; of each kind the last one counts."""

    timings: Mapping[PointKey, TimingLine]
    profiles: Mapping[PointKey, ProfileLine]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Plan and what its run has recorded so far."""

    plan: Plan
    recorded: Recorded

    def untimed(self) -> tuple[Group, ...]:
        """Return the groups that have had fewer visits than the axes ask for, or have a point without a timing line."""
        return tuple(group for group in self.plan.groups if self.n_visits(group) < self.plan.axes.visits)

    def n_visits(self, group: Group) -> int:
        """Return how many visits `group` has had; a group is measured whole, so a contender that is new begins anew."""
        known = [self.recorded.timings.get((group.shape, contender)) for contender in group.contenders]
        lines = [line for line in known if line is not None]
        if len(lines) < len(known):
            return 0
        # What failed is not tried again.
        n_least = min((len(e.outcome.visits) for e in lines if e.outcome.state is State.OK), default=None)
        if n_least is None:
            return self.plan.axes.visits
        apart = len({line.group for line in lines}) > 1
        return 0 if apart and n_least < self.plan.axes.visits else n_least

    def due(self, visit: int) -> tuple[Group, ...]:
        """Return the groups due on the `visit`-th way through the plan, counted from 1; every other way leads back."""
        left = tuple(group for group in self.untimed() if self.n_visits(group) < visit)
        return left if visit % 2 else left[::-1]

    def outcomes(self, group: Group) -> dict[Contender, TimingOutcome]:
        """Return what is recorded of the group's contenders; nothing if its first visit is still to come."""
        if not self.n_visits(group):
            return {}
        return {contender: self.recorded.timings[group.shape, contender].outcome for contender in group.contenders}

    def given_up(self, contenders: Iterable[Contender]) -> dict[Contender, TimingOutcome]:
        """Return those of `contenders` that have hung at some shape, as unavailable; for a run whose time is limited.

        Each shape would wait as long for them again. Never the baseline, without which no rival has a speedup.
        """
        hung = {
            contender: shape
            for (shape, contender), line in self.recorded.timings.items()
            if line.outcome.state is State.TIMED_OUT and contender.provider != BASELINE
        }
        said = "not tried, as it gave no sign at {} and the time of this run is limited"
        return {
            each: TimingOutcome(state=State.UNAVAILABLE, reason=said.format(hung[each].label()))
            for each in contenders
            if each in hung
        }

    def unprofiled(self) -> tuple[Group, ...]:
        """Return, of the groups that have had all their visits, the contenders timed well without a profile line."""
        left = []
        untimed = set(self.untimed())
        for group in self.plan.groups:
            if group in untimed:
                continue
            missing = tuple(c for c in group.contenders if self._needs_profile((group.shape, c)))
            if missing:
                left.append(replace(group, contenders=missing))
        return tuple(left)

    def missing(self) -> frozenset[PointKey]:
        """Return the points that lack a timing or, timed well, a profile."""
        groups_left = (*self.untimed(), *self.unprofiled())
        return frozenset((group.shape, contender) for group in groups_left for contender in group.contenders)

    def points(self) -> tuple[PointKey, ...]:
        """Return every point of the plan."""
        return tuple((group.shape, contender) for group in self.plan.groups for contender in group.contenders)

    def of_operation(self, operation: str) -> Sweep:
        """Return the sweep of one operation alone."""
        chosen = tuple(group for group in self.plan.groups if group.shape.operation == operation)
        return replace(self, plan=replace(self.plan, groups=chosen))

    def with_lines(self, lines: Sequence[Line]) -> Sweep:
        """Return the sweep with `lines` recorded, too; those of other runs and rulers are left out."""
        run, timings, profiles = self.plan.run, dict(self.recorded.timings), dict(self.recorded.profiles)
        for line in lines:
            key = (line.head.shape, line.head.contender)
            if (line.head.run.run_id, line.head.run.ruler_version) != (run.run_id, run.ruler_version):
                continue
            if isinstance(line, TimingLine):
                timings[key] = line
            else:
                profiles[key] = line
        return replace(self, recorded=Recorded(timings=timings, profiles=profiles))

    def _needs_profile(self, key: PointKey) -> bool:
        timing = self.recorded.timings.get(key)
        return timing is not None and timing.outcome.state is State.OK and key not in self.recorded.profiles


def plan_sweep(
    settings: Settings, axes: Axes, *, device: DeviceKind, operations: Sequence[str] = tuple(Operation)
) -> tuple[Sweep, JournalReader]:
    """Plan what is to be measured of `operations` on `device`, with what its run has recorded already.

    The run is the one that the settings name, or the latest of this commit, machine and environment, or a new one. The
    reader has read the journal up to now. Raises: UnknownCommit, JournalError.
    """
    commit = measured_commit(settings)
    run = Run(
        run_id=settings.run_id or uuid.uuid4().hex[:12],
        started_at=journal.now(),
        project=PROJECT,
        commit=commit.hash,
        commit_date=commit.date,
        commit_subject=commit.subject,
        machine=machine_name(settings),
        environment=environment_name(device, settings),
        ruler_version=RULER_VERSION,
    )
    reader = JournalReader(journal.journal_path(settings.data_dir, run))
    lines = reader.read()
    known_runs = [line.head.run for line in lines if line.head.run.ruler_version == RULER_VERSION]
    continued = [known for known in known_runs if settings.run_id in {None, known.run_id}]
    chosen = all_groups(axes, operations=operations, device=device)
    plan = Plan(
        run=continued[-1] if continued else run,
        path=reader.path,
        device=device,
        threads=settings.threads,
        axes=axes,
        groups=selected(chosen, settings.filters),
    )
    return empty_sweep(plan).with_lines(lines), reader


def empty_sweep(plan: Plan) -> Sweep:
    """Return the sweep of `plan` with nothing recorded."""
    return Sweep(plan=plan, recorded=Recorded(timings={}, profiles={}))


def write_plan(path: Path, plan: Plan) -> None:
    """Write `plan` for the processes that measure and replay it."""
    write_whole(path, json.dumps(json_from_value(plan)))


def read_plan(path: Path) -> Plan:
    """Return the plan that write_plan wrote."""
    return value_from_json(Plan, json.loads(path.read_text(encoding="utf-8")))
