"""Verdict on one series by evidence that was made up: every rule at its edges."""

from __future__ import annotations

import math

import pytest

from results.judgement.comparison.differences import Difference
from results.judgement.comparison.evidence import Evidence
from results.judgement.outcomes import Change, Doubt, Outcome
from results.judgement.series_verdicts import Context, verdict_on
from results.judgement.sides import sides_of
from results.judgement.thresholds import Limits
from tests.made_values import B, failed, row

LIMITS = Limits(least_change=0.05)
WITHIN = "within its tolerance of 5\N{NARROW NO-BREAK SPACE}%"


def side(*rows):
    [found] = sides_of(rows).values()
    return found


def evidence(ratio=1.2, *, low=None, high=None, is_significant=True, dof=4, n=(3, 3), is_disturbed=False):
    difference = Difference(
        log_ratio=math.log(ratio), variance=1e-4, dof=dof, factor=1.0, within=0.0, n_base=n[0], n_head=n[1],
        is_disturbed=is_disturbed,
    )  # fmt: skip
    interval = (ratio / 1.01 if low is None else low, ratio * 1.01 if high is None else high)
    return Evidence(
        ratio=ratio, interval=interval, p=0.001, is_significant=is_significant, floor=0.01, difference=difference
    )


def judged(found=None, *, base=None, head=None, limits=LIMITS, **context):
    base = side(row([1.0, 1.01])) if base is None else base
    head = side(row([1.2, 1.21], commit=B)) if head is None else head
    return verdict_on(base, head, evidence=found, context=Context(limits=limits, **context))


class TestTimes:
    """A noisy metric with evidence."""

    @pytest.mark.parametrize(
        ("found", "change", "outcome"),
        [
            (evidence(1.2), Change.SLOWER, Outcome.REGRESSION),
            (evidence(0.8), Change.FASTER, Outcome.IMPROVEMENT),
            (evidence(1.05), Change.SLOWER, Outcome.REGRESSION),  # the least change itself is relevant
            (evidence(1.0499), Change.UNCERTAIN, Outcome.UNCHANGED),
            (evidence(1 / 1.05), Change.FASTER, Outcome.IMPROVEMENT),
            (evidence(0.953), Change.UNCERTAIN, Outcome.UNCHANGED),
            (evidence(1.2, is_significant=False), Change.UNCERTAIN, Outcome.UNDECIDED),
            (evidence(1.01, is_significant=False), Change.SAME, Outcome.UNCHANGED),
            (evidence(1.01), Change.SAME, Outcome.UNCHANGED),
            (evidence(1.01, low=0.96, high=1.049), Change.SAME, Outcome.UNCHANGED),
            (evidence(1.01, low=0.96, high=1.05), Change.UNCERTAIN, Outcome.UNCHANGED),
            (evidence(1.01, low=0.96, high=1.2), Change.UNCERTAIN, Outcome.UNCHANGED),
            (evidence(1.01, low=1 / 1.05, high=1.02), Change.UNCERTAIN, Outcome.UNCHANGED),
            (evidence(1.01, low=0.9, high=1.02), Change.UNCERTAIN, Outcome.UNCHANGED),
        ],
    )
    def test_change_and_outcome(self, found, change, outcome):
        verdict = judged(found)
        assert (verdict.change, verdict.outcome, verdict.is_doubtful) == (change, outcome, False)
        assert verdict.ratio == found.ratio
        assert verdict.evidence is found

    @pytest.mark.parametrize(("ratio", "outcome"), [(1.2, Outcome.UNDECIDED), (1.01, Outcome.UNCHANGED)])
    @pytest.mark.parametrize(("cause", "is_noise_known"), [(Doubt.CONTROL_MOVED, True), (Doubt.MOVED_TOGETHER, False)])
    def test_a_cause_forbids_every_verdict_and_makes_it_doubtful(self, ratio, outcome, cause, is_noise_known):
        verdict = judged(evidence(ratio), cause=cause)
        assert (verdict.change, verdict.outcome) == (Change.UNCERTAIN, outcome)
        assert (verdict.why, verdict.doubt, verdict.is_doubtful) == (cause.value, cause, True)
        assert (verdict.evidence is not None) is is_noise_known

    @pytest.mark.parametrize(("ratio", "expected"), [(1.2, Outcome.UNDECIDED), (0.8, Outcome.UNDECIDED)])
    def test_of_a_control_nothing_is_said(self, ratio, expected):
        verdict = judged(evidence(ratio), is_control=True)
        assert (verdict.change, verdict.outcome, verdict.is_doubtful) == (Change.UNCERTAIN, expected, False)
        assert "eager is no code of ours" in verdict.why

    def test_what_was_disturbed_is_told_by_the_heads_cause_and_by_head_over_base(self):
        base = side(row([1.0, 1.0], disturbed="at the base"))
        for head, why in (
            (row([2.0, 2.0], commit=B, disturbed="at the head"), "disturbed: at the head"),
            (row([2.0, 2.0], commit=B), "disturbed: at the base"),
        ):
            verdict = judged(evidence(1.5, low=0.5, high=2.0, is_disturbed=True), base=base, head=side(head))
            assert (verdict.why, verdict.ratio, verdict.is_doubtful) == (why, 2.0, True)
            assert (verdict.change, verdict.outcome) == (Change.UNCERTAIN, Outcome.UNDECIDED)

    def test_of_several_causes_the_first_is_told(self):
        head = row([2.0, 2.0], commit=B, disturbed="x")
        causes = zip(head.processes, ("first", "second"), strict=True)
        head = head._replace(processes=tuple(one._replace(disturbed=why) for one, why in causes))
        assert judged(evidence(1.5, is_disturbed=True), head=side(head)).why == "disturbed: first"

    def test_its_own_limit_is_kept_beside_the_verdict(self):
        verdict = judged(evidence(1.2), limits=Limits(least_change=0.3))
        assert (verdict.outcome, verdict.least_change) == (Outcome.UNCHANGED, 0.3)

    @pytest.mark.parametrize(
        ("found", "why"),
        [
            (evidence(1.2, low=1.1, high=1.305), "+10.0 to +30.5 %, by 3 and 3 processes"),
            (evidence(4.0, low=3.5, high=4.5), "× 3.5 to × 4.5, by 3 and 3 processes"),
            (evidence(0.8, low=0.7, high=0.9, n=(1, 1)), "-30.0 to -10.0 %, by one process each"),
            (evidence(0.8, low=0.7, high=0.9, n=(2, 1)), "-30.0 to -10.0 %, by 2 and 1 processes"),
            (evidence(0.8, low=0.7, high=0.9, n=(1, 2)), "-30.0 to -10.0 %, by 1 and 2 processes"),
            (
                evidence(1.2, low=0.9, high=1.5, is_significant=False),
                "not certain: -10.0 to +50.0 %, by 3 and 3 processes",
            ),
        ],
    )
    def test_the_evidence_in_words(self, found, why):
        assert judged(found).why == why


