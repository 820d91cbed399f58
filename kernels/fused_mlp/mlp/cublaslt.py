"""Level 2 of the MLP on CUDA by cuBLASLt and cuBLAS alone: the activation in the first product's epilogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.linear.cublaslt import launch_linear_cublaslt

if TYPE_CHECKING:
    from torch import Tensor


def launch_mlp_cublaslt(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, *, activation: str
) -> Tensor:
    """Return act(x·W1ᵀ + b1)·W2ᵀ + b2 in two launches. Arguments as in `mlp`, checked by the caller."""
    return functional.linear(launch_linear_cublaslt(x, w1, b1, activation=activation), w2, b2)
