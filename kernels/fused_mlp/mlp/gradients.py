"""The gradients of act(x·W1ᵀ + b1)·W2ᵀ + b2, by formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.activations import activate, activation_gradient
from fused_mlp.linear.gradients import parameter_gradients

if TYPE_CHECKING:
    from torch import Tensor


def mlp_gradients(
    grad: Tensor,
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    *,
    activation: str,
    needed: tuple[bool, bool, bool, bool, bool],
) -> tuple[Tensor | None, ...]:
    """∂/∂x, ∂/∂w1, ∂/∂b1, ∂/∂w2, ∂/∂b2 of Σ grad·mlp(x), each only where `needed`, in differentiable operations.

    Nothing is kept from the forward pass but its inputs: x·W1ᵀ + b1 and its activation are computed again, one
    product more in exchange for 4·rows·hidden elements less.
    """
    need_x, need_w1, need_b1, need_w2, need_b2 = needed
    z = functional.linear(x, w1, b1)
    hidden = activate(z, activation)
    need_hidden = need_x or need_w1 or need_b1
    d_hidden, dw2, db2 = parameter_gradients(grad, hidden, w2, needed=(need_hidden, need_w2, need_b2))
    if d_hidden is None:
        return None, None, None, dw2, db2
    dz = activation_gradient(d_hidden, z, activation)
    return *parameter_gradients(dz, x, w1, needed=(need_x, need_w1, need_b1)), dw2, db2
