"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ by three of oneDNN's fused linears, on weights it has packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.activations import NO_ACTIVATION
from fused_mlp.linear.onednn import linear_onednn, linear_times_onednn

if TYPE_CHECKING:
    from torch import Tensor


def gated_mlp_onednn(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, *, activation: str) -> Tensor:
    """Compute `gated_mlp` in three oneDNN calls. The weights: by pack_onednn."""
    gate = linear_onednn(x, w_gate, None, activation=activation)
    return linear_onednn(linear_times_onednn(x, w_up, gate), w_down, None, activation=NO_ACTIVATION)
