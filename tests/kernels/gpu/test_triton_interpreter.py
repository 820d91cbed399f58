"""The Triton kernels, run by Triton's interpreter, are within their bounds on ragged, NaN-surrounded shapes."""

from contextlib import nullcontext

import pytest
import torch

from fused_mlp import reference
from tests.kernels.cases import activated_bound, linear_activated_bound, linear_bound, padded_for_torch, rounding_bound

pytestmark = [
    pytest.mark.interpreter,
    pytest.mark.sample,
    # Of a GELU far below zero: 1 / (1 + inf) is the 0 that is meant.
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2:RuntimeWarning"),
]

SHAPES = [(1, 3, 1), (3, 17, 130), (17, 130, 3), (130, 127, 17), (70, 1, 127)]


@pytest.fixture
def draw(dtype):
    def drawn(*shape, scale=1.0):
        torch.manual_seed(sum(shape))
        return padded_for_torch((torch.randn(*shape) * scale).to(dtype))

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


@pytest.mark.parametrize("tiled", [True, False], ids=["kernel", "cublas"])
def test_what_is_kept_for_backward_is_what_was_computed(draw, dtype, activation, tiled):
    from fused_mlp.gated_mlp.triton_dual_product import launch_dual_product_saving
    from fused_mlp.gpu.tiles import Tiles
    from fused_mlp.linear.triton_epilogue import launch_linear_saving

    tiles = Tiles(block_rows=32, block_out=32, block_in=32, group_rows=2, n_warps=4, n_stages=1) if tiled else None
    rows, n_in, n_out = (33, 20, 70) if tiled else (65, 513, 7)
    x, w = draw(rows, n_in), draw(n_out, n_in, scale=n_in**-0.5)
    w_up, b = draw(n_out, n_in, scale=-(n_in**-0.5)), draw(n_out)
    wide_x, wide_w, wide_b = x.double(), w.double(), b.double()
    y, z = launch_linear_saving(x, w, b, activation=str(activation), tiles=tiles)
    exact = reference.linear(wide_x, wide_w, wide_b)
    z_error = linear_bound(wide_x, wide_w, wide_b)
    assert_within(z, exact, z_error, dtype)
    z_error = z_error + rounding_bound(exact, dtype, units=2.0)
    expected = reference.linear(wide_x, wide_w, wide_b, activation=activation)
    assert_within(y, expected, activated_bound(exact, z_error), dtype)
    hidden, gate, up = launch_dual_product_saving(x, w, w_up, activation=str(activation), tiles=tiles)
    assert_within(gate, wide_x @ wide_w.t(), linear_bound(wide_x, wide_w, None), dtype)
    assert_within(up, wide_x @ w_up.double().t(), linear_bound(wide_x, w_up.double(), None), dtype)
    again = reference.linear(gate.double(), torch.eye(n_out).double(), activation=activation) * up.double()
    torch.testing.assert_close(hidden.double(), again, rtol=0.03, atol=0.03)


@pytest.fixture
def cpu_stands_for_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())


@pytest.mark.parametrize("recompute", ["activation", "nothing"])
def test_a_forward_pass_that_keeps_on_cuda_keeps_what_backward_needs(operation, recompute, cpu_stands_for_cuda):
    from fused_mlp.gated_mlp import saved_for_backward as gated_mlp
    from fused_mlp.linear import saved_for_backward as linear
    from fused_mlp.mlp import saved_for_backward as mlp

    keeping = {"linear": linear, "mlp": mlp, "gated_mlp": gated_mlp}[operation.name]
    case = operation.case(rows=19, dim=33, hidden=65, dtype=torch.float32, activation="gelu")
    y, z, *rest = keeping._cuda(*case.arguments, "gelu", None, recompute)
    assert ((y.double() - case.expected).abs() <= case.bound).all()
    x, w, b = (*case.arguments, None)[:3]
    exact = reference.linear(x, w, None if operation.name == "gated_mlp" else b)
    torch.testing.assert_close(z, exact)
    if rest:
        assert rest[-1].numel() == (19 * 65 if recompute == "nothing" else 0)


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
