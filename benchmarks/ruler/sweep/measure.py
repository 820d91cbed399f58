"""The sweep of one operation: measure what its plan finds missing, record it. Survives what it measures.

What is missing, and of which run, is in sweep_plan.
"""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.plan import roofline, work
from benchmarks.ruler.plan.axes import Axes, Contender, DeviceKind, Group, Shape
from benchmarks.ruler.record import journal
from benchmarks.ruler.record.journal import Head, ProfileLine, TimingLine
from benchmarks.ruler.record.outcome import FAILURES, ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.record.provenance import data_dir, expected_device
from benchmarks.ruler.sweep.expectations import compared, expectation
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.machine_file import machine_ceilings
from benchmarks.ruler.sweep.progress import Progress, Step
from benchmarks.ruler.sweep.sweep_plan import Plan, Recorded, plan_sweep, recorded_from_lines
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.plan.roofline import Ceilings

_TIME_IS_UP = "the time is up; the next run goes on from here"
DEFAULT_POINT_LIMIT_S = 180.0
UNTIL = "FUSEBENCH_UNTIL"
TRACES = "FUSEBENCH_TRACES"


def measure(axes: Axes, *, operation: str, tasks: Sequence[Task] = tuple(Task)) -> Recorded:
    """Measure what is missing of `operation` and return all that the run has of it; `tasks` may leave out a pass.

    Timing comes first, of all groups, then profiling in another process, so that the profiler taxes no timing.
    Raises: UnknownCommit, JournalError, MachineBusy; never for anything a point does.
    """
    plan = plan_sweep(axes, operation=operation, device=expected_device())
    with Progress() as progress:
        if not plan.untimed() and not plan.unprofiled():
            said = "everything is measured already; fusebench run --again measures anew"
            progress.tell(_step(plan, operation, "measured", last=said))
            return plan.recorded
        if is_time_up():
            progress.tell(_step(plan, operation, "stopped", last=_TIME_IS_UP))
            return plan.recorded

        def say_waiting(why: str) -> None:
            progress.tell(_step(plan, operation, "waiting", last=why))

        with machine_lock(say=say_waiting) as lock:
            return _measure_missing(plan, axes, tasks=tasks, progress=progress, lock=lock).recorded


def is_time_up() -> bool:
    """Whether the moment that FUSEBENCH_UNTIL names (seconds since 1970) has passed; no group is begun after it."""
    until = os.environ.get(UNTIL)
    return until is not None and time.time() >= float(until)


def _measure_missing(plan: Plan, axes: Axes, *, tasks: Sequence[Task], progress: Progress, lock: int) -> Plan:
    limit = float(os.environ.get("FUSEBENCH_POINT_LIMIT_S") or DEFAULT_POINT_LIMIT_S)

    def new_worker() -> WorkerProcess:
        return WorkerProcess(device=plan.device, threads=plan.threads, point_limit_s=limit, inherited=(lock,))

    progress.tell(_step(plan, plan.operation, "starting", last="a worker that imports torch", notable=False))
    with new_worker() as worker:
        if worker.start() is None and worker.hello and worker.hello["device"] != plan.device:
            plan = plan_sweep(axes, operation=plan.operation, device=DeviceKind(worker.hello["device"]))
        progress.tell(_step(plan, plan.operation, "starting", last="the machine's ceilings", notable=False))
        ceilings = machine_ceilings(worker, machine=plan.run.machine, environment=plan.run.environment)
        todo = plan.untimed() if Task.TIME in tasks else ()
        plan = _pass(plan, todo, worker, ceilings=ceilings, axes=axes, task=Task.TIME, progress=progress)
    todo = plan.unprofiled()
    if not todo or Task.PROFILE not in tasks or is_time_up():
        return plan
    with new_worker() as worker:
        return _pass(plan, todo, worker, ceilings=ceilings, axes=axes, task=Task.PROFILE, progress=progress)


def _pass(  # noqa: PLR0913 - each is a separate instrument
    plan: Plan,
    todo: Sequence[Group],
    worker: WorkerProcess,
    *,
    ceilings: Ceilings | None,
    axes: Axes,
    task: Task,
    progress: Progress,
) -> Plan:
    for group in todo:
        if is_time_up():
            progress.tell(_step(plan, group.shape.operation, "stopped", last=_TIME_IS_UP))
            return plan
        label = group.shape.label()
        progress.tell(_step(plan, group.shape.operation, task, last=label, notable=False))
        group_id = uuid.uuid4().hex[:8]
        request = Request(
            task=task,
            shape=group.shape,
            contenders=group.contenders,
            budget_s=axes.budget_s,
            traces=_traces(plan, group.shape, group_id) if task is Task.PROFILE else None,
        )
        outcomes, conditions = outcomes_of_group(worker, request)
        lines: list[journal.Line] = []
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
                lines.append(_timing_line(head, outcome, group_id, ceilings, plan.device))
            else:
                timing = plan.recorded.timings[group.shape, contender]
                lines.append(_profile_line(head, outcome, timing, ceilings, plan.device))
        journal.append(plan.path, lines)
        plan = replace(plan, recorded=recorded_from_lines(lines, before=plan.recorded))
        for line in lines:
            failed = line.outcome.state in FAILURES
            notable = failed or task is Task.TIME or _is_unexpected(line)
            last = f"{label}: {_said(line)}"
            progress.tell(_step(plan, group.shape.operation, task, last=last, failed=failed, notable=notable))
    return plan


