"""Measuring the sweep of one operation: what its plan lacks is measured and recorded, whatever the points do."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import Contender, DeviceKind, Group, Operation, Shape
from benchmarks.ruler.record import journal
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.journal import JournalReader
from benchmarks.ruler.record.lines import Head, Line
from benchmarks.ruler.record.outcome import ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.record.provenance import expected_device, measured_commit
from benchmarks.ruler.sweep.first_calls import with_first_calls
from benchmarks.ruler.sweep.journal_lines import profile_line, timing_line
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.progress import Estimate, Phase, Progress, Step, step_from_sweep
from benchmarks.ruler.sweep.sweep_ceilings import SweepCeilings
from benchmarks.ruler.sweep.sweep_plan import Recorded, Sweep, empty_sweep, plan_sweep, read_plan, write_plan
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.settings import Settings

_PHASES = {Task.TIME: Phase.TIMING, Task.PROFILE: Phase.PROFILING}
_ALL_MEASURED = "everything is measured already; fusebench run --again measures anew"
_TIME_IS_UP = "the time is up; the next run goes on from here"


def measure(
    settings: Settings, *, operation: str, axes: Axes | None = None, tasks: Sequence[Task] = (Task.TIME, Task.PROFILE)
) -> Recorded:
    """Measure what is missing of `operation` and return all that the run has of it; `tasks` may leave out a pass.

    The plan is the one that the settings hand on, or it is made here, of `axes` or those the settings name. Timing
    comes first, of all groups, then profiling in another process, so that the profiler taxes no timing.
    Raises: UnknownCommit, JournalError, MachineBusy; never for anything a point does.
    """
    with Progress(settings.progress) as progress, _planned(settings, operation, axes, progress) as (sweep, lock):
        return _Measuring(settings, sweep, operation, progress, lock).run(tasks)


def is_time_up(settings: Settings) -> bool:
    """Return whether the time of the settings' `until` has come; no group is begun after it."""
    return settings.until is not None and time.time() >= settings.until


@contextmanager
def _planned(
    settings: Settings, operation: str, axes: Axes | None, progress: Progress
) -> Iterator[tuple[Sweep, int | None]]:
    """Yield the sweep to measure under the machine's lock, and the lock's descriptor if it was taken here."""
    if settings.plan is not None:
        # Whoever made the plan holds the lock; raises if the checkout has moved on meanwhile.
        measured_commit(settings)
        plan = read_plan(settings.plan)
        yield empty_sweep(plan).with_lines(JournalReader(plan.path).read()), None
        return

    def report_waiting(reason: str) -> None:
        progress.report(Step(phase=Phase.WAITING, operation=operation, n_done=0, n_groups=0, share=0.0, detail=reason))

    with machine_lock(settings.lock_file, say=report_waiting, waits=settings.waits_for_lock) as lock:
        axes = axes or axes_from_settings(settings)
        sweep, _ = plan_sweep(settings, axes, device=expected_device(settings), operations=(operation,))
        yield sweep, lock