def one(value, *, half=0.01, metric="latency_s", **changes):
    """A run of one process; half: of its interval, relative."""
    edges = {} if half is None else {"ci_low": value * (1 - half), "ci_high": value * (1 + half)}
    none = {"ci_low": None, "ci_high": None} if half is None else {}
    return side(row(value, metric=metric, **changes)._replace(**edges, **none))


ALONE = "a single number at the {}, of which no noise is known"


class TestSingleProcesses:
    """One process a side: what is known of its noise decides whether it may decide."""

    @pytest.mark.parametrize(
        ("base", "head", "context", "why"),
        [
            ({}, {}, {}, None),
            ({}, {"half": 0.06}, {}, "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only at the head"),
            ({"half": 0.06}, {}, {}, "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only at the base"),
            ({"half": 0.07}, {"half": 0.06}, {}, "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only at the head"),
            ({}, {"half": None}, {}, "has no interval at the head"),
            ({}, {"half": 0.06}, {"has_spread": True}, None),  # its history tells
            ({}, {}, {"is_paired": True}, "one undisturbed round alone"),
            ({}, {}, {"is_paired": True, "has_spread": True}, "one undisturbed round alone"),
            ({"metric": "time"}, {"metric": "time"}, {}, None),
            ({"metric": "time"}, {"metric": "time", "half": 0.5}, {}, None),  # of asv's each interval counts
            ({"metric": "time"}, {"metric": "time", "half": None}, {}, ALONE.format("head")),
            ({"metric": "time", "half": None}, {"metric": "time"}, {}, ALONE.format("base")),
            ({"metric": "track", "unit": "x"}, {"metric": "track", "unit": "x"}, {}, None),
            (
                {"metric": "track", "unit": "x"},
                {"metric": "track", "unit": "x", "half": None},
                {},
                "a single number at the head, of which no noise is known; better direction unknown",
            ),
        ],
    )
    def test_doubt(self, base, head, context, why):
        verdict = judged(
            evidence(1.2, dof=0, n=(1, 1)), base=one(1.0, **base), head=one(1.2, commit=B, **head), **context
        )
        if why is None:
            assert verdict.change in {Change.SLOWER, Change.CHANGED}
        else:
            assert (verdict.change, verdict.outcome, verdict.why) == (Change.UNCERTAIN, Outcome.UNDECIDED, why)
        assert verdict.doubt is (Doubt.SINGLE_NUMBER if why is not None and "no noise" in why else None)

    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [(1.1, 1.3, True), (0.9, 1.3, False), (1.0, 1.3, False), (0.9, 1.0, False), (0.7, 0.9, True), (1.4, 1.6, True)],
    )
    def test_it_is_doubtful_only_beyond_the_noise(self, low, high, expected):
        found = evidence(1.2, low=low, high=high, dof=0, n=(1, 1))
        assert judged(found, base=one(1.0), head=one(1.2, half=0.06, commit=B)).is_doubtful is expected

    @pytest.mark.parametrize("edges", [(None, 1.3), (1.1, None), (-math.inf, 1.3), (1.1, math.inf)])
    def test_half_an_interval_is_none(self, edges):
        head = side(row(1.2, metric="time", commit=B)._replace(ci_low=edges[0], ci_high=edges[1]))
        verdict = judged(evidence(1.2, dof=0, n=(1, 1)), base=one(1.0, metric="time"), head=head)
        assert verdict.why == "a single number at the head, of which no noise is known"

    def test_of_a_single_number_no_interval_and_no_floor_are_told(self):
        sides = {"base": one(1.0, metric="time", half=None), "head": one(1.2, metric="time", half=None, commit=B)}
        verdict = judged(evidence(1.2, dof=0, n=(1, 1)), **sides)
        assert (verdict.interval, verdict.evidence, verdict.ratio) == (None, None, pytest.approx(1.2))
        assert verdict.may_be_worse
        known = judged(evidence(1.2, dof=0, n=(1, 1)), **sides, has_spread=True)
        assert known.interval is not None
        beside = judged(evidence(1.2, dof=0, n=(1, 1)), **sides | {"base": one(1.0, metric="time")})
        assert beside.interval is None
        sides |= {"head": side(row(1.2, metric="time", disturbed="x"))}
        assert judged(evidence(1.2, dof=2, is_disturbed=True), **sides).evidence is not None

    def test_with_repeated_processes_no_interval_is_needed(self):
        verdict = judged(evidence(1.2, dof=1), base=one(1.0, half=None), head=one(1.2, half=None, commit=B))
        assert verdict.change is Change.SLOWER


