"""Kernel names as torch.profiler reports them, decoded: what a person reads beside each."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.inductor_names import operators_of_generated
from results.kernel_names import decoded, stable_kernel_name

# Names from published traces of PyTorch programs on Maxwell to Blackwell GPUs, and what they say, read by hand.
_TABLE = Path(__file__).with_name("kernel_names.tsv")
NAMES = [tuple(line.split("\t")) for line in _TABLE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("name", "words"), NAMES, ids=lambda text: text[:40])
def test_a_real_name_is_decoded(name, words):
    assert decoded(name).words == words


def test_the_table_is_large_enough_to_tell():
    assert len(NAMES) >= 60
    assert len({decoded(name).author for name, _ in NAMES} - {None}) >= 9


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("triton_poi_fused_gelu_mul_0", "triton_poi_fused_gelu_mul_7"),
        ("triton_gemm_kernel_0d1d2d3de4de", "triton_gemm_kernel_0d1d2d3d4d"),
        ("cpp_fused_gelu_mul_0", "cpp_fused_gelu_mul_12"),
        ("my_kernel_0123456789abcdef0123", "my_kernel_fedcba98765432100000"),
    ],
)
def test_the_same_work_has_the_same_stable_name(one, other):
    assert stable_kernel_name(one) == stable_kernel_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_nn"),
        ("triton_poi_fused_gelu_mul_0", "triton_poi_fused_mul_silu_0"),
        ("nvjet_tst_64x8_64x16_4x2_h_bz_TNT", "nvjet_tst_64x16_64x16_4x2_h_bz_TNT"),
    ],
)
def test_other_work_has_another(one, other):
    assert stable_kernel_name(one) != stable_kernel_name(other)
    assert decoded(one).words != decoded(other).words


def test_names_with_underscores_are_one_operator():
    text = "_to_copy_native_layer_norm_backward_gelu_mul"
    assert operators_of_generated(text) == ("_to_copy", "native_layer_norm_backward", "gelu", "mul")


@given(st.text(max_size=200))
def test_any_text_at_all_is_a_name(name):
    assert isinstance(decoded(name).words, str)
    assert stable_kernel_name(stable_kernel_name(name)) is not None
