"""Noise that points share: many of them know no more of it than their rounds do."""

from __future__ import annotations

import numpy as np
import pytest

from results.judgement.comparison.differences import differences_of
from results.judgement.comparison.evidence import observe
from results.judgement.comparison.moderation import Prior, moderated, priors_of
from results.judgement.comparison.processes import Pair, Process
from results.judgement.comparison.shared_noise import LEAST_POINTS, shared_shares


def surface(logs, *, name="s", testbed="t"):
    """A pair for each row of `logs`, which are log ratios by round."""
    return [
        Pair(
            (name, place),
            testbed,
            name,
            tuple(Process("r", i, 0.0) for i in range(len(row))),
            tuple(Process("r", i, float(log), is_head=True) for i, log in enumerate(row)),
        )
        for place, row in enumerate(np.asarray(logs))
    ]


def shares_of(pairs):
    return shared_shares(pairs, differences_of(pairs, is_paired=True)[0])


def test_the_share_is_that_of_the_variance():
    rng = np.random.default_rng(0)
    own, shared = rng.normal(0, 0.03, (40, 200)), rng.normal(0, 0.04, 200)
    assert shares_of(surface(own + shared))["t"] == pytest.approx(0.64, abs=0.06)
    assert shares_of(surface(own))["t"] == pytest.approx(0.0, abs=0.02)
    assert shares_of(surface(np.tile(shared, (4, 1))))["t"] == pytest.approx(1.0)


def test_it_is_no_less_than_none_and_of_each_testbed_by_itself():
    opposite = [[0.01, -0.01, 0.01], [-0.01, 0.01, -0.01], [0.01, -0.01, 0.01], [-0.01, 0.01, -0.01]]
    together = np.tile([0.01, -0.01, 0.02], (4, 1))
    assert shares_of([*surface(opposite), *surface(together, testbed="u")]) == {"t": 0.0, "u": pytest.approx(1.0)}


def test_surfaces_count_by_their_variance():
    rng = np.random.default_rng(1)
    loud, quiet = np.tile(rng.normal(0, 0.1, 50), (3, 1)), rng.normal(0, 0.001, (30, 50))
    assert shares_of([*surface(loud), *surface(quiet, name="other")])["t"] > 0.99


def test_a_few_points_or_rounds_and_controls_tell_nothing():
    rounds = [[0.01, 0.02, 0.03]] * LEAST_POINTS
    assert shares_of(surface(rounds)) == {"t": pytest.approx(1.0)}
    assert shares_of(surface(rounds[1:])) == {}
    assert shares_of(surface([[0.01]] * 5)) == {}
    assert shares_of([pair._replace(is_control=True) for pair in surface(rounds)]) == {}
    assert shares_of(surface([[0.0, 0.0]] * 5)) == {}
    # Two points share but one round.
    early, late = surface([[0.01, 0.02]] * 3), surface([[0.01, 0.02]] * 3)
    gone = [pair._replace(head=(pair.head[0], pair.head[1]._replace(is_disturbed=True))) for pair in late]
    assert shares_of([early[0], *gone[1:]]) == {}


def test_two_rounds_tell_it_and_a_point_of_one_round_takes_no_part():
    together = surface([[0.01, 0.03]] * 4)
    assert shares_of(together) == {"t": pytest.approx(1.0)}
    gone = together[3].head[1]._replace(is_disturbed=True)
    assert shares_of([*together[:3], together[3]._replace(head=(together[3].head[0], gone))]) == shares_of(together)


def test_each_pair_has_its_difference():
    with pytest.raises(ValueError, match="zip"):
        shared_shares(surface([[0.01, 0.02]] * 3), [])


def test_what_all_points_share_is_known_by_their_rounds_alone():
    rng = np.random.default_rng(3)
    apart = rng.normal(0, 0.03, (20, 5))
    alike = rng.normal(0, 0.03, 5) + rng.normal(0, 0.001, (20, 5))
    dofs = [observe(surface(logs), is_paired=True).statistics.dof for logs in (apart, alike)]
    assert 20 < dofs[0].min() <= dofs[0].max() <= 34
    assert 4 <= dofs[1].min() <= dofs[1].max() < 5
    # Runs in no rounds share none.
    assert observe(surface(alike)).statistics.dof.min() > 20


def test_two_rounds_know_what_is_shared_by_one_degree_and_a_point_of_one_round_by_what_others_show():
    rng = np.random.default_rng(3)
    together = surface(rng.normal(0, 0.03, 2) + rng.normal(0, 1e-6, (20, 2)))
    gone = together[0].head[1]._replace(is_disturbed=True)
    pairs = [together[0]._replace(head=(together[0].head[0], gone)), *together[1:]]
    dof = observe(pairs, is_paired=True).statistics.dof
    assert dof[1:] == pytest.approx(1.0, rel=0.01)
    assert dof[0] > 1.5


def test_no_statistic_has_more_degrees_of_freedom_than_all_series_together():
    variances, dof = np.full(10, 1e-4), np.ones(10)
    [prior] = priors_of(variances, dof, ["s"] * 10).values()
    assert (prior.dof, prior.pooled) == (30.0, 10.0)
    found = moderated(np.zeros(10), variances, dof, factors=np.ones(10), prior=prior)
    assert found.dof.tolist() == [10.0] * 10
    # Those of a small family are told by all.
    families = ["s"] * 10 + ["few"] * 2
    assert priors_of(np.full(12, 1e-4), np.full(12, 2.0), families)["few"].pooled == 24.0
    unlimited = moderated(np.zeros(10), variances, dof, factors=np.ones(10), prior=Prior(sd=0.01, dof=30.0))
    assert unlimited.dof.tolist() == [31.0] * 10
