"""A finding is classed by exclusion: method, stack, machine, noise, code; None where what is known leaves several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.judgement.explanation import ProfiledCall, Subject, explain
from results.judgement.findings import FindingClass, FindingState, Turn
from tests.made_calls import US, point
from tests.made_explanations import EAGER, FUSED, MOVED, SAME, STILL, A, B, cpu, explained, finding


@pytest.mark.parametrize("provider", ["eager", "compiled"])
def test_another_version_is_of_the_stack_where_no_commit_of_ours_can_reach(provider):
    newer = {"conditions": SAME | {"torch": "2.14.0"}}
    found = explained(
        *(cpu(EAGER, time, of_point={"provider": provider}, **more) for time, more in ((130, {}), (160, newer)))
    )
    assert found.class_ is FindingClass.STACK
    assert found.sentence.startswith("Torch 2.13.0 → 2.14.0 between the two; ")
    assert not any("stack" in text for text in found.ruled_out)


def test_another_version_and_a_slower_call_of_ours_are_not_told_apart_though_it_runs_the_same():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 150, conditions=SAME | {"torch": "2.14.0"}))
    assert found.class_ is None
    assert found.sentence.startswith("Torch 2.13.0 → 2.14.0 between the two, so code and stack are not told apart; the")


def test_another_version_where_eager_moved_as_well_is_of_the_stack_for_certain():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 120, conditions=SAME | {"torch": "2.14.0"}), control=MOVED)
    assert found.class_ is FindingClass.STACK
    assert "eager, which no commit changes, is +21.0 %, too" in found.sentence


def test_another_version_and_other_operators_are_not_told_apart():
    found = explained(cpu(FUSED, 100), cpu(EAGER, 130, conditions=SAME | {"torch": "2.14.0"}))
    assert found.class_ is None
    assert "code and stack are not told apart" in found.sentence
    assert "ost fusion" in found.sentence


def test_a_slower_machine_is_told_by_eager_and_by_its_clock():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 121, conditions=SAME | {"cpu_mhz": 2100.0}), control=MOVED)
    assert found.class_ is FindingClass.MACHINE
    assert "the machine (cpu_mhz 2600 → 2100)" in found.sentence


def test_another_ruler_is_the_method():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 120, of_point={"ruler_version": "4"}))
    assert found.class_ is FindingClass.METHOD
    assert "uler 3 measured the base, and ruler 4 the head" in found.sentence


def test_equal_kernels_under_equal_versions_are_noise():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 103), are_kernels_equal=True)
    assert found.class_ is FindingClass.NOISE
    assert "the same kernels" in found.sentence


def test_what_is_counted_otherwise_under_equal_kernels_is_neither_noise_nor_the_code():
    counted = finding("peak_memory_bytes", ratio=1.5, state=FindingState.CONFIRMED)
    base, head = (cpu(FUSED, 100, peak_memory_bytes=each) for each in (4e6, 6e6))
    found = explained(base, head, found=counted, are_kernels_equal=True)
    assert (found.class_, found.sentence) == (
        None,
        "Both commits have the same kernels, and it is counted, not timed.",
    )


@pytest.mark.parametrize("metric", ["latency_s", "operator_count"])
@pytest.mark.parametrize("are_kernels_equal", [True, False])
def test_of_what_is_gone_nothing_is_known(metric, are_kernels_equal):
    gone = finding(metric, turn=Turn.FAILED, state=FindingState.CONFIRMED)
    found = explained(cpu(FUSED, 100), None, found=gone, are_kernels_equal=are_kernels_equal)
    assert (found.class_, found.sentence) == (None, None)


def test_what_one_host_of_a_fleet_measured_otherwise_is_of_the_machine():
    elsewhere = SAME | {"host": "gpu7"}
    found = explained(
        cpu(FUSED, 100, conditions=SAME | {"host": "gpu0"}),
        cpu(FUSED, 120, conditions=elsewhere),
        are_kernels_equal=True,
    )
    assert found.class_ is FindingClass.MACHINE
    assert "ost gpu0 → gpu7 between the two, and both have the same kernels" in found.sentence
    found = explained(
        cpu(FUSED, 100, conditions=SAME | {"host": "gpu0"}), cpu(FUSED, 121, conditions=elsewhere), control=MOVED
    )
    assert found.class_ is FindingClass.MACHINE
    assert "the machine (host gpu0 → gpu7)" in found.sentence
    # With eager where it was, a slower host is no excuse for our code.
    found = explained(cpu(FUSED, 100, conditions=SAME | {"host": "gpu0"}), cpu(FUSED, 121, conditions=elsewhere))
    assert found.class_ is not FindingClass.MACHINE


def test_without_a_profile_a_suspicion_is_of_no_class_though_eager_stayed_where_it_was():
    found = explained(ProfiledCall(point=point(100 * US), conditions=SAME), cpu(FUSED, 130))
    assert (found.sentence, found.class_) == (None, None)
    confirmed = finding(state=FindingState.CONFIRMED)
    found = explained(ProfiledCall(point=point(100 * US), conditions=SAME), cpu(FUSED, 130), found=confirmed)
    assert (found.sentence, found.class_) == (None, FindingClass.CODE)


def test_a_point_without_finding_is_of_no_class_unless_it_runs_something_else():
    subject = Subject(revisions=(A, B), base=cpu(FUSED, 100), head=cpu(FUSED, 130), control=STILL)
    assert explain(subject).class_ is None
    assert explain(replace(subject, head=cpu(EAGER, 130))).class_ is FindingClass.CODE


def test_what_is_counted_is_of_the_code_whatever_the_clock_did():
    head = cpu(FUSED, 100, peak_memory_bytes=5e6, conditions=SAME | {"cpu_mhz": 1800.0})
    found = explained(
        cpu(FUSED, 100, peak_memory_bytes=4e6), head, control=None, found=finding("peak_memory_bytes", ratio=1.25)
    )
    assert found.class_ is FindingClass.CODE


def test_a_machine_that_moved_explains_no_count_and_no_state():
    counted = finding("operator_count", ratio=2.0)
    found = explained(cpu(FUSED, 100), cpu(EAGER, 121), control=MOVED, found=counted)
    assert found.class_ is FindingClass.CODE
    assert "eager" not in found.sentence
    crashed = ProfiledCall(point=point(100 * US)._replace(state="crashed", reason="killed"), conditions=SAME)
    failed = finding(turn=Turn.FAILED, state=FindingState.CONFIRMED)
    found = explained(cpu(FUSED, 100), crashed, control=MOVED, found=failed)
    assert (found.class_, found.sentence) == (FindingClass.CODE, "It is crashed: killed.")
    equal = explained(cpu(FUSED, 100), crashed, found=failed, are_kernels_equal=True)
    assert (equal.class_, "code: git has the same kernels at both commits" in equal.ruled_out) == (None, True)


def test_a_time_is_of_no_class_where_control_series_moved_within_their_noise_and_a_clock_differs():
    control = replace(STILL, ratio=0.92)
    found = explained(cpu(FUSED, 100), cpu(FUSED, 110, conditions=SAME | {"cpu_mhz": 1800.0}), control=control)
    assert found.class_ is None
    assert not any("eager" in text for text in found.ruled_out)


def test_what_was_ruled_out_comes_with_its_evidence():
    found = explained(cpu(FUSED, 100), cpu(EAGER, 130))
    assert found.ruled_out == (
        "method: ruler 3 at both",
        "stack: torch 2.13.0, triton 3.7.1, python 3.11.7 at both",
        "conditions: the same device, settings and clocks",
        "disturbance: none was seen",
        "machine: eager is +0.4 % over 12 series",
    )


def test_what_moved_everything_without_control_series_is_the_machine_or_the_stack():
    everything = finding("*", class_=FindingClass.MACHINE, points=(), why="more than half of 40 series moved together")
    slow = cpu(EAGER, 130, conditions=SAME | {"cpu_mhz": 2000.0})
    found = explained(cpu(EAGER, 100), slow, control=None, found=everything)
    assert found.class_ is FindingClass.MACHINE
    assert found.sentence == "More than half of 40 series moved together (cpu_mhz 2600 → 2000)."
    newer = cpu(EAGER, 130, conditions=SAME | {"triton": "3.8.0"})
    assert explained(cpu(EAGER, 100), newer, control=None, found=everything).class_ is FindingClass.STACK


def test_a_compiled_call_that_runs_something_else_under_equal_versions_is_of_the_code_and_eagers_of_no_class():
    for provider, class_ in (("compiled", FindingClass.CODE), ("eager", None)):
        known = {"of_point": {"provider": provider}}
        assert explained(cpu(FUSED, 100, **known), cpu(EAGER, 130, **known)).class_ is class_


def test_only_what_both_runs_tell_is_ruled_out():
    def conditions_of(**known):
        texts = explained(cpu(FUSED, 100, conditions=known), cpu(FUSED, 130, conditions=known)).ruled_out
        return [text for text in texts if text.startswith("conditions")]

    assert conditions_of() == []
    assert conditions_of(torch="2.13.0") == []
    assert conditions_of(device="Xeon") == ["conditions: the same device"]
    assert conditions_of(cpu_mhz=1.0, tf32=False) == ["conditions: the same settings and clocks"]
    for base, head in (({}, SAME), (SAME, {}), ({"cpu_mhz": 2600.0}, {"gpu_sm_clock_mhz": 1980.0})):
        texts = explained(cpu(FUSED, 100, conditions=base), cpu(FUSED, 130, conditions=head)).ruled_out
        assert not any(text.startswith(("conditions", "stack")) for text in texts)


def test_what_differs_or_is_not_known_is_not_ruled_out():
    def kinds(base, head, **known):
        return [text.split(":")[0] for text in explained(base, head, **known).ruled_out]

    base, newer = cpu(FUSED, 100), SAME | {"torch": "2.14.0"}
    assert kinds(base, None, control=None) == []
    head = cpu(FUSED, 130, of_point={"ruler_version": "4"}, conditions=newer)
    assert kinds(base, head, control=None) == ["conditions", "disturbance", "operators"]
    slower = cpu(FUSED, 130, conditions=SAME | {"cpu_mhz": 2000.0})
    assert kinds(base, slower) == ["method", "stack", "disturbance", "machine", "operators"]
    disturbed = replace(base, point=base.point._replace(disturbed="the machine was slow"))
    for pair in ((base, disturbed), (disturbed, base)):
        assert "disturbance" not in kinds(*pair)


def test_the_machine_is_not_ruled_out_by_eager_where_another_host_measured():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 130, conditions=SAME | {"host": "b"}))
    assert not any("eager" in text for text in found.ruled_out)


def test_only_versions_that_both_tell_are_ruled_out():
    known = {"torch": "2.13.0", "cuda": "13.0", "cpu_mhz": 1.0}
    found = explained(cpu(FUSED, 100, conditions=known), cpu(FUSED, 130, conditions=known))
    assert "stack: torch 2.13.0, cuda 13.0 at both" in found.ruled_out
