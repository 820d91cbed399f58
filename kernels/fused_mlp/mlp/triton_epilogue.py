"""Level 2 on CUDA: two launches, the activation in the epilogue of the first.

The first product applies bias and activation before it writes; the second is cuBLAS, whose own epilogue adds the
bias and which a Triton product does not beat at large inner dimensions.

What it can't do: keep the hidden activations on the chip; they are written and read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.linear.triton_epilogue import launch_linear

if TYPE_CHECKING:
    from torch import Tensor

    from fused_mlp.gpu.tiles import Tiles


def launch_mlp(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    *,
    activation: str,
    tiles: Tiles | None = None,
) -> Tensor:
    """Return act(x·W1ᵀ + b1)·W2ᵀ + b2 in two launches. Arguments as in `mlp`, checked by the caller."""
    return functional.linear(launch_linear(x, w1, b1, activation=activation, tiles=tiles), w2, b2)
