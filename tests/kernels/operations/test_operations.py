"""Every operation computes what the reference computes in float64, within a derived bound."""

from itertools import product

import pytest
import torch

import fused_mlp
from fused_mlp.tuned import Policy
from tests.kernels.cases import EVERY_OPERATOR, ODD_SIZES, OPERATIONS, padded_for_torch, padded_with_nan

pytestmark = [pytest.mark.usefixtures("cpu_kernels"), pytest.mark.sample]


def assert_within_bound(actual, case, context):
    excess = (actual.double() - case.expected).abs() - case.bound
    assert actual.shape == case.expected.shape
    assert not torch.isnan(actual).any(), context
    assert excess.numel() == 0 or excess.max() <= 0, f"{context}: beyond its bound by {excess.max():.3g}"


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize("rows", ODD_SIZES)
def test_every_odd_shape_is_within_the_bound_of_the_reference(operation, dtype, activation, bias, rows):
    for dim, hidden in product(ODD_SIZES, repeat=2):
        case = operation.case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation=activation, bias=bias)
        padded = [None if a is None else padded_with_nan(a) for a in case.arguments]
        actual = operation.function(*padded, activation=activation)
        assert actual.dtype == dtype
        assert_within_bound(actual, case, f"rows {rows}, dim {dim}, hidden {hidden}")


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_every_odd_shape_is_within_the_bound_in_pure_pytorch(operation, dtype, activation, bias):
    for rows, dim, hidden in product((1, 17, 130), (3, 127), (1, 130)):
        case = operation.case(
            rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation=activation, bias=bias, roundings=EVERY_OPERATOR
        )
        placed = [None if a is None else padded_for_torch(a) for a in case.arguments]
        actual = operation.function(*placed, activation=activation, implementation="pure")
        assert_within_bound(actual, case, f"rows {rows}, dim {dim}, hidden {hidden}")


@pytest.mark.parametrize(("rows", "dim", "hidden"), [(40, 1100, 300), (300, 70, 2100), (2, 2100, 1100)])
def test_shapes_beyond_one_cache_block_are_within_the_bound(operation, dtype, rows, dim, hidden):
    case = operation.case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation="gelu")
    actual = operation.function(*case.arguments, activation="gelu")
    assert_within_bound(actual, case, f"rows {rows}, dim {dim}, hidden {hidden}")


@pytest.mark.parametrize("name", ["mlp", "gated_mlp"])
def test_rows_taken_in_chunks_are_within_the_bound(name):
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    case = operation.case(rows=2100, dim=24, hidden=5000, dtype=torch.float32, activation="relu")
    actual = operation.function(*case.arguments, activation="relu")
    assert_within_bound(actual, case, "rows 2100, hidden 5000")


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_the_number_of_threads_does_not_change_a_bit(operation, n_threads):
    case = operation.case(rows=70, dim=130, hidden=127, dtype=torch.float32, activation="silu")
    before = torch.get_num_threads()
    expected = operation.function(*case.arguments, activation="silu")
    try:
        torch.set_num_threads(n_threads)
        actual = operation.function(*case.arguments, activation="silu")
    finally:
        torch.set_num_threads(before)
    assert torch.equal(actual, expected)


def test_linear_without_activation_is_a_linear_layer(dtype):
    x, w, b = torch.randn(5, 17), torch.randn(3, 17), torch.randn(3)
    x, w, b = x.to(dtype), w.to(dtype), b.to(dtype)
    expected = torch.nn.functional.linear(x.double(), w.double(), b.double())
    torch.testing.assert_close(fused_mlp.linear(x, w, b).double(), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("leading", [(), (4,), (2, 3), (2, 1, 3, 1)], ids=str)
def test_any_leading_shape_is_kept(operation, leading):
    case = operation.case(rows=1, dim=17, hidden=9, dtype=torch.float32, activation="relu")
    x = torch.randn(*leading, 17)
    actual = operation.function(x, *case.arguments[1:], activation="relu")
    expected = operation.oracle(x, *case.arguments[1:], activation="relu")
    assert actual.shape == expected.shape
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("leading", [(0,), (0, 4), (3, 0)], ids=str)
def test_zero_rows_give_zero_rows(operation, leading):
    case = operation.case(rows=1, dim=17, hidden=9, dtype=torch.float32, activation="relu")
    actual = operation.function(torch.empty(*leading, 17), *case.arguments[1:], activation="relu")
    assert actual.shape == operation.oracle(torch.empty(*leading, 17), *case.arguments[1:], activation="relu").shape


def test_an_empty_inner_dimension_leaves_the_bias():
    w1, w2, b2 = torch.empty(0, 4), torch.empty(3, 0), torch.randn(3)
    out = fused_mlp.mlp(torch.randn(2, 4), w1, None, w2, b2, activation="gelu")
    torch.testing.assert_close(out, b2.expand(2, 3))


def test_inputs_that_are_not_contiguous_give_the_same_result(operation):
    case = operation.case(rows=20, dim=33, hidden=18, dtype=torch.float32, activation="gelu_tanh")
    transposed = [None if a is None or a.dim() < 2 else a.t().contiguous().t() for a in case.arguments]
    mixed = [a if t is None else t for a, t in zip(case.arguments, transposed, strict=True)]
    actual = operation.function(*mixed, activation="gelu_tanh")
    assert torch.equal(actual, operation.function(*case.arguments, activation="gelu_tanh"))


def test_while_the_kernel_is_the_same_a_row_does_not_depend_on_the_rows_beside_it(operation, dtype, follow):
    follow(Policy(repacking_rows=1000))
    case = operation.case(rows=90, dim=64, hidden=96, dtype=dtype, activation="gelu")
    x, *rest = case.arguments
    whole = operation.function(x, *rest, activation="gelu")
    assert torch.equal(operation.function(x[:7], *rest, activation="gelu"), whole[:7])


def test_arguments_are_left_as_they_were(operation):
    case = operation.case(rows=5, dim=17, hidden=9, dtype=torch.float32, activation="silu")
    before = [None if a is None else a.clone() for a in case.arguments]
    operation.function(*case.arguments, activation="silu")
    for a, b in zip(case.arguments, before, strict=True):
        assert a is b is None or torch.equal(a, b)
