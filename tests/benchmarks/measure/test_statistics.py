"""Medians and their intervals."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from benchmarks.ruler.measure.statistics import median_interval

values = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=200)


@given(values)
def test_the_median_lies_within_its_interval(samples):
    found = median_interval(samples)
    assert min(samples) <= found.low <= found.median <= found.high <= max(samples)


@given(values, st.randoms())
def test_the_order_of_the_samples_does_not_matter(samples, rng):
    shuffled = list(samples)
    rng.shuffle(shuffled)
    assert median_interval(shuffled) == median_interval(samples)


@pytest.mark.parametrize("n", [6, 12, 17, 100, 601, 1500])
def test_the_interval_is_the_tightest_that_is_still_95_percent_sure(n):
    found = median_interval(list(range(n)))
    rank = int(found.low)
    assert 1 - 2 * binom.cdf(rank, n, 0.5) >= 0.95
    assert 1 - 2 * binom.cdf(rank + 1, n, 0.5) < 0.95


def test_below_six_samples_the_interval_is_their_range():
    found = median_interval([3.0, 1.0, 2.0])
    assert (found.low, found.median, found.high) == (1.0, 2.0, 3.0)


def test_the_interval_covers_the_true_median_95_times_in_100():
    rng = random.Random(0)
    covered = sum(
        found.low <= 0.0 <= found.high
        for found in (median_interval([rng.gauss(0, 1) for _ in range(25)]) for _ in range(2000))
    )
    assert 0.94 <= covered / 2000 <= 0.98


def test_no_values_have_no_median():
    with pytest.raises(ValueError, match="no values"):
        median_interval([])
