"""Two causes planted at once: each is told as it is, and none is made the part of another that it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.judgement.explanation import CauseKind
from results.rows import OperatorRow
from tests.made_calls import US, on_cuda
from tests.made_explanations import FUSED, GEMM, SAME, cpu, explained, finding

COPY = "Memcpy DtoD (Device -> Device)"
PRODUCT = (
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_{}aligna4_alignc4_execute_kernel"
)
GELU, BIAS = "triton_poi_fused_gelu_0", "triton_poi_fused_add_0"
EXTRA = "triton_poi_fused_mul_0"


def cuda(kernels, latency, **known):
    return on_cuda(kernels, latency_s=latency * US, conditions=SAME, **known)


def kinds(found):
    return [cause.kind for cause in found.causes]


def allocating(latency, peak, **allocated):
    call = cpu(FUSED, latency, peak_memory_bytes=peak)
    rows = tuple(
        OperatorRow(
            name=f"aten::{name}", count=1, self_time_s=1e-7, total_time_s=1e-7, is_compute=False, allocated_bytes=n
        )
        for name, n in allocated.items()
    )
    return replace(call, profile=replace(call.profile, operators=(*call.profile.operators, *rows)))


@pytest.mark.parametrize(
    ("epilogue", "added", "kind"),
    [
        ("gelu_", GELU, CauseKind.LOST_FUSION),
        ("bias_", BIAS, CauseKind.LOST_FUSION),
        ("gelu_", COPY, CauseKind.ADDED),
        ("gelu_", BIAS, CauseKind.ADDED),
        ("bias_", GELU, CauseKind.ADDED),
    ],
)
def test_a_product_that_lost_its_epilogue_lost_it_to_a_kernel_that_does_this(epilogue, added, kind):
    base, head = cuda({PRODUCT.format(epilogue): 60}, 80), cuda({PRODUCT.format(""): 60, added: 25}, 106)
    found = explained(base, head)
    assert kind in kinds(found)
    assert ("lost fusion" in found.sentence.lower()) is (kind is CauseKind.LOST_FUSION)
    assert kind is CauseKind.LOST_FUSION or f"epilogue {epilogue[:-1]} → none" in found.sentence


def test_a_lost_epilogue_and_an_extra_copy_are_told_without_making_the_copy_a_part_of_the_product():
    head = cuda({PRODUCT.format(""): 60, GELU: 20, COPY: 25}, 126)
    found = explained(cuda({PRODUCT.format("gelu_"): 60}, 80), head)
    assert sorted(kinds(found)) == [CauseKind.ADDED, CauseKind.RENAMED]


def test_a_fused_kernel_that_does_more_now_beside_an_extra_one_has_lost_no_fusion():
    larger = "triton_poi_fused_gelu_mul_tanh_0"
    smaller = "triton_poi_fused_gelu_mul_0"
    found = explained(cuda({smaller: 40}, 60), cuda({larger: 42, COPY: 25}, 90))
    assert kinds(found) == [CauseKind.REPLACED]
    assert found.sentence.startswith("`triton_poi_fused_gelu_mul` (")
    back = explained(cuda({larger: 42, COPY: 25}, 90), cuda({smaller: 40}, 60))
    assert CauseKind.LOST_FUSION not in kinds(back)


def test_another_kernel_of_ours_beside_an_extra_operator_has_lost_no_fusion():
    one, other = {"fused_mlp::mlp": 80}, {"fused_mlp::gated_mlp": 80, "aten::copy_": 20}
    assert kinds(explained(cpu(one, 100), cpu(other, 120))) == [CauseKind.REPLACED]
    assert kinds(explained(cpu(other, 120), cpu(one, 100))) == [CauseKind.REPLACED]
    # Two calls of ours in place of one have.
    twice = {"fused_mlp::linear": (80, 2), "aten::gelu": 20}
    assert kinds(explained(cpu(one, 100), cpu(twice, 120))) == [CauseKind.LOST_FUSION]
    assert kinds(explained(cpu(twice, 120), cpu(one, 100))) == [CauseKind.NEW_FUSION]


def test_an_extra_kernel_another_tile_and_a_sleep_are_all_told_with_their_own_times():
    tiles = [GEMM.format(tile=tile) for tile in ("128x128", "64x64")]
    base = cuda({tiles[0]: 60}, 80)
    found = explained(base, cuda({tiles[1]: 80, EXTRA: 25}, 126))
    assert "launched in addition (25 µs of the 46 µs more)" in found.sentence
    assert ": tile 128x128x64 → 64x64x64 (20 µs of the 46 µs more)" in found.sentence
    assert found.sentence.endswith("; other parts take 1 µs more.")
    slept = explained(base, cuda({tiles[0]: 60, EXTRA: 25}, 305))
    assert slept.sentence.startswith("The device waits longer for the host (200 µs of the 225 µs more); ")
    assert "launched in addition (by its own time +25 µs of the 225 µs more)" in slept.sentence


@pytest.mark.parametrize(
    ("latency", "told"),
    [
        # What is told and what other parts take is the whole, digit by digit.
        (110.3, "(25.0 µs of the 30.3 µs more); other parts take 5.3 µs more"),
        (105.1, "(25.0 µs of the 25.1 µs more); other parts take 0.1 µs more"),
        (105.01, "(25.0 µs of the 25.0 µs more)"),
        (95, "(25 µs more; the call takes 15 µs more); other parts take 10 µs less"),
        (2080, "(by its own time +25 µs of the 2.00 ms more)"),
    ],
)
def test_of_a_change_it_is_told_how_much_the_causes_explain_and_how_much_is_left(latency, told):
    base = cuda({GEMM.format(tile="128x128"): 60}, 80, of_point={"device_time_s": None})
    head = cuda({GEMM.format(tile="128x128"): 60, EXTRA: 25}, latency, of_point={"device_time_s": None})
    found = explained(base, head)
    assert f"is launched in addition {told}." in found.sentence


@pytest.mark.parametrize(("host_s", "is_told"), [(30e-6, False), (55e-6, False), (56e-6, True), (20e-6, False)])
def test_a_device_that_waits_while_the_host_does_no_more_is_not_said_to_wait_for_it(host_s, is_told):
    kernels = {GEMM.format(tile="128x128"): 60}
    base = cuda(kernels, 70, of_point={"host_time_s": 30e-6})
    found = explained(base, cuda(kernels, 121, of_point={"host_time_s": host_s}))
    assert ("waits longer for the host" in (found.sentence or "")) is is_told
    assert is_told or found.sentence is None


@pytest.mark.parametrize(
    ("n", "words"), [(1, "every call (1 a call"), (2, "every call (2 a call"), (1 / 3, "some calls (0.333 a call")]
)
def test_a_recompilation_is_said_of_as_many_calls_as_have_one_and_its_time_once(n, words):
    found = explained(cpu(FUSED, 100, compilations=0), cpu(FUSED, 5100, compilations=n))
    assert found.sentence == (
        f"Recompilation: torch.compile compiles in {words}, none at the base), with more time beside what computes "
        "(5 ms of the 5 ms more)."
    )
    counted = explained(cpu(FUSED, 100, compilations=0), cpu(FUSED, 100, compilations=n))
    assert counted.sentence == f"Recompilation: torch.compile compiles in {words}, none at the base)."


def test_memory_is_said_to_be_of_an_operator_only_if_it_accounts_for_half_of_it():
    peak = finding("peak_memory_bytes", ratio=3.0)
    base = allocating(100, 4e6, empty=9e6)
    found = explained(base, allocating(100, 12e6, empty=13e6), found=peak)
    assert found.sentence == "Peak memory 4 MB → 12 MB, by `aten::empty`, which allocates 4 MB more a call."
    for allocated in (12.9e6, 9e6, 1e6):
        found = explained(base, allocating(100, 12e6, empty=allocated), found=peak)
        assert (found.sentence, found.reason) == (None, "the profile does not tell which operator allocates it")
    fewer = explained(allocating(100, 12e6, empty=9e6), allocating(100, 4e6, empty=1e6), found=peak)
    assert "by `aten::empty`, which allocates 8 MB less a call" in fewer.sentence


def test_a_larger_allocation_and_a_sleep_are_told_side_by_side():
    found = explained(allocating(100, 4e6, empty=4e6), allocating(150, 12e6, empty=12e6))
    assert found.sentence == (
        "The host spends more time outside operators, in Python between the events that the profile names "
        "(50 µs of the 50 µs more); also peak memory 4 MB → 12 MB, by `aten::empty`, which allocates 8 MB more a call."
    )
