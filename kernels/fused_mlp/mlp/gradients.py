"""Gradients of act(x·W1ᵀ + b1)·W2ᵀ + b2, by formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.activations import activate, activation_gradient
from fused_mlp.linear.gradients import parameter_gradients, sum_of, z_from
from fused_mlp.ops.registration import register_gradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


def mlp_gradients(
    grads: Sequence[Tensor | None],
    x: Tensor | None,
    w1: Tensor | None,
    b1: Tensor | None,
    w2: Tensor | None,
    z: Tensor | None,
    hidden: Tensor | None,
    *,
    activation: str,
    needed: tuple[bool, bool, bool, bool, bool],
) -> tuple[Tensor | None, ...]:
    """Return ∂/∂x, ∂/∂w1, ∂/∂b1, ∂/∂w2, ∂/∂b2 of Σ dy·y + Σ dz·z + Σ dh·hidden, where `needed`, differentiable.

    grads: dy, dz, dh, each None where it is zero; only second derivatives have more than dy. z = x·W1ᵀ + b1 and
    hidden = act(z): kept from the forward pass, or None and computed again. x, w1, b1, w2: None where no gradient
    that is needed reads them, nor z.
    """
    dy, dz, d_hidden = grads
    need_x, need_w1, need_b1, need_w2, need_b2 = needed
    need_dz = need_x or need_w1 or need_b1
    if not need_dz and (hidden is not None or not need_w2):
        return None, None, None, *parameter_gradients(dy, hidden, None, needed=(False, need_w2, need_b2))[1:]
    if z is None:
        z = z_from(x, w1, b1)
    dw2, db2 = None, None
    if dy is not None:
        if need_w2 and hidden is None:
            hidden = activate(z, activation)
        from_y, dw2, db2 = parameter_gradients(dy, hidden, w2, needed=(need_dz, need_w2, need_b2))
        d_hidden = sum_of(from_y, d_hidden)
    if need_dz and d_hidden is not None:
        dz = sum_of(activation_gradient(d_hidden, z, activation), dz)
    return *parameter_gradients(dz, x, w1, needed=(need_x, need_w1, need_b1)), dw2, db2


register_gradients(
    "mlp_gradients(Tensor? dy, Tensor? dz, Tensor? d_hidden, Tensor? x, Tensor? w1, Tensor? b1, Tensor? w2,"
    " Tensor? z, Tensor? hidden, str activation, bool[5] needed) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    formula=mlp_gradients,
    n_grads=3,
)
