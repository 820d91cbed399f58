"""Where a call's time goes, as the article's explanations tell it: the least, the rest, and why one is slower."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.judgement.article.cases import Observed
from results.judgement.article.explanations import Rule
from tests.results.judgement.article.cases import GEGLU, LINEAR, geglu, linear, row, told


def slower_fused(**computing):
    """The linear with a fused that is surely slower; operator_time_s of eager and fused as given."""
    eager, _, fused = linear().entries
    slow = {"speedup_vs_eager": 0.9, "speedup_ci_low": 0.88, "speedup_ci_high": 0.92}
    mine, theirs = computing.get("eager"), computing.get("fused")
    return Observed(
        case=LINEAR,
        entries=(
            replace(eager, row=eager.row._replace(operator_time_s=mine)),
            replace(fused, row=fused.row._replace(**slow, operator_time_s=theirs)),
        ),
    )


@pytest.mark.parametrize(
    ("computing", "told_text"),
    [
        (
            {"eager": 1e-4, "fused": 1.3e-4},
            (
                "fused is slower than eager: its operators compute 1.30 × as long as eager's, though they are no "
                "more; what it saves between steps is less than what the products in fused_mlp::linear lose against "
                "the library's."
            ),
        ),
        (
            {"eager": 1e-4, "fused": 1e-4},
            (
                "fused is slower than eager though it computes no longer (1 × eager's time); it loses that outside "
                "of what computes."
            ),
        ),
        ({"eager": 1e-4}, "Why fused is slower than eager the profiles do not say."),
    ],
)
def test_why_one_is_slower_is_told_from_what_both_compute(computing, told_text):
    assert told(slower_fused(**computing))[Rule.SLOWER] == [told_text]


def test_who_is_not_surely_slower_is_not_explained_nor_twice_who_pays_for_guards():
    assert Rule.SLOWER not in told(geglu())
    assert told(linear())[Rule.GUARDS]
    assert Rule.SLOWER not in told(linear())


def test_a_bound_is_told_where_the_ceilings_are_known():
    eager = replace(geglu().eager, row=row("eager", bound="overhead", bound_detail="24 of 40 µs outside operators"))
    assert told(Observed(case=GEGLU, entries=(eager,)))[Rule.BOUND] == [
        "eager is bound by overhead (24 of 40 µs outside operators)."
    ]
    assert Rule.BOUND not in told(geglu())


@pytest.mark.parametrize(
    ("overhead_s", "rest"),
    [
        (15.5e-6, "of the rest, 66.5 µs pass in its operators and 15.5 µs outside"),
        (0.0, "its operators take all the rest, as far as a profile, which makes each of them dearer, can tell"),
        (95e-6, "its operators take all the rest, as far as a profile, which makes each of them dearer, can tell"),
    ],
)
def test_a_call_far_from_its_least_time_is_not_called_bound_by_it_and_the_rest_is_told(overhead_s, rest):
    known = {"latency_s": 103e-6, "floor_s": 21e-6, "percent_of_floor": 100 * 21 / 103, "overhead_s": overhead_s}
    eager = replace(geglu().eager, row=row("eager", bound="compute", **known))
    assert told(Observed(case=GEGLU, entries=(eager,)))[Rule.BOUND] == [
        f"eager takes 4.90 × the least its arithmetic takes here (103 µs against 21 µs); {rest}."
    ]


def test_a_call_that_is_faster_than_its_least_time_takes_no_more_than_that():
    known = {"latency_s": 100e-6, "floor_s": 107e-6, "percent_of_floor": 107.0}
    eager = replace(geglu().eager, row=row("eager", bound="memory", **known))
    assert told(Observed(case=GEGLU, entries=(eager,)))[Rule.BOUND] == [
        "eager takes no more than the least its memory traffic takes here."
    ]
