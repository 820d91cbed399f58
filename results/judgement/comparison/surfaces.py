"""Evidence that the points of a surface differ between two commits together, though none of them need be certain. Pure.

What slows a kernel mostly slows all its points a little. Their mean of a round varies far less than each of them, as
long as they do not vary together; what makes them do so is in the spread of the means from round to round.
"""

from __future__ import annotations

from statistics import fmean, variance
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from results.judgement.comparison.differences import corrected_rounds
from results.judgement.comparison.evidence import CONFIDENCE, POWER, ratios_of
from results.judgement.comparison.false_discoveries import benjamini_hochberg
from results.judgement.comparison.moderation import LEAST_SERIES, Prior, moderated, priors_of, quantile_of_t

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from results.judgement.comparison.processes import Pair

LEAST_POINTS = 3
"""Fewer points of a surface are told one by one."""
LEAST_ROUNDS = 3
SHARE = 0.5
"""Share of the rate of false findings that is given to surfaces, beside that of points; and of a surface's points in a
round below which their mean is one of others."""
_NOTHING = Prior(sd=0.0, dof=0.0)


class SurfaceEvidence(NamedTuple):
    """What is known of the points of one surface together; ratios are head over base, the geometric mean of its points.

    names: of its pairs. interval: of the ratio, at CONFIDENCE. p: two-sided, of no change. is_significant: selected
    among all surfaces. floor: relative change that is found in POWER of cases. n_rounds: rounds of which a mean counts.
    """

    names: tuple[Hashable, ...]
    ratio: float
    interval: tuple[float, float]
    p: float
    is_significant: bool
    floor: float
    n_rounds: int


class _Means(NamedTuple):
    names: tuple[Hashable, ...]
    testbed: Hashable
    rounds: tuple[float, ...]


def compare_surfaces(pairs: Sequence[Pair], *, q: float) -> list[SurfaceEvidence]:
    """Return the evidence of each surface of LEAST_POINTS or more that LEAST_ROUNDS or more tell of.

    pairs: measured in rounds; control series are no surface. q: share of false findings among points, of which
    surfaces have SHARE beside.
    """
    found = _means(pairs)
    if not found:
        return []
    effects = np.array([fmean(one.rounds) for one in found])
    spread = np.array([variance(one.rounds) for one in found])
    dof = np.array([len(one.rounds) - 1.0 for one in found])
    se, total, p = np.empty(len(found)), np.empty(len(found)), np.empty(len(found))
    for places in _testbeds(found):
        # Of a few surfaces their own rounds are all that is known: what is usual of points is no mean's.
        is_known = len(places) >= LEAST_SERIES
        prior = priors_of(spread[places], dof[places], [None] * len(places))[None] if is_known else _NOTHING
        of_part = moderated(
            effects[places], spread[places], dof[places], factors=1 / (dof[places] + 1), prior=prior
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
            n_rounds=len(one.rounds),
        )
        for one, ratio, low, high, floor, each_p, is_significant in zip(
            found, *map(ratios_of, columns), p.tolist(), is_selected.tolist(), strict=True
        )
    ]


def _means(pairs: Sequence[Pair]) -> list[_Means]:
    """Return the mean log ratio of each surface by round, of rounds that at least SHARE of its points know."""
    members: dict[tuple[Hashable, Hashable], list[tuple[Hashable, dict[int, float]]]] = {}
    for pair, rounds in zip(pairs, corrected_rounds(pairs), strict=True):
        if rounds and not pair.is_control:
            members.setdefault((pair.testbed, pair.surface), []).append((pair.name, rounds))
    found = []
    for (testbed, _), each in members.items():
        known: dict[int, list[float]] = {}
        for _, rounds in each:
            for number, log_ratio in rounds.items():
                known.setdefault(number, []).append(log_ratio)
        means = tuple(fmean(of_round) for of_round in known.values() if len(of_round) >= SHARE * len(each))
        if len(each) >= LEAST_POINTS and len(means) >= LEAST_ROUNDS:
            found.append(_Means(tuple(name for name, _ in each), testbed, means))
    return found


def _testbeds(found: Sequence[_Means]) -> list[list[int]]:
    places: dict[Hashable, list[int]] = {}
    for place, one in enumerate(found):
        places.setdefault(one.testbed, []).append(place)
    return list(places.values())
