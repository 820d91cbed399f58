"""Comparison of two noisy values by their samples and intervals, and doubt about one; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from results.units import percent

# asv's own threshold: at 1,000 comparisons about two differ by chance, before relevance is asked.
LARGEST_P = 0.002
WIDEST = 0.05
"""Half of an interval over its value; what is known to no better than that decides nothing."""


class Evidence(StrEnum):
    """Evidence that two values differ, or the reason why there is none."""

    SAMPLES = "samples differ (Mann-Whitney) and intervals are apart"
    INTERVALS = "intervals are apart"
    RATIO_ONLY = "no samples and no intervals: by the ratio alone"
    SAME = "within the noise"
    TOO_FEW = "too few samples to tell"


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Value with its noise: interval and samples, None where there are none."""

    value: float
    interval: tuple[float, float] | None
    samples: tuple[float, ...] | None


def doubt_about(value: float | None, *, low: float | None, high: float | None, disturbed: str | None) -> str | None:
    """Return why a value of the sweep decides nothing, in words; None if it may decide.

    The one rule for winners and for the gate: it was disturbed, or its interval is wider than ± WIDEST, or unknown.
    """
    if disturbed:
        return f"disturbed: {disturbed}"
    if not value or low is None or high is None or not math.isfinite(high - low):
        return "has no interval"
    half_width = (high - low) / 2 / abs(value)
    if half_width <= WIDEST:  # of most, and rounding takes longer than all else
        return None
    half_width = round(half_width, 3)  # as it is shown: ± 5.0% is not wider than ± 5 %
    return f"known to ± {percent(half_width, digits=1)} only" if half_width > WIDEST else None


def difference_between(base: Observation, head: Observation) -> Evidence:
    """Return the evidence that two values differ; it does not depend on which of them is the base.

    Intervals must not touch; where there are samples enough for it, Mann-Whitney's test must agree. A value
    without an interval counts as its own.
    """
    if base.interval is None and head.interval is None and not (base.samples and head.samples):
        return Evidence.RATIO_ONLY if base.value != head.value else Evidence.SAME
    intervals = [one.interval or (one.value, one.value) for one in (base, head)]
    if not all(math.isfinite(edge) for interval in intervals for edge in interval):
        return Evidence.TOO_FEW
    (base_low, base_high), (head_low, head_high) = intervals
    if base_low <= head_high and head_low <= base_high:
        return Evidence.SAME
    if not base.samples or not head.samples or not can_be_tested(len(base.samples), len(head.samples)):
        return Evidence.INTERVALS
    return Evidence.SAMPLES if _p_value(base.samples, head.samples) < LARGEST_P else Evidence.SAME


def can_be_tested(n_base: int, n_head: int) -> bool:
    """Tell whether so few samples can reach LARGEST_P at all: the smallest p is 2 / C(n + m, n)."""
    return 2 / math.comb(n_base + n_head, n_base) < LARGEST_P


def _p_value(base: tuple[float, ...], head: tuple[float, ...]) -> float:
    # Half a second to import, and needed only where intervals are apart.
    from scipy.stats import mannwhitneyu  # noqa: PLC0415

    return float(mannwhitneyu(base, head, alternative="two-sided").pvalue)
