"""The gradients of (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ, by formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.activations import activate, activation_gradient
from fused_mlp.linear.gradients import parameter_gradients

if TYPE_CHECKING:
    from torch import Tensor


def gated_mlp_gradients(
    grad: Tensor,
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    *,
    activation: str,
    needed: tuple[bool, bool, bool, bool],
) -> tuple[Tensor | None, ...]:
    """∂/∂x, ∂/∂w_gate, ∂/∂w_up, ∂/∂w_down of Σ grad·gated_mlp(x), each only where `needed`, differentiable.

    Nothing is kept from the forward pass but its inputs: gate and up are computed again, two products more in
    exchange for 4·rows·hidden elements less.
    """
    need_x, need_gate, need_up, need_down = needed
    z = functional.linear(x, w_gate)
    gate = activate(z, activation)
    up = functional.linear(x, w_up)
    need_hidden = need_x or need_gate or need_up
    d_hidden, d_down, _ = parameter_gradients(grad, gate * up, w_down, needed=(need_hidden, need_down, False))
    if d_hidden is None:
        return None, None, None, d_down
    dz = activation_gradient(d_hidden * up, z, activation)
    dx_gate, d_gate, _ = parameter_gradients(dz, x, w_gate, needed=(need_x, need_gate, False))
    dx_up, d_up, _ = parameter_gradients(d_hidden * gate, x, w_up, needed=(need_x, need_up, False))
    dx = None if dx_gate is None or dx_up is None else dx_gate + dx_up
    return dx, d_gate, d_up, d_down
