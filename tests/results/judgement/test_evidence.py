"""Statistics of two commits: against published values, laws, and simulations with a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench_two_commits import Scene, pairs_of, score_of
from hypothesis import given
from hypothesis import strategies as st

from results.judgement.comparison import evidence
from results.judgement.comparison.differences import differences_of
from results.judgement.comparison.evidence import compare, observe, weigh
from results.judgement.comparison.false_discoveries import benjamini_hochberg, selected_points, simes
from results.judgement.comparison.moderation import USUAL, Prior, moderated, priors_of, quantile_of_t
from results.judgement.comparison.processes import Pair, Process, controls_of
from results.judgement.verdicts import Outcome, judge
from tests.made_values import row

# Benjamini and Hochberg 1995, §4: fifteen hypotheses on thrombolysis, four of them rejected at 5 %.
OF_1995 = np.array(
    [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1]
)


def processes(logs, *, run="base", **changes):
    return tuple(Process(run=run, visit=visit, log=log, **changes) for visit, log in enumerate(logs))


def pair(base, head, **changes):
    pair = Pair(name="p", testbed="t", surface="s", base=processes(base), head=processes(head, run="head"))
    return pair._replace(**changes)


def test_the_rejections_of_the_paper_that_introduced_the_rate():
    for order in (np.arange(15), np.arange(15)[::-1], np.random.default_rng(3).permutation(15)):
        rejected = benjamini_hochberg(OF_1995[order], q=0.05)
        assert set(OF_1995[order][rejected]) == {0.0001, 0.0004, 0.0019, 0.0095}


def test_a_p_value_that_the_next_ones_carry_is_rejected_with_them():
    assert benjamini_hochberg(np.array([0.04, 0.04, 0.04]), q=0.05).all()
    assert not benjamini_hochberg(np.array([0.04, 0.9, 0.9]), q=0.05).any()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_simes_lies_between_the_least_p_and_bonferroni(values):
    p = np.array(values)
    [found] = simes(p, np.zeros(len(p), dtype=np.intp))
    assert p.min() - 1e-12 <= found <= min(p.min() * len(p), p.max()) + 1e-12


def test_simes_by_hand():
    p, families = np.array([0.3, 0.5, 0.01, 0.02]), np.array([0, 1, 0, 0])
    assert simes(p, families).tolist() == pytest.approx([0.03, 0.5])


def test_points_are_judged_only_inside_surfaces_that_are_selected_and_by_the_share_of_those():
    """One of two surfaces is selected: inside, the rate is half of 5 %."""
    p = np.array([0.001, 0.026, 0.9, 0.9, 0.04, 0.9])
    assert selected_points(p, ["a", "a", "b", "b", "c", "c"], q=0.05).tolist() == [True, *[False] * 5]
    assert selected_points(p[:2], ["a", "a"], q=0.05).tolist() == [True, True]
    assert selected_points(np.array([]), []).tolist() == []


@pytest.mark.parametrize(("dof", "t"), [(1, 12.706), (4, 2.776), (8, 2.306), (30, 2.042)])
def test_the_quantiles_of_students_table(dof, t):
    assert quantile_of_t(np.array([float(dof)]), 0.975)[0] == pytest.approx(t, abs=5e-4)


def test_a_prior_that_agrees_adds_its_degrees_of_freedom():
    """Eight in all: 2.306 standard errors are 5 %, in either direction."""
    effects = np.array([2.306, -2.306]) * 0.02 * math.sqrt(0.5)
    found = moderated(effects, np.full(2, 4e-4), np.full(2, 4.0), factors=np.full(2, 0.5), prior=Prior(sd=0.02, dof=4))
    assert found.dof.tolist() == [8, 8]
    assert found.se == pytest.approx(np.full(2, 0.02 * math.sqrt(0.5)))
    assert found.p == pytest.approx(np.full(2, 0.05), abs=2e-4)


def test_a_variance_is_shrunk_to_the_mean_weighted_by_degrees_of_freedom():
    found = moderated(np.ones(1), np.array([9e-4]), np.array([2.0]), factors=np.ones(1), prior=Prior(sd=0.01, dof=4))
    assert found.se[0] ** 2 == pytest.approx((2 * 9e-4 + 4 * 1e-4) / 6)


@pytest.mark.parametrize(("prior_dof", "sd"), [(3.0, 0.01), (8.0, 0.02), (20.0, 0.005)])
def test_the_prior_that_variances_were_drawn_from_is_found_again(prior_dof, sd):
    rng = np.random.default_rng(7)
    true = prior_dof * sd**2 / rng.chisquare(prior_dof, 8000)
    found = priors_of(true * rng.chisquare(4, 8000) / 4, np.full(8000, 4.0), ["one"] * 8000)["one"]
    assert found.sd == pytest.approx(sd, rel=0.05)
    assert found.dof == pytest.approx(prior_dof, rel=0.3)


def test_families_have_spreads_of_their_own_and_small_ones_that_of_all():
    rng = np.random.default_rng(7)
    sds = np.repeat([0.005, 0.02, 0.01], [200, 200, 3])
    found = priors_of(sds**2 * rng.chisquare(4, 403) / 4, np.full(403, 4.0), ["a"] * 200 + ["b"] * 200 + ["c"] * 3)
    assert (found["a"].sd, found["b"].sd) == (pytest.approx(0.005, rel=0.1), pytest.approx(0.02, rel=0.1))
    assert found["c"].sd == pytest.approx(0.01, rel=0.2)
    assert {prior.dof for prior in found.values()} == {30.0}


def test_few_series_are_taken_for_the_usual():
    assert priors_of(np.full(9, 1e-4), np.full(9, 4.0), list("aaaaaaaab")) == {"a": USUAL, "b": USUAL}


class TestControls:
    """Ten shapes: the machine is 4 % slower in head's processes; one series became 6 % slower itself."""

    @staticmethod
    def measured(*, own=0.06, machine=0.04, n=10, rounds=3, seed=1):
        rng = np.random.default_rng(seed)
        level = {("base", visit): 0.0 for visit in range(rounds)} | {
            ("head", visit): machine for visit in range(rounds)
        }

        def side(run, shift):
            noise = rng.normal(0, 0.002, rounds)
            return processes([level[run, visit] + shift + noise[visit] for visit in range(rounds)], run=run)

        controls = [
            Pair(
                name=i, testbed="t", surface="eager", base=side("base", 0), head=side("head", 0), is_control=True
            )
            for i in range(n)
        ]  # fmt: skip
        ours = [
            Pair(
                name=("ours", i), testbed="t", surface="ours", base=side("base", 0),
                head=side("head", own if i == 0 else 0), control=i,
            )
            for i in range(n)
        ]  # fmt: skip
        return [*controls, *ours]

    @pytest.mark.parametrize("n", [10, 2])
    @pytest.mark.parametrize("is_paired", [True, False])
    def test_the_machines_part_is_taken_out_and_the_rest_found(self, n, is_paired):
        """By the level of all controls, or by that of the same shape where these are too few."""
        pairs = self.measured(n=n)
        found = compare(pairs, is_paired=is_paired).evidence
        ours = found[n:]
        assert ours[0].ratio == pytest.approx(math.exp(0.06), abs=0.01)
        assert ours[0].is_significant
        assert ours[0].interval[0] <= math.exp(0.06) <= ours[0].interval[1]
        assert not any(each.is_significant for each in ours[1:])

    @pytest.mark.parametrize("n", [0, 2, 10])
    @pytest.mark.parametrize("is_paired", [True, False])
    def test_one_process_a_side_differs_as_it_does_with_a_disturbed_one_beside_it(self, n, is_paired):
        pairs = self.measured(n=max(n, 1), rounds=1)[0 if n else 1 :]
        beside = [
            each._replace(
                base=(*each.base, Process(run="x", visit=0, log=9.0, is_disturbed=True)),
                head=(*each.head, Process(run="y", visit=0, log=-9.0, is_disturbed=True, is_head=True)),
            )
            for each in pairs
        ]
        alone, _ = differences_of(pairs, is_paired=is_paired)
        assert alone == differences_of(beside, is_paired=is_paired)[0]
        assert [one.factor for one in alone] == [1 if is_paired else 2] * len(pairs)

    def test_the_controls_own_change_is_told(self):
        move = controls_of(self.measured()).move
        assert move.log_ratio == pytest.approx(0.04, abs=0.003)
        assert move.n_series == 10
        assert 0 < move.se < 0.003

    def test_a_change_of_all_of_ours_is_no_machine(self):
        """The median of all series would take it for one."""
        pairs = self.measured(own=0.0)
        slower = [
            each._replace(head=tuple(one._replace(log=one.log + 0.06) for one in each.head))
            if not each.is_control
            else each
            for each in pairs
        ]
        found = compare(slower, is_paired=True).evidence[10:]
        assert all(each.is_significant and each.ratio == pytest.approx(math.exp(0.06), abs=0.01) for each in found)


