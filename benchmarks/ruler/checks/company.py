"""Is a provider's time its own? In company, alone, and by torch's Timer in a fresh process, at the same shapes.

All of these take turns of some hundredths of a second, since a shared machine is another one a second later; and all of
it several times in fresh processes, since it matters where a process happens to lie in memory.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded, first_cause
from benchmarks.ruler.checks.scratch import scratch_speed
from benchmarks.ruler.checks.timer_process import TimerProcess
from benchmarks.ruler.checks.turns import Ring
from benchmarks.ruler.checks.worker_in_turns import CHUNK_S
from benchmarks.ruler.measure.statistics import students_t
from benchmarks.ruler.plan.axes import QUICK, groups
from benchmarks.ruler.plan.points import DeviceKind, contender_from_name
from benchmarks.ruler.plan.units import percent, signed_percent
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.record.part_speed import disturbs_ratios
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.machine_speed import MachineSpeed

PROVIDERS = ("eager", "compiled", "fused", "fused:packed")
AXES = replace(QUICK, name="company", providers=PROVIDERS, batches=(1, 16, 128, 1024), hiddens=(256, 512))
OPERATION = "mlp"
ROUNDS = 7
N_TURNS = 10
ROWS_OF_ROUND = len(AXES.batches) * len(AXES.hiddens) * len(PROVIDERS)
UNSURE = "the rounds lie too far apart to tell"
# Below so many seconds a call is short, and so much may lie between clocks.
_SHORT_S, _MOST_APART, _MOST_APART_IF_SHORT = 20e-6, 0.03, 0.05
_LEAST_ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class Row:
    """A provider at a shape, once: seconds of a call in company, alone and by torch's Timer, all in turns.

    timer_s: on inputs that rotate as those of the others do; single_s: on one input, over and over.
    taken: what else took the machine's time in company or alone, or None. A provider that failed has no times and a
    `failure`.
    """

    provider: str
    shape: str
    company_s: float = math.nan
    alone_s: float = math.nan
    timer_s: float = math.nan
    single_s: float = math.nan
    taken: str | None = None
    failure: str | None = None


class Apart(NamedTuple):
    """How far the time in company lies above another, as a part of it, and its 95 % interval over the rounds."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it as `+1.2 % (-0.4 to +2.9)`; without an interval from a single round."""
        if math.isinf(self.high):
            return signed_percent(self.middle)
        low, high = (signed_percent(end).removesuffix(" %") for end in (self.low, self.high))
        return f"{signed_percent(self.middle)} ({low} to {high})"


def apart_from(ratios: Sequence[float]) -> Apart:
    """Return how far ratios lie above 1: their geometric mean, with Student's interval of their logarithms."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = fmean(logs)
    if len(logs) < _LEAST_ROUNDS:
        return Apart(math.expm1(mean), -1.0, math.inf)
    half = students_t(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return Apart(math.expm1(mean), math.expm1(mean - half), math.expm1(mean + half))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A provider at a shape in all rounds; those count in which nothing else took the machine's time."""

    rounds: tuple[Row, ...]

    @property
    def counted(self) -> tuple[Row, ...]:
        """Rounds in which nothing else took the machine's time."""
        return tuple(row for row in self.rounds if row.failure is None and row.taken is None)

    @property
    def failure(self) -> str | None:
        """Return why there is no time in some round, or None."""
        return next((row.failure for row in self.rounds if row.failure is not None), None)

    @property
    def company_s(self) -> float:
        """Seconds of a call in company."""
        return median(row.company_s for row in self._shown)

    @property
    def apart(self) -> tuple[Apart, Apart]:
        """How far that lies above the time alone, and above the Timer's where inputs rotate."""
        return (
            apart_from([row.company_s / row.alone_s for row in self._shown]),
            apart_from([row.company_s / row.timer_s for row in self._shown]),
        )

    @property
    def apart_from_single(self) -> Apart:
        """How far it lies above the Timer's on a single input, which rotation is no part of."""
        return apart_from([row.company_s / row.single_s for row in self._shown])

    @property
    def limit(self) -> float:
        """How far they may lie apart."""
        return _MOST_APART_IF_SHORT if self.company_s < _SHORT_S else _MOST_APART

    @property
    def is_within(self) -> bool | None:
        """Whether company, Timer and solitude agree: their whole intervals; None where one reaches over the limit."""
        if any(one.low > self.limit or one.high < -self.limit for one in self.apart):
            return False
        return True if all(-self.limit <= one.low and one.high <= self.limit for one in self.apart) else None

    @property
    def _shown(self) -> tuple[Row, ...]:
        return self.counted or self.rounds


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
        ring = stack.enter_context(Ring())

        def started() -> WorkerProcess:
            command = ("-m", "benchmarks.ruler.checks.worker_in_turns", "--ring", str(ring.path))
            worker = stack.enter_context(
                WorkerProcess(
                    device=DeviceKind.CPU,
                    threads=settings.threads,
                    point_limit_s=settings.point_limit_s,
                    command=command,
                )
            )
            worker.start()
            return worker

        in_company, alone = started(), {name: started() for name in PROVIDERS}
        if number == 0:
            speed.learn_from(in_company)
        timers = {
            name: stack.enter_context(TimerProcess(settings, name, ring=ring.path, n_turns=N_TURNS, turn_s=CHUNK_S))
            for name in PROVIDERS
        }
        for shape in shapes:
            asked = {name: _request(shape, (name,), speed, number) for name in PROVIDERS}
            together = threads.submit(_measured, in_company, _request(shape, PROVIDERS, speed, number))
            each = {name: threads.submit(_measured, alone[name], asked[name]) for name in PROVIDERS}
            timed = {name: threads.submit(timers[name].seconds, shape) for name in PROVIDERS}
            for name in PROVIDERS:
                yield _row(name, shape, together.result()[name], each[name].result()[name], timed[name].result())


