"""act(x·W1ᵀ + b1)·W2ᵀ + b2 by two of oneDNN's fused linears, on weights it has packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.activations import NO_ACTIVATION
from fused_mlp.linear.onednn import linear_onednn

if TYPE_CHECKING:
    from torch import Tensor


def mlp_onednn(x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, *, activation: str) -> Tensor:
    """Compute `mlp` in two oneDNN calls. w1, w2: by pack_onednn."""
    return linear_onednn(linear_onednn(x, w1, b1, activation=activation), w2, b2, activation=NO_ACTIVATION)