def test_one_round_is_no_evidence_where_more_were_to_be_had():
    pairs = [pair([0.0], [0.001 * place], name=place) for place in range(29)] + [pair([0.0], [0.7], name="far")]
    assert not any(each.is_significant for each in compare(pairs, is_paired=True).evidence)
    assert compare(pairs, is_paired=False).evidence[-1].is_significant


def test_a_comparison_the_other_way_round_has_the_inverse_ratio_and_the_same_p():
    pairs = pairs_of(Scene(n_surfaces=2, n_points=6, step=0.1, n_planted=1), np.random.default_rng(5))
    there = compare(pairs, is_paired=True).evidence
    back = compare([each._replace(base=each.head, head=each.base) for each in pairs], is_paired=True).evidence
    for one, other in zip(there, back, strict=True):
        assert one.ratio * other.ratio == pytest.approx(1)
        assert (one.p, one.is_significant) == (pytest.approx(other.p), other.is_significant)


def test_a_round_with_a_disturbed_half_is_left_out_and_a_side_without_any_other_is_evidence_of_nothing():
    slow = (0.0, 0.0, 0.9)
    is_disturbed = [False, False, True]
    head = tuple(o._replace(is_disturbed=d) for o, d in zip(processes(slow, run="head"), is_disturbed, strict=True))
    for is_paired in (True, False):
        [found] = compare([pair([0.0] * 3, slow)._replace(head=head)], is_paired=is_paired).evidence
        assert found.ratio == pytest.approx(1)
        assert (found.difference.n_head, found.difference.is_disturbed) == (2, False)
    head = processes([0.9] * 3, run="head", is_disturbed=True)
    [found] = compare([pair([0.0] * 3, slow)._replace(head=head)]).evidence
    assert (found.ratio, found.difference.is_disturbed) == (pytest.approx(math.exp(0.9)), True)
    assert not found.is_significant
    assert found.p == 1


