"""Evidence that the points of a surface differ between two commits together, though none of them need be certain. Pure.

What slows a kernel mostly slows all its points a little. Their mean of a round varies far less than each of them, as
long as they do not vary together; what makes them do so is in the spread of the means from round to round.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from statistics import fmean, variance
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from results.judgement.comparison.evidence import CONFIDENCE, POWER, ratios_of
from results.judgement.comparison.false_discoveries import benjamini_hochberg
from results.judgement.comparison.moderation import LEAST_SERIES, Prior, moderated, priors_of, quantile_of_t

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from results.judgement.comparison.differences import Difference
    from results.judgement.comparison.processes import Pair

    Numbers = NDArray[np.float64]

LEAST_POINTS = 3
"""Fewer points of a surface are told one by one."""
LEAST_ROUNDS = 3
LEAST_KNOWN = 0.5
"""Share of a surface's points below which a round tells nothing of the others."""
SHARE = 0.2
"""Share of the rate of false findings in a look that surfaces have; the rest is the points'."""
_NOTHING = Prior(sd=0.0, dof=0.0)


class SurfaceEvidence(NamedTuple):
    """What is known of the points of one surface together; ratios are head over base, the geometric mean of its points.

    names: of its pairs. interval: of the ratio, at CONFIDENCE. p: two-sided, of no change. is_significant: selected
    among all surfaces. floor: relative change that is found in POWER of cases. n_rounds: rounds that tell of it.
    """

    names: tuple[Hashable, ...]
    ratio: float
    interval: tuple[float, float]
    p: float
    is_significant: bool
    floor: float
    n_rounds: int


class _Mean(NamedTuple):
    """Mean log ratio of the points `names`, and of each round how far its points lay from their own means.

    factor: variance of the mean over that of a round, 1/n where each point was measured in all n of them.
    """

    names: tuple[Hashable, ...]
    testbed: Hashable
    log_ratio: float
    deviations: tuple[float, ...]
    factor: float


def compare_surfaces(pairs: Sequence[Pair], differences: Sequence[Difference], *, q: float) -> list[SurfaceEvidence]:
    """Return the evidence of each surface of LEAST_POINTS or more that LEAST_ROUNDS or more tell of.

    pairs: measured in rounds, with the difference of each; control series are no surface. q: share of false findings
    among points and surfaces, of which these have SHARE.
    """
    found = _means(pairs, differences)
    if not found:
        return []
    effects = np.array([one.log_ratio for one in found])
    spread = np.array([variance(one.deviations) for one in found])
    factors = np.array([one.factor for one in found])
    dof = 1 / factors - 1
    se, total, p = np.empty(len(found)), np.empty(len(found)), np.empty(len(found))
    for places in _testbeds(found):
        of_part = moderated(
            effects[places], spread[places], dof[places], factors=factors[places], prior=_prior(spread, dof, places)
        )  # fmt: skip
        se[places], total[places], p[places] = of_part.se, of_part.dof, of_part.p
    is_selected = benjamini_hochberg(p, q=SHARE * q)
    half = quantile_of_t(total, (1 + CONFIDENCE) / 2) * se
    least = quantile_of_t(total, 1 - SHARE * q / 2 / len(found)) + quantile_of_t(total, POWER)
    columns = (effects, effects - half, effects + half, least * se)
    return [
        SurfaceEvidence(
            names=one.names,
            ratio=ratio,
            interval=(low, high),
            p=each_p,
            is_significant=is_significant,
            floor=floor - 1,
            n_rounds=len(one.deviations),
        )
        for one, ratio, low, high, floor, each_p, is_significant in zip(
            found, *map(ratios_of, columns), p.tolist(), is_selected.tolist(), strict=True
        )
    ]


def _prior(spread: Numbers, dof: Numbers, places: Sequence[int]) -> Prior:
    """Return the spread that is usual among the surfaces of a testbed; nothing where they are few.

    What is usual of points is no mean's. Surfaces that were measured in the same rounds may vary together: then all of
    them know no more than one does, so that it counts for no more than their own.
    """
    if len(places) < LEAST_SERIES:
        return _NOTHING
    [prior] = priors_of(spread[places], dof[places], [None] * len(places)).values()
    return replace(prior, dof=min(prior.dof, float(np.min(dof[places]))))


def _means(pairs: Sequence[Pair], differences: Sequence[Difference]) -> list[_Mean]:
    """Return the mean over the points of each surface, by the rounds that at least LEAST_KNOWN of them know."""
    members: dict[tuple[Hashable, Hashable], list[tuple[Hashable, Mapping[int, float]]]] = {}
    for pair, difference in zip(pairs, differences, strict=True):
        if difference.rounds and not pair.is_control:
            members.setdefault((pair.testbed, pair.surface), []).append((pair.name, difference.rounds))
    found = []
    for (testbed, _), each in members.items():
        n_known = Counter(number for _, rounds in each for number in rounds)
        told = {number for number, n in n_known.items() if n >= LEAST_KNOWN * len(each)}
        points = [(name, known) for name, rounds in each if (known := _only(rounds, told))]
        if len(points) >= LEAST_POINTS and len(told) >= LEAST_ROUNDS:
            found.append(_mean(points, testbed))
    return found


def _only(rounds: Mapping[int, float], told: Collection[int]) -> dict[int, float]:
    return {number: log_ratio for number, log_ratio in rounds.items() if number in told}


def _mean(points: Sequence[tuple[Hashable, Mapping[int, float]]], testbed: Hashable) -> _Mean:
    """Return the mean over points of which each may have been measured in other rounds; it is that of their own means.

    Points that differ are no noise, so that a round of some of them is held against their own.
    """
    means = [fmean(rounds.values()) for _, rounds in points]
    deviations: dict[int, list[float]] = {}
    weights: dict[int, float] = {}
    for mean, (_, rounds) in zip(means, points, strict=True):
        for number, log_ratio in rounds.items():
            deviations.setdefault(number, []).append(log_ratio - mean)
            weights[number] = weights.get(number, 0.0) + 1 / len(points) / len(rounds)
    return _Mean(
        names=tuple(name for name, _ in points),
        testbed=testbed,
        log_ratio=fmean(means),
        deviations=tuple(map(fmean, deviations.values())),
        factor=sum(weight**2 for weight in weights.values()),
    )


def _testbeds(found: Sequence[_Mean]) -> list[list[int]]:
    places: dict[Hashable, list[int]] = {}
    for place, one in enumerate(found):
        places.setdefault(one.testbed, []).append(place)
    return list(places.values())
