"""Is a provider's time its own? In company, alone, and by torch's Timer in a fresh process, at the same shapes.

All of these take turns of some hundredths of a second, since a shared machine is another one a second later, and each
turn is compared with the nearest one of another; and all of it several times in fresh processes, since it matters where
a process happens to lie in memory.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.checks.company_report import Row
from benchmarks.ruler.checks.scratch import scratch_speed
from benchmarks.ruler.checks.timer_process import TimerProcess, TimerTurn
from benchmarks.ruler.checks.turns import Ring
from benchmarks.ruler.checks.worker_in_turns import CHUNK_S
from benchmarks.ruler.plan.axes import QUICK, groups
from benchmarks.ruler.plan.points import DeviceKind, contender_from_name
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.machine_speed import MachineSpeed
    from benchmarks.ruler.worker.process import Answer

PROVIDERS = ("eager", "compiled", "fused", "fused:packed")
AXES = replace(QUICK, name="company", providers=PROVIDERS, batches=(1, 16, 128, 1024), hiddens=(256, 512))
OPERATION = "mlp"
ROUNDS = 20
SAMPLED_S = 6.0
"""Time of everyone's turns together at a shape, in a round."""

ROWS_OF_ROUND = len(AXES.batches) * len(AXES.hiddens) * len(PROVIDERS)
# In so many of some twenty turns, fewer of long calls, nothing else may have taken the machine's time; nearest ones are
# some 0.1 s apart. Rounds lie farther apart than turns: many short rounds tell more than few long ones.
_LEAST_PAIRS, _MOST_BETWEEN_S = 5, 0.5


class TurnTime(NamedTuple):
    """Seconds of a call in a turn that ended at `at_s`, by the clock that all processes share."""

    at_s: float
    call_s: float


class Timed(NamedTuple):
    """A contender's outcome, its times in the turns in which nothing else took the machine's time, and what did."""

    outcome: TimingOutcome
    turns: tuple[TurnTime, ...]
    taken: str | None


