"""How far visits usually lie apart, by the points of a run and by earlier runs on the machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.statistics import USUAL, WEIGHT_OF_USUAL, Spread, spread_between, usual_spread
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import disturbs_ratios

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.ruler.plan.points import Contender, Shape
    from benchmarks.ruler.record.outcome import TimingOutcome, Visit

# Leaving each of more shapes out once takes minutes, and changes nothing.
_MANY_SHAPES = 64


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
            replace(each, dof=min(each.dof, WEIGHT_OF_USUAL))
            for each in (self.latency, self.slow_latency, self.speedup)
        )
        return Usual(latency=latency, slow_latency=slow, speedup=speedup)


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
    )


def _learnt(before: Spread) -> Spread:
    """Return what earlier runs learnt; the guess is a guess, though they noted it with the weight of what is learnt."""
    return USUAL if before.sd == USUAL.sd else before


def is_slow(visits: Sequence[Visit]) -> bool:
    """Return whether the machine was merely slow at some of these visits, and nothing else disturbed any."""
    return any(one.disturbed for one in visits) and not any(disturbs_ratios(one.disturbed) for one in visits)
