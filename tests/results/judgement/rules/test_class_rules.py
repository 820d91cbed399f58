"""Class of a finding at its edges: two causes at once, what is not known, and conditions that change what runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.judgement.explanation import ProfiledCall, Subject, explain
from results.judgement.findings import FindingClass, FindingState, Turn
from tests.made_calls import US, point
from tests.made_explanations import EAGER, FUSED, MOVED, SAME, STILL, A, B, cpu, explained, finding

NEWER = SAME | {"torch": "2.14.0"}
SLOW = {"cpu_mhz": 2000.0}
SLOWED = SAME | SLOW
CONFIRMED = finding(state=FindingState.CONFIRMED)
OF_EVERYTHING = finding("*", class_=FindingClass.MACHINE, points=(), why="all moved")
BETWEEN = "Torch 2.13.0 → 2.14.0 between the two"
TOO = "eager, which no commit changes, is +21.0 %, too"


def of_compiled(tree, latency, **conditions):
    return cpu(tree, latency, of_point={"provider": "compiled"}, conditions=SAME | conditions)


# What moved the control series, too.


def test_a_machine_explains_a_change_of_which_its_control_series_show_half_and_no_larger_one():
    for latency, class_ in ((121, FindingClass.MACHINE), (146, FindingClass.MACHINE), (147, None)):
        found = explained(cpu(FUSED, 100), cpu(FUSED, latency), control=MOVED, found=finding(ratio=latency / 100))
        assert found.class_ is class_
    assert found.sentence.startswith(f"E{TOO[1:]}, less than half of it; the host spends more")
    twice = replace(MOVED, ratio=2.0)
    for ratio, class_ in ((4.0, FindingClass.MACHINE), (4.01, None)):  # as far again, by the ratio
        found = explained(cpu(FUSED, 100), cpu(FUSED, 100 * ratio), control=twice, found=finding(ratio=ratio))
        assert found.class_ is class_
    newer = explained(cpu(FUSED, 100), cpu(FUSED, 300, conditions=NEWER), control=MOVED, found=finding(ratio=3.0))
    assert newer.class_ is None
    assert newer.sentence.startswith(f"{BETWEEN}, and {TOO}, less than half of it; ")


def test_a_machine_that_became_faster_explains_no_call_that_became_slower():
    faster = replace(MOVED, ratio=0.8)
    found = explained(cpu(FUSED, 100), cpu(FUSED, 125, conditions=SLOWED), control=faster)
    assert found.class_ is None
    assert "eager" not in found.sentence
    gained = finding(ratio=0.8, turn=Turn.FASTER)
    assert explained(cpu(FUSED, 100), cpu(FUSED, 80), control=faster, found=gained).class_ is FindingClass.MACHINE


def test_a_slower_machine_and_a_lost_fusion_are_not_told_apart():
    base, head = cpu(FUSED, 100), cpu(EAGER, 125, conditions=SLOWED)
    found = explained(base, head, control=MOVED)
    assert found.class_ is None
    assert found.sentence.startswith(
        f"E{TOO[1:]} (cpu_mhz 2600 → 2000), so code and machine are not told apart; lost fusion: "
    )
    # No commit changes eager, and equal kernels are no cause of another structure.
    assert explained(base, head, control=MOVED, are_kernels_equal=True).class_ is FindingClass.MACHINE
    for provider, class_ in (("eager", FindingClass.MACHINE), ("compiled", None)):
        calls = [replace(call, point=call.point._replace(provider=provider)) for call in (base, head)]
        assert explained(*calls, control=MOVED).class_ is class_


def test_a_newer_stack_that_moved_eager_and_a_lost_fusion_of_ours_are_not_told_apart():
    found = explained(cpu(FUSED, 100), cpu(EAGER, 125, conditions=NEWER), control=MOVED)
    assert found.class_ is None
    assert found.sentence.startswith(f"{BETWEEN}, and {TOO}, so code and stack are not told apart; lost fusion")
    compiled = {"of_point": {"provider": "compiled"}}
    found = explained(cpu(FUSED, 100, **compiled), cpu(EAGER, 125, conditions=NEWER, **compiled), control=MOVED)
    assert found.class_ is FindingClass.STACK
    assert found.sentence.startswith(f"{BETWEEN}, and {TOO}; ")


def test_a_newer_stack_on_a_slower_machine_is_told_apart_from_it_by_nothing():
    both = "Torch 2.13.0 → 2.14.0, cpu_mhz 2600 → 2000 between the two, which are not told apart"
    found = explained(cpu(FUSED, 100), cpu(FUSED, 121, conditions=NEWER | SLOW), control=MOVED)
    assert found.class_ is None
    assert found.sentence.startswith(f"{both}, and {TOO}; ")
    found = explained(cpu(FUSED, 100), cpu(FUSED, 121, conditions=NEWER), control=MOVED)
    assert found.class_ is FindingClass.STACK
    assert found.sentence.startswith(f"{BETWEEN}, and {TOO}; ")
    # Without eager's word, of what no commit of ours reaches.
    for base, head, known in (
        (of_compiled(FUSED, 100), of_compiled(FUSED, 121, **NEWER | SLOW), {}),
        (cpu(FUSED, 100), cpu(FUSED, 121, conditions=NEWER | SLOW), {"are_kernels_equal": True}),
    ):
        found = explained(base, head, control=None, **known)
        assert found.class_ is None
        assert found.sentence.startswith(f"{both}; ")
        assert explained(base, head, control=STILL, **known).class_ is FindingClass.STACK
        counted = finding("peak_memory_bytes", ratio=1.5)
        assert explained(base, head, control=None, found=counted, **known).class_ is FindingClass.STACK
        pooled = replace(head, conditions=NEWER | {"allocator": "pool"})
        for each in (counted, finding()):
            assert explained(base, pooled, found=each, **known).class_ is None
    # Both were measured in turn on one machine.
    of_stack = finding(class_=FindingClass.STACK, state=FindingState.CONFIRMED)
    head = cpu(FUSED, 121, conditions=NEWER | SLOW)
    for are_equal in (True, None):
        found = explained(cpu(FUSED, 100), head, control=None, found=of_stack, are_kernels_equal=are_equal)
        assert found.class_ is FindingClass.STACK
    ours = explained(cpu(FUSED, 100), head, control=None)
    assert ours.sentence.startswith(f"{BETWEEN}, so code and stack are not told apart; ")


def test_a_point_without_finding_is_compared_with_eager_by_its_latency():
    subject = Subject(revisions=(A, B), base=cpu(FUSED, 100), head=cpu(FUSED, 125), control=MOVED)
    assert explain(subject).class_ is FindingClass.MACHINE
    for latency in (400, 100, 80):
        assert explain(replace(subject, head=cpu(FUSED, latency))).class_ is None
    # Where it has no latency, nothing contradicts eager.
    for base_s, head_s in ((None, 100 * US), (100 * US, None)):
        calls = {"base": ProfiledCall(point=point(base_s)), "head": ProfiledCall(point=point(head_s))}
        assert explain(replace(subject, **calls)).class_ is FindingClass.MACHINE
    assert explain(replace(subject, base=None)).class_ is FindingClass.MACHINE


def test_what_moved_everything_says_which_version_and_else_what_of_the_machine_differs():
    for conditions, class_, sentence in (
        (SAME, FindingClass.MACHINE, "All moved."),
        (SLOWED, FindingClass.MACHINE, "All moved (cpu_mhz 2600 → 2000)."),
        (NEWER, FindingClass.STACK, "All moved (torch 2.13.0 → 2.14.0)."),
        (NEWER | SLOW, None, "All moved (torch 2.13.0 → 2.14.0, cpu_mhz 2600 → 2000)."),
    ):
        head = cpu(EAGER, 130, conditions=conditions)
        found = explained(cpu(EAGER, 100), head, control=None, found=OF_EVERYTHING)
        assert (found.class_, found.sentence) == (class_, sentence)


# Versions, and what each is told beside.


def test_two_rulers_are_the_method_whatever_else_differs():
    newer = cpu(EAGER, 130, of_point={"ruler_version": "4"}, conditions=NEWER)
    assert explained(cpu(FUSED, 100), newer, control=MOVED).class_ is FindingClass.METHOD


def test_equal_kernels_under_another_version_are_of_the_stack():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 120, conditions=NEWER), are_kernels_equal=True)
    assert found.class_ is FindingClass.STACK
    assert found.sentence.startswith(f"{BETWEEN}, and both have the same kernels; ")


def test_one_commit_on_two_stacks_differs_by_the_stack():
    of_stack = finding(class_=FindingClass.STACK, state=FindingState.CONFIRMED)
    for known in ({"are_kernels_equal": None}, {"are_kernels_equal": True}):
        found = explained(cpu(FUSED, 100), cpu(EAGER, 130, conditions=NEWER), found=of_stack, **known)
        assert found.class_ is FindingClass.STACK
        assert "not told apart" not in found.sentence
    # Of packages that no condition names, and of what was not profiled, too.
    assert explained(cpu(FUSED, 100), cpu(FUSED, 130), found=of_stack).class_ is FindingClass.STACK
    assert explained(None, None, found=of_stack).class_ is FindingClass.STACK


# Another machine, and settings.


def test_another_host_explains_times_and_another_device_what_runs_as_well():
    base = of_compiled(FUSED, 100)
    found = explained(base, of_compiled(FUSED, 120, host="gpu7"))
    assert found.class_ is FindingClass.MACHINE
    assert found.sentence.startswith("Host unknown → gpu7 between the two; ")
    assert explained(base, of_compiled(FUSED, 120, gpu_uuid="G")).class_ is FindingClass.MACHINE
    # Machines of one class run the same: what runs otherwise, or is counted otherwise, is not of the host.
    assert explained(base, of_compiled(EAGER, 120, host="gpu7")).class_ is FindingClass.CODE
    counted = finding("peak_memory_bytes", ratio=1.5)
    assert explained(base, of_compiled(FUSED, 100, host="gpu7"), found=counted).class_ is FindingClass.CODE
    for known in ({}, {"found": counted}):
        head = of_compiled(EAGER, 120, host="gpu7", device="A100")
        assert explained(base, head, **known).class_ is FindingClass.MACHINE


@pytest.mark.parametrize(
    "changed", [{"allocator": "cudaMallocAsync"}, {"tf32": True}, {"float32_matmul_precision": "high"}]
)
def test_a_setting_by_which_the_same_code_runs_otherwise_is_not_told_apart_from_the_code(changed):
    [(name, value)] = changed.items()
    before = f"{name[0].upper()}{name[1:]} unknown → {value}"
    found = explained(cpu(FUSED, 100), cpu(EAGER, 130, conditions=SAME | changed))
    assert found.class_ is None
    assert found.sentence.startswith(f"{before} between the two, from which the code is not told apart; lost fusion")
    base, head = (cpu(FUSED, 100, peak_memory_bytes=size) for size in (4e6, 6e6))
    counted = finding("peak_memory_bytes", ratio=1.5, class_=FindingClass.CODE)
    assert explained(base, replace(head, conditions=SAME | changed), found=counted).class_ is None
    # Nothing else than the clock changed: no clock changes what runs.
    assert explained(cpu(FUSED, 100), cpu(EAGER, 130, conditions=SLOWED)).class_ is FindingClass.CODE
    # With nothing that bears out the code, nothing has to be told apart from it.
    assert (
        explained(
            cpu(FUSED, 100, overhead_s=None), cpu(FUSED, 130, overhead_s=None, conditions=SAME | changed)
        ).sentence
        is None
    )


def test_our_call_on_another_device_that_runs_something_else_is_of_no_class():
    for name in ("device", "host_cpu"):
        found = explained(cpu(FUSED, 100), cpu(EAGER, 130, conditions=SAME | {name: "EPYC"}))
        assert found.class_ is None
    assert explained(cpu(FUSED, 100), cpu(EAGER, 130, conditions=SAME | {"host": "b"})).class_ is FindingClass.CODE


# Noise.


def test_noise_is_said_only_where_nothing_is_known_to_differ():
    def equal(head, found=None, **conditions):
        base = cpu(FUSED, 100, overhead_s=None)
        return explained(base, head, are_kernels_equal=True, found=found)

    head = cpu(FUSED, 103, overhead_s=None)
    same = "Both commits have the same kernels"
    for changed, found, class_, sentence in (
        (head, None, FindingClass.NOISE, f"{same}, and the versions are the same."),
        (head, CONFIRMED, None, f"{same}, and the versions are the same."),
        (replace(head, conditions=SLOWED), None, None, f"{same}; cpu_mhz 2600 → 2000 between the two."),
        (replace(head, conditions={}), None, None, f"{same}; whether the versions are the same is not known."),
    ):
        answer = equal(changed, found)
        assert (answer.class_, answer.sentence) == (class_, sentence)


def test_a_point_without_finding_is_noise_under_equal_kernels_unless_it_runs_something_else():
    subject = Subject(revisions=(A, B), base=cpu(FUSED, 100), head=cpu(FUSED, 103), are_kernels_equal=True)
    assert explain(subject).class_ is FindingClass.NOISE
    assert explain(replace(subject, head=cpu(EAGER, 103))).class_ is None


def test_of_eager_equal_kernels_tell_nothing():
    of_eager = {"of_point": {"provider": "eager"}}
    found = explained(cpu(EAGER, 100, **of_eager), cpu(EAGER, 130, **of_eager), are_kernels_equal=True)
    assert found.class_ is None
    assert "kernels" not in found.sentence


@pytest.mark.parametrize("known", [{"state": FindingState.WITHDRAWN}, {"class_": FindingClass.NOISE}])
def test_what_later_measurements_took_back_is_noise_under_whatever_version(known):
    for conditions in (SAME, NEWER):
        head = cpu(EAGER, 130, conditions=conditions)
        found = explained(cpu(FUSED, 100), head, found=finding(**known, why="seen 3 times before"))
        assert found.class_ is FindingClass.NOISE
        assert found.sentence.startswith("Seen 3 times before; lost fusion")
    assert explained(None, None, found=finding(**known)).sentence is None


# Code.


def test_a_time_is_of_the_code_where_all_else_is_excluded_and_something_bears_it_out():
    base, head = (cpu(FUSED, time, overhead_s=None) for time in (100, 130))
    assert explained(base, head).class_ is None, "one comparison may be noise"
    assert explained(base, head, found=CONFIRMED).class_ is FindingClass.CODE
    assert explained(base, cpu(FUSED, 130)).class_ is None
    slept = cpu(FUSED, 100), cpu(FUSED, 130)
    assert explained(*slept).class_ is FindingClass.CODE
    assert explained(*slept, control=None).class_ is None
    assert explained(*slept, control=None, found=CONFIRMED).class_ is None
    assert explained(base, replace(head, conditions=SLOWED), found=CONFIRMED).class_ is None


@pytest.mark.parametrize(
    ("ratio", "is_still"), [(1.03, True), (1.031, False), (1 / 1.029, True), (0.97, False), (1.0, True)]
)
def test_eager_stayed_where_it_was_up_to_3_percent(ratio, is_still):
    control = replace(STILL, ratio=ratio)
    found = explained(cpu(FUSED, 100), cpu(FUSED, 130), control=control)
    assert (found.class_ is FindingClass.CODE) is is_still
    assert any(text.startswith("machine: eager is") for text in found.ruled_out) is is_still


def test_control_series_that_moved_by_little_did_not_stay_where_they_were():
    moved = replace(MOVED, ratio=1.02)
    found = explained(cpu(FUSED, 100), cpu(FUSED, 110), control=moved, found=finding("operator_count"))
    assert not any("eager" in text for text in found.ruled_out)


def test_what_was_compared_in_the_same_minutes_is_of_the_code_but_never_eagers():
    of_both = finding(class_=FindingClass.CODE, state=FindingState.CONFIRMED)
    for control in (None, STILL):
        assert explained(cpu(FUSED, 100), cpu(FUSED, 130), control=control, found=of_both).class_ is FindingClass.CODE
    of_eager = {"of_point": {"provider": "eager"}}
    eager = cpu(EAGER, 100, **of_eager), cpu(EAGER, 130, **of_eager)
    assert explained(*eager, found=of_both).class_ is None
    # Of another project's benchmark no call is known.
    assert explained(None, None, found=of_both).class_ is FindingClass.CODE
    assert explained(None, None, found=of_both, are_kernels_equal=True).class_ is None
    assert explained(None, None, found=CONFIRMED).class_ is None
    assert explain(Subject(revisions=(A, B))).class_ is None
