"""Do intervals hold what they should: 1.0 for equal contenders, and what later processes find?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import BASELINE, Contender
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import disturbs_ratios
from benchmarks.ruler.record.provenance import expected_device
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.progress import Progress
from benchmarks.ruler.sweep.sweep_plan import plan_sweep, write_plan
from benchmarks.ruler.sweep.usual_spreads import usual_beside
from benchmarks.ruler.sweep.visits import valued, visits_samples
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.outcome import TimingOutcome, Visit

_SAME_AGAIN = """
def build(load):
    return load.module


PROVIDERS = {"eager-again": build}
"""
LEAST_OF_EQUALS = 0.95
LATER = 10
LEAST_COVERED = 0.9
# Of the later visits so many have to be undisturbed, that their median says where the machine's times lie.
_LEAST_LATER = 5
LATENCY, SPEEDUP = "latency", "speedup"

Points = dict[tuple["Shape", Contender], "TimingOutcome"]


class Calm(StrEnum):
    """How calm the machine was. SLOW: slower than its best and nothing else, which biases latencies and no ratio."""

    UNDISTURBED = "undisturbed"
    SLOW = "slow alone"
    DISTURBED = "disturbed"


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """Speedup of a function over itself with its 95 % interval, and what disturbed its measurement.

    failure: why there is none.
    """

    median: float = math.nan
    low: float = math.nan
    high: float = math.nan
    disturbed: str | None = None
    failure: str | None = None

    def contains_one(self) -> bool:
        """Return whether the interval contains 1."""
        return self.low <= 1.0 <= self.high


def equal_speedups(settings: Settings, *, n_points: int) -> Iterator[Speedup]:
    """Measure the speedup of `eager-again` over `eager`, with `compiled` and `fused` beside them, at many shapes."""
    batches = tuple(2**power for power in range(8))
    hiddens = tuple(32 * (step + 1) for step in range(math.ceil(n_points / (2 * len(batches)))))
    axes = replace(
        QUICK, name="A/A", providers=("eager", "compiled", "eager-again", "fused"), batches=batches, hiddens=hiddens
    )
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    module = settings.data_dir / "same_again.py"
    module.write_text(_SAME_AGAIN, encoding="utf-8")
    for operation in ("linear", "mlp"):
        timings = measure(
            replace(settings, provider_module=module), axes=axes, operation=operation, tasks=(Task.TIME,)
        ).timings
        for (shape, contender), line in timings.items():
            if shape.operation == operation and contender.provider == "eager-again":
                yield _speedup(line.outcome)


def _speedup(outcome: TimingOutcome) -> Speedup:
    middle, low, high = outcome.speedup_vs_eager, outcome.speedup_ci_low, outcome.speedup_ci_high
    if outcome.state is not State.OK or middle is None or low is None or high is None:
        return Speedup(failure=f"{outcome.state}: {outcome.reason or 'eager has no time'}")
    return Speedup(median=middle, low=low, high=high, disturbed=outcome.disturbed)


def report_of_equals(found: Sequence[Speedup]) -> tuple[list[str], Conclusion]:
    """Return the lines about speedups of a function over itself, and whether enough intervals contain 1.

    What disturbs ratios is told and not counted. A function that has no time, though it is the baseline's own, fails
    the check.
    """
    failures = [each.failure for each in found if each.failure is not None]
    timed = [each for each in found if each.failure is None]
    counted = [each for each in timed if not disturbs_ratios(each.disturbed)]
    n_disturbed = len(timed) - len(counted)
    lines = [f"no speedup: {failure}" for failure in failures]
    for name, some in (
        (Calm.UNDISTURBED, [each for each in counted if each.disturbed is None]),
        (Calm.SLOW, [each for each in counted if each.disturbed is not None]),
        (Calm.DISTURBED, [each for each in timed if disturbs_ratios(each.disturbed)]),
    ):
        if some:
            lines.append(_line_of_equals(name, some))
    words, holds = "no interval was counted", not failures
    if counted:
        share = _share_with_one(counted)
        words = f"{percent(share)} of {len(counted)} intervals contain 1.0; 95 % should"
        holds = holds and share >= LEAST_OF_EQUALS
    if failures:
        words += f"; {len(failures)} have no speedup"
    return lines, concluded(
        words,
        holds=holds,
        n_counted=len(counted) + len(failures),
        not_counted={DISTURBED: n_disturbed},
        is_share=not failures,
    )


def _line_of_equals(name: str, some: Sequence[Speedup]) -> str:
    farthest = max(abs(each.median - 1) for each in some)
    width = median(each.high - each.low for each in some)
    return (
        f"{name}: {percent(_share_with_one(some))} of {len(some)} intervals contain 1.0; farthest median from it "
        f"{percent(farthest, digits=2)}, median width {percent(width, digits=2)}"
    )


def _share_with_one(some: Sequence[Speedup]) -> float:
    return sum(each.contains_one() for each in some) / len(some)


@dataclass(frozen=True, kw_only=True)
class Held:
    """One interval against later visits. quantity: latency or speedup; half_width: as a part of the value.

    calm: DISTURBED, too, where too few of the later visits were no worse than those that made it may be.
    """

    quantity: str
    half_width: float
    is_held: bool
    calm: Calm

    @property
    def is_disturbed(self) -> bool:
        """Whether what the machine did may have moved the quantity, so that it is not counted."""
        return self.calm is Calm.DISTURBED or (self.quantity == LATENCY and self.calm is Calm.SLOW)


def visited_often(settings: Settings) -> Points:
    """Measure the quick axes by as many visits as an interval and the later ones take, each of its usual length.

    All operations in one sweep, as a run has them: so its visits lie as far apart as those of a run, in which the
    machine's speed drifts more than between visits of a few groups.
    """
    visits = QUICK.visits + LATER
    axes = replace(QUICK, name="coverage", visits=visits, budget_s=QUICK.budget_s * visits / QUICK.visits)
    say = partial(Progress(settings.progress).report_waiting, "coverage")
    with machine_lock(settings.lock_file, say=say, waits=settings.waits_for_lock):
        sweep, _ = plan_sweep(settings, axes, device=expected_device(settings))
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        plan = settings.data_dir / "plan.json"
        write_plan(plan, sweep.plan)
        planned = replace(settings, plan=plan, commit=sweep.plan.run.commit)
        timings = measure(planned, operation="sweep", tasks=(Task.TIME,)).timings
    return {key: line.outcome for key, line in timings.items() if line.outcome.state is State.OK}


def held(points: Mapping[tuple[Shape, Contender], TimingOutcome]) -> Iterator[Held]:
    """Yield, for every few consecutive visits, whether the intervals made of them hold the other visits' median.

    Of the others the undisturbed ones count; of speedups, which slowness alone moves no more than chance, these too.
    """
    n_visits = min((len(outcome.visits) for outcome in points.values()), default=0)
    for first in range(n_visits - QUICK.visits + 1):
        chosen = {key: _visits(outcome, first, first + QUICK.visits) for key, outcome in points.items()}
        usual = usual_beside({shape for shape, _ in chosen}, chosen)
        for key, outcome in chosen.items():
            baseline = chosen.get((key[0], Contender(provider=BASELINE)))
            found = valued(outcome, baseline, usual=usual[key[0]])
            others = [each for number, each in enumerate(points[key].visits) if not 0 <= number - first < QUICK.visits]
            calm, later = _calm_visits(found.disturbed, others)
            latency = (found.latency_s, found.latency_ci_low_s, found.latency_ci_high_s)
            speedup = (found.speedup_vs_eager, found.speedup_ci_low, found.speedup_ci_high)
            for quantity, interval, known in (
                (LATENCY, latency, [each.median_s for each in later]),
                (SPEEDUP, speedup, [each.speedup_vs_eager for each in later if each.speedup_vs_eager is not None]),
            ):
                value, low, high = interval
                if value is None or low is None or high is None or not known:
                    continue
                half_width, is_held = (high - low) / 2 / value, low <= median(known) <= high
                yield Held(quantity=quantity, half_width=half_width, is_held=is_held, calm=calm)


def _calm_visits(disturbed: str | None, others: Sequence[Visit]) -> tuple[Calm, Sequence[Visit]]:
    """Return how calm the machine was for an interval that `disturbed`, and which of the other visits it is held to."""
    undisturbed = [each for each in others if each.disturbed is None]
    alike = [each for each in others if not disturbs_ratios(each.disturbed)]
    if disturbed is None and len(undisturbed) >= _LEAST_LATER:
        return Calm.UNDISTURBED, undisturbed
    if not disturbs_ratios(disturbed) and len(alike) >= _LEAST_LATER:
        return Calm.SLOW, alike
    return Calm.DISTURBED, others


def report(found: Sequence[Held]) -> tuple[list[str], list[Conclusion]]:
    """Return the lines of a table, and of latencies and of speedups whether enough intervals held.

    What was disturbed is shown and not counted; of latencies that is a slow machine, too.
    """
    lines: list[str] = []
    conclusions: list[Conclusion] = []
    for quantity in (LATENCY, SPEEDUP):
        some = [each for each in found if each.quantity == quantity]
        lines.extend(
            f"{f'{quantity}, {calm}':22} {_held_in_words([each for each in some if each.calm is calm])}"
            for calm in Calm
        )
        counted = [each for each in some if not each.is_disturbed]
        conclusions.append(
            concluded(
                f"{quantity}: at least {percent(LEAST_COVERED)} of the intervals of {QUICK.visits} visits should hold "
                f"the median of the other {LATER}",
                holds=bool(counted) and _share_held(counted) >= LEAST_COVERED,
                n_counted=len(counted),
                not_counted={DISTURBED: len(some) - len(counted)},
                is_share=True,
            )
        )
    return lines, conclusions


def _held_in_words(some: Sequence[Held]) -> str:
    if not some:
        return "no interval"
    width = percent(median(each.half_width for each in some), digits=1)
    return f"{percent(_share_held(some)):>5} of {len(some)} intervals hold; half width ± {width} (median)"


def _share_held(some: Sequence[Held]) -> float:
    return sum(each.is_held for each in some) / len(some)


def _visits(outcome: TimingOutcome, start: int, end: int) -> TimingOutcome:
    """Return the outcome as it would be if it had only these of its visits."""
    visits, samples = outcome.visits[start:end], visits_samples(outcome)
    kept = tuple(each for one in visits for each in samples[one.measured_at])
    return replace(outcome, visits=visits, samples_s=kept)
