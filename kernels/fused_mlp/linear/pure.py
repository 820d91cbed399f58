"""act(x·Wᵀ + b) in pure PyTorch, anywhere: the activation in place, so that no second buffer is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.activations import activate_in_place

if TYPE_CHECKING:
    from torch import Tensor


def linear_pure(x: Tensor, w: Tensor, b: Tensor | None, *, activation: str) -> Tensor:
    """Compute `linear` in two PyTorch operators. Where a gradient is recorded the activation has its own buffer."""
    return activate_in_place(functional.linear(x, w, b), activation)
