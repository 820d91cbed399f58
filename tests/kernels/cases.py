"""Operations with drawn arguments, their exact results in float64, and error bounds derived, not chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import torch

import fused_mlp
from fused_mlp import reference
from fused_mlp.activations import activation_gradient
from fused_mlp.linear.onednn import has_activation

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
ODD_SIZES = (1, 3, 17, 127, 130)
# The largest slope of any activation: GELU's, 1.129 at x = √2; SiLU's and QUICK_GELU's are 1.0998,
# GELU_TANH's within 1e-3 of GELU's.
STEEPEST = 1.13
# The largest second derivative of any: QUICK_GELU's, 1.702 times SiLU's 1/2, 0.851; GELU's is 2·φ(0) = 0.798.
MOST_CURVED = 0.86


def padded_with_nan(values: Tensor) -> Tensor:
    """The same values, as a view into a larger buffer that is NaN wherever `values` is not."""
    if values.dim() == 1:
        buffer = torch.full((values.shape[0] + 32,), torch.nan, dtype=values.dtype)
        view = buffer[16 : 16 + values.shape[0]]
    else:
        rows, columns = values.shape
        buffer = torch.full((rows + 4, columns + 16), torch.nan, dtype=values.dtype)
        view = buffer[2 : 2 + rows, :columns]
    view.copy_(values)
    return view


@cache
def reads_only_rows(dtype: torch.dtype) -> bool:
    """Whether PyTorch's own product does: with bfloat16 instructions it reads odd rows in pairs, one element beyond."""
    x, w = (padded_with_nan(torch.ones(rows, 3, dtype=dtype)) for rows in (17, 130))
    return not torch.nn.functional.linear(x, w).isnan().any()


def padded_for_torch(values: Tensor) -> Tensor:
    """The same values, padded with NaN wherever that harms no product of PyTorch's own."""
    return padded_with_nan(values) if reads_only_rows(values.dtype) else values


def linear_bound(x: Tensor, w: Tensor, b: Tensor | None, *, x_error: Tensor | float = 0.0) -> Tensor:
    """How far x·Wᵀ + b, summed in float32 in any order, may lie from the exact sum, elementwise.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, §3.1: |error| ≤ γₙ·|x|·|W|ᵀ, γₙ ≈ n·u.
    """
    unit = torch.finfo(torch.float32).eps / 2
    magnitude = x.abs() @ w.abs().t()
    if b is not None:
        magnitude = magnitude + b.abs()
    carried = x_error @ w.abs().t() if isinstance(x_error, torch.Tensor) else 0.0
    return (x.shape[-1] + 2) * unit * magnitude + carried


def activated_bound(z: Tensor, z_error: Tensor) -> Tensor:
    """How far act(z) in float32 may lie from act of the exact z: the slope, and 8 units of the function itself."""
    return STEEPEST * z_error + 8 * torch.finfo(torch.float32).eps / 2 * z.abs()


def rounded_sum_bound(z: Tensor, z_error: Tensor, dtype: torch.dtype, activation: str) -> Tensor:
    """How far act moves where its argument, z to within z_error, is rounded to `dtype` before act is taken.

    Source: Taylor's theorem, |act(z + δ) - act(z)| ≤ |act'(z)|·|δ| + max|act''|·δ²/2. ReLU has a kink at 0, but
    rounding keeps signs, and a sum on the wrong side of it is within z_error, which activated_bound counts.
    """
    slope = activation_gradient(torch.ones_like(z), z, activation)
    moved = rounding_bound(z.abs() + z_error, dtype)
    return slope.abs() * moved + MOST_CURVED / 2 * moved**2


def rounding_bound(value: Tensor, dtype: torch.dtype, *, units: float = 1.0) -> Tensor:
    """How far rounding `value` to `dtype` moves it: half a unit in the last place, or the smallest subnormal."""
    info = torch.finfo(dtype)
    return units * (info.eps / 2 * value.abs() + info.smallest_normal * info.eps)


@dataclass(frozen=True, kw_only=True)
class Roundings:
    """Which values between the operators an implementation rounds to its dtype; the rest stay in float32.

    z: the first sum, before its activation. gate and up: the two factors, before they are multiplied.
    The hidden values and the result are always rounded.
    """

    z: bool = False
    gate: bool = False
    up: bool = False


FUSED = Roundings()
EVERY_OPERATOR = Roundings(z=True, gate=True, up=True)


def onednn_roundings(activation: str) -> Roundings:
    """oneDNN's: its epilogue reads the float32 sum, but an activation that it has not is a pass over rounded sums.

    The gate is written by one call and read by the next, which multiplies its own float32 sum by it.
    """
    return Roundings(z=not has_activation(activation), gate=True)


@dataclass(frozen=True, kw_only=True)
class Case:
    """An operation with drawn arguments, exact result and derived bound, all in float64 beside the tested dtype."""

    arguments: tuple[Tensor | None, ...]
    expected: Tensor
    bound: Tensor


