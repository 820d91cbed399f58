"""How far visits usually lie apart, by the points of a run and by earlier runs on the machine. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.statistics import USUAL, WEIGHT_OF_USUAL, Spread, spread_between, usual_spread
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import LEAST_SPEED, disturbs_ratios

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.ruler.plan.points import Contender, Shape
    from benchmarks.ruler.record.outcome import TimingOutcome, Visit

# Leaving each of more shapes out once takes minutes, and changes nothing.
_MANY_SHAPES = 64

# Of a machine's speed from run to run where no runs are known: undisturbed it is somewhere between LEAST_SPEED and its
# best, each as likely, and of a uniform distribution the standard deviation is its length over √12. So many degrees of
# freedom that Student's t is a normal distribution's quantile.
_SPEED_OF_ANY_MACHINE = Spread(sd=-math.log(LEAST_SPEED) / math.sqrt(12), dof=100)


@dataclass(frozen=True, kw_only=True)
class Usual:
    """How far visits usually lie apart, by what other points of the run show, and earlier runs on the machine.

    latency: of undisturbed visits. slow_latency: where the machine was merely slow, if only at some visits, by as much
    as it pleased. speedup: of both alike. speeds: the machine's in earlier runs, as a share of its best, by when they
    ended.
    """

    latency: Spread = USUAL
    slow_latency: Spread = USUAL
    speedup: Spread = USUAL
    speeds: Mapping[str, float] = field(default_factory=dict)

    def drift(self) -> Spread:
        """Return how far the machine's speeds lie apart from run to run, of runs that nothing disturbed.

        No less than where nothing is known: points vary from run to run though the probe's speed does not.
        """
        if len(self.speeds) < 2:
            return _SPEED_OF_ANY_MACHINE
        logs = [math.log(speed) for speed in self.speeds.values()]
        middle, dof = fmean(logs), WEIGHT_OF_USUAL + len(logs) - 1
        squares = WEIGHT_OF_USUAL * _SPEED_OF_ANY_MACHINE.sd**2 + sum((one - middle) ** 2 for one in logs)
        learnt = Spread(sd=math.sqrt(squares / dof), dof=dof)
        return learnt if learnt.sd > _SPEED_OF_ANY_MACHINE.sd else _SPEED_OF_ANY_MACHINE

    def for_later_runs(self) -> Usual:
        """Return this as a later run takes it: of little weight beside its own visits, as the hour is another."""
        latency, slow, speedup = (
            replace(each, dof=min(each.dof, WEIGHT_OF_USUAL))
            for each in (self.latency, self.slow_latency, self.speedup)
        )
        return replace(self, latency=latency, slow_latency=slow, speedup=speedup)


NOTHING_KNOWN = Usual()


def usual_of(outcomes: Iterable[TimingOutcome], *, before: Usual = NOTHING_KNOWN) -> Usual:
    """Return what is usual where `outcomes` were measured, by their visits that nothing but slowness disturbed.

    before: what earlier runs on that machine showed; without visits to go by it is the answer.
    """
    return _usual([_spreads_of(outcome) for outcome in outcomes if outcome.state is State.OK], before)


def usual_beside(
    shapes: Iterable[Shape],
    outcomes: Mapping[tuple[Shape, Contender], TimingOutcome],
    *,
    before: Usual = NOTHING_KNOWN,
    known: KnownSpreads | None = None,
) -> dict[Shape, Usual]:
    """Return for each of `shapes` what is usual by the others of `outcomes`: a point's own visits are counted apart.

    Beside very many others a point's own matter no more, and all shapes have the same. known: spares whoever asks again
    what has not changed since.
    """
    known = known or KnownSpreads()
    spreads = [(key[0], known.of(key, one)) for key, one in outcomes.items() if one.state is State.OK]
    if len({shape for shape, _ in spreads}) > _MANY_SHAPES:
        return dict.fromkeys(shapes, _usual([each for _, each in spreads], before))
    return {shape: _usual([each for other, each in spreads if other != shape], before) for shape in shapes}


def speed_of_run(outcomes: Iterable[TimingOutcome]) -> float | None:
    """Return the machine's speed at the undisturbed visits of a run, as a share of its best; None without any."""
    visits = [visit for one in outcomes for visit in one.visits if visit.disturbed is None]
    speeds = [visit.machine_speed for visit in visits if visit.machine_speed]
    return median(speeds) if speeds else None


@dataclass(frozen=True, kw_only=True)
class _Spreads:
    """How far the visits of one point lie apart, as `Usual` has it of many."""

    latency: Spread
    slow_latency: Spread
    speedup: Spread


class KnownSpreads:
    """Spreads of points, computed anew where a point has another outcome."""

    def __init__(self) -> None:
        self._known: dict[tuple[Shape, Contender], tuple[TimingOutcome, _Spreads]] = {}

    def of(self, point: tuple[Shape, Contender], outcome: TimingOutcome) -> _Spreads:
        """Return the spreads of `outcome`, which is the point's by now."""
        kept = self._known.get(point)
        if kept is None or kept[0] is not outcome:
            kept = self._known[point] = (outcome, _spreads_of(outcome))
        return kept[1]


def _spreads_of(outcome: TimingOutcome) -> _Spreads:
    calm = [one.median_s for one in outcome.visits if one.disturbed is None]
    alike = [one for one in outcome.visits if not disturbs_ratios(one.disturbed)]
    return _Spreads(
        latency=spread_between(calm),
        slow_latency=spread_between([one.median_s for one in alike] if is_slow(alike) else []),
        speedup=spread_between([one.speedup_vs_eager for one in alike if one.speedup_vs_eager is not None]),
    )


def _usual(spreads: Sequence[_Spreads], before: Usual) -> Usual:
    return Usual(
        latency=usual_spread((each.latency for each in spreads), before=_learnt(before.latency)),
        slow_latency=usual_spread((each.slow_latency for each in spreads), before=_learnt(before.slow_latency)),
        speedup=usual_spread((each.speedup for each in spreads), before=_learnt(before.speedup)),
        speeds=before.speeds,
    )


def _learnt(before: Spread) -> Spread:
    """Return what earlier runs learnt; the guess is a guess, though they noted it with the weight of what is learnt."""
    return USUAL if before.sd == USUAL.sd else before


def is_slow(visits: Sequence[Visit]) -> bool:
    """Return whether the machine was merely slow at some of these visits, and nothing else disturbed any."""
    return any(one.disturbed for one in visits) and not any(disturbs_ratios(one.disturbed) for one in visits)