class TestStates:
    """What was not ok in every run of both."""

    OK, BAD = row(1.0, run="ok"), failed(run="bad")

    @pytest.mark.parametrize(
        ("base", "head", "change", "outcome", "why"),
        [
            ((OK,), (BAD,), Change.STATE_CHANGED, Outcome.FAILED, "crashed: crashed in this test"),
            ((OK,), (OK, BAD), Change.STATE_CHANGED, Outcome.FAILED, "crashed: crashed in this test (in 1 of 2 runs)"),
            ((OK, BAD), (BAD,), Change.STATE_CHANGED, Outcome.FAILED, "crashed: crashed in this test"),
            ((OK, BAD), (OK,), Change.UNCERTAIN, Outcome.UNDECIDED, "crashed in 1 of 2 runs at the base already"),
            ((OK, BAD), (OK, BAD), Change.UNCERTAIN, Outcome.UNDECIDED, "crashed in 1 of 2 runs at the base already"),
            ((BAD,), (OK,), Change.STATE_CHANGED, Outcome.FIXED, "was crashed"),
            ((BAD,), (OK, BAD), Change.UNCERTAIN, Outcome.UNDECIDED, "crashed in 1 of 1 runs at the base already"),
            ((OK,), (BAD._replace(reason=None),), Change.STATE_CHANGED, Outcome.FAILED, "crashed: no reason given"),
        ],
    )
    def test_which_side_failed_and_how_often(self, base, head, change, outcome, why):
        verdict = judged(base=side(*base), head=side(*head))
        assert (verdict.change, verdict.outcome, verdict.why) == (change, outcome, why)
        assert verdict.ratio is None or verdict.ratio == 1.0


