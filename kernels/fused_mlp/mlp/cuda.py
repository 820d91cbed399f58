"""`mlp` on CUDA: its levels of fusion, which one a call gets, and the call. Importing this needs triton."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from fused_mlp.choice.cuda_levels import Level, beside_the_rule, launched, without_tiles
from fused_mlp.linear.triton_epilogue import candidates_for_linear
from fused_mlp.linear.triton_pointwise import candidates_for_bias_activation
from fused_mlp.mlp.cublaslt import launch_mlp_cublaslt
from fused_mlp.mlp.cuda_example import launch_mlp_cuda
from fused_mlp.mlp.pure import mlp_pure
from fused_mlp.mlp.triton_epilogue import launch_mlp
from fused_mlp.mlp.triton_pointwise import launch_mlp_pointwise
from fused_mlp.mlp.triton_single import candidates_for_mlp_single, launch_mlp_single
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from torch import Tensor

LEVELS = {
    Implementation.PURE: without_tiles(mlp_pure),
    Implementation.POINTWISE: Level(
        launch=launch_mlp_pointwise,
        candidates=beside_the_rule(candidates_for_bias_activation),
    ),
    Implementation.EPILOGUE: Level(
        launch=launch_mlp,
        candidates=beside_the_rule(candidates_for_linear),
    ),
    Implementation.CUBLASLT: without_tiles(launch_mlp_cublaslt),
    Implementation.SINGLE: Level(launch=launch_mlp_single, candidates=lambda s: candidates_for_mlp_single(**asdict(s))),
    Implementation.CUDA: without_tiles(launch_mlp_cuda),
}


def mlp_on_cuda(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    *,
    activation: str,
    implementation: str | None = None,
) -> Tensor:
    """Compute `mlp` on the device of x, by `implementation` or the level chosen for the shape; arguments checked.

    Raises: Unavailable if the implementation named cannot run there or has no kernel for the shape.
    """
    return launched(
        Operation.MLP,
        LEVELS,
        x,
        (w1, b1, w2, b2),
        first=w1,
        n_out=w2.shape[0],
        activation=activation,
        implementation=implementation,
    )
