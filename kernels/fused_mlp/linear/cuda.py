"""`linear` on CUDA: its levels of fusion, which one a call gets, and the call. Importing this needs triton."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.choice.cuda_levels import Level, beside_the_rule, launched, without_tiles
from fused_mlp.linear.cublaslt import launch_linear_cublaslt
from fused_mlp.linear.pure import linear_pure
from fused_mlp.linear.triton_epilogue import candidates_for_linear, launch_linear
from fused_mlp.linear.triton_pointwise import candidates_for_bias_activation, launch_linear_pointwise
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from torch import Tensor

LEVELS = {
    Implementation.PURE: without_tiles(linear_pure),
    Implementation.POINTWISE: Level(
        launch=launch_linear_pointwise,
        candidates=beside_the_rule(candidates_for_bias_activation),
    ),
    Implementation.EPILOGUE: Level(
        launch=launch_linear,
        candidates=beside_the_rule(candidates_for_linear),
    ),
    Implementation.CUBLASLT: without_tiles(launch_linear_cublaslt),
}


def linear_on_cuda(
    x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, implementation: str | None = None
) -> Tensor:
    """Compute `linear` on the device of x, by `implementation` or the level chosen for the shape; arguments checked.

    Raises: Unavailable if the implementation named cannot run there or has no kernel for the shape.
    """
    return launched(
        Operation.LINEAR,
        LEVELS,
        x,
        (w, b),
        first=w,
        n_out=w.shape[0],
        activation=activation,
        implementation=implementation,
    )
