"""Is a provider's time its own? In company, alone, and by torch's Timer in a fresh process, at the same shapes.

All of it several times, each in fresh processes: the machine moves a single comparison by more than what is asked, and
so does where a process happens to lie in memory.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded, first_cause
from benchmarks.ruler.checks.scratch import scratch_speed
from benchmarks.ruler.checks.timer_process import TimerProcess
from benchmarks.ruler.measure.statistics import students_t
from benchmarks.ruler.plan.axes import QUICK, groups
from benchmarks.ruler.plan.points import DeviceKind, contender_from_name
from benchmarks.ruler.plan.roofline import MACHINE_SPEED
from benchmarks.ruler.plan.units import percent, signed_percent
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.record.part_speed import disturbs_ratios
from benchmarks.ruler.worker.outcomes import outcomes_of_group
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
N_ROWS = ROUNDS * len(AXES.batches) * len(AXES.hiddens) * len(PROVIDERS)
UNSURE = "the rounds lie too far apart to tell"
# Below so many seconds a call is short, and so much may lie between clocks.
_SHORT_S, _MOST_APART, _MOST_APART_IF_SHORT = 20e-6, 0.03, 0.05
# By so much the Timer differs from itself seconds later on a machine that is the same.
_MOST_MOVED = 0.1
_LEAST_ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class Row:
    """A provider at a shape, once: seconds of a call in company, alone and by torch's Timer, before and after both.

    speeds: of the machine in company and alone, 1 at its best; None if not known. taken: what else took the machine's
    time in either, or None. A provider that failed has no times and a `failure`.
    """

    provider: str
    shape: str
    company_s: float = math.nan
    alone_s: float = math.nan
    timers_s: tuple[float, float] = (math.nan, math.nan)
    speeds: tuple[float | None, float | None] = (None, None)
    taken: str | None = None
    failure: str | None = None

    @property
    def timer_s(self) -> float:
        """Mean of the Timer before and after, so that a drift cancels."""
        return fmean(self.timers_s)

    @property
    def limit(self) -> float:
        """How far the others may lie apart from the time in company, as a part of it."""
        return _MOST_APART_IF_SHORT if self.company_s < _SHORT_S else _MOST_APART

    @property
    def why_not_counted(self) -> str | None:
        """Return how the machine changed meanwhile, in words, or None: one that is slow throughout is the same."""
        before, after = self.timers_s
        if self.taken is not None:
            return first_cause(self.taken)
        if abs(before / after - 1) > _MOST_MOVED:
            return f"the Timer moved by {signed_percent(after / before - 1)}"
        in_company, alone = self.speeds
        if in_company is None or alone is None:
            return None if in_company == alone else "the machine's speed is not known"
        if abs(in_company / alone - 1) > self.limit:
            return f"the machine ran at {percent(in_company)} of its best, and alone at {percent(alone)}"
        return None


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
    """A provider at a shape in all rounds; those count in which the machine was the same throughout."""

    rounds: tuple[Row, ...]

    @property
    def counted(self) -> tuple[Row, ...]:
        """Rounds in which the machine was the same throughout."""
        return tuple(row for row in self.rounds if row.failure is None and row.why_not_counted is None)

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
        """How far that lies above the time alone, and above the Timer's."""
        return (
            apart_from([row.company_s / row.alone_s for row in self._shown]),
            apart_from([row.company_s / row.timer_s for row in self._shown]),
        )

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


def rows(settings: Settings) -> Iterator[Row]:
    """Measure every provider in all three ways, `ROUNDS` times a shape; the Timer before and after, against a drift.

    What is compared lies seconds apart, as a shared machine is another one a minute later; every round has processes of
    its own, as every visit of a sweep does.
    """
    shapes = [group.shape for group in groups(AXES, operation=OPERATION, device=DeviceKind.CPU)]
    speed = scratch_speed(settings, device=DeviceKind.CPU)
    for number in range(ROUNDS):
        yield from _round(settings, shapes if number % 2 == 0 else shapes[::-1], speed, number)