class _Measuring:
    """State of one operation's measuring."""

    def __init__(self, settings: Settings, sweep: Sweep, operation: str, progress: Progress, lock: int | None) -> None:
        self._settings = settings
        self._sweep = sweep
        self._operation = operation
        self._progress = progress
        self._inherited = () if lock is None else (lock,)
        self._estimate = Estimate(budget_s=sweep.plan.axes.budget_s)

    def run(self, tasks: Sequence[Task]) -> Recorded:
        """Perform the tasks whose lines are missing; return what is recorded then."""
        if not self._left(Task.TIME) and not self._left(Task.PROFILE):
            self._report(Phase.ENDED, detail=_ALL_MEASURED)
        elif is_time_up(self._settings):
            self._report(Phase.STOPPED, detail=_TIME_IS_UP)
        else:
            self._measure_missing(tasks)
        if self._settings.times_first_calls and Task.TIME in tasks:
            self._sweep = with_first_calls(
                self._sweep,
                new_worker=self._new_worker,
                say=lambda said: self._report(Phase.FIRST_CALLS, detail=said),
                is_time_up=lambda: is_time_up(self._settings),
            )
        return self._sweep.recorded

    def _left(self, task: Task) -> tuple[Group, ...]:
        sweep = self._sweep.of_operation(self._operation)
        return sweep.untimed() if task is Task.TIME else sweep.unprofiled()

    def _measure_missing(self, tasks: Sequence[Task]) -> None:
        self._report(Phase.STARTING, detail="a worker that imports torch")
        with self._new_worker() as worker:
            if worker.start() is None and worker.hello and worker.hello["device"] != self._sweep.plan.device:
                self._plan_again(DeviceKind(worker.hello["device"]))
            run = self._sweep.plan.run
            ceilings = SweepCeilings(
                self._settings.data_dir,
                machine=run.machine,
                environment=run.environment,
                # A run with a name of its own was begun to measure everything anew.
                since=run.started_at if self._settings.run_id else None,
            )
            self._ensure(ceilings, worker)
            if Task.TIME in tasks:
                self._perform(Task.TIME, worker, ceilings)
                if ceilings.is_beaten or ceilings.value is None:
                    self._ensure(ceilings, worker)
                    self._correct_floors(ceilings)
        if Task.PROFILE in tasks and self._left(Task.PROFILE) and not is_time_up(self._settings):
            with self._new_worker() as worker:
                self._perform(Task.PROFILE, worker, ceilings)
        if not self._left(Task.TIME) and not self._left(Task.PROFILE):
            self._report(Phase.ENDED)

    def _ensure(self, ceilings: SweepCeilings, worker: WorkerProcess) -> None:
        """Have the machine's ceilings measured if need be, and say what came of it."""
        self._report(Phase.STARTING, detail="the machine's ceilings")
        if said := ceilings.ensure(worker):
            self._report(Phase.CEILINGS, detail=said)

    def _correct_floors(self, ceilings: SweepCeilings) -> None:
        """Record the floors by ceilings that were measured again; of a point the last line counts."""
        timed = tuple(self._sweep.of_operation(self._operation).recorded.timings.values())
        lines = ceilings.corrected(timed, self._sweep.plan.device)
        journal.append(self._sweep.plan.path, lines)
        self._sweep = self._sweep.with_lines(lines)

    def _new_worker(self) -> WorkerProcess:
        plan, settings = self._sweep.plan, self._settings
        return WorkerProcess(
            device=plan.device,
            threads=plan.threads,
            allocator=settings.allocator,
            point_limit_s=settings.point_limit_s,
            provider_module=settings.provider_module,
            inherited=self._inherited,
        )

    def _plan_again(self, device: DeviceKind) -> None:
        """Plan for the device that torch has found, which is not the one the driver promised."""
        handed_on = self._settings.plan
        operations = tuple(Operation) if handed_on else (self._operation,)
        self._sweep, _ = plan_sweep(self._settings, self._sweep.plan.axes, device=device, operations=operations)
        if handed_on:
            write_plan(handed_on, self._sweep.plan)

    def _perform(self, task: Task, worker: WorkerProcess, ceilings: SweepCeilings) -> None:
        for group in self._left(task):
            if is_time_up(self._settings):
                self._report(Phase.STOPPED, detail=_TIME_IS_UP)
                return
            label = group.shape.label()
            self._report(_PHASES[task], detail=label)
            start = time.monotonic()
            lines = self._lines(task, group, worker, ceilings)
            journal.append(self._sweep.plan.path, lines)
            self._sweep = self._sweep.with_lines(lines)
            ceilings.see(lines)
            self._estimate.add(_PHASES[task], n_points=len(lines), seconds=time.monotonic() - start)
            self._report(_PHASES[task], detail=label, findings=tuple(filter(None, map(_finding, lines))))

    def _lines(self, task: Task, group: Group, worker: WorkerProcess, ceilings: SweepCeilings) -> list[Line]:
        plan, group_id = self._sweep.plan, uuid.uuid4().hex[:8]
        request = Request(
            task=task,
            shape=group.shape,
            contenders=group.contenders,
            budget_s=plan.axes.budget_s,
            best_probe_s=ceilings.speed.best_s,
            traces=self._traces(group.shape, group_id) if task is Task.PROFILE else None,
        )
        outcomes, conditions = outcomes_of_group(worker, request)
        ceilings.speed.see(conditions)
        lines: list[Line] = []
        for contender in group.contenders:
            head = Head(
                run=plan.run,
                conditions=conditions,
                shape=group.shape,
                contender=contender,
                threads=plan.threads,
                measured_at=journal.now(),
            )
            outcome = outcomes[contender]
            if isinstance(outcome, TimingOutcome):
                lines.append(timing_line(head, outcome, group_id, ceilings.value, plan.device))
            else:
                timing = self._sweep.recorded.timings[group.shape, contender]
                lines.append(profile_line(head, outcome, timing, ceilings.value, plan.device))
        return lines

    def _traces(self, shape: Shape, group_id: str) -> str | None:
        """Return the prefix of the paths of the group's traces, if the settings ask for those of its batch."""
        if str(shape.batch) not in self._settings.traced_batches:
            return None
        commit = self._sweep.plan.run.commit[:8]
        name = f"{commit}-{shape.operation}-{shape.pass_}-{shape.dtype}-b{shape.batch}-h{shape.hidden}"
        return str(self._settings.data_dir / "traces" / f"{name}-{group_id}-")

    def _report(self, phase: Phase, *, detail: str = "", findings: tuple[str, ...] | None = None) -> None:
        step = step_from_sweep(
            self._sweep, phase, self._operation, estimate=self._estimate, detail=detail, findings=findings
        )
        self._progress.report(step)


