"""`linear` on CUDA: its levels of fusion, which one a call gets, and the call. Importing this needs triton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fused_mlp.choices import number_format
from fused_mlp.cuda_levels import Level, level_and_tiles
from fused_mlp.linear.triton_epilogue import candidates_for_linear, launch_linear
from fused_mlp.linear.triton_pointwise import candidates_for_bias_activation, launch_linear_pointwise
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from torch import Tensor

LEVELS = {
    Implementation.POINTWISE: Level(
        launch=launch_linear_pointwise,
        candidates=lambda s: candidates_for_bias_activation(s.n_rows, s.dtype, capability=s.capability)[1:],
    ),
    Implementation.EPILOGUE: Level(
        launch=launch_linear,
        candidates=lambda s: candidates_for_linear(s.n_rows, s.dtype, capability=s.capability)[1:],
    ),
}


def linear_on_cuda(
    x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, implementation: str | None = None
) -> Tensor:
    """As `linear`, on the device of x, by `implementation` or the one chosen for the shape; arguments checked.

    Raises: Unavailable if the implementation named cannot run there or has no kernel for the shape.
    """
    hidden, dim = w.shape
    rows, index = x.numel() // dim if dim else 0, x.get_device()
    level, tiles = level_and_tiles(
        Operation.LINEAR, implementation, rows, dim, hidden, hidden, number_format(x.dtype, "cuda"), index
    )
    with torch.cuda.device(index):
        result: Tensor = LEVELS[level].launch(x, w, b, activation=activation, tiles=tiles)
    return result