class TestNumbers:
    """Counts, and numbers that have no ratio."""

    def count(self, base, head, *, tolerance=None):
        def of(values):
            return side(*(row(v, metric="operator_count", unit="", run=str(i)) for i, v in enumerate(values)))

        return judged(base=of(base), head=of(head), limits=Limits(least_change=0.05, tolerance=tolerance))

    @pytest.mark.parametrize(
        ("base", "head", "tolerance", "change", "outcome", "why"),
        [
            ([3], [3], None, Change.SAME, Outcome.UNCHANGED, "exact"),
            ([3], [4], None, Change.EXACT_CHANGE, Outcome.REGRESSION, "exact"),
            ([4], [3], None, Change.EXACT_CHANGE, Outcome.IMPROVEMENT, "exact"),
            ([3, 5], [4], None, Change.UNCERTAIN, Outcome.UNCHANGED, "differs between runs of one commit"),
            ([4], [3, 5], None, Change.UNCERTAIN, Outcome.UNDECIDED, "a run at the head is worse than any at the base"),
            (
                [3, 5],
                [5, 7],
                None,
                Change.UNCERTAIN,
                Outcome.UNDECIDED,
                "a run at the head is worse than any at the base",
            ),
            ([3, 5], [5], None, Change.UNCERTAIN, Outcome.UNCHANGED, "differs between runs of one commit"),
            ([5, 7], [3, 5], None, Change.UNCERTAIN, Outcome.UNCHANGED, "differs between runs of one commit"),
            ([3, 5], [6, 7], None, Change.EXACT_CHANGE, Outcome.REGRESSION, "exact"),
            ([6, 7], [3, 5], None, Change.EXACT_CHANGE, Outcome.IMPROVEMENT, "exact"),
            ([100, 101], [100], 0.05, Change.SAME, Outcome.UNCHANGED, "exact"),
            ([100, 110], [105], 0.05, Change.UNCERTAIN, Outcome.UNCHANGED, "differs between runs of one commit"),
            ([100], [104], 0.05, Change.SAME, Outcome.UNCHANGED, WITHIN),
            ([100], [105], 0.05, Change.EXACT_CHANGE, Outcome.REGRESSION, "exact"),
            ([100, 120], [124, 150], 0.05, Change.SAME, Outcome.UNCHANGED, WITHIN),
            ([124, 150], [100, 120], 0.05, Change.SAME, Outcome.UNCHANGED, WITHIN),
        ],
    )
    def test_every_run_at_the_head_against_every_one_at_the_base(self, base, head, tolerance, change, outcome, why):
        verdict = self.count(base, head, tolerance=tolerance)
        assert (verdict.change, verdict.outcome, verdict.why) == (change, outcome, why)

    @pytest.mark.parametrize(("before", "after", "ratio"), [(3, 4, 4 / 3), (0, 1, None), (2, 0, 0.0)])
    def test_the_ratio_is_head_over_base_and_none_from_0(self, before, after, ratio):
        assert self.count([before], [after]).ratio == ratio

    @pytest.mark.parametrize(
        ("before", "after", "change", "is_doubtful", "may_be_worse"),
        [
            (-1.0, -1.0, Change.SAME, False, False),
            (-1.0, 2.0, Change.UNCERTAIN, True, True),
            (2.0, -1.0, Change.UNCERTAIN, True, False),
            (0.0, 1.0, Change.UNCERTAIN, True, True),
            (1.0, 0.0, Change.UNCERTAIN, True, False),
            (-1.0, -0.99, Change.UNCERTAIN, False, False),
            (1.0, math.inf, Change.UNCERTAIN, True, True),
            (math.inf, 1.0, Change.UNCERTAIN, True, False),
        ],
    )
    def test_numbers_without_a_ratio_do_not_pass_where_they_look_worse(
        self, before, after, change, is_doubtful, may_be_worse
    ):
        verdict = judged(None, base=side(row(before)), head=side(row(after, commit=B)))
        assert (verdict.change, verdict.is_doubtful, verdict.may_be_worse) == (change, is_doubtful, may_be_worse)
        assert verdict.outcome is (Outcome.UNDECIDED if is_doubtful else Outcome.UNCHANGED)
        doubt = None if before == after else Doubt.WITHOUT_RATIO
        assert (verdict.why, verdict.doubt) == (doubt or "the same number", doubt)
        assert verdict.ratio == (after / before if 0 < before < math.inf and 0 <= after < math.inf else None)
