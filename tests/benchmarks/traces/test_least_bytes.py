"""The least bytes that operators must move, counted by hand from their inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.traces.inputs import inputs_from_args, whole_numbers
from benchmarks.ruler.traces.least_bytes import GENERATED, KEEPS, NO_INPUTS, NO_RULE, least_bytes

SCALAR = ("Scalar", [])
NOTHING = ("", [])


def recorded(*inputs, values=(), strides=None):
    """An operator's arguments as Kineto writes them: pairs of type and sizes."""
    types, sizes = [kind for kind, _ in inputs], [shape for _, shape in inputs]
    written = {"Input type": types, "Input Dims": sizes, "Concrete Inputs": list(values)}
    return written if strides is None else {**written, "Input Strides": strides}


def f32(*sizes):
    return ("float", list(sizes))


def bf16(*sizes):
    return ("c10::BFloat16", list(sizes))


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("aten::mm", recorded(f32(2, 3), f32(3, 5)), 4 * (6 + 15 + 10)),
        ("aten::mm", recorded(f32(2, 3), f32(3, 5), f32(2, 5)), 4 * (6 + 15 + 10)),  # out=
        ("aten::bmm", recorded(bf16(7, 2, 3), bf16(7, 3, 5)), 2 * 7 * (6 + 15 + 10)),
        ("aten::addmm", recorded(f32(5), f32(2, 3), f32(3, 5), SCALAR, SCALAR), 4 * (5 + 6 + 15 + 10)),
        ("aten::addmm", recorded(bf16(5), bf16(2, 3), bf16(3, 5), SCALAR, SCALAR, bf16(2, 5)), 2 * (5 + 6 + 15 + 10)),
        ("aten::gelu", recorded(bf16(4, 6), NOTHING), 2 * 2 * 24),
        ("aten::silu", recorded(f32(4, 6)), 4 * 2 * 24),
        ("aten::relu_", recorded(f32(4, 6)), 4 * 2 * 24),
        ("aten::mul", recorded(f32(4, 6), f32(4, 6)), 4 * 3 * 24),
        ("aten::mul", recorded(f32(4, 6), ("double", [])), 4 * 2 * 24 + 8),
        ("aten::add", recorded(f32(4, 6), f32(6), SCALAR), 4 * (24 + 6 + 24)),
        ("aten::add", recorded(f32(4, 1), f32(1, 6), SCALAR), 4 * (4 + 6 + 24)),
        ("aten::mul", recorded(bf16(4), f32(4)), 4 * 2 + 4 * 4 + 4 * 4),
        ("aten::add_", recorded(f32(4, 6), f32(6), SCALAR), 4 * (24 + 6 + 24)),
        ("aten::silu_backward", recorded(f32(4), f32(4)), 4 * 12),
        ("aten::copy_", recorded(f32(4, 6), f32(4, 6), SCALAR), 4 * 48),
        ("aten::copy_", recorded(f32(4, 6), f32(4, 6), SCALAR, strides=[[6, 1], [0, 1], []]), 4 * (24 + 6)),
        ("aten::copy_", recorded(f32(4, 6), bf16(4, 6), SCALAR), 4 * 24 + 2 * 24),
        ("aten::zero_", recorded(f32(4, 6)), 4 * 24),
        ("aten::sum", recorded(f32(4, 6), NOTHING), 4 * 24 + 4),
        ("aten::sum", recorded(f32(4, 6), ("ScalarList", []), SCALAR, NOTHING, values=["", "[]"]), 4 * 24 + 4),
        ("aten::sum", recorded(f32(4, 6), ("ScalarList", []), SCALAR, NOTHING, values=["", "[0]"]), 4 * (24 + 6)),
        ("aten::sum", recorded(f32(4, 6), ("ScalarList", []), SCALAR, NOTHING, values=["", "[-1]"]), 4 * (24 + 4)),
        ("mkldnn::_linear_pointwise", recorded(f32(2, 3), f32(5, 3), f32(5), NOTHING), 4 * (6 + 15 + 5 + 10)),
        ("mkl::_mkl_linear", recorded(f32(2, 3), f32(99), f32(5, 3), f32(5), SCALAR), 4 * (6 + 15 + 5 + 10)),
        ("fused_mlp::linear", recorded(bf16(2, 3), bf16(5, 3), bf16(5), NOTHING), 2 * (6 + 15 + 5 + 10)),
        (
            "fused_mlp::mlp",
            recorded(f32(2, 3), f32(5, 3), f32(5), f32(3, 5), f32(3), NOTHING),
            4 * (6 + 15 + 5 + 15 + 3 + 6),
        ),
        (
            "fused_mlp::gated_mlp",
            recorded(f32(2, 7, 3), f32(5, 3), f32(5, 3), f32(3, 5), NOTHING),
            4 * (42 + 15 + 15 + 15 + 42),
        ),
        ("aten::mm", recorded(f32(0, 3), f32(3, 5)), 4 * 15),
        ("cpp_fused_gelu_mul_0", recorded(f32(4, 6), f32(4, 6), f32(4, 6)), 4 * 3 * 24),
        ("triton_poi_fused_mul_silu_0", recorded(bf16(24), bf16(24), SCALAR, SCALAR), 2 * 2 * 24),
    ],
)
def test_an_operator_reads_its_inputs_once_and_writes_its_output_once(name, args, expected):
    assert least_bytes(name, inputs_from_args(args)).n_bytes == expected