def _traces(plan: Plan, shape: Shape, group_id: str) -> str | None:
    """The beginning of the paths of the group's traces, if FUSEBENCH_TRACES (batches, by commas) asks for them."""
    if str(shape.batch) not in os.environ.get(TRACES, "").split(","):
        return None
    name = f"{plan.run.commit[:8]}-{shape.operation}-{shape.pass_}-{shape.dtype}-b{shape.batch}-h{shape.hidden}"
    return str(data_dir() / "traces" / f"{name}-{group_id}-")


def outcomes_of_group(
    worker: WorkerProcess, request: Request
) -> tuple[dict[Contender, TimingOutcome | ProfileOutcome], dict[str, Any]]:
    """The outcome of every contender of `request`, and the conditions they were measured under.

    A contender that takes the worker down gets its state, and the group is asked for again without it: rivals
    measured beside it were measured together or not at all. The first time that something outside kills the worker,
    nobody is blamed.
    """
    profiles = request.task is Task.PROFILE
    decode = journal.profile_outcome_from_json if profiles else journal.timing_outcome_from_json
    kind = ProfileOutcome if profiles else TimingOutcome
    lost: dict[Contender, TimingOutcome | ProfileOutcome] = {}
    left = list(request.contenders)
    conditions: dict[str, Any] = {}
    was_killed = False
    while left:
        answer = worker.ask(replace(request, contenders=tuple(left)))
        standing = (worker.hello or {}).get("conditions", {})
        conditions = {**standing, **answer.conditions}
        if answer.death is None:
            said = {m["contender"]: decode(m["outcome"]) for m in answer.messages if m["event"] == "outcome"}
            return {**lost, **{contender: said[str(contender)] for contender in left}}, conditions
        if answer.death.from_outside and not was_killed:
            was_killed = True
            continue
        # A worker that dies before anybody's turn would die for everybody.
        culprits = list(left) if answer.death.place is None else [left[answer.death.place]]
        for culprit in culprits:
            lost[culprit] = kind(state=answer.death.state, reason=answer.death.reason)
            left.remove(culprit)
    return lost, conditions


def _timing_line(
    head: Head, outcome: TimingOutcome, group_id: str, ceilings: Ceilings | None, device: DeviceKind
) -> TimingLine:
    least = roofline.floor(head.shape, ceilings, device=device) if ceilings else None
    return TimingLine(
        head=head,
        group=group_id,
        outcome=outcome,
        flop=work.flop(head.shape),
        min_bytes=work.min_bytes(head.shape),
        floor_s=least.total_s if least else None,
    )


def _profile_line(
    head: Head, outcome: ProfileOutcome, timing: TimingLine, ceilings: Ceilings | None, device: DeviceKind
) -> ProfileLine:
    expected = expectation(head.contender, head.shape, device=device, provider_detail=timing.outcome.provider_detail)
    outcome = compared(outcome, expected)
    return ProfileLine(head=head, outcome=outcome, bound=_bound(head.shape, outcome, timing, ceilings, device))


def _bound(
    shape: Shape, profile: ProfileOutcome, timing: TimingLine, ceilings: Ceilings | None, device: DeviceKind
) -> roofline.Bound | None:
    least = roofline.floor(shape, ceilings, device=device) if ceilings else None
    timed = timing.outcome
    if least is None or ceilings is None or timed.latency_s is None:
        return None
    if device is DeviceKind.CUDA:
        if timed.host_time_s is None or timed.device_time_s is None:
            return None
        return roofline.bound_on_cuda(least, host_time_s=timed.host_time_s, device_time_s=timed.device_time_s)
    if profile.operator_count is None:
        return None
    return roofline.bound_on_cpu(
        least,
        latency_s=timed.latency_s,
        operator_count=profile.operator_count,
        dispatch_s=ceilings.dispatch_s,
    )


def _step(  # noqa: PLR0913 - a step says six things
    plan: Plan, operation: str, phase: str, *, last: str, failed: bool = False, notable: bool = True
) -> Step:
    keys = [(group.shape, contender) for group in plan.groups for contender in group.contenders]
    timed = [key for key in keys if key in plan.recorded.timings]
    unfit = [key for key in timed if plan.recorded.timings[key].outcome.state is not State.OK]
    profiled = [key for key in keys if key in plan.recorded.profiles]
    return Step(
        operation=operation,
        phase=phase,
        done=len(timed) + len(profiled) + len(unfit),
        total=2 * len(keys),
        last=last,
        failed=failed,
        notable=notable,
    )


def _is_unexpected(line: journal.Line) -> bool:
    return isinstance(line, ProfileLine) and line.outcome.unexpected is not None


def _said(line: journal.Line) -> str:
    outcome, contender = line.outcome, line.head.contender
    if outcome.state is not State.OK:
        return f"{contender} {outcome.state}: {outcome.reason}"
    if isinstance(outcome, TimingOutcome) and outcome.latency_s is not None:
        return f"{contender} {outcome.latency_s * 1e6:.1f} µs"
    if isinstance(outcome, ProfileOutcome) and outcome.unexpected is not None:
        return f"{contender} unexpected: {outcome.unexpected}"
    return f"{contender} profiled"
