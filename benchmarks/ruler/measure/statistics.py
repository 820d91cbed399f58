"""Distribution-free medians and their intervals. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


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