def rows(settings: Settings, *, rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure every provider in all three ways, in turns; every round in fresh processes, as visits of a sweep are."""
    shapes = [group.shape for group in groups(AXES, operation=OPERATION, device=DeviceKind.CPU)]
    speed = scratch_speed(settings, device=DeviceKind.CPU)
    for number in range(rounds):
        yield from _round(settings, shapes if number % 2 == 0 else shapes[::-1], speed, number)


def _round(settings: Settings, shapes: Sequence[Shape], speed: MachineSpeed, number: int) -> Iterator[Row]:
    with ExitStack() as stack:
        # Entered first, left last: its threads end when the processes that they wait for do. One for each of these.
        threads = stack.enter_context(ThreadPoolExecutor(max_workers=1 + 2 * len(PROVIDERS)))
        ring = stack.enter_context(Ring(n_first=1 + 2 * len(PROVIDERS)))

        def started() -> WorkerProcess:
            command = ("-m", "benchmarks.ruler.checks.worker_in_turns", "--ring", ring.name)
            worker = stack.enter_context(
                WorkerProcess(
                    device=DeviceKind.CPU,
                    threads=settings.threads,
                    point_limit_s=settings.point_limit_s,
                    allocator=settings.allocator,
                    command=command,
                )
            )
            worker.start()
            return worker

        in_company, alone = started(), {name: started() for name in PROVIDERS}
        if number == 0:
            speed.learn_from(in_company)
        timers = {
            name: stack.enter_context(TimerProcess(settings, name, ring=ring.name, for_s=SAMPLED_S, turn_s=CHUNK_S))
            for name in PROVIDERS
        }

        def measured(worker: WorkerProcess, request: Request) -> dict[str, Timed]:
            answer = worker.ask(request)
            if answer.death is not None:
                ring.expect_one_less()
            return _found(answer, request)

        def timed_turns(timer: TimerProcess, shape: Shape) -> tuple[TimerTurn, ...] | str:
            try:
                return timer.turns(shape) or "it could not be built for torch's Timer"
            except RuntimeError as error:
                ring.expect_one_less()
                return str(error)

        for shape in shapes:
            ring.expect_all()
            asked = {name: _request(shape, (name,), speed, number) for name in PROVIDERS}
            together = threads.submit(measured, in_company, _request(shape, PROVIDERS, speed, number))
            each = {name: threads.submit(measured, alone[name], asked[name]) for name in PROVIDERS}
            timed = {name: threads.submit(timed_turns, timers[name], shape) for name in PROVIDERS}
            for name in PROVIDERS:
                yield _row(name, shape, together.result()[name], each[name].result()[name], timed[name].result())


def _request(shape: Shape, providers: Sequence[str], speed: MachineSpeed, number: int) -> Request:
    return Request(
        task=Task.TIME,
        shape=shape,
        contenders=tuple(contender_from_name(name) for name in providers),
        budget_s=SAMPLED_S,
        is_first_visit=number == 0,
        best_probe_s=speed.best_s,
    )


def _found(answer: Answer, request: Request) -> dict[str, Timed]:
    found = {
        message["contender"]: value_from_json(TimingOutcome, message["outcome"])
        for message in answer.messages
        if message["event"] == "outcome"
    }
    if (death := answer.death) is not None:
        names = [str(contender) for contender in request.contenders]
        ran = None if death.contender_index is None else names[death.contender_index]
        lost = {
            name: TimingOutcome(
                state=death.state, reason=death.reason if ran in {None, name} else f"beside {ran}: {death.reason}"
            )
            for name in names
        }
        found = lost | found
    turns = [message for message in answer.messages if message["event"] == "turn"]
    return {
        name: Timed(
            outcome=outcome,
            turns=tuple(
                TurnTime(turn["at_s"], turn["sample_s"][name] / outcome.calls_per_sample)
                for turn in turns
                if outcome.calls_per_sample and turn["taken"] is None and name in turn["sample_s"]
            ),
            taken=next((turn["taken"] for turn in turns if turn["taken"] is not None), None),
        )
        for name, outcome in found.items()
    }


def _row(provider: str, shape: Shape, in_company: Timed, alone: Timed, of_timer: Sequence[TimerTurn] | str) -> Row:
    named = Row(provider=provider, shape=shape.label())
    outcomes = in_company.outcome, alone.outcome
    failed = next((one for one in outcomes if one.state is not State.OK), None)
    if failed is not None:
        return replace(named, failure=f"{failed.state}: {failed.reason}")
    if isinstance(of_timer, str):
        return replace(named, failure=of_timer)
    named = replace(named, company_s=in_company.outcome.latency_s or math.nan)
    ratios = [
        ratios_beside(in_company.turns, others)
        for others in (
            alone.turns,
            [TurnTime(turn.at_s, turn.rotating_s) for turn in of_timer if turn.taken is None],
            [TurnTime(turn.at_s, turn.single_s) for turn in of_timer if turn.taken is None],
        )
    ]
    over_alone, over_timer, over_single = (median(some) if some else math.nan for some in ratios)
    named = replace(named, over_alone=over_alone, over_timer=over_timer, over_single=over_single)
    if (n_pairs := min(map(len, ratios))) < _LEAST_PAIRS:
        of_timers = (turn.taken for turn in of_timer if turn.taken is not None)
        said = in_company.taken or alone.taken or next(of_timers, "the processes did not take turns together")
        return replace(named, taken=f"undisturbed turns side by side: {n_pairs}, not {_LEAST_PAIRS}: {said}")
    return named


def ratios_beside(turns: Sequence[TurnTime], others: Sequence[TurnTime]) -> list[float]:
    """Return of each of `turns` its time over that of the nearest in time of `others`, unless that is far away."""
    nearest = [(turn, min(others, key=lambda other: abs(other.at_s - turn.at_s))) for turn in turns if others]
    return [one.call_s / other.call_s for one, other in nearest if abs(one.at_s - other.at_s) <= _MOST_BETWEEN_S]
