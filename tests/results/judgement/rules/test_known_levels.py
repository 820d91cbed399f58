"""Which verdicts an acknowledged change explains: what is no worse than it was there, and had not recovered."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from results.judgement.comparison.relevant_changes import differs, is_relevant
from results.judgement.known_levels import in_question, with_known
from results.judgement.outcomes import Change, Judgement, Outcome, Verdict
from results.metrics import SWEEP_METRICS, Direction
from results.rows import HistoryValue, KnownChange, KnownLevel
from tests.made_values import A, B, row

LATENCY, COUNT = SWEEP_METRICS["latency_s"], SWEEP_METRICS["operator_count"]
UNKNOWN = replace(LATENCY, direction=Direction.UNKNOWN)
CRASHED = {"head": None, "head_state": "crashed", "outcome": Outcome.FAILED}


def value(number, *, state="ok", half=0.01):
    interval = (None, None) if number is None or half is None else (number * (1 - half), number * (1 + half))
    return HistoryValue("c" * 40, None, None, "r", None, state, None, number, *interval, None, None, None)


def side(number, *, state="ok", half=0.01, **changes):
    found = row(number or 1.0, **changes)
    low, high = (None, None) if half is None else (found.value * (1 - half), found.value * (1 + half))
    return found._replace(state=state, value=number, ci_low=low, ci_high=high)


def explained(
    base=1.0,
    head=1.5,
    *,
    known=1.5,
    later=(),
    metric=LATENCY,
    outcome=Outcome.REGRESSION,
    head_state="ok",
    known_state="ok",
    half=0.01,
    is_doubtful=False,
    least_change=0.05,
    without=(),
    happened=Change.SLOWER,
    was_gone=False,
):
    """The verdict after what is known was taken into account."""
    missing = dict.fromkeys(without)
    head_row = side(head, state=head_state, commit=B, half=half)._replace(**missing)
    verdict = Verdict(
        base=side(base, half=half), head=head_row, metric=metric, change=happened, outcome=outcome, ratio=1.5,
        reason="measured", is_doubtful=is_doubtful, least_change=least_change,
    )  # fmt: skip
    change = KnownChange(
        series_id=head_row.series_id, point_id=None, project="p", machine="m", environment="e", commit="cafe" * 10,
        commit_date=None, decision="accepted", note="agreed", decided_by=None, decided_at=None, benchmark="mlp",
        metric=metric.name, parameters=(),
    )  # fmt: skip
    at_change = None if was_gone else value(known, state=known_state, half=half)._replace(**missing)
    level = KnownLevel(change=change, value=at_change, later=tuple(later))
    judgement = Judgement(
        base_commit=A, head_commit=B, verdicts=(verdict,), only_at_base=(), only_at_head=(), least_change=0.05
    )
    [found] = with_known(judgement, [level]).verdicts
    assert in_question(judgement) == ([head_row.series_id] if found is not verdict else [])
    return found


@pytest.mark.parametrize(
    ("arguments", "is_known"),
    [
        ({}, True),
        ({"head": 1.2}, True),  # better than it was acknowledged
        ({"head": 1.55}, True),  # 3 % more is not relevant
        ({"head": 1.59}, False),
        ({"head": 1.59, "half": 0.04}, True),  # within the noise
        ({"head": 2.0}, False),
        ({"head": 2.0, "half": 0.4}, True),  # intervals touch: the same level
        ({"later": [value(1.5)]}, True),
        ({"later": [value(1.0)]}, False),  # it had recovered
        ({"later": [value(1.5), value(1.0), value(1.5)]}, False),
        ({"later": [value(None, state="crashed")]}, True),  # a crash is no recovery
        ({"known": 1.0}, False),  # acknowledged where nothing had changed
        ({"metric": COUNT, "base": 1, "head": 3, "known": 3, "half": None}, True),
        ({"metric": COUNT, "base": 1, "head": 3, "known": 2, "half": None}, False),
        ({"metric": COUNT, "base": 1, "head": 2, "known": 3, "half": None}, True),
        ({"metric": COUNT, "base": 1, "head": 3, "known": 3, "half": None, "later": [value(1, half=None)]}, False),
        ({"metric": COUNT, "base": 1, "head": 3, "known": 3, "half": None, "later": [value(2, half=None)]}, True),
        ({"metric": UNKNOWN, "outcome": Outcome.CHANGED}, True),
        ({"metric": UNKNOWN, "outcome": Outcome.CHANGED, "head": 0.5}, False),  # changed the other way
        ({"half": None}, True),
        ({"half": None, "head": 2.0}, False),
        ({"half": None, "known": 0.0, "head": 1.0}, False),
        ({"half": math.inf, "head": 2.0}, True),  # too little is known to say that it is worse
        (CRASHED | {"base": None, "known": None, "known_state": "crashed"}, True),
        (CRASHED | {"base": None, "known": None, "known_state": "crashed", "later": [value(1.0)]}, False),
        (CRASHED | {"known": None, "known_state": "crashed"}, True),
        (CRASHED | {"head_state": "wrong", "known": None, "known_state": "crashed"}, False),
        (CRASHED, False),
        ({"known": None, "known_state": "crashed"}, False),
        (
            {
                "head": None, "head_state": "crashed", "known": None, "known_state": "crashed",
                "outcome": Outcome.FAILED, "later": [value(1.0)],
            },
            False,
        ),
        ({"outcome": Outcome.UNDECIDED, "is_doubtful": True}, True),
    ],
)  # fmt: skip
def test_what_is_no_worse_than_the_known_level_is_known(arguments, is_known):
    found = explained(**arguments)
    if is_known:
        assert (found.change, found.outcome) == (Change.KNOWN, Outcome.KNOWN)
        assert found.why == "accepted at cafecafe: agreed"
        assert found.known is not None
    else:
        assert found.outcome is arguments.get("outcome", Outcome.REGRESSION)
        assert found.why == "measured; not the known change at cafecafe"
        assert found.known is None


@pytest.mark.parametrize("edges", [("ci_low",), ("ci_high",), ("ci_low", "ci_high")])
def test_half_an_interval_is_none(edges):
    """Of 1.5 and 1.6, known to ± 10 %, nothing is certain; without intervals the ratio alone tells."""
    assert explained(head=1.6, half=0.1).outcome is Outcome.KNOWN
    assert explained(head=1.6, half=0.1, without=edges).outcome is Outcome.REGRESSION


@pytest.mark.parametrize(
    "arguments",
    [
        {"outcome": Outcome.IMPROVEMENT},
        {"outcome": Outcome.UNCHANGED},
        {"outcome": Outcome.UNDECIDED, "is_doubtful": False},
        {"outcome": Outcome.UNDECIDED, "is_doubtful": True, "head": 0.9},
    ],
)
def test_what_is_not_worse_needs_no_explanation(arguments):
    found = explained(**arguments)
    assert (found.outcome, found.why) == (arguments["outcome"], "measured")


@pytest.mark.parametrize("happened", [Change.GONE, Change.SLOWER])
@pytest.mark.parametrize("was_gone", [True, False])
def test_that_a_series_is_gone_explains_that_it_is_gone_and_nothing_else_does(happened, was_gone):
    is_known = (happened is Change.GONE) == was_gone
    found = explained(happened=happened, was_gone=was_gone)
    assert (found.outcome is Outcome.KNOWN) is is_known


def test_what_is_measured_again_is_gone_no_more_however_slow_it_is():
    assert explained(happened=Change.GONE, was_gone=True, later=[value(9.0)]).outcome is Outcome.REGRESSION


def test_what_nobody_acknowledged_stays_what_it_is():
    verdict = Verdict(
        base=side(1.0), head=side(1.5, commit=B), metric=LATENCY, change=Change.SLOWER, outcome=Outcome.REGRESSION,
        ratio=1.5, reason="measured",
    )  # fmt: skip
    judgement = Judgement(
        base_commit=A, head_commit=B, verdicts=(verdict,), only_at_base=(), only_at_head=(), least_change=0.05
    )
    assert with_known(judgement, []).verdicts == (verdict,)


def test_its_own_least_change_counts_for_a_series():
    """A level 20 % above the known one is as known where 30 % are what is relevant."""
    assert explained(head=1.8).outcome is Outcome.REGRESSION
    assert explained(head=1.8, least_change=0.3).outcome is Outcome.KNOWN


@pytest.mark.parametrize(
    ("before", "after", "least_change", "expected"),
    [
        (1.0, 1.0, 0, False), (1.0, 1.0000001, 0, True),
        (1.0, 1.05, 0.05, True), (1.05, 1.0, 0.05, True), (1.0, 1.04, 0.05, False),
        (0.0, 0.0, 0.05, False), (0.0, 1.0, 0.05, True), (1.0, 0.0, 0.05, True),
        (-1.0, 1.0, 0.05, True), (1.0, -1.0, 0.05, True), (-1.0, -1.04, 0.05, False), (-1.0, -2.0, 0.05, True),
        (-2.0, -1.0, 0.05, True), (0.0, 0.5, 0.05, True), (0.3, 0.2, 2.0, False), (0.9, 0.2, 2.0, True),
        (0.0, math.inf, 0.05, True), (math.inf, 0.0, 0.05, True), (math.inf, math.inf, 0.05, False),
        (1e-200, 1e-200, 0.05, False), (1e-200, -1e-200, 0.05, True),
    ],
)  # fmt: skip
def test_a_relevant_difference(before, after, least_change, expected):
    assert is_relevant(before, after, least_change=least_change) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(0.0, 0.5, False), (0.5, 0.5, False), (0.0, 0.51, True), (0.51, -0.51, True), (0.51, 0.0, True), (1.0, 2.0, True),
     (1.0, 1.9, False), (0.25, -0.5, False), (-0.6, 0.0, True), (0.0, -0.6, True)],
)  # fmt: skip
def test_values_of_an_exact_metric_differ_beyond_its_floor_and_its_tolerance(before, after, expected):
    assert differs(replace(COUNT, tolerance=1.0, floor=0.5), before, after) is expected
