"""Planted causes are explained by name; where nothing is known, an explanation is silent and says why."""

from __future__ import annotations

import shlex
from dataclasses import replace
from types import SimpleNamespace

import pytest
from asv.benchmarks import Benchmarks

from results.judgement.explanation import CauseKind, ProfiledCall, Subject, explain
from results.judgement.findings import FindingClass, Turn
from results.rows import OperatorRow, ParameterValue
from tests.made_calls import US, on_cuda, point
from tests.made_explanations import EAGER, FUSED, GEMM, SAME, A, B, cpu, explained, finding


def test_a_kernel_launched_in_addition():
    base = on_cuda({GEMM.format(tile="128x128"): (60, 2)}, latency_s=80 * US, conditions=SAME)
    head = on_cuda(
        {GEMM.format(tile="128x128"): (60, 2), "triton_poi_fused_mul_0": 25}, latency_s=106 * US, conditions=SAME
    )
    found = explained(base, head)
    assert found.class_ is FindingClass.CODE
    assert found.causes[0].kind is CauseKind.ADDED
    assert "triton_poi_fused_mul" in found.sentence
    assert "is launched in addition (25 µs of the 26 µs more)" in found.sentence
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


def test_a_product_that_is_no_longer_split_has_lost_no_fusion():
    split, whole = (f"nvjet_tst_128x32_64x9_2x1_v_bz_{how}TNT" for how in ("splitK_", ""))
    base = on_cuda({split: (60, 2)}, latency_s=80 * US)
    head = on_cuda({whole: (60, 2), "triton_poi_fused_mul_0": 25}, latency_s=106 * US)
    found = explained(base, head)
    assert CauseKind.LOST_FUSION not in {cause.kind for cause in found.causes}
    assert "lost fusion" not in found.sentence.lower()


def test_a_name_at_several_places_that_runs_more_often_says_how_often():
    base, head = (cpu({"first;aten::mm": (20, n), "second;aten::mm": (50, 2), "aten::gelu": 20}, 100) for n in (1, 2))
    found = explained(base, head, found=finding("operator_count"))
    assert found.sentence == "`aten::mm` runs 4 times in a call instead of 3."


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


def test_memory_that_no_operator_is_known_to_allocate_is_not_explained():
    base, head = (cpu(FUSED, 100, peak_memory_bytes=n_bytes) for n_bytes in (4e6, 12e6))
    found = explained(base, head, found=finding("peak_memory_bytes", ratio=3.0))
    assert found.sentence is None
    assert found.reason == "the profile does not tell which operator allocates it"


def test_another_implementation_is_told_as_the_provider_names_it():
    base, head = (
        cpu(FUSED, latency, of_point={"provider_detail": f"cpp, {weights} weights"}, overhead_s=None)
        for latency, weights in ((100, "packed"), (130, "plain"))
    )
    assert explained(base, head).sentence == "Another implementation: cpp, packed weights → cpp, plain weights."


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


def test_an_error_is_not_held_against_time():
    base, head = cpu({"aten::mm": 60}, 100, overhead_s=None), cpu({"aten::mm": 66}, 150, overhead_s=None)
    found = explained(base, head, found=finding("error_rel", ratio=3.0))
    assert found.reason == "a profile tells which operators run, and not how exact they are"


def test_of_another_metric_than_the_latency_no_part_of_the_time_is_told():
    base, head = cpu({"aten::mm": 60}, 100, overhead_s=None), cpu({"aten::mm": 90}, 130, overhead_s=None)
    found = explained(base, head, found=finding("operator_count", ratio=3.0))
    assert found.sentence is None
    assert found.reason == "the profile does not show where: nothing in it tells of operators per call"


def test_an_operator_that_takes_longer_is_named_with_its_part_of_the_time():
    found = explained(cpu({"aten::mm": 60, "aten::gelu": 20}, 90), cpu({"aten::mm": 60, "aten::gelu": 40}, 110))
    assert found.sentence == "`aten::gelu` takes 40 µs instead of 20 µs (20 µs of the 20 µs more)."


def test_a_finding_of_another_suite_has_no_inside_and_a_command_of_asv():
    found = explain(Subject(revisions=(A, B), finding=finding("time")))
    assert found.sentence is None
    assert found.reason == "only calls of the sweep are profiled, so nothing is known of its inside"
    assert found.command == rf"asv continuous {A[:12]} {B[:12]} -b '^mlp\('"


@pytest.mark.parametrize("params", [[], [["'a b'", "2"]]])
def test_the_command_of_asv_selects_the_benchmark_and_no_other(params):
    names = ("s.time_it", "s.time_it_too", "s_time_it", "s.time_it.more")
    of_asv = finding("time").surface._replace(benchmark="s.time_it")
    of_asv = finding("time", surface=of_asv, **({} if params else {"points": ((),)}))
    *_, pattern = shlex.split(explain(Subject(revisions=(A, B), finding=of_asv)).command)
    suite = [{"name": name, "params": params} for name in names]
    assert list(Benchmarks(SimpleNamespace(benchmark_dir=""), suite, regex=pattern)) == ["s.time_it"]


def test_the_command_measures_the_worst_point_of_both_commits_again():
    command = explained(cpu(FUSED, 100), cpu(EAGER, 130)).command
    assert command.endswith(f" fusebench ab {A[:12]} {B[:12]} --axes point.toml --provider fused")
    assert "'batches = [16]' 'hiddens = [256]'" in command


@pytest.mark.parametrize(
    ("batches", "measured", "words"),
    [
        ((1, 16), (1, 16), "all 2 points"),
        ((1, 16), (1, 16, 64), "2 of 3 points, all with batch ≤ 16"),
        ((64, 256), (1, 16, 64, 256), "2 of 4 points, all with batch ≥ 64"),
        ((16,), (1, 16, 64), "1 of 3 points, all with batch 16"),
        ((16,), (16,), "the only point compared"),
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


def test_a_value_that_is_not_even_itself_parts_nothing():
    points = [
        (ParameterValue(name="tol", value=float("nan")), ParameterValue(name="batch", value=batch))
        for batch in (1, 16, 64, 256)
    ]
    found = explained(cpu(FUSED, 100), cpu(EAGER, 130), found=finding(points=(points[0], points[2])), measured=points)
    assert found.scope.words == "2 of 4 points, all with batch 1 or 64"


def row_of(name, allocated_bytes):
    return OperatorRow(
        name=name, count=1, self_time_s=1e-7, total_time_s=1e-7, is_compute=False, allocated_bytes=allocated_bytes
    )


def with_operators(call, rows):
    return replace(call, profile=replace(call.profile, operators=rows))
