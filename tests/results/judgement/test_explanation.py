"""Planted causes are explained by name; where nothing is known, an explanation is silent and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.judgement.explanation import CauseKind, ProfiledCall, Subject, explain
from results.judgement.findings import Finding, FindingClass, FindingState, Surface, Turn
from results.judgement.outcomes import ControlChange
from results.rows import OperatorRow, ParameterValue
from tests.made_calls import US, on_cpu, on_cuda, point

A, B = "a" * 40, "b" * 40
GEMM = "nvjet_sm90_tst_{tile}_64x4_2x1_v_bz_TNT"
FUSED = {"fused_mlp::mlp": 80}
EAGER = {"aten::linear;aten::addmm": (70, 2), "aten::linear;aten::t": 5, "aten::gelu": 35}
SAME = {"torch": "2.13.0", "triton": "3.7.1", "python": "3.11.7", "device": "Xeon", "cpu_mhz": 2600.0}
STILL = ControlChange(machine="m", environment="e", ratio=1.004, n_series=12, is_moved=False)
MOVED = ControlChange(machine="m", environment="e", ratio=1.21, n_series=12, is_moved=True)


def finding(metric="latency_s", ratio=1.25, batches=(16,), n_points=4, class_=None, **changes):
    known = {
        "surface": Surface(project="fusebench", machine="m", environment="e", benchmark="mlp", metric=metric),
        "points": tuple((ParameterValue(name="batch", value=batch),) for batch in batches),
        "n_points": n_points, "last_good": A, "first_bad": B, "n_unmeasured": None, "ratio": ratio, "interval": None,
        "floor": None, "turn": Turn.SLOWER, "state": FindingState.SUSPECTED, "class_": class_, "why": "",
    }  # fmt: skip
    return Finding(**(known | changes))


def explained(base, head, *, control=STILL, found=None, **known):
    subject = Subject(
        revisions=(A, B), finding=found or finding(), base=base, head=head, control=control,
        **{"are_kernels_equal": False} | known,
    )  # fmt: skip
    return explain(subject)


def cpu(tree, latency, **known):
    """A call that spends outside operators what its operators leave of the latency."""
    working = sum(time[0] if isinstance(time, tuple) else time for path, time in tree.items() if "aten::t" not in path)
    known = {"overhead_s": max(0.0, (latency - working) * US), "conditions": SAME} | known
    return on_cpu(tree, latency_s=latency * US, **known)


def test_a_kernel_launched_in_addition():
    base = on_cuda({GEMM.format(tile="128x128"): (60, 2)}, latency_s=80 * US, conditions=SAME)
    head = on_cuda(
        {GEMM.format(tile="128x128"): (60, 2), "triton_poi_fused_mul_0": 25}, latency_s=106 * US, conditions=SAME
    )
    found = explained(base, head)
    assert found.class_ is FindingClass.CODE
    assert found.causes[0].kind is CauseKind.ADDED
    assert "triton_poi_fused_mul" in found.sentence
    assert "is launched in addition (25 µs of the 26.0 µs more)" in found.sentence
    assert [one.name for one in found.exact] == ["kernels"]


def test_a_lost_fusion_names_what_was_one_and_what_it_became():
    found = explained(cpu(FUSED, 100), cpu(EAGER, 130))
    assert found.class_ is FindingClass.CODE
    assert found.causes[0].kind is CauseKind.LOST_FUSION
    assert found.sentence.startswith("Lost fusion: `fused_mlp::mlp` became `aten::addmm` ×2 and `aten::gelu`")
    assert "(25 µs of the 30 µs more)" in found.sentence


def test_a_lost_fusion_is_told_of_a_count_though_no_time_moved():
    found = explained(cpu(FUSED, 100), cpu(EAGER, 100.5), found=finding("operator_count", ratio=3.0))
    assert found.sentence == "Lost fusion: `fused_mlp::mlp` became `aten::addmm` ×2 and `aten::gelu`."
    assert found.class_ is FindingClass.CODE


def test_a_generated_kernel_that_split_in_two_is_a_lost_fusion():
    base = on_cuda({"triton_poi_fused_gelu_mul_0": 40}, latency_s=90 * US)
    head = on_cuda({"triton_poi_fused_gelu_0": 35, "triton_poi_fused_mul_1": 30}, latency_s=115 * US)
    assert explained(base, head).causes[0].kind is CauseKind.LOST_FUSION


def test_a_fusion_gained_is_told_as_well():
    found = explained(cpu(EAGER, 130), cpu(FUSED, 100), found=finding(ratio=0.8, turn=Turn.FASTER))
    assert found.causes[0].kind is CauseKind.NEW_FUSION
    assert "of the 30 µs less" in found.sentence


def test_a_sleep_on_the_host_is_time_outside_operators():
    found = explained(cpu(FUSED, 100), cpu(FUSED, 150))
    assert found.class_ is FindingClass.CODE
    assert found.sentence == (
        "The host spends more time outside operators, in Python between the events that the profile names "
        "(50 µs of the 50 µs more)."
    )
    assert found.difference.work[0].change_s == pytest.approx(0)


def test_a_sleep_on_the_host_of_a_gpu_makes_the_device_wait():
    base, head = (
        on_cuda(
            {GEMM.format(tile="128x128"): 60}, latency_s=latency * US, conditions=SAME, of_point={"host_time_s": host}
        )
        for latency, host in ((65, 30 * US), (120, 85 * US))
    )
    found = explained(base, head)
    assert found.sentence == (
        "The device waits longer for the host, whose part went from 30 µs to 85 µs (55 µs of the 55 µs more)."
    )


def test_a_frame_of_the_host_that_takes_the_time_is_named():
    head = {**FUSED, "Torch-Compiled Region": 50}
    found = explained(cpu(FUSED, 100), cpu(head, 150, overhead_s=70 * US))
    assert "most of it in `Torch-Compiled Region`" in found.sentence


def test_a_larger_allocation_names_the_operator_that_made_it():
    def allocating(n_bytes):
        call = cpu(FUSED, 100, peak_memory_bytes=n_bytes)
        rows = (*call.profile.operators, row_of("aten::empty", n_bytes))
        return with_operators(call, rows)

    found = explained(allocating(4e6), allocating(12e6), found=finding("peak_memory_bytes", ratio=3.0))
    assert found.sentence == "Peak memory 4 MB → 12 MB, by `aten::empty`, which allocates 8 MB more a call."
    assert found.causes[0].kind is CauseKind.MEMORY


def test_a_recompilation_at_every_call():
    provider = {"of_point": {"provider": "fused-compiled"}}
    base, head = cpu(EAGER, 130, compilations=0, **provider), cpu(EAGER, 9130, compilations=1, **provider)
    found = explained(base, head)
    assert found.causes[0].kind is CauseKind.COMPILATION
    assert found.sentence.startswith("Recompilation: torch.compile compiles in every call (1 a call, none at the base)")
    assert found.class_ is FindingClass.CODE


def test_a_kernel_with_another_name_and_tile_says_which():
    base, head = (
        on_cuda({GEMM.format(tile=tile): time}, latency_s=(time + 10) * US, conditions=SAME)
        for tile, time in (("128x128", 60), ("64x64", 90))
    )
    found = explained(base, head)
    assert found.causes[0].kind is CauseKind.RENAMED
    assert ": tile 128x128x64 → 64x64x64 (" in found.sentence
    assert "(30 µs of the 30 µs more)" in found.sentence


def test_another_version_is_of_the_stack():
    found = explained(cpu(EAGER, 130), cpu(EAGER, 160, conditions=SAME | {"torch": "2.14.0"}))
    assert found.class_ is FindingClass.STACK
    assert found.sentence.startswith("Torch 2.13.0 → 2.14.0 between the two")
    assert not any("stack" in text for text in found.ruled_out)


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


def test_a_state_is_explained_by_its_reason():
    head = ProfiledCall(point=point(None, state="crashed", reason="signal 11"), conditions=SAME)
    found = explained(cpu(FUSED, 100), head)
    assert found.sentence.startswith("It is crashed: signal 11")


def test_without_a_profile_on_one_side_nothing_is_explained():
    base = ProfiledCall(point=point(100 * US), conditions=SAME)
    found = explained(base, cpu(EAGER, 130), control=None)
    assert found.sentence is None
    assert found.class_ is None
    assert found.causes == ()
    assert found.reason == "nothing is known of its inside: no profile is stored at the base"


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


def test_equal_profiles_do_not_show_where():
    found = explained(cpu(FUSED, 100, overhead_s=None), cpu(FUSED, 130, overhead_s=None))
    assert found.sentence is None
    assert found.reason == "the profiles of both commits are equal, so they do not show where"
    assert "operators: the same, as often, in the same time" in found.ruled_out


def test_a_change_of_a_row_that_explains_little_of_the_time_is_no_cause():
    base = cpu({"aten::mm": 60, "aten::gelu": 20}, 100, overhead_s=None)
    head = cpu({"aten::mm": 60, "aten::gelu": 26}, 150, overhead_s=None)
    found = explained(base, head)
    assert found.causes == ()
    assert found.reason == "the profile does not show where: no change in it accounts for half of the time"


def test_an_operator_that_takes_longer_is_named_with_its_part_of_the_time():
    found = explained(cpu({"aten::mm": 60, "aten::gelu": 20}, 90), cpu({"aten::mm": 60, "aten::gelu": 40}, 110))
    assert found.sentence == "`aten::gelu` takes 40 µs instead of 20 µs (20 µs of the 20 µs more)."


def test_what_is_counted_is_of_the_code_whatever_the_clock_did():
    head = cpu(FUSED, 100, peak_memory_bytes=5e6, conditions=SAME | {"cpu_mhz": 1800.0})
    found = explained(
        cpu(FUSED, 100, peak_memory_bytes=4e6), head, control=None, found=finding("peak_memory_bytes", ratio=1.25)
    )
    assert found.class_ is FindingClass.CODE


def test_a_time_is_of_no_class_where_control_series_moved_within_their_noise_and_a_clock_differs():
    control = replace(STILL, ratio=0.92)
    found = explained(cpu(FUSED, 100), cpu(FUSED, 110, conditions=SAME | {"cpu_mhz": 1800.0}), control=control)
    assert found.class_ is None
    assert not any("eager" in text for text in found.ruled_out)


def test_a_finding_of_another_suite_has_no_inside_and_a_command_of_asv():
    found = explain(Subject(revisions=(A, B), finding=finding("time")))
    assert found.sentence is None
    assert found.command == f"asv continuous {A[:12]} {B[:12]} -b '^mlp$'"


def test_what_was_ruled_out_comes_with_its_evidence():
    found = explained(cpu(FUSED, 100), cpu(EAGER, 130))
    assert found.ruled_out == (
        "method: ruler 3 at both",
        "stack: torch 2.13.0, triton 3.7.1, python 3.11.7 at both",
        "conditions: the same device, settings and clocks",
        "disturbance: none was seen",
        "machine: eager is +0.4 % over 12 series",
    )


def test_the_command_measures_the_worst_point_of_both_commits_again():
    command = explained(cpu(FUSED, 100), cpu(EAGER, 130)).command
    assert command.startswith(f"fusebench ab {A[:12]} {B[:12]} ")
    assert "--operation mlp --provider fused --pass forward --dtype float32 --batch 16 --hidden 256" in command


@pytest.mark.parametrize(
    ("batches", "measured", "words"),
    [
        ((1, 16), (1, 16), "all 2 points"),
        ((1, 16), (1, 16, 64), "2 of 3 points, all with batch ≤ 16"),
        ((64, 256), (1, 16, 64, 256), "2 of 4 points, all with batch ≥ 64"),
        ((16,), (1, 16, 64), "1 of 3 points, all with batch 16"),
        ((16,), (16,), "the only point measured"),
    ],
)
def test_the_scope_names_the_axis_that_parts_what_changed(batches, measured, words):
    points = [(ParameterValue(name="batch", value=batch),) for batch in measured]
    found = explained(
        cpu(FUSED, 100), cpu(EAGER, 130), found=finding(batches=batches, n_points=len(measured)), measured=points
    )
    assert found.scope.words == words


def test_the_scope_names_no_axis_where_what_changed_is_spread():
    points = [
        (ParameterValue(name="batch", value=batch), ParameterValue(name="hidden", value=hidden))
        for batch in (1, 16)
        for hidden in (256, 512)
    ]
    found = explained(cpu(FUSED, 100), cpu(EAGER, 130), found=finding(points=(points[0], points[3])), measured=points)
    assert found.scope.words == "2 of 4 points"


def row_of(name, allocated_bytes):
    return OperatorRow(
        name=name, count=1, self_time_s=1e-7, total_time_s=1e-7, is_compute=False, allocated_bytes=allocated_bytes
    )


def with_operators(call, rows):
    return replace(call, profile=replace(call.profile, operators=rows))