def _round(settings: Settings, shapes: Sequence[Shape], speed: MachineSpeed, number: int) -> Iterator[Row]:
    with ExitStack() as stack:
        # Alone is a worker of its own, in which no rival is ever called.
        in_company, by_itself = (
            stack.enter_context(
                WorkerProcess(device=DeviceKind.CPU, threads=settings.threads, point_limit_s=settings.point_limit_s)
            )
            for _ in range(2)
        )
        for worker in (in_company, by_itself):
            worker.start()
        if number == 0:
            speed.learn_from(in_company)
        timers = {name: stack.enter_context(TimerProcess(settings, name)) for name in PROVIDERS}
        for shape in shapes:
            before = {name: timer.seconds(shape) for name, timer in timers.items()}
            company = _measured(in_company, _request(shape, PROVIDERS, speed, number))
            alone = {name: _measured(by_itself, _request(shape, (name,), speed, number)) for name in PROVIDERS}
            after = {name: timer.seconds(shape) for name, timer in timers.items()}
            for name in PROVIDERS:
                yield _row(name, shape, (company[name], alone[name][name]), (before[name], after[name]))


class _Measured(NamedTuple):
    outcome: TimingOutcome
    speed: float | None


def _request(shape: Shape, providers: Sequence[str], speed: MachineSpeed, number: int) -> Request:
    """Ask for a usual visit of the quick axes."""
    return Request(
        task=Task.TIME,
        shape=shape,
        contenders=tuple(contender_from_name(name) for name in providers),
        budget_s=AXES.budget_s,
        n_visits=AXES.visits,
        is_first_visit=number == 0,
        best_probe_s=speed.best_s,
    )


def _measured(worker: WorkerProcess, request: Request) -> dict[str, _Measured]:
    outcomes, conditions = outcomes_of_group(worker, request)
    speed = conditions.get(MACHINE_SPEED)
    return {
        str(contender): _Measured(outcome, speed)
        for contender, outcome in outcomes.items()
        if isinstance(outcome, TimingOutcome)
    }


def _row(
    provider: str, shape: Shape, ours: tuple[_Measured, _Measured], timers_s: tuple[float | None, float | None]
) -> Row:
    in_company, alone = (each.outcome for each in ours)
    before_s, after_s = timers_s
    named = Row(provider=provider, shape=shape.label())
    failed = next((one for one in (in_company, alone) if one.state is not State.OK), None)
    if failed is not None:
        return replace(named, failure=f"{failed.state}: {failed.reason}")
    if in_company.latency_s is None or alone.latency_s is None or before_s is None or after_s is None:
        return replace(named, failure="it could not be built for torch's Timer")
    return replace(
        named,
        company_s=in_company.latency_s,
        alone_s=alone.latency_s,
        timers_s=(before_s, after_s),
        speeds=(ours[0].speed, ours[1].speed),
        taken=next((one.disturbed for one in (in_company, alone) if disturbs_ratios(one.disturbed)), None),
    )


def report(found: Sequence[Row]) -> tuple[list[str], Conclusion]:
    """Return the lines of a table, and whether all three ways agree wherever the machine was the same meanwhile.

    A case fails whose interval lies wholly beyond the limit, and counts as within if all of it lies there; one that
    reaches over the limit tells neither, and is not counted.
    """
    lines = [f"{'provider':14} {'shape':44} {'company':>10} {'over alone':>26} {'over Timer':>26}"]
    rounds: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        rounds.setdefault((row.provider, row.shape), []).append(row)
    cases = {key: Case(rounds=tuple(some)) for key, some in rounds.items()}
    for (provider, shape), case in cases.items():
        if case.failure is not None:
            lines.append(f"{provider:14} {shape:44} {case.failure}")
            continue
        alone, timer = map(str, case.apart)
        lines.append(
            f"{provider:14} {shape:44} {case.company_s * 1e6:7.1f} µs {alone:>26} {timer:>26}  {_verdict_on(case)}"
        )
    timed = {key: case for key, case in cases.items() if case.failure is None}
    for provider in dict.fromkeys(provider for provider, _ in timed):
        of_all = [case for (name, _), case in timed.items() if name == provider and case.counted]
        if len(of_all) >= _LEAST_ROUNDS:
            alone, timer = (str(apart_from([1 + case.apart[i].middle for case in of_all])) for i in range(2))
            lines.append(f"{provider:14} {f'{len(of_all)} shapes':44} {'':10} {alone:>26} {timer:>26}")
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
        return f"not counted: {case.rounds[-1].why_not_counted}"
    words = {True: "within", False: f"beyond {percent(case.limit)}", None: "cannot be told"}[case.is_within]
    left = f", {len(case.counted)} of {len(case.rounds)} rounds counted"
    return words + (left if len(case.counted) < len(case.rounds) else "")