def _request(shape: Shape, providers: Sequence[str], speed: MachineSpeed, number: int) -> Request:
    return Request(
        task=Task.TIME,
        shape=shape,
        contenders=tuple(contender_from_name(name) for name in providers),
        budget_s=N_TURNS * CHUNK_S,
        is_first_visit=number == 0,
        best_probe_s=speed.best_s,
    )


def _measured(worker: WorkerProcess, request: Request) -> dict[str, TimingOutcome]:
    answer = worker.ask(request)
    found = {
        message["contender"]: value_from_json(TimingOutcome, message["outcome"])
        for message in answer.messages
        if message["event"] == "outcome"
    }
    if answer.death is None:
        return found
    lost = TimingOutcome(state=answer.death.state, reason=answer.death.reason)
    return {str(contender): lost for contender in request.contenders} | found


def _row(
    provider: str, shape: Shape, in_company: TimingOutcome, alone: TimingOutcome, timers_s: tuple[float, float] | None
) -> Row:
    named = Row(provider=provider, shape=shape.label())
    failed = next((one for one in (in_company, alone) if one.state is not State.OK), None)
    if failed is not None:
        return replace(named, failure=f"{failed.state}: {failed.reason}")
    if in_company.latency_s is None or alone.latency_s is None or timers_s is None:
        return replace(named, failure="it could not be built for torch's Timer")
    return replace(
        named,
        company_s=in_company.latency_s,
        alone_s=alone.latency_s,
        timer_s=timers_s[0],
        single_s=timers_s[1],
        taken=next((one.disturbed for one in (in_company, alone) if disturbs_ratios(one.disturbed)), None),
    )


def report(found: Sequence[Row]) -> tuple[list[str], Conclusion]:
    """Return the lines of a table, and whether all three ways agree wherever nothing else took the machine's time.

    A case fails whose interval lies wholly beyond the limit, and counts as within if all of it lies there; one that
    reaches over the limit tells neither, and is not counted.
    """
    lines = [
        f"{'provider':14} {'shape':44} {'company':>10} {'over alone':>26} {'over Timer':>26} {'over it, one input':>26}"
    ]
    rounds: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        rounds.setdefault((row.provider, row.shape), []).append(row)
    cases = {key: Case(rounds=tuple(some)) for key, some in rounds.items()}
    for (provider, shape), case in cases.items():
        if case.failure is not None:
            lines.append(f"{provider:14} {shape:44} {case.failure}")
            continue
        alone, timer, single = map(str, (*case.apart, case.apart_from_single))
        lines.append(
            f"{provider:14} {shape:44} {case.company_s * 1e6:7.1f} µs {alone:>26} {timer:>26} {single:>26}  "
            f"{_verdict_on(case)}"
        )
    timed = {key: case for key, case in cases.items() if case.failure is None}
    for provider in dict.fromkeys(provider for provider, _ in timed):
        of_all = [case for (name, _), case in timed.items() if name == provider and case.counted]
        if len(of_all) >= _LEAST_ROUNDS:
            middles = zip(*((*case.apart, case.apart_from_single) for case in of_all), strict=True)
            columns = (f"{apart_from([1 + one.middle for one in column])!s:>26}" for column in middles)
            lines.append(f"{provider:14} {f'{len(of_all)} shapes':44} {'':10} {' '.join(columns)}")
    counted = [case for case in timed.values() if case.counted]
    judged = [case.is_within for case in counted if case.is_within is not None]
    n_failed = len(cases) - len(timed)
    words = f"{sum(judged)} of {len(judged)} within 3 % of both (5 % below 20 µs)"
    if n_failed:
        words += f"; {n_failed} have no time"
    return lines, concluded(
        words,
        holds=all(judged) and not n_failed,
        n_counted=len(judged) + n_failed,
        not_counted={DISTURBED: len(timed) - len(counted), UNSURE: len(counted) - len(judged)},
    )


def _verdict_on(case: Case) -> str:
    if not case.counted:
        return f"not counted: {first_cause(case.rounds[-1].taken or '')}"
    words = {True: "within", False: f"beyond {percent(case.limit)}", None: "cannot be told"}[case.is_within]
    left = f", {len(case.counted)} of {len(case.rounds)} rounds counted"
    return words + (left if len(case.counted) < len(case.rounds) else "")
