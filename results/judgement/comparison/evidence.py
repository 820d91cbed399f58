"""Evidence that series differ between two commits: moderated statistics, false discoveries controlled. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from results.judgement.comparison.differences import Difference, differences_of
from results.judgement.comparison.false_discoveries import Q, selected_points
from results.judgement.comparison.moderation import (
    LEAST_SERIES,
    USUAL,
    Moderated,
    Prior,
    members_of,
    moderated,
    priors_of,
    quantile_of_t,
)
from results.judgement.comparison.shared_noise import shared_shares
from results.units import change_range_in_words

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from results.judgement.comparison.processes import Controls, Pair

    Numbers = NDArray[np.float64]

CONFIDENCE = 0.95
POWER = 0.8
_LEAST_POOLED = 20
_DOF_OF_POOLED = 6.0  # heavier tails than those of equal series: no one knows how they differ
_GAP = 2.0  # times the lower of the two middle moves: neighbours in a noise are nearer
_EFFICIENCY = 0.37  # of the median absolute deviation, against the standard deviation, for normal noise
_LEAST_POOLED_SD = 0.003  # quieter than any machine is from run to run


class Evidence(NamedTuple):
    """What is known of one series between two commits; ratios are head over base.

    interval: of the ratio, at CONFIDENCE. p: two-sided, of no change. is_significant: selected among all series.
    floor: relative change that is found in POWER of cases. is_stray: whether only that single values stray
    as far on the testbed keeps it from being significant.
    """

    ratio: float
    interval: tuple[float, float]
    p: float
    is_significant: bool
    floor: float
    difference: Difference
    is_stray: bool = False

    @property
    def words(self) -> str:
        """Interval of the ratio and by how many processes it is known."""
        n_base, n_head = self.difference.n_base, self.difference.n_head
        processes = "one process each" if (n_base, n_head) == (1, 1) else f"{n_base} and {n_head} processes"
        sure = "" if self.is_significant else "not certain: "
        return f"{sure}{change_range_in_words(*self.interval, ratio=self.ratio)}, by {processes}"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Evidence of each pair, in their order, and the controls by testbed."""

    evidence: tuple[Evidence, ...]
    controls: Mapping[Hashable, Controls]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What the processes of two commits show of each pair, before what histories tell. effects: their log ratios."""

    pairs: Sequence[Pair]
    is_paired: bool
    differences: Sequence[Difference]
    effects: Numbers
    statistics: Moderated
    controls: Mapping[Hashable, Controls]


def compare(
    pairs: Sequence[Pair],
    *,
    is_paired: bool = False,
    spreads: Mapping[Hashable, Prior] | None = None,
    q: float = Q,
    alike: Collection[Hashable] = (),
) -> Compared:
    """Compare two commits in all `pairs` at once, each with processes on both sides.

    is_paired: as in `differences_of`; spreads, q: as in `weigh`; alike: as in `observe`.
    """
    return weigh(observe(pairs, is_paired=is_paired, alike=alike), spreads=spreads, q=q)


def observe(pairs: Sequence[Pair], *, is_paired: bool = False, alike: Collection[Hashable] = ()) -> Observed:
    """Return what two commits show in all `pairs` at once, to be weighed once or more.

    alike: names of pairs whose sides are one and the same, which tell nothing of how far series move.
    """
    found, controls = differences_of(pairs, is_paired=is_paired)
    effects = np.array([one.log_ratio for one in found])
    statistics = _moderated(pairs, found, effects, alike)
    with_shared = _with_shared_noise if is_paired else _with_runs
    return Observed(
        pairs=pairs,
        is_paired=is_paired,
        differences=found,
        effects=effects,
        statistics=with_shared(pairs, found, effects, statistics),
        controls=controls,
    )


def log_ratios(observed: Observed) -> list[float]:
    """Return the log ratio of each pair, as that of its evidence."""
    return list(map(math.log, ratios_of(observed.effects)))


def weigh(observed: Observed, *, spreads: Mapping[Hashable, Prior] | None = None, q: float = Q) -> Compared:
    """Return the evidence of each pair.

    spreads: how a series varies from run to run, by its name, where a history tells it; for those without repeated
    processes it is all that is known, for others it counts where it is larger. q: share of false findings.
    """
    pairs, found, effects, is_paired = observed.pairs, observed.differences, observed.effects, observed.is_paired
    if not pairs:
        return Compared(evidence=(), controls={})
    statistics = _with_spreads(pairs, found, effects, observed.statistics, spreads or {})
    # What was disturbed is evidence of nothing, in neither direction; nor is one round, where more were to be had.
    p = np.where([one.is_disturbed or (is_paired and not one.dof) for one in found], 1.0, statistics.p)
    known_surfaces: dict[Hashable, int] = {}
    surfaces = [known_surfaces.setdefault((pair.testbed, pair.surface), len(known_surfaces)) for pair in pairs]
    # Of single processes each may be one that strays.
    known = (spreads or {}).get
    strays = np.array(
        [0.0 if one.dof else known(pair.name, USUAL).stray for pair, one in zip(pairs, found, strict=True)]
    )
    is_beyond = np.abs(effects) > strays * statistics.se
    is_selected = selected_points(p, surfaces, q=q)
    half = quantile_of_t(statistics.dof, (1 + CONFIDENCE) / 2) * statistics.se
    level = 1 - q / 2 / len(known_surfaces)
    least = np.maximum(quantile_of_t(statistics.dof, level), strays)
    floors = ratios_of((least + quantile_of_t(statistics.dof, POWER)) * statistics.se)
    flags = ((is_selected & is_beyond).tolist(), (is_selected & ~is_beyond).tolist())
    columns = (ratios_of(effects), ratios_of(effects - half), ratios_of(effects + half), p.tolist(), *flags, floors)
    evidence = tuple(
        Evidence(ratio, (low, high), each_p, is_significant, floor - 1, one, is_stray)
        for one, ratio, low, high, each_p, is_significant, is_stray, floor in zip(found, *columns, strict=True)
    )
    return Compared(evidence=evidence, controls=observed.controls)


def _moderated(
    pairs: Sequence[Pair], found: Sequence[Difference], effects: Numbers, alike: Collection[Hashable]
) -> Moderated:
    """Moderate each series by its surface where that has enough series, else by its testbed."""
    variances = np.array([one.variance for one in found])
    dof = np.array([float(one.dof) for one in found])
    factors = np.array([one.factor for one in found])
    within = np.array([one.within for one in found])
    se, total = np.empty(len(found)), np.empty(len(found))
    for places in _testbeds(pairs):
        repeated, single = places[dof[places] > 0], places[dof[places] == 0]
        surfaces = [pairs[place].surface for place in repeated]
        priors = priors_of(variances[repeated], dof[repeated], surfaces) if surfaces else {}
        parts = [(priors[name], repeated[members]) for name, members in members_of(surfaces).items()]
        if len(single):
            moving = np.array([place for place in single if pairs[place].name not in alike], dtype=np.intp)
            parts.append((_pooled(effects[moving], factors[moving]), single))
        for prior, part in parts:
            of_part = moderated(effects[part], variances[part], dof[part], factors=factors[part], prior=prior)
            se[part], total[part] = np.sqrt(of_part.se**2 + within[part]), of_part.dof
    return _of_se(effects, se, total)


def _testbeds(pairs: Sequence[Pair]) -> list[NDArray[np.intp]]:
    """Return the places of the pairs of each testbed."""
    return list(members_of([pair.testbed for pair in pairs]).values())


def _pooled(effects: Numbers, factors: Numbers) -> Prior:
    """Return the spread between processes of series that were measured once a side, by how far all of them moved."""
    if len(effects) < _LEAST_POOLED:
        return USUAL
    quartile = float(quantile_of_t(np.array([_DOF_OF_POOLED]), 0.75)[0])
    moves = np.sort(np.abs(effects) / np.sqrt(factors))
    low, high = moves[(len(moves) - 1) // 2], moves[len(moves) // 2]
    # Halfway between a half that moved and a half that did not no noise is.
    sd = float(low if high > _GAP * low else (low + high) / 2) / quartile
    return Prior(sd=max(sd, _LEAST_POOLED_SD), dof=_DOF_OF_POOLED)


def _with_shared_noise(
    pairs: Sequence[Pair], found: Sequence[Difference], effects: Numbers, statistics: Moderated
) -> Moderated:
    """Let what the points of a surface share count once: many points know no more of it than their rounds do."""
    shares = shared_shares(pairs, found)
    share = np.array([shares.get(pair.testbed, 0.0) for pair in pairs])
    own = np.array([float(one.dof) for one in found])
    # Satterthwaite: of the sum of a part known by the moderated spread, and one known by the rounds alone.
    dof = 1 / ((1 - share) ** 2 / statistics.dof + np.where(own > 0, share**2 / np.maximum(own, 1), 0.0))
    return _of_se(effects, statistics.se, np.minimum(dof, statistics.dof))


def _with_runs(
    pairs: Sequence[Pair], found: Sequence[Difference], effects: Numbers, statistics: Moderated
) -> Moderated:
    """Add what a run does to each series by itself, as far as the control series of its testbed show it.

    All visits of a run share that, so their variance does not hold it; between two runs no commit changes a control
    series, so what those differ by beyond their visits is the runs'.
    """
    se, dof = statistics.se.copy(), statistics.dof.copy()
    own_dof = np.array([one.dof for one in found])
    for places in _testbeds(pairs):
        repeated = places[own_dof[places] > 0]
        controls = [place for place in repeated if pairs[place].is_control and not found[place].is_disturbed]
        if len(controls) < LEAST_SERIES:
            continue
        moves = effects[controls]
        variance = (1.4826 * float(np.median(np.abs(moves - np.median(moves))))) ** 2
        excess = variance - float(np.median(statistics.se[controls] ** 2))
        if excess > 0:
            visits = statistics.se[repeated] ** 2
            of_runs = excess**2 / (_EFFICIENCY * (len(controls) - 1))
            dof[repeated] = (visits + excess) ** 2 / (visits**2 / statistics.dof[repeated] + of_runs)
            se[repeated] = np.sqrt(visits + excess)
    return _of_se(effects, se, dof)


def _with_spreads(
    pairs: Sequence[Pair],
    found: Sequence[Difference],
    effects: Numbers,
    statistics: Moderated,
    spreads: Mapping[Hashable, Prior],
) -> Moderated:
    if not spreads:
        return statistics
    se, dof = statistics.se.copy(), statistics.dof.copy()
    for place, (pair, one) in enumerate(zip(pairs, found, strict=True)):
        if (spread := spreads.get(pair.name)) is None:
            continue
        runs = [len({process.run for process in side}) for side in (pair.base, pair.head)]
        from_run_to_run = math.sqrt(spread.sd**2 * sum(1 / n for n in runs))
        if one.dof == 0 or from_run_to_run > se[place]:
            se[place], dof[place] = max(from_run_to_run, math.sqrt(one.within)), spread.dof
    return _of_se(effects, se, dof)


def _of_se(effects: Numbers, se: Numbers, dof: Numbers) -> Moderated:
    from scipy.special import stdtr  # noqa: PLC0415 - takes a moment to import

    return Moderated(se=se, dof=dof, p=2 * stdtr(dof, -np.abs(effects) / se))


def ratios_of(log_ratios: Numbers) -> list[float]:
    """Return the ratios of n log ratios."""
    # A ratio beyond that is no measurement any more. By math: numpy's own last digit depends on the processor.
    return list(map(math.exp, np.clip(log_ratios, -700.0, 700.0).tolist()))
