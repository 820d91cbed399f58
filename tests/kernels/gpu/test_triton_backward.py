"""The backward kernels, run by Triton's interpreter, are within their bounds on ragged, NaN-surrounded shapes."""

import pytest
import torch

from fused_mlp.activations import activation_gradient
from fused_mlp.reference import linear as reference_linear
from tests.kernels.cases import STEEPEST, activated_bound, linear_bound, padded_with_nan, rounding_bound

pytestmark = [
    pytest.mark.interpreter,
    pytest.mark.sample,
    # Of a GELU far below zero: 1 / (1 + inf) is the 0 that is meant.
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2:RuntimeWarning"),
]

SHAPES = [(1, 3, 1), (17, 130, 3), (70, 17, 200)]
UNIT = torch.finfo(torch.float32).eps / 2


@pytest.fixture
def draw(dtype):
    def drawn(*shape, scale=1.0):
        torch.manual_seed(sum(shape) + int(10 * scale))
        return padded_with_nan((torch.randn(*shape) * scale).to(dtype))

    return drawn


def assert_within(actual, expected, bound, dtype):
    # The interpreter cuts float32 to bfloat16 where a device rounds: a whole unit instead of half a one.
    bound = bound + rounding_bound(expected, dtype, units=2.0)
    assert not torch.isnan(actual).any()
    excess = (actual.double() - expected).abs() - bound
    assert excess.max() <= 0, f"beyond its bound by {excess.max():.3g}"


def slope_error(z):
    """How far act'(z) in float32 may lie from the exact slope: 32 units, of 1 and of z."""
    return 32 * UNIT * (1 + z.abs())


def assert_hidden_gradients(result, dh, dh_error, z, activation, dtype):
    dz = activation_gradient(dh, z, activation)
    dz_error = STEEPEST * dh_error + (dh.abs() + dh_error) * slope_error(z)
    assert_within(result.dz, dz, dz_error, dtype)
    hidden = torch_activation(z, activation)
    assert_within(result.hidden, hidden, activated_bound(z, torch.zeros_like(z)), dtype)
    rows = z.shape[0]
    db_error = dz_error.sum(dim=0) + (rows + 2) * UNIT * dz.abs().sum(dim=0)
    assert_within(result.db, dz.sum(dim=0), db_error, dtype)


def torch_activation(z, activation):
    eye = torch.eye(z.shape[1], dtype=z.dtype)
    return reference_linear(z, eye, activation=activation)


@pytest.mark.parametrize(("rows", "n_out", "hidden"), SHAPES)
def test_the_pointwise_gradient_is_within_its_bound(draw, dtype, activation, rows, n_out, hidden):
    from fused_mlp.linear.triton_backward import launch_activation_gradient

    dh, z = draw(rows, hidden), draw(rows, hidden, scale=2.0)
    result = launch_activation_gradient(dh, z, activation=str(activation), with_hidden=True, with_bias=True)
    exact = torch.zeros(rows, hidden, dtype=torch.float64)
    assert_hidden_gradients(result, dh.double(), exact, z.double(), activation, dtype)


@pytest.mark.parametrize(("rows", "n_out", "hidden"), SHAPES)
def test_the_hidden_gradient_is_within_its_bound(draw, dtype, activation, rows, n_out, hidden):
    from fused_mlp.mlp.triton_backward import launch_hidden_gradient_epilogue

    dy, w2 = draw(rows, n_out), draw(n_out, hidden, scale=n_out**-0.5)
    z = draw(rows, hidden, scale=2.0)
    result = launch_hidden_gradient_epilogue(dy, w2, z, activation=str(activation), with_hidden=True, with_bias=True)
    wide_dy, wide_w = dy.double(), w2.double().t()
    dh_error = linear_bound(wide_dy, wide_w, None)
    assert_hidden_gradients(result, wide_dy @ wide_w.t(), dh_error, z.double(), activation, dtype)