@dataclass(frozen=True, kw_only=True)
class TestedOperation:
    """A public function, its oracle, and how to draw arguments of given sizes."""

    __test__ = False
    name: str
    function: Callable[..., Tensor]
    oracle: Callable[..., Tensor]
    draw: Callable[..., tuple[Tensor | None, ...]]
    bound: Callable[..., Tensor]

    def case(
        self,
        *,
        rows: int,
        dim: int,
        hidden: int,
        dtype: torch.dtype,
        activation: str,
        bias: bool = True,
        roundings: Roundings = FUSED,
    ) -> Case:
        """The bound is that of an implementation with these roundings."""
        torch.manual_seed(rows * 1_000_003 + dim * 1009 + hidden)
        arguments = self.draw(rows=rows, dim=dim, hidden=hidden, dtype=dtype, bias=bias)
        wide = tuple(None if a is None else a.double() for a in arguments)
        expected = self.oracle(*wide, activation=activation)
        bound = self.bound(*wide, dtype=dtype, activation=activation, roundings=roundings) + rounding_bound(
            expected, dtype
        )
        return Case(arguments=arguments, expected=expected, bound=bound)


def _normal(*shape: int, dtype: torch.dtype, scale: float = 1.0) -> Tensor:
    return (torch.randn(*shape) * scale).to(dtype)


def _draw_linear(*, rows: int, dim: int, hidden: int, dtype: torch.dtype, bias: bool) -> tuple[Tensor | None, ...]:
    w = _normal(hidden, dim, dtype=dtype, scale=dim**-0.5)
    return _normal(rows, dim, dtype=dtype), w, _normal(hidden, dtype=dtype) if bias else None


def _draw_mlp(*, rows: int, dim: int, hidden: int, dtype: torch.dtype, bias: bool) -> tuple[Tensor | None, ...]:
    first = _draw_linear(rows=rows, dim=dim, hidden=hidden, dtype=dtype, bias=bias)
    w2 = _normal(dim, hidden, dtype=dtype, scale=hidden**-0.5)
    return *first, w2, _normal(dim, dtype=dtype) if bias else None


def _draw_gated(*, rows: int, dim: int, hidden: int, dtype: torch.dtype, bias: bool) -> tuple[Tensor | None, ...]:
    del bias
    x, w_gate, _ = _draw_linear(rows=rows, dim=dim, hidden=hidden, dtype=dtype, bias=False)
    w_up = _normal(hidden, dim, dtype=dtype, scale=dim**-0.5)
    return x, w_gate, w_up, _normal(dim, hidden, dtype=dtype, scale=hidden**-0.5)


def linear_activated_bound(
    x: Tensor, w: Tensor, b: Tensor | None, *, dtype: torch.dtype, activation: str, roundings: Roundings = FUSED
) -> Tensor:
    """Before the result is rounded to `dtype`."""
    z, z_error = reference.linear(x, w, b), linear_bound(x, w, b)
    bound = activated_bound(z, z_error)
    return bound + rounded_sum_bound(z, z_error, dtype, activation) if roundings.z else bound


def _mlp_bound(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    *,
    dtype: torch.dtype,
    activation: str,
    roundings: Roundings = FUSED,
) -> Tensor:
    hidden = reference.linear(x, w1, b1, activation=activation)
    hidden_error = linear_activated_bound(x, w1, b1, dtype=dtype, activation=activation, roundings=roundings)
    hidden_error = hidden_error + rounding_bound(hidden, dtype)
    return linear_bound(hidden, w2, b2, x_error=hidden_error)


def _gated_bound(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    *,
    dtype: torch.dtype,
    activation: str,
    roundings: Roundings = FUSED,
) -> Tensor:
    gate = reference.linear(x, w_gate, activation=activation)
    gate_error = linear_activated_bound(x, w_gate, None, dtype=dtype, activation=activation, roundings=roundings)
    up = reference.linear(x, w_up)
    up_error = linear_bound(x, w_up, None)
    if roundings.gate:
        gate_error = gate_error + rounding_bound(gate.abs() + gate_error, dtype)
    if roundings.up:
        up_error = up_error + rounding_bound(up.abs() + up_error, dtype)
    hidden = gate * up
    hidden_error = gate_error * up.abs() + up_error * gate.abs() + gate_error * up_error + rounding_bound(hidden, dtype)
    return linear_bound(hidden, w_down, None, x_error=hidden_error)


OPERATIONS = (
    TestedOperation(
        name="linear",
        function=fused_mlp.linear,
        oracle=reference.linear,
        draw=_draw_linear,
        bound=linear_activated_bound,
    ),
    TestedOperation(name="mlp", function=fused_mlp.mlp, oracle=reference.mlp, draw=_draw_mlp, bound=_mlp_bound),
    TestedOperation(
        name="gated_mlp",
        function=fused_mlp.gated_mlp,
        oracle=reference.gated_mlp,
        draw=_draw_gated,
        bound=_gated_bound,
    ),
)
