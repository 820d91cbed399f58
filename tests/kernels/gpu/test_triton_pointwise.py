"""Level 1's kernels, run by Triton's interpreter, are within their bounds on ragged, NaN-surrounded shapes."""

import pytest
import torch

from fused_mlp import reference
from tests.kernels.cases import activated_bound, linear_bound, padded_for_torch, rounding_bound

pytestmark = [
    pytest.mark.interpreter,
    pytest.mark.sample,
    # Of a GELU far below zero: 1 / (1 + inf) is the 0 that is meant.
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2:RuntimeWarning"),
]

SHAPES = [(1, 3, 1), (17, 130, 3), (33, 17, 600)]


@pytest.fixture
def draw(dtype):
    def drawn(*shape, scale=1.0):
        torch.manual_seed(sum(shape))
        return padded_for_torch((torch.randn(*shape) * scale).to(dtype))

    return drawn


def assert_within(actual, expected, bound, dtype):
    # The interpreter cuts float32 to bfloat16 where a device rounds: a whole unit instead of half a one.
    bound = bound + rounding_bound(expected, dtype, units=2.0)
    assert not torch.isnan(actual).any()
    excess = (actual.double() - expected).abs() - bound
    assert excess.max() <= 0, f"beyond its bound by {excess.max():.3g}"


@pytest.mark.parametrize(
    ("rows", "n_in", "n_out", "bias"), [(*SHAPES[0], True), (*SHAPES[1], True), (*SHAPES[2], False)]
)
def test_linear_is_within_its_bound(draw, dtype, activation, bias, rows, n_in, n_out):
    from fused_mlp.linear.triton_pointwise import launch_linear_pointwise

    x, w = draw(rows, n_in), draw(n_out, n_in, scale=n_in**-0.5)
    b = draw(n_out) if bias else None
    wx, ww, wb = x.double(), w.double(), None if b is None else b.double()
    z = reference.linear(wx, ww, wb)
    z_error = linear_bound(wx, ww, wb) + rounding_bound(reference.linear(wx, ww), dtype)
    actual = launch_linear_pointwise(x, w, b, activation=str(activation))
    assert_within(actual, reference.linear(wx, ww, wb, activation=activation), activated_bound(z, z_error), dtype)


@pytest.mark.parametrize(
    ("rows", "n_in", "n_out", "packed"), [(*SHAPES[0], False), (*SHAPES[1], True), (*SHAPES[2], False)]
)
def test_gated_mlp_is_within_its_bound(draw, dtype, activation, packed, rows, n_in, n_out):
    from fused_mlp.gated_mlp import triton_pointwise as level_1

    x, w_gate = draw(rows, n_in), draw(n_out, n_in, scale=n_in**-0.5)
    w_up, w_down = draw(n_out, n_in, scale=-(n_in**-0.5)), draw(n_in, n_out, scale=n_out**-0.5)
    if packed:
        both = torch.cat([w_gate, w_up])
        actual = level_1.launch_packed_gated_mlp_pointwise(x, both, w_down, activation=str(activation))
    else:
        actual = level_1.launch_gated_mlp_pointwise(x, w_gate, w_up, w_down, activation=str(activation))
    wx, wg, wu, wd = (t.double() for t in (x, w_gate, w_up, w_down))
    z, up = reference.linear(wx, wg), reference.linear(wx, wu)
    gate = reference.linear(wx, wg, activation=activation)
    gate_error = activated_bound(z, linear_bound(wx, wg, None) + rounding_bound(z, dtype))
    up_error = linear_bound(wx, wu, None) + rounding_bound(up, dtype)
    hidden_error = gate_error * up.abs() + up_error * gate.abs() + gate_error * up_error
    hidden_error = hidden_error + rounding_bound(gate * up, dtype, units=2.0)
    bound = linear_bound(gate * up, wd, None, x_error=hidden_error)
    assert_within(actual, reference.gated_mlp(wx, wg, wu, wd, activation=activation), bound, dtype)


@pytest.mark.parametrize(("rows", "dim", "hidden"), SHAPES)
def test_mlp_is_within_its_bound(draw, dtype, activation, rows, dim, hidden):
    from fused_mlp.mlp.triton_pointwise import launch_mlp_pointwise

    x, w1, b1 = draw(rows, dim), draw(hidden, dim, scale=dim**-0.5), draw(hidden)
    w2, b2 = draw(dim, hidden, scale=hidden**-0.5), draw(dim)
    actual = launch_mlp_pointwise(x, w1, b1, w2, b2, activation=str(activation))
    wx, ww1, wb1, ww2, wb2 = (t.double() for t in (x, w1, b1, w2, b2))
    z = reference.linear(wx, ww1, wb1)
    z_error = linear_bound(wx, ww1, wb1) + rounding_bound(reference.linear(wx, ww1), dtype)
    inner = reference.linear(wx, ww1, wb1, activation=activation)
    hidden_error = activated_bound(z, z_error) + rounding_bound(inner, dtype, units=2.0)
    bound = linear_bound(inner, ww2, wb2, x_error=hidden_error)
    assert_within(actual, reference.mlp(wx, ww1, wb1, ww2, wb2, activation=activation), bound, dtype)


def test_nothing_beyond_the_rows_and_columns_is_written(dtype):
    from fused_mlp.linear.triton_pointwise import apply_bias_activation

    buffer = torch.full((7, 40), 7.0, dtype=dtype)
    apply_bias_activation(buffer[1:6, 3:33], torch.ones(30, dtype=dtype), activation="relu")
    assert (buffer[1:6, 3:33] == 8).all()
    buffer[1:6, 3:33] = 7
    assert (buffer == 7).all()


def test_batches_keep_their_leading_dimensions():
    from fused_mlp.gated_mlp.triton_pointwise import launch_gated_mlp_pointwise
    from fused_mlp.mlp.triton_pointwise import launch_mlp_pointwise

    x = torch.randn(2, 5, 4).transpose(0, 1)
    w1, w2 = torch.randn(6, 4), torch.randn(3, 6)
    assert launch_mlp_pointwise(x, w1, None, w2, None, activation="relu").shape == (5, 2, 3)
    assert launch_gated_mlp_pointwise(x, w1, w1, w2, activation="relu").shape == (5, 2, 3)


def test_zero_rows_launch_nothing():
    from fused_mlp.linear.triton_pointwise import launch_linear_pointwise

    assert launch_linear_pointwise(torch.empty(0, 4), torch.randn(3, 4), None, activation="relu").shape == (0, 3)
