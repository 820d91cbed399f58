"""Medians and their intervals: of samples, without an assumed distribution, and over several visits. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist, fmean, median, stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CONFIDENCE = 0.95
# How many degrees of freedom what is usual counts for at most, beside those of a point's own visits.
WEIGHT_OF_USUAL = 4
# The median's standard error over the mean's, by how many normal values there are; √(π/2) of very many.
_OVER_THE_MEANS = {1: 1.0, 2: 1.0, 3: 1.160, 4: 1.092, 5: 1.198}


@dataclass(frozen=True, kw_only=True)
class MedianInterval:
    """Median and the order statistics that bracket it with 95 % confidence."""

    median: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        """Half of (high − low) over the median."""
        return (self.high - self.low) / 2 / self.median


def median_interval(values: Sequence[float]) -> MedianInterval:
    """Return the median of `values` and its 95 % interval; for fewer than 6 values, which have none, their range.

    Source: the binomial interval of a quantile, Conover, *Practical Nonparametric Statistics*, §3.2.
    Raises: ValueError if there are no values.
    """
    if not values:
        raise ValueError("the median of no values")
    ordered = sorted(values)
    n = len(ordered)
    median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    rank = _low_rank(n)
    return MedianInterval(median=median, low=ordered[rank], high=ordered[n - 1 - rank])


def paired_ratios(baseline_s: Sequence[float], rival_s: Sequence[float]) -> list[float]:
    """Return the baseline's sample over the rival's of each round; none without a baseline.

    Two rounds take the baseline's sample before the rival's, two the one after it, which begins the next round: with
    the rivals' order reversed every other round, a drift that meets all alike cancels. Never their mean: noise is
    skewed, and the median of a mean of two lies above that of one.
    """
    if not baseline_s:
        return []
    last = len(baseline_s) - 1
    return [baseline_s[min(number + (number % 4 > 1), last)] / sample for number, sample in enumerate(rival_s)]


@lru_cache(maxsize=4096)
def _low_rank(n: int) -> int:
    # The largest 0-based rank r with P(Binomial(n, 1/2) <= r) <= 2.5 %; rank 0 if there is none.
    # Exact: 2**n is more than a float holds from 1024 samples on.
    tail, limit = 0, (1 - Fraction(str(CONFIDENCE))) / 2 * 2**n
    for rank in range(n // 2):
        tail += math.comb(n, rank)
        if tail > limit:
            return max(0, rank - 1)
    return 0


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Standard deviation between visits, relative to their mean, with its degrees of freedom: 0 where not known."""

    sd: float
    dof: int


# What is further beyond most spreads of a run met one group, and is not usual.
_MOST_TIMES_USUAL = 4

# Half an interval, as a logarithm: what is known no better than within a factor of a thousand is not known.
_MOST_HALF = math.log(1e3)

# What one process's median differs from the next one's by, on a machine of which nothing else is known yet. It is a
# guess, so that what was measured counts for more.
USUAL = Spread(sd=0.015, dof=1)


def spread_between(medians: Sequence[float]) -> Spread:
    """Return how far the medians of visits lie apart."""
    if len(medians) < 2:
        return Spread(sd=0.0, dof=0)
    return Spread(sd=stdev(medians) / fmean(medians), dof=len(medians) - 1)


def usual_spread(spreads: Iterable[Spread], *, before: Spread = USUAL) -> Spread:
    """Return the spread that is usual where those of many points are `spreads`: their root mean square, with `before`.

    before: what was usual until then. What exceeds both it and 4 times the median spread counts as the larger of these:
    otherwise one group that was slow at one visit would widen the intervals of all.
    """
    known = [one for one in spreads if one.dof]
    if not known:
        return before
    most = max(before.sd, _MOST_TIMES_USUAL * median([one.sd for one in known]))
    known = [*(Spread(sd=min(one.sd, most), dof=one.dof) for one in known), before]
    dof = sum(one.dof for one in known)
    return Spread(sd=math.sqrt(sum(one.dof * one.sd**2 for one in known) / dof), dof=dof)


def interval_over_visits(
    visits: Sequence[Sequence[float]], *, usual: Spread = USUAL, drift: Spread | None = None
) -> MedianInterval:
    """Return the median of the visits' medians, and an interval that holds the next processes' median, too.

    It is what two intervals hold together: that of all values as if they were of one visit, and Student's of the
    visits' medians. Two or three visits tell little of how far visits lie apart, so their variance is moderated: the
    mean of their own and the usual one, weighted by degrees of freedom, of which the usual counts for 4 at most. One
    visit tells nothing of it: there the usual counts for 4, and a guess is no better than it is. What drifts from
    hour to hour meets visits within a minute alike: how far is `drift`; both errors add up by their squares.
    Source: Smyth, *Linear models and empirical Bayes methods*, 2004, §4. Its half width is of the value's logarithm, so
    that no time or ratio is told to be negative. Raises: ValueError if there are no values.
    """
    medians = [median(values) for values in visits]
    value, own = median(medians), spread_between(medians)
    weight = min(usual.dof, WEIGHT_OF_USUAL) if own.dof else WEIGHT_OF_USUAL
    dof = own.dof + weight
    sd = math.sqrt((own.dof * own.sd**2 + weight * usual.sd**2) / dof)
    error_of_median = _OVER_THE_MEANS.get(len(visits), math.sqrt(math.pi / 2)) * sd / math.sqrt(len(visits))
    of_drift = students_t(drift.dof) * drift.sd if drift is not None else 0.0
    factor = math.exp(min(math.hypot(students_t(dof) * error_of_median, of_drift), _MOST_HALF))
    pooled = median_interval([each for values in visits for each in values])
    return MedianInterval(median=value, low=min(pooled.low, value / factor), high=max(pooled.high, value * factor))


def paired_speedup(baseline_s: Sequence[float], rival_s: Sequence[float]) -> MedianInterval | None:
    """Return the speedup over the baseline: the median of the rounds' ratios; None if there are none."""
    ratios = paired_ratios(baseline_s, rival_s)
    return median_interval(ratios) if ratios else None


@lru_cache(maxsize=64)
def students_t(dof: int) -> float:
    """Return the quantile of Student's t that leaves 2.5 % above it; within 1 % from 3 degrees of freedom on.

    Source: Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.5; of fewer 26.7.3 and 26.7.4, solved
    for t, which is exact. No library: a suite's environment need not have one.
    """
    if dof == 1:
        return math.tan(math.pi * CONFIDENCE / 2)
    if dof == 2:
        return CONFIDENCE * math.sqrt(2 / (1 - CONFIDENCE**2))
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(dof) ** power for power, term in enumerate(terms, start=1))


def better_times_s(known: Mapping[str, float] | None, found: Mapping[str, float]) -> dict[str, float]:
    """Return the lesser time of each part: the machine's best so far."""
    known = known or {}
    return {part: min(found.get(part, math.inf), known.get(part, math.inf)) for part in {**known, **found}}