@pytest.mark.parametrize(
    ("name", "args", "reason"),
    [
        ("cpp_fused_gelu_0", {}, GENERATED),
        ("graph_0_cpp_fused_gelu_0", {}, GENERATED),
        ("triton_poi_fused_gelu_0", recorded(SCALAR), GENERATED),
        ("mine::operator", recorded(f32(4)), NO_RULE),
        ("fused_mlp::mlp_keeping", recorded(f32(4, 6)), KEEPS),
        ("aten::mm", {}, NO_INPUTS),
        ("aten::mm", recorded(f32(2, 3), NOTHING), NO_INPUTS),
        ("aten::mm", recorded(f32(2), f32(2)), NO_RULE),
        ("aten::mul", recorded(("unsigned __int128", [4]), f32(4)), "the dtype of an input of type unsigned __int128"),
        ("aten::mul", recorded(("TensorList", [[4], [4]])), "the dtype of an input of type TensorList"),
        ("aten::sum", recorded(f32(4, 6), ("ScalarList", []), SCALAR), "over which dimensions"),
    ],
)
def test_what_is_not_known_has_a_reason_and_no_number(name, args, reason):
    found = least_bytes(name, inputs_from_args(args))
    assert found.n_bytes is None
    assert found.reason.startswith(reason)


sizes = st.integers(0, 64)


@given(m=sizes, k=sizes, n=sizes)
def test_a_larger_product_never_moves_less(m, k, n):
    def least(*shape):
        rows, inner, columns = shape
        return least_bytes("aten::mm", inputs_from_args(recorded(f32(rows, inner), f32(inner, columns)))).n_bytes

    assert least(m, k, n) <= min(least(m + 1, k, n), least(m, k + 1, n), least(m, k, n + 1))


@given(rows=sizes, columns=sizes)
def test_a_bias_that_is_expanded_is_read_once(rows, columns):
    expanded = recorded(f32(rows, columns), f32(rows, columns), strides=[[columns, 1], [0, 1]])
    assert least_bytes("aten::copy_", inputs_from_args(expanded)).n_bytes == 4 * (
        rows * columns + (columns if rows else 0)
    )


def test_inputs_are_written_with_dtype_and_sizes_up_to_the_last_tensor():
    found = inputs_from_args(recorded(bf16(64), NOTHING, f32(), SCALAR, SCALAR))
    assert str(found) == "bfloat16[64] - float32[]"
    assert str(inputs_from_args(recorded(SCALAR))) == ""
    assert inputs_from_args({}) is None
    assert inputs_from_args({"Input type": ["float"], "Input Dims": []}) is None


@pytest.mark.parametrize(
    ("text", "numbers"), [("[0, 1]", (0, 1)), ("1", (1,)), ("[-1]", (-1,)), ("", ()), ("[0.5]", ()), ("True", ())]
)
def test_whole_numbers_are_read_from_a_recorded_value(text, numbers):
    assert whole_numbers(text) == numbers