@pytest.mark.parametrize("epilogue", [True, False], ids=["epilogue", "pointwise"])
@pytest.mark.parametrize(("rows", "n_out", "hidden"), SHAPES)
def test_the_gated_gradients_are_within_their_bounds(draw, dtype, activation, epilogue, rows, n_out, hidden):
    from fused_mlp.gated_mlp.triton_backward import launch_gate_gradient, launch_gated_gradient_epilogue

    dy, w_down = draw(rows, n_out), draw(n_out, hidden, scale=n_out**-0.5)
    gate, up = draw(rows, hidden, scale=2.0), draw(rows, hidden)
    if epilogue:
        dh = dy.double() @ w_down.double()
        dh_error = linear_bound(dy.double(), w_down.double().t(), None)
        result = launch_gated_gradient_epilogue(dy, w_down, gate, up, activation=str(activation), with_hidden=True)
    else:
        own = draw(rows, hidden, scale=0.5).clone()
        dh, dh_error = own.double(), torch.zeros(rows, hidden, dtype=torch.float64)
        result = launch_gate_gradient(own, gate, up, activation=str(activation), with_hidden=True)
    z, wide_up = gate.double(), up.double()
    activated, activated_error = torch_activation(z, activation), activated_bound(z, torch.zeros_like(z))
    gate_error = STEEPEST * dh_error + (dh.abs() + dh_error) * (slope_error(z) + 4 * UNIT)
    assert_within(result.d_gate, activation_gradient(dh * wide_up, z, activation), gate_error * wide_up.abs(), dtype)
    up_error = dh_error * activated.abs() + (dh.abs() + dh_error) * (activated_error + 4 * UNIT * activated.abs())
    assert_within(result.d_up, dh * activated, up_error, dtype)
    hidden_error = (activated_error + 4 * UNIT * activated.abs()) * wide_up.abs()
    assert_within(result.hidden, activated * wide_up, hidden_error, dtype)


def test_what_is_not_asked_for_is_not_made(draw, dtype):
    from fused_mlp.mlp.triton_backward import launch_hidden_gradient_epilogue

    dy, w2, z = draw(5, 7), draw(7, 9), draw(5, 9)
    result = launch_hidden_gradient_epilogue(dy, w2, z, activation="relu", with_hidden=False, with_bias=False)
    assert result.hidden is None
    assert result.db is None


def test_an_expanded_gradient_is_read_right():
    from fused_mlp.mlp.triton_backward import launch_hidden_gradients

    dy, w2, z = torch.tensor([[2.0]]).expand(5, 7), torch.randn(7, 9), torch.randn(5, 9)
    result = launch_hidden_gradients(dy, w2, z, activation="none", with_hidden=False, with_bias=True)
    torch.testing.assert_close(result.dz, (2 * w2.sum(dim=0)).expand(5, 9))
    torch.testing.assert_close(result.db, 10 * w2.sum(dim=0))


def test_wide_gradients_take_the_product_of_cublas(monkeypatch):
    from fused_mlp.mlp import triton_backward

    monkeypatch.setattr(triton_backward, "WIDEST_GRADIENT_EPILOGUE", 4)
    dy, w2, z = torch.randn(5, 7), torch.randn(7, 9), torch.randn(5, 9)
    wide = triton_backward.launch_hidden_gradients(dy, w2, z, activation="silu", with_hidden=True, with_bias=True)
    narrow = triton_backward.launch_hidden_gradient_epilogue(
        dy, w2, z, activation="silu", with_hidden=True, with_bias=True
    )
    for by_cublas, by_epilogue in zip(wide, narrow, strict=True):
        torch.testing.assert_close(by_cublas, by_epilogue)


def test_saved_tensors_keep_their_values(draw, dtype):
    from fused_mlp.gated_mlp.triton_backward import launch_gated_gradients

    dy, w_down, gate, up = draw(5, 7), draw(7, 9), draw(5, 9), draw(5, 9, scale=2.0)
    before = [t.clone() for t in (dy, w_down, gate, up)]
    launch_gated_gradients(dy, w_down, gate, up, activation="gelu", with_hidden=True)
    assert all(torch.equal(t, kept) for t, kept in zip((dy, w_down, gate, up), before, strict=True))
