"""Points of a surface that are certain together and none of them alone: found, and followed by a bisection."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from results.exit_codes import ExitCode
from results.judgement import verdicts
from results.judgement.bisection.target import Kind, target_of
from results.judgement.commit_findings import findings_of
from results.judgement.comparison.differences import differences_of
from results.judgement.comparison.evidence import weigh
from results.judgement.comparison.processes import Pair, Process
from results.judgement.comparison.surfaces import LEAST_POINTS, LEAST_ROUNDS, SHARE, compare_surfaces
from results.judgement.exact_only import exact_only
from results.judgement.findings import FindingState, Turn
from results.judgement.outcomes import Outcome
from results.judgement.verdicts import exit_code, judge
from tests.made_surfaces import N_POINTS, Q, judged
from tests.made_values import A, B, row


def surface(changes, *, name="s", testbed="t", n_points=10, noise=0.0, skipped=(), seed=0):
    """Pairs whose log ratio is `changes` by round; `skipped`: (point, round) that something disturbed."""
    rng = np.random.default_rng(seed)
    return [
        Pair(
            (name, point),
            testbed,
            name,
            tuple(Process("r", i, 0.0) for i in range(len(changes))),
            tuple(
                Process("r", i, change + rng.normal(0, noise), is_disturbed=(point, i) in skipped, is_head=True)
                for i, change in enumerate(changes)
            ),
        )
        for point in range(n_points)
    ]


def compared(pairs, *, q):
    return compare_surfaces(pairs, differences_of(pairs, is_paired=True)[0], q=q)


def test_what_no_point_shows_all_of_them_do():
    found = judged()
    assert {one.outcome for one in found.verdicts} <= {Outcome.UNCHANGED, Outcome.UNDECIDED}
    [worse] = found.together(Outcome.REGRESSION)
    assert {dict(one.parameters)["provider"] for one in worse.rows} == {"fused"}
    assert len(worse.rows) == N_POINTS
    low, high = worse.evidence.interval
    assert 1 < low < worse.evidence.ratio < high
    assert worse.evidence.ratio == pytest.approx(1.06, abs=0.03)
    assert exit_code(found) is ExitCode.REGRESSION
    [finding] = findings_of(found)
    assert (finding.turn, finding.state, finding.points, finding.n_points) == (
        Turn.SLOWER,
        FindingState.CONFIRMED,
        (),
        N_POINTS,
    )
    assert re.fullmatch(r"all 24 points together: \+\d\.\d to \+\d+(\.\d)? %, by 5 rounds", finding.why)


def test_the_better_is_found_as_the_worse_is():
    found = judged(1 / 1.06)
    assert not found.together(Outcome.REGRESSION)
    assert len(found.together(Outcome.IMPROVEMENT)) == 1
    assert [one.turn for one in findings_of(found)] == [Turn.FASTER]
    assert exit_code(found) is not ExitCode.REGRESSION


def test_of_several_only_certain_ones_are_told_and_the_largest_change_first():
    found = judged()
    [one] = found.together(Outcome.REGRESSION)
    sizes = (1.1, 1 / 1.5, 1.2)
    changed = [one._replace(evidence=one.evidence._replace(ratio=ratio)) for ratio in sizes]
    doubtful = [one._replace(outcome=outcome) for outcome in (Outcome.UNDECIDED, Outcome.UNCHANGED)]
    told = replace(found, verdicts=(), surfaces=(*changed, *doubtful)).together(*Outcome)
    assert [each.evidence.ratio for each in told] == [1 / 1.5, 1.2, 1.1]


def test_what_a_point_shows_alone_is_told_once():
    found = judged(1.5, noise=0.01)
    assert [one.outcome for one in found.surfaces].count(Outcome.REGRESSION) == 1
    assert found.together(Outcome.REGRESSION) == []
    [finding] = findings_of(found)
    assert len(finding.points) == N_POINTS


def test_stored_runs_and_exact_metrics_have_no_surfaces():
    assert judged(is_paired=False).surfaces == ()
    assert exact_only(judged()).surfaces == ()


@pytest.mark.parametrize("seed", range(20))
def test_equal_commits_have_none(seed):
    assert judged(1.0, seed=seed).together(*Outcome) == []


def test_a_change_that_is_not_relevant_is_none():
    found = judged(1.02, noise=0.002)
    assert [one.evidence.is_significant for one in found.surfaces] == [True, False]
    assert {one.outcome for one in found.surfaces} == {Outcome.UNCHANGED}


def test_nothing_is_said_while_eager_moved():
    rng = np.random.default_rng(1)

    def side(commit):
        return [
            row(
                (1.2 if provider == "eager" and commit == B else 1.0) * rng.normal(1, 0.01, 5),
                commit=commit,
                provider=provider,
                batch=batch,
            )
            for batch in range(8)
            for provider in ("eager", "fused")
        ]

    found = judge(side(A), side(B), base_commit=A, head_commit=B, is_paired=True, least_change=0.03)
    assert found.is_control_moved
    assert [(one.evidence.is_significant, one.outcome) for one in found.surfaces] == [(True, Outcome.UNDECIDED)]
    assert found.together(*Outcome) == []


def test_the_interval_is_that_of_the_mean_by_round():
    changes = [0.04, 0.06, 0.05, 0.07, 0.03]
    [found] = compared(surface(changes), q=Q)
    se = np.std(changes, ddof=1) / math.sqrt(5)
    half = t.ppf(0.975, 4) * se
    assert found.ratio == pytest.approx(math.exp(0.05))
    assert found.interval == pytest.approx((math.exp(0.05 - half), math.exp(0.05 + half)), rel=1e-6)
    assert (found.n_rounds, len(found.names), found.is_significant) == (5, 10, True)
    assert found.floor == pytest.approx(math.expm1((t.ppf(1 - SHARE * Q / 2, 4) + t.ppf(0.8, 4)) * se))
    # Beside another one the chance of a false one is halved.
    first, _ = compared([*surface(changes), *surface(changes[::-1], name="other")], q=Q)
    assert first.floor == pytest.approx(math.expm1((t.ppf(1 - SHARE * Q / 4, 4) + t.ppf(0.8, 4)) * se))


def test_ratios_without_end_are_no_error():
    [found] = compared(surface([600.0, -600.0, 500.0]), q=Q)
    assert 0 < found.interval[0] < found.interval[1] < math.inf
    assert found.floor < math.inf


def test_few_points_or_rounds_are_no_surface():
    changes = [0.05, 0.06, 0.04]
    assert len(changes) == LEAST_ROUNDS
    assert len(compared(surface(changes, n_points=LEAST_POINTS), q=Q)) == 1
    assert compared(surface(changes, n_points=LEAST_POINTS - 1), q=Q) == []
    assert compared(surface(changes[:-1]), q=Q) == []
    assert compared([], q=Q) == []


def test_a_round_counts_that_half_of_the_points_know():
    changes = [0.05, 0.06, 0.04, 0.9]
    half = [(point, 3) for point in range(5)]
    assert compared(surface(changes, skipped=half), q=Q)[0].n_rounds == 4
    assert compared(surface(changes, skipped=[*half, (5, 3)]), q=Q)[0].n_rounds == 3
    nowhere = [(point, i) for i in range(4) for point in range(6)]
    assert len(compared(surface(changes, skipped=nowhere), q=Q)[0].names) == 4


def test_of_many_surfaces_the_spread_of_all_counts():
    """One of them agrees by chance: it is held against what is usual, unless there are few or it is elsewhere."""
    rng = np.random.default_rng(0)
    calm = surface([0.030, 0.036, 0.024, 0.033, 0.027])
    others = [pair for i in range(11) for pair in surface(rng.normal(0, 0.03, 5), name=f"other-{i}")]
    assert not compared([*calm, *others], q=Q)[0].is_significant
    assert not compared([*calm, *others[:90]], q=Q)[0].is_significant
    assert compared([*calm, *others[:50]], q=Q)[0].is_significant
    assert compared([*[one._replace(testbed="u") for one in calm], *others], q=Q)[0].is_significant


def test_many_surfaces_of_the_same_rounds_know_no_more_than_one_of_them_beside_its_own():
    """Four degrees of freedom of its own, and four of all the others, however many they are."""
    rng = np.random.default_rng(3)
    pairs = [pair for i in range(40) for pair in surface(rng.normal(0, 0.03, 5), name=i)]
    found = compared(pairs, q=Q)[0]
    half = math.log(found.interval[1] / found.ratio)
    floor = t.ppf(1 - SHARE * Q / 2 / 40, 8) + t.ppf(0.8, 8)
    assert math.log1p(found.floor) / half == pytest.approx(floor / t.ppf(0.975, 8))


@pytest.mark.parametrize(
    ("is_paired", "has_controls", "share"), [(True, True, 1 - SHARE), (True, False, 1), (False, True, 1)]
)
def test_points_have_what_surfaces_leave_of_the_rate_and_all_of_it_where_there_are_none(
    monkeypatch, is_paired, has_controls, share
):
    asked = []

    def weighed(observed, *, spreads, q):
        asked.append(q)
        return weigh(observed, spreads=spreads, q=q)

    monkeypatch.setattr(verdicts, "weigh", weighed)
    sides = [[row([1.0, 1.01, 0.99], commit=commit)] for commit in (A, B)]
    judge(*sides, base_commit=A, head_commit=B, is_paired=is_paired, has_controls=has_controls, q=0.05)
    assert asked == [pytest.approx(share * 0.05)]


def test_false_ones_are_few():
    """At a rate of a tenth, 40 of 400 comparisons of equal surfaces may have one, and two standard errors more."""
    rng = np.random.default_rng(7)
    n_false = {}
    for n in (9, 12):
        for shared in (0.0, 0.03):
            found = 0
            for _ in range(400):
                of_all = rng.normal(0, shared, 5)
                pairs = [
                    pair for i in range(n) for pair in surface(of_all + rng.normal(0, 0.01, 5), name=i, n_points=3)
                ]
                found += any(one.is_significant for one in compared(pairs, q=0.1 / SHARE))
            n_false[n, shared] = found
    assert all(0 < each <= 52 for each in n_false.values()), n_false


def test_a_bisection_follows_all_its_points():
    found = target_of(judged())
    assert (found.kind, found.is_worse, found.provider, len(found.series)) == (Kind.TIME, True, "fused", N_POINTS)
    assert found.change == pytest.approx(math.log(1.06), abs=0.03)
    assert target_of(judged(), metric="cold_latency_s") is None
    assert target_of(judged(1 / 1.06)).is_worse is False
    assert target_of(judged(1.0)) is None


def test_a_part_without_some_of_its_points_says_nothing_of_it():
    found = judged()
    [worse] = found.together(Outcome.REGRESSION)
    ids = {one.series_id for one in worse.rows}
    assert found.only(ids).together(Outcome.REGRESSION) == [worse]
    assert found.only(ids - {worse.rows[0].series_id}).surfaces == ()


def test_points_that_differ_are_no_noise_where_some_have_more_rounds():
    """Half of the points got faster, half slower, and only these are measured in more rounds: the mean is 0."""
    pairs = surface([0.1] * 8, n_points=10, noise=0.01)
    faster = [
        pair._replace(base=pair.base[:5], head=tuple(one._replace(log=one.log - 0.2) for one in pair.head[:5]))
        for pair in pairs[:5]
    ]
    [found] = compared([*faster, *pairs[5:]], q=Q)
    assert found.n_rounds == 8
    assert found.ratio == pytest.approx(1.0, abs=0.01)
    assert 0.98 < found.interval[0] < 1 < found.interval[1] < 1.02
    assert not found.is_significant


def test_more_rounds_of_half_of_the_points_make_the_mean_a_little_surer():
    rng = np.random.default_rng(2)
    changes = rng.normal(0, 0.02, 11)
    pairs = surface(changes, n_points=10)
    cut = [pair._replace(base=pair.base[:5], head=pair.head[:5]) for pair in pairs]
    widths = [
        math.log(found.interval[1] / found.interval[0])
        for each in (cut, [*cut[:5], *pairs[5:]], pairs)
        for [found] in [compared(each, q=Q)]
    ]
    assert widths[2] < widths[1] < widths[0]


def test_another_stack_has_no_surfaces():
    rng = np.random.default_rng(0)

    def side(commit):
        return [row(rng.normal(1, 0.01, 5), commit=commit, batch=batch, provider="fused") for batch in range(8)]

    options = {"base_commit": A, "head_commit": B, "is_paired": True}
    base, head = side(A), side(B)
    assert len(judge(base, head, **options).surfaces) == 1
    assert judge(base, head, has_controls=False, **options).surfaces == ()


def test_a_surface_of_which_a_point_failed_says_of_how_many_it_tells():
    found = judged(failing=1)
    [worse] = found.together(Outcome.REGRESSION)
    assert (len(worse.rows), worse.n_points) == (N_POINTS - 1, N_POINTS)
    [finding] = [one for one in findings_of(found) if one.turn is Turn.SLOWER]
    assert finding.why.startswith("23 of 24 points together: ")
    assert finding.n_points == N_POINTS
    assert exit_code(found) is ExitCode.FAILED
