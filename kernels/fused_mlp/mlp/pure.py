"""act(x·W1ᵀ + b1)·W2ᵀ + b2 in pure PyTorch, anywhere: one hidden buffer instead of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.linear.pure import linear_pure

if TYPE_CHECKING:
    from torch import Tensor


def mlp_pure(x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, *, activation: str) -> Tensor:
    """Compute `mlp` in three PyTorch operators."""
    return functional.linear(linear_pure(x, w1, b1, activation=activation), w2, b2)
