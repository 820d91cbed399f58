"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in pure PyTorch, anywhere: activation and product in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.activations import is_recording
from fused_mlp.linear.pure import linear_pure

if TYPE_CHECKING:
    from torch import Tensor


def gated_mlp_pure(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, *, activation: str) -> Tensor:
    """Compute `gated_mlp` in five PyTorch operators."""
    gate = linear_pure(x, w_gate, None, activation=activation)
    up = functional.linear(x, w_up)
    hidden = gate * up if is_recording(gate, up) else gate.mul_(up)
    return functional.linear(hidden, w_down)
