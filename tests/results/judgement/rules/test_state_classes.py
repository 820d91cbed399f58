"""Class of a finding of a state: what failed, what is ok again, and what no code may have changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.judgement.commit_findings import findings_of
from results.judgement.explanation import ProfiledCall
from results.judgement.findings import FindingClass, FindingState, Turn
from tests import made_findings
from tests.made_calls import US, point
from tests.made_explanations import FUSED, MOVED, SAME, STILL, cpu, explained, finding

NEWER = SAME | {"torch": "2.14.0"}
SLOWED = SAME | {"cpu_mhz": 2000.0}
BETWEEN = "Torch 2.13.0 → 2.14.0 between the two"


def gone_to(state, reason="killed", **known):
    return ProfiledCall(point=point(100 * US, state=state, reason=reason, **known), conditions=SAME)


def failed(**known):
    return finding(turn=Turn.FAILED, ratio=None, state=FindingState.CONFIRMED, **known)


def test_what_is_ok_again_says_what_it_was():
    fixed = finding(turn=Turn.FIXED, ratio=None, state=FindingState.CONFIRMED)
    found = explained(gone_to("wrong", "differs by 0.3"), cpu(FUSED, 100), found=fixed, control=MOVED)
    assert (found.class_, found.sentence) == (FindingClass.CODE, "It was wrong at the base: differs by 0.3.")
    found = explained(gone_to("wrong", None), cpu(FUSED, 100), found=fixed)
    assert found.sentence == "It was wrong at the base: no reason given."
    found = explained(cpu(FUSED, 100), gone_to("wrong", None), found=failed())
    assert found.sentence == "It is wrong: no reason given."


@pytest.mark.parametrize(
    ("provider", "state", "class_"),
    [
        ("fused", "unavailable", FindingClass.CODE),
        ("liger", "unavailable", None),
        ("liger", "crashed", FindingClass.CODE),
        ("eager", "crashed", None),
    ],
)
def test_a_state_is_of_the_code_but_where_a_package_may_be_missing_or_no_commit_reaches(provider, state, class_):
    base = cpu(FUSED, 100, of_point={"provider": provider})
    found = explained(base, gone_to(state, "not installed", provider=provider), found=failed())
    assert (found.class_, found.sentence) == (class_, f"It is {state}: not installed.")
    assert explained(base, gone_to(state, provider=provider), found=failed(), are_kernels_equal=True).class_ is None


@pytest.mark.parametrize("control", [STILL, MOVED, None])
def test_a_count_that_was_not_taken_where_the_call_works_is_of_no_class(control):
    counted = failed().surface._replace(metric="operator_count")
    found = explained(cpu(FUSED, 100), cpu(FUSED, 100), found=replace(failed(), surface=counted), control=control)
    assert found.class_ is None


@pytest.mark.parametrize(("control", "class_"), [(STILL, FindingClass.CODE), (MOVED, None), (None, None)])
def test_what_timed_out_is_of_the_code_only_where_eager_stayed_where_it_was(control, class_):
    found = explained(cpu(FUSED, 100), gone_to("timed_out"), found=failed(), control=control)
    assert (found.class_, found.sentence) == (class_, "It is timed_out: killed.")
    slowed = replace(gone_to("timed_out"), conditions=SLOWED)
    assert explained(cpu(FUSED, 100), slowed, found=failed(), control=control).class_ is None
    assert explained(gone_to("timed_out"), cpu(FUSED, 100), found=failed(), control=control).class_ is class_


def test_what_another_place_cannot_run_is_not_certainly_of_the_code():
    for changed, words in (
        ({"device": "Turing"}, "Device Xeon → Turing"),
        ({"cpu_governor": "powersave"}, "Cpu_governor performance → powersave"),
    ):
        head = replace(gone_to("unavailable", "needs sm_80"), conditions=SAME | changed)
        found = explained(cpu(FUSED, 100), head, found=failed())
        assert found.class_ is None
        assert found.sentence == (
            f"{words} between the two, from which the code is not told apart; it is unavailable: needs sm_80."
        )
    crashed = replace(gone_to("crashed"), conditions=SLOWED)
    assert explained(cpu(FUSED, 100), crashed, found=failed()).class_ is FindingClass.CODE


def test_what_fails_under_another_version_says_how():
    head = replace(gone_to("crashed"), conditions=NEWER)
    found = explained(cpu(FUSED, 100), head, found=failed())
    assert found.class_ is None
    assert found.sentence == f"{BETWEEN}, so code and stack are not told apart; it is crashed: killed."
    of_peer = {"of_point": {"provider": "liger"}}
    head = replace(gone_to("crashed", provider="liger"), conditions=NEWER)
    found = explained(cpu(FUSED, 100, **of_peer), head, found=failed())
    assert (found.class_, found.sentence) == (FindingClass.STACK, f"{BETWEEN}; it is crashed: killed.")
    equal = explained(cpu(FUSED, 100, **of_peer), head, found=failed(), are_kernels_equal=True)
    assert equal.sentence == f"{BETWEEN}, and both have the same kernels; it is crashed: killed."


def test_one_commit_that_fails_on_another_stack_says_how():
    of_stack = failed(class_=FindingClass.STACK)
    found = explained(cpu(FUSED, 100), gone_to("crashed"), found=of_stack)
    assert (found.class_, found.sentence) == (FindingClass.STACK, "It is crashed: killed.")


def test_one_commit_measured_in_turn_on_two_stacks_differs_by_the_stack_and_two_commits_by_the_code():
    two = replace(made_findings.judgement(), is_paired=True)
    for judgement, class_ in (
        (two, FindingClass.CODE),
        (replace(two, head_commit=two.base_commit), FindingClass.STACK),
    ):
        assert {one.class_ for one in findings_of(judgement)} == {class_}
    assert {one.class_ for one in findings_of(replace(two, is_paired=False))} == {None}
