"""Statistics at their limits: the inverse of trigamma, quantiles without an end, ratios beyond all measure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import polygamma, stdtrit

from results.judgement.comparison.differences import differences_of
from results.judgement.comparison.evidence import compare
from results.judgement.comparison.moderation import Prior, _inverse_trigamma, quantile_of_t
from results.judgement.comparison.processes import Pair, Process


def pair(base, head, **changes):
    def side(run, logs):
        return tuple(Process(run=f"{run}{i}" if changes else run, visit=i, log=log) for i, log in enumerate(logs))

    found = Pair(name="p", testbed="t", surface="s", base=side("base", base), head=side("head", head))
    return found._replace(**{name: each for name, each in changes.items() if name != "own_runs"})


def rounds_of(pairs):
    return [one.rounds for one in differences_of(pairs, is_paired=True)[0]]


@pytest.mark.parametrize("value", [1e-6, 1.5e-6, 1e-4, 0.01, 0.5, 1.0, 1.6449340668, 30.0, 1e4, 1e6, 1e7])
def test_trigamma_of_its_inverse_is_the_value(value):
    assert float(polygamma(1, _inverse_trigamma(value))) == pytest.approx(value, rel=1e-10, abs=0)


def test_beyond_its_limits_the_inverse_is_that_of_the_leading_term():
    assert _inverse_trigamma(1.5e7) == 1 / math.sqrt(1.5e7)
    assert _inverse_trigamma(9e-7) == 1 / 9e-7


def test_degrees_of_freedom_without_an_end_are_a_million():
    assert quantile_of_t(np.array([math.inf]), 0.975)[0] == stdtrit(1e6, 0.975)


def test_a_ratio_beyond_all_measure_is_a_number_still():
    up, down = (compare([pair([0.0], [log])]).evidence[0] for log in (2000.0, -2000.0))
    assert (up.ratio, down.ratio) == (math.exp(700), math.exp(-700))


class CountedSurface:
    """A surface that counts how often any is compared with another."""

    n_compared = 0

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        CountedSurface.n_compared += 1
        return self.number == other.number


@pytest.mark.parametrize("is_paired", [True, False])
def test_every_series_may_be_a_surface_of_its_own(is_paired):
    """As are a suite's benchmarks without parameters: nothing compares each surface with every series."""
    rng = np.random.default_rng(3)
    n = 400
    pairs = [
        pair(*rng.normal(0, 0.01, (2, 3)))._replace(name=number, surface=CountedSurface(number)) for number in range(n)
    ]
    CountedSurface.n_compared = 0
    compare(pairs, is_paired=is_paired)
    assert CountedSurface.n_compared < 50 * n


def test_a_history_counts_run_by_run():
    """Two runs at the base and one at the head: 0.1·√(1/2 + 1), where that is more than processes vary."""
    one = pair([0.0, 0.0], [0.3], own_runs=True)
    found = compare([one], spreads={"p": Prior(sd=0.1, dof=10)}).evidence[0]
    half = math.log(found.interval[1] / found.ratio)
    assert half / stdtrit(10, 0.975) == pytest.approx(0.1 * math.sqrt(1 / 2 + 1))


def test_rounds_are_told_without_the_machines_part_and_without_disturbed_ones():
    controls = [
        pair([0.0, 0.5, 0.0], [1.0, 0.5, 0.2])._replace(name=i, is_control=True, surface="eager") for i in range(5)
    ]
    ours = pair([5.0, 5.5, 5.0], [6.3, 5.8, 5.5])
    spoilt = tuple(one._replace(is_disturbed=one.visit == 1) for one in ours.head)
    found = rounds_of([*controls, ours, ours._replace(name="q", head=spoilt)])
    assert found[-2] == pytest.approx({0: 0.3, 1: 0.3, 2: 0.3})
    assert found[-1] == pytest.approx({0: 0.3, 2: 0.3})
    assert found[0] == pytest.approx({0: 0.0, 1: 0.0, 2: 0.0})


def test_rounds_that_only_one_side_has_are_left_out():
    [found] = rounds_of([pair([5.0, 5.0, 5.0], [5.5, 5.6])])
    assert found == pytest.approx({0: 0.5, 1: 0.6})


def test_one_round_that_was_disturbed_tells_nothing():
    one = pair([5.0], [5.5])
    disturbed = one._replace(head=(one.head[0]._replace(is_disturbed=True),))
    assert rounds_of([one, disturbed]) == [{0: pytest.approx(0.5)}, {}]


def test_the_share_of_a_control_is_told_by_rounds():
    """Eight rounds have seven degrees of freedom, too few: of one control all is taken out."""
    own = np.random.default_rng(4).normal(0, 1, 8)
    control = pair([0.0] * 8, list(own))._replace(name="c", is_control=True, surface="eager")
    ours = pair([0.0] * 8, [1.0 + 0.5 * x for x in own])._replace(control="c")
    found = rounds_of([control, ours])[1]
    assert list(found.values()) == pytest.approx([1.0 - 0.5 * x for x in own])


def test_single_processes_that_all_agree_differ_by_a_third_of_a_percent_still():
    pairs = [pair([0.0], [0.0])._replace(name=i) for i in range(20)]
    found = compare(pairs).evidence[0]
    half = math.log(found.interval[1] / found.ratio)
    assert half / stdtrit(6, 0.975) == pytest.approx(0.003 * math.sqrt(2))
