"""Medians and their intervals."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, t

from benchmarks.ruler.measure.statistics import (
    USUAL,
    Spread,
    interval_over_visits,
    median_interval,
    spread_between,
    students_t,
    usual_spread,
)

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


@pytest.mark.parametrize("dof", range(1, 40))
def test_students_quantile_is_that_of_the_tables(dof):
    assert students_t(dof) == pytest.approx(t.ppf(0.975, dof), rel=0.01)


visits = st.lists(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=20), min_size=1, max_size=6)


@given(visits)
def test_an_interval_over_visits_holds_its_value_and_the_interval_of_all_samples(of_visits):
    found = interval_over_visits(of_visits)
    pooled = median_interval([each for samples in of_visits for each in samples])
    assert found.low <= pooled.low <= pooled.high <= found.high
    assert found.low <= found.median <= found.high
    assert found.median == statistics.median(statistics.median(samples) for samples in of_visits)


@given(visits, st.floats(1e-3, 1e3))
def test_an_interval_over_visits_follows_the_unit(of_visits, unit):
    found = interval_over_visits(of_visits)
    scaled = interval_over_visits([[unit * each for each in samples] for samples in of_visits])
    assert (scaled.low, scaled.high) == (pytest.approx(unit * found.low), pytest.approx(unit * found.high))


def test_visits_that_lie_apart_widen_the_interval_and_so_does_what_is_usual():
    def width(medians, usual_sd):
        found = interval_over_visits([[each] * 9 for each in medians], usual=Spread(sd=usual_sd, dof=50))
        return found.high - found.low

    assert width([1.0, 1.0, 1.0], 0.01) < width([0.98, 1.0, 1.02], 0.01) < width([0.9, 1.0, 1.1], 0.01)
    assert width([1.0, 1.0, 1.0], 0.01) < width([1.0, 1.0, 1.0], 0.02)
    assert width([1.0] * 3, 0.01) < width([1.0] * 2, 0.01) < width([1.0], 0.01)


@pytest.mark.parametrize("medians", [[1.0, 2.0, 40.0], [1.0, 1.0, 1e9], [1e-6, 3e-3]])
def test_no_time_is_below_nothing_however_far_apart_visits_lie(medians):
    found = interval_over_visits([[each] * 9 for each in medians])
    assert 0 < found.low < found.median < found.high < float("inf")


def test_what_is_usual_is_the_root_mean_square_of_many_and_the_default_of_none():
    assert usual_spread([]) == USUAL
    many = usual_spread([Spread(sd=0.03, dof=2)] * 500 + [Spread(sd=0.05, dof=2)] * 500 + [Spread(sd=0.0, dof=0)])
    assert many.sd == pytest.approx(((0.03**2 + 0.05**2) / 2) ** 0.5, rel=0.01)
    assert spread_between([2.0]) == Spread(sd=0.0, dof=0)
    assert spread_between([1.0, 3.0]) == Spread(sd=pytest.approx(2**0.5 / 2), dof=1)
