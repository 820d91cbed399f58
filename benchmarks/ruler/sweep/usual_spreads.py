"""How far visits usually lie apart, by the points of a run and by earlier runs on the machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.statistics import USUAL, Spread, spread_between, usual_spread
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import disturbs_ratios

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.ruler.record.outcome import TimingOutcome, Visit


@dataclass(frozen=True, kw_only=True)
class Usual:
    """How far visits usually lie apart, by what other points of the run show, and earlier runs on the machine.

    latency: of undisturbed visits. slow_latency: where the machine was merely slow, if only at some visits, by as much
    as it pleased. speedup: of both alike.
    """

    latency: Spread = USUAL
    slow_latency: Spread = USUAL
    speedup: Spread = USUAL

    def for_later_runs(self) -> Usual:
        """Return this as a later run takes it: of little weight beside its own visits, as the hour is another."""
        latency, slow, speedup = (
            replace(each, dof=USUAL.dof) for each in (self.latency, self.slow_latency, self.speedup)
        )
        return Usual(latency=latency, slow_latency=slow, speedup=speedup)


NOTHING_KNOWN = Usual()


def usual_of(outcomes: Iterable[TimingOutcome], *, before: Usual = NOTHING_KNOWN) -> Usual:
    """Return what is usual where `outcomes` were measured, by their visits that nothing but slowness disturbed.

    before: what earlier runs on that machine showed; without visits to go by it is the answer.
    """
    timed = [outcome.visits for outcome in outcomes if outcome.state is State.OK]
    calm = [[one for one in each if one.disturbed is None] for each in timed]
    alike = [[one for one in each if not disturbs_ratios(one.disturbed)] for each in timed]
    slow = [each for each in alike if is_slow(each)]
    speedups = [[one.speedup_vs_eager for one in each if one.speedup_vs_eager is not None] for each in alike]
    return Usual(
        latency=usual_spread((spread_between([one.median_s for one in each]) for each in calm), before=before.latency),
        slow_latency=usual_spread(
            (spread_between([one.median_s for one in each]) for each in slow), before=before.slow_latency
        ),
        speedup=usual_spread((spread_between(each) for each in speedups), before=before.speedup),
    )


def is_slow(visits: Sequence[Visit]) -> bool:
    """Return whether the machine was merely slow at some of these visits, and nothing else disturbed any."""
    return any(one.disturbed for one in visits) and not any(disturbs_ratios(one.disturbed) for one in visits)
