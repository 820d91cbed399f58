"""Do intervals hold what they should: 1.0 for equal contenders, and what later processes find?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import BASELINE, Contender
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.visits import usual_of, valued, visits_samples
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.outcome import TimingOutcome

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

Points = dict[tuple["Shape", Contender], "TimingOutcome"]


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

    What was disturbed is not counted; a function that has no time, though it is the baseline's own, fails the check.
    """
    counted = [each for each in found if each.failure is None and each.disturbed is None]
    failures = [each.failure for each in found if each.failure is not None]
    n_disturbed = len(found) - len(counted) - len(failures)
    lines = [f"no speedup: {failure}" for failure in failures]
    words, holds = "no interval was counted", not failures
    if counted:
        share = sum(each.contains_one() for each in counted) / len(counted)
        widest = max(each.high - each.low for each in counted)
        farthest = max(abs(each.median - 1) for each in counted)
        farthest_text, widest_text = (percent(each, digits=2) for each in (farthest, widest))
        lines.append(f"farthest median from 1.0: {farthest_text}; widest interval: {widest_text}")
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


@dataclass(frozen=True, kw_only=True)
class Held:
    """One interval against later visits. quantity: latency or speedup; half_width: as a part of the value.

    is_disturbed: too few of the visits that made it, or of the later ones, were undisturbed.
    """

    quantity: str
    half_width: float
    is_held: bool
    is_disturbed: bool


def visited_often(settings: Settings, *, operations: Sequence[str] = ("linear", "mlp")) -> Points:
    """Measure the quick axes by as many visits as an interval and the later ones take, each of its usual length."""
    visits = QUICK.visits + LATER
    axes = replace(QUICK, name="coverage", visits=visits, budget_s=QUICK.budget_s * visits / QUICK.visits)
    points: Points = {}
    for operation in operations:
        recorded = measure(settings, axes=axes, operation=operation, tasks=(Task.TIME,)).timings
        points |= {key: line.outcome for key, line in recorded.items() if line.outcome.state is State.OK}
    return points


def held(points: Mapping[tuple[Shape, Contender], TimingOutcome]) -> Iterator[Held]:
    """Yield, for every few consecutive visits, whether the intervals made of them hold the other visits' median.

    Of the others the undisturbed ones count.
    """
    n_visits = min((len(outcome.visits) for outcome in points.values()), default=0)
    for first in range(n_visits - QUICK.visits + 1):
        chosen = {key: _visits(outcome, first, first + QUICK.visits) for key, outcome in points.items()}
        usual = usual_of(chosen.values())
        for key, outcome in chosen.items():
            baseline = chosen.get((key[0], Contender(provider=BASELINE)))
            found = valued(outcome, baseline, usual=usual)
            others = [each for number, each in enumerate(points[key].visits) if not 0 <= number - first < QUICK.visits]
            latency = (found.latency_s, found.latency_ci_low_s, found.latency_ci_high_s)
            speedup = (found.speedup_vs_eager, found.speedup_ci_low, found.speedup_ci_high)
            calm = [each for each in others if each.disturbed is None]
            is_disturbed = found.disturbed is not None or len(calm) < _LEAST_LATER
            later_visits = others if is_disturbed else calm
            for quantity, (value, low, high), later in (
                ("latency", latency, [each.median_s for each in later_visits]),
                ("speedup", speedup, [each.speedup_vs_eager for each in later_visits]),
            ):
                known = [each for each in later if each is not None]
                if value is None or low is None or high is None or not known:
                    continue
                yield Held(
                    quantity=quantity,
                    half_width=(high - low) / 2 / value,
                    is_held=low <= median(known) <= high,
                    is_disturbed=is_disturbed,
                )


def report(found: Sequence[Held]) -> tuple[list[str], Conclusion]:
    """Return the lines of a table, and whether enough intervals held; what was disturbed is shown and not counted."""
    lines, holds = [], True
    counted = [each for each in found if not each.is_disturbed]
    for quantity in ("latency", "speedup"):
        for name, some, is_counted in (
            (quantity, [each for each in counted if each.quantity == quantity], True),
            (f"{quantity}, disturbed", [e for e in found if e.quantity == quantity and e.is_disturbed], False),
        ):
            if not some:
                lines.append(f"{name:22} no interval")
                holds = holds and not is_counted
                continue
            share = sum(each.is_held for each in some) / len(some)
            width = median(each.half_width for each in some)
            held_text = f"{percent(share):>5} of {len(some)} intervals hold"
            lines.append(f"{name:22} {held_text}; half width ± {percent(width, digits=1)} (median)")
            holds = holds and (share >= LEAST_COVERED or not is_counted)
    intervals = f"intervals of {QUICK.visits} visits"
    return lines, concluded(
        f"at least {percent(LEAST_COVERED)} of the {intervals} should hold the median of the other {LATER}",
        holds=holds,
        n_counted=len(counted),
        not_counted={DISTURBED: len(found) - len(counted)},
        is_share=True,
    )


def _visits(outcome: TimingOutcome, start: int, end: int) -> TimingOutcome:
    """Return the outcome as it would be if it had only these of its visits."""
    visits, samples = outcome.visits[start:end], visits_samples(outcome)
    kept = tuple(each for one in visits for each in samples[one.measured_at])
    return replace(outcome, visits=visits, samples_s=kept)
