"""Gradients of act(x·Wᵀ + b), by formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from torch.nn import functional

from fused_mlp.activations import NO_ACTIVATION, activation_gradient
from fused_mlp.ops.registration import register_gradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


def linear_gradients(
    grads: Sequence[Tensor | None],
    x: Tensor | None,
    w: Tensor | None,
    b: Tensor | None,
    z: Tensor | None,
    *,
    activation: str,
    needed: tuple[bool, bool, bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return ∂/∂x, ∂/∂w, ∂/∂b of Σ dy·act(z) + Σ dz·z, z = x·Wᵀ + b, where `needed`, differentiable.

    grads: dy and dz, either None where it is zero. z: kept from the forward pass, or None: then it is computed again
    from x, w and b, unless there is no activation and so no need of it. x and w: as in parameter_gradients otherwise.
    """
    dy, dz = grads
    if dy is not None:
        if activation != NO_ACTIVATION:
            dy = activation_gradient(dy, z_from(x, w, b) if z is None else z, activation)
        dz = sum_of(dy, dz)
    return parameter_gradients(dz, x, w, needed=needed)


def parameter_gradients(
    dz: Tensor | None, x: Tensor | None, w: Tensor | None, *, needed: tuple[bool, bool, bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return the gradients of z = x·Wᵀ + b with respect to x, w and b, from dz, each only where `needed`.

    x may be None where that of w is not needed, w where that of x is not.
    """
    if dz is None:
        return None, None, None
    dz_rows = _as_rows(dz)
    dx = dz @ cast("Tensor", w) if needed[0] else None
    dw = dz_rows.t() @ _as_rows(cast("Tensor", x)) if needed[1] else None
    db = dz_rows.sum(dim=0) if needed[2] else None
    return dx, dw, db


def z_from(x: Tensor | None, w: Tensor | None, b: Tensor | None) -> Tensor:
    """Return x·Wᵀ + b, for which x and w have been saved."""
    return functional.linear(cast("Tensor", x), cast("Tensor", w), b)


def sum_of(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """Return the sum of two gradients, either None where it is zero."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _as_rows(t: Tensor) -> Tensor:
    """Return [..., n] as [rows, n]; unlike reshape(-1, n), where n is 0 too."""
    return t.unsqueeze(0).flatten(0, -2)


register_gradients(
    "linear_gradients(Tensor? dy, Tensor? dz, Tensor? x, Tensor? w, Tensor? b, Tensor? z, str activation,"
    " bool[3] needed) -> (Tensor, Tensor, Tensor)",
    formula=linear_gradients,
    n_grads=2,
)