def outcomes_of_group(
    worker: WorkerProcess, request: Request
) -> tuple[dict[Contender, TimingOutcome | ProfileOutcome], dict[str, Any]]:
    """Return the outcome of every contender of `request`, and the conditions they were measured under.

    A contender that takes the worker down gets its state, and the group is asked for again without it: rivals
    measured beside it were measured together or not at all. The first time that a signal from outside ends the worker,
    no contender is blamed.
    """
    kind: type[TimingOutcome | ProfileOutcome] = ProfileOutcome if request.task is Task.PROFILE else TimingOutcome
    lost: dict[Contender, TimingOutcome | ProfileOutcome] = {}
    left = list(request.contenders)
    conditions: dict[str, Any] = {}
    was_killed = False
    while left:
        answer = worker.ask(replace(request, contenders=tuple(left)))
        standing = (worker.hello or {}).get("conditions", {})
        conditions = {**standing, **answer.conditions}
        if answer.death is None:
            by_name = {
                message["contender"]: value_from_json(kind, message["outcome"])
                for message in answer.messages
                if message["event"] == "outcome"
            }
            return {**lost, **{contender: by_name[str(contender)] for contender in left}}, conditions
        if answer.death.from_outside and not was_killed:
            was_killed = True
            continue
        index = answer.death.contender_index
        # A worker that dies before any contender runs would die for every one.
        culprits = list(left) if index is None else [left[index]]
        for culprit in culprits:
            lost[culprit] = kind(state=answer.death.state, reason=answer.death.reason)
            left.remove(culprit)
    return lost, conditions


def _finding(line: Line) -> str | None:
    """Return a line's finding in words; None for a profile without one."""
    outcome, contender = line.outcome, line.head.contender
    if outcome.state is not State.OK:
        return f"{contender} {outcome.state}: {outcome.reason}"
    if isinstance(outcome, TimingOutcome):
        return f"{contender} {(outcome.latency_s or 0.0) * 1e6:.1f} µs"
    return f"{contender} unexpected: {outcome.unexpected}" if outcome.unexpected else None
