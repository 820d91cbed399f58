"""The gradients of act(x·Wᵀ + b), by formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.activations import NO_ACTIVATION, activation_gradient

if TYPE_CHECKING:
    from torch import Tensor


def linear_gradients(
    grad: Tensor, x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, needed: tuple[bool, bool, bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """∂/∂x, ∂/∂w, ∂/∂b of Σ grad·act(x·Wᵀ + b), each only where `needed`, in differentiable operations.

    Nothing is kept from the forward pass but its inputs: z = x·Wᵀ + b is computed again, unless there is no
    activation and so no need of it.
    """
    dz = grad
    if activation != NO_ACTIVATION:
        dz = activation_gradient(grad, functional.linear(x, w, b), activation)
    return parameter_gradients(dz, x, w, needed=needed)


def parameter_gradients(
    dz: Tensor, x: Tensor, w: Tensor, *, needed: tuple[bool, bool, bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of z = x·Wᵀ + b with respect to x, w and b, from dz, each only where `needed`."""
    dz_rows = dz.reshape(-1, dz.shape[-1])
    dx = dz @ w if needed[0] else None
    dw = dz_rows.t() @ x.reshape(-1, x.shape[-1]) if needed[1] else None
    db = dz_rows.sum(dim=0) if needed[2] else None
    return dx, dw, db