def test_one_process_a_side_is_judged_by_the_usual_spread_and_its_samples():
    """10 % is within what one process may differ from the next by, and 50 % is not, unless the samples say so."""

    def found(log, within_sd):
        one = pair([0.0], [log])
        sides = {
            side: tuple(each._replace(within_sd=within_sd) for each in getattr(one, side)) for side in ("base", "head")
        }
        return compare([one._replace(**sides)]).evidence[0]

    assert not found(0.05, 0.0).is_significant
    assert found(0.4, 0.0).is_significant
    assert not found(0.4, 0.2).is_significant


def test_a_history_tells_how_a_series_varies_from_run_to_run():
    """Ten percent is certain where a series never varied, and nothing where it varies by as much."""
    one = pair([0.0], [0.1])
    assert compare([one], spreads={"p": Prior(sd=0.005, dof=20)}).evidence[0].is_significant
    assert not compare([one], spreads={"p": Prior(sd=0.08, dof=20)}).evidence[0].is_significant
    calm = pair([0.0, 0.001, -0.001], [0.1, 0.101, 0.099])
    assert compare([calm]).evidence[0].is_significant
    assert not compare([calm], spreads={"p": Prior(sd=0.08, dof=20)}).evidence[0].is_significant


def test_control_series_tell_what_a_run_does_that_none_of_its_visits_shows():
    """Visits agree to 0.1 %, and eager's runs lie up to 4 % apart: 5 % is nothing certain, and 40 % is."""

    def found(effect, *, apart, n_controls=12, is_paired=False):
        calm = np.array([0.0, 0.001, -0.001])
        eager = [
            pair(calm, calm + apart * (i - (n_controls - 1) / 2), name=i, surface="eager", is_control=True)
            for i in range(n_controls)
        ]
        return compare([*eager, pair(calm, calm + effect)], is_paired=is_paired).evidence[-1]

    wide = found(0.05, apart=0.007)
    assert not wide.is_significant
    assert wide.interval[0] < 1 < wide.interval[1]
    assert wide.floor > 0.05
    assert found(0.4, apart=0.007).is_significant
    assert found(0.05, apart=0.0).is_significant
    assert found(0.05, apart=0.007, n_controls=9).is_significant, "so few controls tell nothing of it"
    assert found(0.05, apart=0.007, is_paired=True).is_significant, "rounds are of one run each, in the same minutes"


