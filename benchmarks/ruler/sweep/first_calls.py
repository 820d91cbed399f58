"""First calls of a sweep's points: each in a process of its own, after all else is measured, if the settings ask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.record import journal
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.record.lines import TimingLine
    from benchmarks.ruler.sweep.sweep_plan import Sweep
    from benchmarks.ruler.worker.process import WorkerProcess


def lines_without_first_call(sweep: Sweep) -> tuple[TimingLine, ...]:
    """Return the timing lines of points that are ok, in the order of the plan, that say nothing of a first call."""
    lines = (sweep.recorded.timings.get(key) for key in sweep.points())
    return tuple(
        line
        for line in lines
        if line is not None and line.outcome.state is State.OK and line.outcome.time_to_first_call_s is None
    )


def with_first_calls(
    sweep: Sweep,
    *,
    new_worker: Callable[[], WorkerProcess],
    say: Callable[[str], None],
    is_time_up: Callable[[], bool],
) -> Sweep:
    """Time the first calls that `sweep` lacks and record each; return the sweep with them.

    A point's line is written again with its first call: the last one counts. One that fails, which it did not before,
    is said and left out.
    """
    for line in lines_without_first_call(sweep):
        if is_time_up():
            break
        name = f"{line.head.contender}, {line.head.shape.label()}"
        with new_worker() as worker:
            found = _first_call(line, worker)
        if found.time_to_first_call_s is None:
            say(f"{name}: {found.state}: {found.reason}")
            continue
        say(f"{name}: {_in_words(found.time_to_first_call_s)} to its first call")
        added = replace(line, outcome=replace(line.outcome, time_to_first_call_s=found.time_to_first_call_s))
        journal.append(sweep.plan.path, [added])
        sweep = sweep.with_lines([added])
    return sweep


def _first_call(line: TimingLine, worker: WorkerProcess) -> TimingOutcome:
    head = line.head
    request = Request(task=Task.FIRST_CALL, shape=head.shape, contenders=(head.contender,), budget_s=0.0)
    answer = worker.ask(request)
    if answer.death is not None:
        return TimingOutcome(state=answer.death.state, reason=answer.death.reason)
    (message,) = (message for message in answer.messages if message["event"] == "outcome")
    return value_from_json(TimingOutcome, message["outcome"])


def _in_words(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
