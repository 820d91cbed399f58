"""Rules by hand, where they turn: what is worse, what is doubtful, and which findings a judgement has."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from results.files.settings import Threshold
from results.judgement.commit_findings import findings_of, undecided_of
from results.judgement.comparison.relevant_changes import is_worse
from results.judgement.findings import FindingClass, FindingState, Turn
from results.judgement.noise import Evidence, Observation, can_be_tested, difference_between, doubt_about
from results.judgement.outcomes import Change, Judgement, Outcome, Verdict, outcome_of_change
from results.judgement.thresholds import Limits, limits_of, unmatched
from results.metrics import SWEEP_METRICS, Direction
from tests.made_findings import judgement as made_judgement
from tests.made_values import A, B, row

LATENCY, COUNT = SWEEP_METRICS["latency_s"], SWEEP_METRICS["operator_count"]
HIGHER = replace(LATENCY, direction=Direction.HIGHER)
UNKNOWN = replace(LATENCY, direction=Direction.UNKNOWN)


def verdict(outcome=Outcome.UNDECIDED, *, before=1.0, after=2.0, metric=LATENCY, **changes):
    base, head = row(before or 1.0), row(after or 1.0, commit=B)
    found = Verdict(
        base=base._replace(value=before), head=head._replace(value=after), metric=metric, change=Change.UNCERTAIN,
        outcome=outcome, ratio=2.0, reason="", is_doubtful=True,
    )  # fmt: skip
    return found._replace(**changes)


@pytest.mark.parametrize(
    ("metric", "before", "after", "expected"),
    [
        (LATENCY, 1, 2, True), (LATENCY, 2, 1, False), (LATENCY, 1, 1, False),
        (HIGHER, 1, 2, False), (HIGHER, 2, 1, True), (HIGHER, 1, 1, False),
        (UNKNOWN, 1, 2, False), (UNKNOWN, 2, 1, False),
    ],
)  # fmt: skip
def test_worse_is_what_the_direction_says(metric, before, after, expected):
    assert is_worse(metric, before, after) is expected


@pytest.mark.parametrize(
    ("metric", "after", "outcome"),
    [
        (LATENCY, 2, Outcome.REGRESSION), (LATENCY, 0.5, Outcome.IMPROVEMENT),
        (HIGHER, 2, Outcome.IMPROVEMENT), (HIGHER, 0.5, Outcome.REGRESSION),
        (UNKNOWN, 2, Outcome.CHANGED), (UNKNOWN, 0.5, Outcome.CHANGED),
    ],
)  # fmt: skip
def test_the_outcome_of_a_certain_change(metric, after, outcome):
    assert outcome_of_change(metric, 1, after) is outcome


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"outcome": Outcome.UNCHANGED}, False),
        ({"outcome": Outcome.KNOWN}, False),
        ({"is_doubtful": False}, False),
        ({"after": 0.5}, False),
        ({"before": None, "after": 0.5}, True),  # from nothing, which counts as 0
        ({"before": None, "after": None}, False),
        ({"before": -1.0, "after": None}, True),
        ({"before": 0.5, "after": None}, False),
        ({"metric": UNKNOWN}, False),
    ],
)
def test_what_may_be_worse_is_doubtful_undecided_and_looks_worse(changes, expected):
    assert verdict(**changes).may_be_worse is expected


def test_the_largest_change_comes_first_whichever_way_and_what_has_no_ratio_before_it():
    ratios = [1.1, 3.0, 0.2, None, 1.5, 0.5, 1.9]
    verdicts = (*(verdict(ratio=ratio) for ratio in ratios), verdict(Outcome.KNOWN, ratio=9.0))
    found = Judgement(
        base_commit=A, head_commit=B, verdicts=verdicts, only_at_base=(), only_at_head=(), least_change=0.05
    )
    assert [one.ratio for one in found.with_outcome(Outcome.UNDECIDED)] == [None, 0.2, 3.0, 0.5, 1.9, 1.5, 1.1]


class TestDoubt:
    """A value decides if it is undisturbed and known to ± 5 %."""

    @pytest.mark.parametrize(
        ("value", "low", "high", "expected"),
        [
            (1.0, 0.96, 1.04, None),
            (1.0, 0.95, 1.05, None),
            (1.0, 0.94, 1.06, "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only"),
            (10.0, 9.4, 10.6, "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only"),
            (10.0, 9.6, 10.4, None),
            (-10.0, -10.6, -9.4, "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only"),
            (1.0, 0.9504, 1.0512, None),  # 5.04 %, shown as 5.0
            (1.0, 0.9494, 1.0506, "known to ± 5.1\N{NARROW NO-BREAK SPACE}% only"),
            (0.0, 0.0, 0.0, "has no interval"),
            (None, 0.9, 1.1, "has no interval"),
            (1.0, None, 1.04, "has no interval"),
            (1.0, 0.96, None, "has no interval"),
            (1.0, -math.inf, 1.0, "has no interval"),
            (1.0, 0.9, math.inf, "has no interval"),
            (100.0, 99.9, 100.1, None),
        ],
    )
    def test_of_a_value(self, value, low, high, expected):
        assert doubt_about(value, low=low, high=high, disturbed=None) == expected

    def test_what_was_disturbed_decides_nothing_however_well_it_is_known(self):
        assert doubt_about(1.0, low=1.0, high=1.0, disturbed="stolen time") == "disturbed: stolen time"


def seen(value, *, interval=None, samples=None):
    return Observation(value=value, interval=interval, samples=samples)


LOW, HIGH = tuple(1 + i / 1000 for i in range(12)), tuple(2 + i / 1000 for i in range(12))
MIXED = (*LOW[:6], *HIGH[:6])


class TestDifference:
    """Two values with intervals, samples, both or neither."""

    @pytest.mark.parametrize(
        ("base", "head", "expected"),
        [
            (seen(1.0), seen(2.0), Evidence.RATIO_ONLY),
            (seen(1.0), seen(1.0), Evidence.SAME),
            (seen(1.0, samples=LOW), seen(2.0), Evidence.RATIO_ONLY),
            (seen(1.0), seen(2.0, samples=HIGH), Evidence.RATIO_ONLY),
            (seen(1.0, samples=LOW), seen(2.0, samples=HIGH), Evidence.SAMPLES),
            (seen(1.0, samples=LOW), seen(2.0, samples=MIXED), Evidence.SAME),
            (seen(1.0, samples=LOW[:3]), seen(2.0, samples=HIGH[:3]), Evidence.INTERVALS),
            (seen(1.0, interval=(0.9, 1.1)), seen(2.0), Evidence.INTERVALS),
            (seen(1.0), seen(2.0, interval=(1.9, 2.1)), Evidence.INTERVALS),
            (seen(1.0, interval=(0.9, 1.1)), seen(1.0), Evidence.SAME),
            (seen(1.0, interval=(0.9, 1.1)), seen(2.0, interval=(1.9, 2.1), samples=HIGH), Evidence.INTERVALS),
            (seen(1.0, interval=(0.9, 1.1), samples=LOW), seen(2.0, interval=(1.9, 2.1)), Evidence.INTERVALS),
        ],
    )
    def test_of_values(self, base, head, expected):
        assert difference_between(base, head) is expected
        assert difference_between(head, base) is expected

    @pytest.mark.parametrize(("p", "expected"), [(0.002, Evidence.SAME), (0.0019, Evidence.SAMPLES)])
    def test_the_largest_p_is_no_evidence(self, monkeypatch, p, expected):
        monkeypatch.setattr("results.judgement.noise._p_value", lambda *_: p)
        assert difference_between(seen(1.0, samples=LOW), seen(2.0, samples=HIGH)) is expected

    @pytest.mark.parametrize(
        ("n", "m", "expected"),
        [(6, 6, False), (7, 6, True), (7, 7, True), (5, 8, True), (5, 7, False), (1, 999, False)],
    )
    def test_so_many_samples_can_be_tested(self, n, m, expected):
        """2 / C(13, 6) is 0.00117, 2 / C(12, 6) is 0.00216, 2 / C(13, 5) is 0.00155 and 2 / C(12, 5) is 0.0025."""
        assert can_be_tested(n, m) is expected
        assert can_be_tested(m, n) is expected


class TestLimits:
    """Most specific of each kind, and what they make of a metric."""

    def test_each_kind_of_limit_is_of_its_own_threshold(self):
        thresholds = [
            Threshold(better=Direction.HIGHER, tolerance=0.5, place=1),
            Threshold(benchmark="m*", tolerance=0.1, better=Direction.HIGHER, place=2),
            Threshold(benchmark="mlp", least_change=0.2, better=Direction.LOWER, place=3),
            Threshold(benchmark="linear", least_change=0.9, better=Direction.HIGHER, tolerance=0.9, place=4),
        ]
        found = limits_of(thresholds, row(1.0, metric="m"), least_change=0.05)
        assert found == Limits(least_change=0.2, tolerance=0.1, better=Direction.LOWER)

    def test_two_patterns_come_before_one_of_as_many_letters(self):
        """Both have no name without a wildcard and six letters; the earlier has two patterns."""
        thresholds = [
            Threshold(benchmark="m*", metric="laten*", least_change=0.1, place=1),
            Threshold(metric="latenc*", least_change=0.2, place=2),
        ]
        assert limits_of(thresholds, row(1.0), least_change=0).least_change == 0.1

    @pytest.mark.parametrize(
        ("limits", "metric", "expected"),
        [
            (Limits(least_change=0), LATENCY, LATENCY),
            (Limits(least_change=0), UNKNOWN, UNKNOWN),
            (Limits(least_change=0, better=Direction.HIGHER), UNKNOWN, HIGHER),
            (Limits(least_change=0, better=Direction.HIGHER), LATENCY, LATENCY),  # its own direction stands
            (Limits(least_change=0, tolerance=0.3), COUNT, replace(COUNT, tolerance=0.3)),
            (Limits(least_change=0, tolerance=0.0), replace(COUNT, tolerance=0.1), COUNT),
        ],
    )
    def test_what_they_make_of_a_metric(self, limits, metric, expected):
        assert limits.applied_to(metric) == expected

    def test_thresholds_without_a_series_are_named(self):
        used, idle = Threshold(benchmark="mlp", least_change=0.1), Threshold(benchmark="lin", least_change=0.1)
        series = [row(1.0), row(1.0, benchmark="linear")]
        assert unmatched([used, idle], series) == [idle]
        assert unmatched([used], series) == []
        assert unmatched([idle], []) == [idle]


class TestFindings:
    """Findings of a judgement: of failures, of what is known, and what is certain."""

    def test_their_order_is_by_what_a_person_is_to_do(self):
        found = findings_of(made_judgement())
        assert [(one.turn.value, one.metric) for one in found] == [
            ("failed", "latency_s"), ("failed", "latency_s"), ("slower", "latency_s"), ("slower", "operator_count"),
            ("faster", "latency_s"), ("slower", "latency_s"),
        ]  # fmt: skip
        assert [one.state is FindingState.ACKNOWLEDGED for one in found] == [False] * 5 + [True]

    def test_of_as_large_changes_the_one_of_more_points_comes_first(self):
        def of(provider, batches):
            sides = [
                [row([v, 1.001 * v, 0.999 * v], commit=c, provider=provider, batch=b) for b in batches]
                for c, v in ((A, 1.0), (B, 2.0))
            ]
            return [
                verdict(Outcome.REGRESSION)._replace(base=x, head=y, change=Change.SLOWER)
                for x, y in zip(*sides, strict=True)
            ]

        found = findings_of(judged([*of("few", [1]), *of("many", [1, 2, 3])]))
        assert [len(one.points) for one in found] == [3, 1]

    @pytest.mark.parametrize(
        ("outcome", "changes", "turn"),
        [
            (Outcome.FAILED, {}, Turn.FAILED),
            (Outcome.REGRESSION, {}, Turn.SLOWER),
            (Outcome.CHANGED, {}, Turn.CHANGED),
            (Outcome.IMPROVEMENT, {}, Turn.FASTER),
            (Outcome.FIXED, {}, Turn.FIXED),
            (Outcome.KNOWN, {}, Turn.SLOWER),
            (Outcome.KNOWN, {"metric": UNKNOWN}, Turn.CHANGED),
            (Outcome.KNOWN, {"head": row(1.0)._replace(state="crashed", value=None)}, Turn.FAILED),
            (Outcome.UNDECIDED, {}, None),
            (Outcome.UNCHANGED, {}, None),
        ],
    )
    def test_each_outcome_has_its_turn(self, outcome, changes, turn):
        found = findings_of(judged([verdict(outcome, **changes)]))
        assert [one.turn for one in found] == ([] if turn is None else [turn])

    @pytest.mark.parametrize(
        ("outcome", "metric", "is_paired", "state", "class_"),
        [
            (Outcome.REGRESSION, LATENCY, False, FindingState.SUSPECTED, None),
            (Outcome.REGRESSION, LATENCY, True, FindingState.CONFIRMED, FindingClass.CODE),
            (Outcome.REGRESSION, COUNT, False, FindingState.CONFIRMED, None),
            (Outcome.FAILED, LATENCY, False, FindingState.CONFIRMED, None),
        ],
    )
    def test_times_of_one_comparison_are_suspected_and_all_else_is_confirmed(
        self, outcome, metric, is_paired, state, class_
    ):
        [found] = findings_of(replace(judged([verdict(outcome, metric=metric)]), is_paired=is_paired))
        assert (found.state, found.class_) == (state, class_)

    def test_known_and_new_of_one_surface_are_two_findings(self):
        known = made_judgement().with_outcome(Outcome.KNOWN)[0]
        new = known._replace(known=None, outcome=Outcome.REGRESSION)
        found = findings_of(judged([known, new]))
        assert [(one.state is FindingState.ACKNOWLEDGED, one.n_points) for one in found] == [(False, 2), (True, 2)]

    def test_the_largest_change_comes_first_and_one_to_0_before_all(self):
        verdicts = []
        for provider, ratio in (("a", 0.9), ("b", 0.5), ("c", 0.0), ("d", 0.7)):
            head = row(1.0, commit=B, provider=provider)
            verdicts.append(verdict(Outcome.IMPROVEMENT, metric=COUNT, ratio=ratio, base=row(1.0), head=head))
        assert [one.ratio for one in findings_of(judged(verdicts))] == [0.0, 0.5, 0.7, 0.9]

    def test_what_is_undecided_is_one_suspicion_a_surface_and_no_finding(self):
        points = (("a", 1, 1.1), ("a", 2, 0.5), ("b", 1, 3.0))
        made = [verdict(head=row(1.0, commit=B, batch=i, provider=name), ratio=ratio) for name, i, ratio in points]
        judgement = replace(judged([*made, made[0]._replace(outcome=Outcome.UNCHANGED)]), is_paired=True)
        found = undecided_of(judgement)
        assert [(one.ratio, len(one.points), one.n_points) for one in found] == [(3.0, 1, 1), (0.5, 2, 3)]
        kinds = {(one.turn, one.state, one.class_) for one in (*found, *findings_of(judgement))}
        assert kinds == {(Turn.CHANGED, FindingState.SUSPECTED, None)}

    def test_a_failure_has_no_ratio_and_a_count_that_was_0_neither(self):
        failed = verdict(Outcome.FAILED, ratio=2.0)
        from_nothing = verdict(Outcome.REGRESSION, metric=COUNT, ratio=None)
        assert [one.ratio for one in findings_of(judged([failed, from_nothing]))] == [None, None]


def judged(verdicts):
    return Judgement(
        base_commit=A, head_commit=B, verdicts=tuple(verdicts), only_at_base=(), only_at_head=(), least_change=0.05
    )
