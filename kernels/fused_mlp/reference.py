"""Reference implementation: each operation as three lines of eager PyTorch, in any dtype, float64 included.

Every other implementation is judged against these, in float64. Nothing here is clever, and nothing here may be
made clever. Arguments are those of the public functions; no argument is checked beyond what PyTorch checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.activations import Activation, activate, name_from_activation, name_from_optional_activation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["gated_mlp", "linear", "mlp"]


def linear(x: Tensor, w: Tensor, b: Tensor | None = None, *, activation: Activation | str | None = None) -> Tensor:
    """Return act(x·Wᵀ + b). x: [..., in], w: [out, in], b: [out]; returns [..., out] in the dtype of x."""
    return activate(functional.linear(x, w, b), name_from_optional_activation(activation))


def mlp(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, *, activation: Activation | str
) -> Tensor:
    """Return act(x·W1ᵀ + b1)·W2ᵀ + b2. x: [..., dim], w1: [hidden, dim], w2: [out, hidden]; returns [..., out]."""
    hidden = activate(functional.linear(x, w1, b1), name_from_activation(activation))
    return functional.linear(hidden, w2, b2)


def gated_mlp(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, *, activation: Activation | str) -> Tensor:
    """Return (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ. x: [..., dim], w_gate and w_up: [hidden, dim], w_down: [out, hidden].

    Source: Shazeer, GLU Variants Improve Transformer (2020), equation 6, for any activation.
    """
    gate = activate(functional.linear(x, w_gate), name_from_activation(activation))
    return functional.linear(gate * functional.linear(x, w_up), w_down)
