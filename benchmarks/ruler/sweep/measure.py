"""Measuring the sweep of one operation: what its plan lacks is measured and recorded, whatever the points do."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.plugins import expectations_in_module
from benchmarks.ruler.plan.points import Contender, DeviceKind, Group, Operation, Shape
from benchmarks.ruler.record import journal
from benchmarks.ruler.record.journal import JournalReader
from benchmarks.ruler.record.lines import Head, Line
from benchmarks.ruler.record.outcome import ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.record.provenance import expected_device, measured_commit
from benchmarks.ruler.sweep.estimate import Estimate
from benchmarks.ruler.sweep.first_calls import with_first_calls
from benchmarks.ruler.sweep.journal_lines import profile_lines, timing_line
from benchmarks.ruler.sweep.judged_visits import rejudged_lines
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.progress import Phase, Progress, finding_from_line, step_from_sweep
from benchmarks.ruler.sweep.sweep_ceilings import SweepCeilings
from benchmarks.ruler.sweep.sweep_plan import Recorded, Sweep, empty_sweep, plan_sweep, read_plan, write_plan
from benchmarks.ruler.sweep.visits import with_visit
from benchmarks.ruler.worker.outcomes import WorkerLost, outcomes_of_group
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.settings import Settings

_PHASES = {Task.TIME: Phase.TIMING, Task.PROFILE: Phase.PROFILING}


def measure(
    settings: Settings,
    *,
    operation: str,
    axes: Axes | None = None,
    tasks: Sequence[Task] = (Task.TIME, Task.PROFILE),
    progress: Progress | None = None,
) -> Recorded:
    """Measure what is missing and return all that the run has; `tasks` may leave out a pass.

    By the plan that the settings hand on, all of it, so that each way through it needs one worker; without one, a plan
    of `operation` alone is made here, of `axes` or those the settings name. Timing comes first, all groups once in a
    process of their own and then again in the next one's, until each has had its visits; then profiling. `progress` is
    told of it in place of the settings'. Raises: UnknownCommit, JournalError, MachineBusy; never for what a point does.
    """
    with progress or Progress(settings.progress) as told, _planned(settings, operation, axes, told) as (sweep, lock):
        return _Measuring(settings, sweep, operation, told, lock).run(tasks)


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
    say = partial(progress.report_waiting, operation)
    with machine_lock(settings.lock_file, say=say, waits=settings.waits_for_lock) as lock:
        axes = axes or axes_from_settings(settings)
        sweep, _ = plan_sweep(settings, axes, device=expected_device(settings), operations=(operation,))
        yield sweep, lock


class _Measuring:
    """State of one sweep's measuring."""

    def __init__(self, settings: Settings, sweep: Sweep, operation: str, progress: Progress, lock: int | None) -> None:
        self._settings = settings
        self._sweep = sweep
        self._operation, self._progress = operation, progress
        self._inherited = () if lock is None else (lock,)
        self._estimate = Estimate(lambda: self._ceilings.value, asks_for_ceilings=settings.measures_ceilings)
        self._ceilings = self._kept_ceilings()

    def run(self, tasks: Sequence[Task]) -> Recorded:
        """Perform the tasks whose lines are missing; return what is recorded then."""
        if not self._left():
            known = f"everything is measured already, in {self._sweep.plan.run.label()}"
            self._report(Phase.ENDED, detail=f"{known}; fusebench run --again measures anew")
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

    def _left(self) -> tuple[Group, ...]:
        return (*self._sweep.untimed(), *self._sweep.unprofiled())

    def _measure_missing(self, tasks: Sequence[Task]) -> None:
        n_visits = self._settings.visits_now(self._sweep.plan.axes.visits) if Task.TIME in tasks else 0
        self._ceilings.see(tuple(self._sweep.recorded.timings.values()))
        for visit in range(1, n_visits + 1):
            if not self._sweep.due(visit) or is_time_up(self._settings):
                continue
            with self._new_worker() as worker:
                self._get_ready(worker)
                self._go_through(self._sweep.due(visit), Task.TIME, worker, visit=visit)
                spreads = self._ceilings.spreads
                self._record(rejudged_lines(self._sweep, self._ceilings.speed.best_s, before=spreads.before))
                if self._sweep.untimed():
                    continue
                spreads.learn(self._sweep.recorded.timings.values())
                if self._ceilings.is_beaten or self._ceilings.value is None:
                    self._ensure_ceilings(worker)
                if Task.PROFILE in tasks:
                    # What this process has compiled need not be compiled again; nothing is timed in it from here on.
                    self._go_through(self._sweep.unprofiled(), Task.PROFILE, worker)
        if Task.PROFILE in tasks and self._sweep.unprofiled() and not is_time_up(self._settings):
            with self._new_worker() as worker:
                self._get_ready(worker)
                self._go_through(self._sweep.unprofiled(), Task.PROFILE, worker)
        if not self._left():
            self._report(Phase.ENDED)
        elif is_time_up(self._settings):
            self._report(Phase.STOPPED, detail="the time is up; the next run goes on from here")

    def _get_ready(self, worker: WorkerProcess) -> None:
        """Start the worker, plan again if its device is another, and know the machine's ceilings."""
        self._report(Phase.STARTING, detail="a worker that imports torch")
        if worker.start() is None and worker.hello and worker.hello["device"] != self._sweep.plan.device:
            self._plan_again(DeviceKind(worker.hello["device"]))
            self._ceilings = self._kept_ceilings()
        if not self._ceilings.is_ensured and self._ensure_ceilings(worker):
            # Its heap has held far more than any group's data, and keeps it; the next request starts another.
            worker.stop()

    def _kept_ceilings(self) -> SweepCeilings:
        run = self._sweep.plan.run
        # A run with a name of its own was begun to measure everything anew.
        since = run.started_at if self._settings.run_id else None
        return SweepCeilings(self._settings.data_dir, machine=run.machine, environment=run.environment, since=since)

    def _ensure_ceilings(self, worker: WorkerProcess) -> bool:
        """Ensure the machine's ceilings, and the floors that follow; return whether `worker` was asked for them."""
        self._report(Phase.STARTING, detail="the machine's ceilings")
        self._estimate.asks_for_ceilings &= bool(self._sweep.untimed())
        if said := self._ceilings.ensure(worker, may_measure=self._settings.measures_ceilings):
            self._report(Phase.CEILINGS, detail=said)
        if self._ceilings.value is not None:
            self._record(
                self._ceilings.corrected(tuple(self._sweep.recorded.timings.values()), self._sweep.plan.device)
            )
        return bool(said)

    def _record(self, lines: Sequence[Line]) -> None:
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
            say=lambda said: self._report(Phase.WAITING, detail=said),
        )

    def _plan_again(self, device: DeviceKind) -> None:
        """Plan for the device that torch has found, which is not the one the driver promised."""
        operations = tuple(Operation) if (handed_on := self._settings.plan) else (self._operation,)
        self._sweep, _ = plan_sweep(self._settings, self._sweep.plan.axes, device=device, operations=operations)
        if handed_on:
            write_plan(handed_on, self._sweep.plan)

    def _go_through(self, groups: Sequence[Group], task: Task, worker: WorkerProcess, *, visit: int = 0) -> None:
        """Ask `worker` for each of `groups` and record what it answers, until the time is up."""
        for group in groups:
            if is_time_up(self._settings):
                return
            label, operation = group.shape.label(), group.shape.operation
            self._report(_PHASES[task], operation=operation, visit=visit, detail=label)
            start = time.monotonic()
            lines = self._timed(group, worker) if task is Task.TIME else self._profiled(group, worker)
            self._record(lines)
            self._ceilings.see(lines)
            seconds = time.monotonic() - start
            self._estimate.add(self._sweep.plan, group, _PHASES[task], is_first=visit == 1, seconds=seconds)
            findings = tuple(filter(None, map(finding_from_line, lines)))
            self._report(_PHASES[task], operation=operation, visit=visit, detail=label, findings=findings)

    def _timed(self, group: Group, worker: WorkerProcess) -> list[Line]:
        """Return the lines of one more visit of `group`: of all contenders, or of those that have not failed before."""
        plan, known = self._sweep.plan, self._sweep.outcomes(group)
        contenders = [each for each in group.contenders if each not in known or known[each].state is State.OK]
        given_up = self._sweep.given_up(contenders) if self._settings.until is not None else {}
        request = Request(
            task=Task.TIME,
            shape=group.shape,
            contenders=tuple(each for each in contenders if each not in given_up),
            budget_s=plan.axes.budget_s,
            best_probe_s=self._ceilings.speed.best_s,
            n_visits=plan.axes.visits,
            is_first_visit=not known,
        )
        try:
            outcomes, conditions = outcomes_of_group(worker, request, blames_all=not known)
        except WorkerLost as lost:
            self._report(Phase.TIMING, detail=f"{group.shape.label()}: {lost}; its earlier visits stand")
            return []
        self._ceilings.speed.see(conditions)
        of_all = {**outcomes, **given_up}
        new = {each: outcome for each in contenders if isinstance(outcome := of_all[each], TimingOutcome)}
        measured_at = journal.now()
        usual = self._ceilings.spreads.usual_beside(group.shape, self._sweep.recorded.timings)
        visited = with_visit(known, new, measured_at=measured_at, conditions=conditions, usual=usual)
        group_id = self._sweep.recorded.timings[group.shape, contenders[0]].group if known else uuid.uuid4().hex[:8]
        on_machine = (self._ceilings.value, plan.device)
        return [
            timing_line(self._head(group.shape, each, conditions, measured_at), outcome, group_id, *on_machine)
            for each, outcome in visited.items()
        ]

    def _profiled(self, group: Group, worker: WorkerProcess) -> list[Line]:
        plan = self._sweep.plan
        request = Request(
            task=Task.PROFILE,
            shape=group.shape,
            contenders=group.contenders,
            budget_s=plan.axes.budget_s,
            traces=self._traces(group.shape, uuid.uuid4().hex[:8]),
        )
        outcomes, conditions = outcomes_of_group(worker, request)
        timings, on_machine = self._sweep.recorded.timings, (self._ceilings.value, plan.device)
        return [
            line
            for each in group.contenders
            if isinstance(outcome := outcomes[each], ProfileOutcome)
            for line in profile_lines(
                *(self._head(group.shape, each, conditions, journal.now()), outcome, timings[group.shape, each]),
                *on_machine,
                foreign=expectations_in_module(self._settings.provider_module),
            )
        ]

    def _head(self, shape: Shape, contender: Contender, conditions: dict[str, Any], measured_at: str) -> Head:
        plan = self._sweep.plan
        return Head(
            run=plan.run,
            conditions={**dict(self._settings.conditions), **conditions, "visits_planned": plan.axes.visits},
            shape=shape,
            contender=contender,
            threads=plan.threads,
            measured_at=measured_at,
        )

    def _traces(self, shape: Shape, group_id: str) -> str | None:
        """Return the prefix of the paths of the group's traces, if the settings ask for those of its batch."""
        if str(shape.batch) not in self._settings.traced_batches:
            return None
        commit = self._sweep.plan.run.commit[:8]
        name = f"{commit}-{shape.operation}-{shape.pass_}-{shape.dtype}-b{shape.batch}-h{shape.hidden}"
        return str(self._settings.data_dir / "traces" / f"{name}-{group_id}-")

    def _report(
        self,
        phase: Phase,
        *,
        operation: str | None = None,
        visit: int = 0,
        detail: str = "",
        findings: tuple[str, ...] | None = None,
    ) -> None:
        step = step_from_sweep(
            self._sweep,
            phase,
            operation or ("sweep" if self._settings.plan else self._operation),
            seconds_left=self._estimate.seconds_left(self._sweep),
            visit=visit,
            detail=detail,
            findings=findings,
        )
        self._progress.report(step)