def test_what_two_commits_show_is_told_once_however_often_it_is_weighed():
    """By a judgement that asks histories for what looks changed, too."""
    pairs = [pair([0.0], [0.1]), pair([0.0, 0.001, -0.001], [0.1, 0.101, 0.099], name="q")]
    observed = observe(pairs)
    for spreads in ({}, {"p": Prior(sd=0.005, dof=20)}, {"p": Prior(sd=0.08, dof=20)}):
        assert weigh(observed, spreads=spreads).evidence == compare(pairs, spreads=spreads).evidence


def test_a_judgement_that_asks_histories_compares_the_processes_once(monkeypatch):
    asked = []
    differences_of = evidence.differences_of
    monkeypatch.setattr(evidence, "differences_of", lambda *a, **kw: asked.append(1) or differences_of(*a, **kw))
    base, head = row(1.0), row(1.12, commit="b" * 40)
    prior = {head.series_id: Prior(sd=0.005, dof=20)}
    judgement = judge([base], [head], base_commit="a" * 40, head_commit="b" * 40, spreads=lambda _: prior)
    assert [each.outcome for each in judgement.verdicts] == [Outcome.REGRESSION]
    assert asked == [1]


class TestSimulated:
    """500 points in 25 surfaces; bounds hold for other seeds (`python tools/bench_two_commits.py --seed N`)."""

    @pytest.mark.parametrize("scene", [Scene(), Scene(tails=3), Scene(rounds=3, is_paired=False)], ids=str)
    def test_equal_commits_are_found_different_in_at_most_5_percent(self, scene):
        rng = np.random.default_rng(11)
        n_with_any = sum(score_of(scene, rng).n_false > 0 for _ in range(16))
        assert n_with_any <= 4  # of 16 at 5 %: more in 1 of 1,000

    def test_runs_that_differ_by_1_percent_are_seldom_taken_for_commits_that_do(self):
        scene, rng = Scene(rounds=3, is_paired=False, between_runs=0.01), np.random.default_rng(11)
        assert sum(score_of(scene, rng).n_false > 0 for _ in range(16)) <= 7  # of 16 at 12 %: more in 1 of 1,000

    def test_5_percent_on_two_surfaces_is_found_and_little_else(self):
        rng = np.random.default_rng(11)
        scores = [score_of(Scene(step=0.05), rng) for _ in range(8)]
        n_found, n_planted, n_false = (
            sum(getattr(score, name) for score in scores) for name in ("n_found", "n_planted", "n_false")
        )
        assert n_planted == 8 * 40
        assert n_found >= 0.9 * n_planted
        assert n_false <= 0.05 * (n_found + n_false)
