"""The Triton kernels, run by Triton's interpreter, are within their bounds on ragged, NaN-surrounded shapes."""

import pytest
import torch

from fused_mlp import reference
from tests.kernels.cases import activated_bound, linear_activated_bound, linear_bound, padded_with_nan, rounding_bound

pytestmark = pytest.mark.interpreter

SHAPES = [(1, 3, 1), (3, 17, 130), (17, 130, 3), (130, 127, 17), (70, 1, 127)]


@pytest.fixture
def draw(dtype):
    def drawn(*shape, scale=1.0):
        torch.manual_seed(sum(shape))
        return padded_with_nan((torch.randn(*shape) * scale).to(dtype))

    return drawn


def assert_within(actual, expected, bound, dtype):
    # The interpreter cuts float32 to bfloat16 where a device rounds: a whole unit instead of half a one.
    bound = bound + rounding_bound(expected, dtype, units=2.0)
    excess = (actual.double() - expected).abs() - bound
    assert not torch.isnan(actual).any()
    assert excess.max() <= 0, f"beyond its bound by {excess.max():.3g}"


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize(("rows", "n_in", "n_out"), SHAPES)
def test_the_linear_epilogue_is_within_its_bound(draw, dtype, activation, bias, rows, n_in, n_out):
    from fused_mlp.linear.triton_epilogue import launch_linear

    x, w = draw(rows, n_in), draw(n_out, n_in, scale=n_in**-0.5)
    b = draw(n_out) if bias else None
    wide = x.double(), w.double(), None if b is None else b.double()
    expected = reference.linear(*wide, activation=activation)
    actual = launch_linear(x, w, b, activation=str(activation))
    assert_within(actual, expected, linear_activated_bound(*wide, dtype=dtype, activation=activation), dtype)


@pytest.mark.parametrize(("rows", "n_in", "n_out"), SHAPES)
def test_the_dual_product_is_within_its_bound(draw, dtype, activation, rows, n_in, n_out):
    from fused_mlp.gated_mlp.triton_dual_product import launch_dual_product

    x, w_gate = draw(rows, n_in), draw(n_out, n_in, scale=n_in**-0.5)
    w_up = draw(n_out, n_in, scale=-(n_in**-0.5))
    wx, wg, wu = x.double(), w_gate.double(), w_up.double()
    gate, up = reference.linear(wx, wg, activation=activation), reference.linear(wx, wu)
    gate_error = activated_bound(reference.linear(wx, wg), linear_bound(wx, wg, None))
    up_error = linear_bound(wx, wu, None)
    bound = gate_error * up.abs() + up_error * gate.abs() + gate_error * up_error
    actual = launch_dual_product(x, w_gate, w_up, activation=str(activation))
    assert_within(actual, gate * up, bound, dtype)


def test_both_products_of_an_mlp_are_chained(operation, activation):
    from fused_mlp.gated_mlp.triton_dual_product import launch_gated_mlp
    from fused_mlp.linear.triton_epilogue import launch_linear
    from fused_mlp.mlp.triton_epilogue import launch_mlp

    launch = {"linear": launch_linear, "mlp": launch_mlp, "gated_mlp": launch_gated_mlp}[operation.name]
    case = operation.case(rows=19, dim=33, hidden=65, dtype=torch.float32, activation=activation)
    actual = launch(*case.arguments, activation=str(activation))
    assert ((actual.double() - case.expected).abs() <= case.bound).all()


def test_zero_rows_launch_nothing():
    from fused_mlp.linear.triton_epilogue import launch_linear

    out = launch_linear(torch.empty(0, 4), torch.randn(3, 4), None, activation="none")
    assert out.shape == (0, 3)
