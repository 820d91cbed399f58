"""Gradients of (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ, by formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.activations import activate, activation_gradient
from fused_mlp.linear.gradients import parameter_gradients, sum_of, z_from
from fused_mlp.ops.registration import register_gradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


def gated_mlp_gradients(
    grads: Sequence[Tensor | None],
    x: Tensor | None,
    w_gate: Tensor | None,
    w_up: Tensor | None,
    w_down: Tensor | None,
    z: Tensor | None,
    up: Tensor | None,
    hidden: Tensor | None,
    *,
    activation: str,
    needed: tuple[bool, bool, bool, bool],
) -> tuple[Tensor | None, ...]:
    """Return ∂/∂x, ∂/∂w_gate, ∂/∂w_up, ∂/∂w_down of Σ dy·y + Σ dz·z + Σ du·up + Σ dh·hidden, where `needed`.

    In differentiable operations. grads: dy, dz, du, dh, each None where it is zero; only second derivatives have
    more than dy. z = x·Wgᵀ, up = x·Wuᵀ and hidden = act(z)·up: kept from the forward pass, or None and computed
    again. act(z) is computed again in any case: what keeping it would cost, its derivative costs already.
    x and the weights: None where no gradient that is needed reads them, nor z and up.
    """
    dy, dz, du, d_hidden = grads
    need_x, need_gate, need_up, need_down = needed
    need_hidden = need_x or need_gate or need_up
    if not need_hidden and (hidden is not None or not need_down):
        return None, None, None, parameter_gradients(dy, hidden, None, needed=(False, need_down, False))[1]
    if z is None or up is None:
        z, up = z_from(x, w_gate, None), z_from(x, w_up, None)
    gate = activate(z, activation)
    d_down = None
    if dy is not None:
        if need_down and hidden is None:
            hidden = gate * up
        from_y, d_down, _ = parameter_gradients(dy, hidden, w_down, needed=(need_hidden, need_down, False))
        d_hidden = sum_of(from_y, d_hidden)
    if need_hidden and d_hidden is not None:
        dz = sum_of(activation_gradient(d_hidden * up, z, activation), dz)
        du = sum_of(d_hidden * gate, du)
    dx_gate, d_gate, _ = parameter_gradients(dz, x, w_gate, needed=(need_x, need_gate, False))
    dx_up, d_up, _ = parameter_gradients(du, x, w_up, needed=(need_x, need_up, False))
    return sum_of(dx_gate, dx_up), d_gate, d_up, d_down


register_gradients(
    "gated_mlp_gradients(Tensor? dy, Tensor? dz, Tensor? du, Tensor? d_hidden, Tensor? x, Tensor? w_gate,"
    " Tensor? w_up, Tensor? w_down, Tensor? z, Tensor? up, Tensor? hidden, str activation, bool[4] needed)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    formula=gated_mlp_gradients,
    n_grads=4,
)
