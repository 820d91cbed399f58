"""`gated_mlp` on CUDA: its levels of fusion, which one a call gets, and the call. Importing this needs triton."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from fused_mlp.choice.cuda_levels import Level, beside_the_rule, launched, without_tiles
from fused_mlp.gated_mlp.pure import gated_mlp_pure
from fused_mlp.gated_mlp.triton_dual_product import candidates_for_dual_product, launch_gated_mlp
from fused_mlp.gated_mlp.triton_pointwise import candidates_for_gate_product, launch_gated_mlp_pointwise
from fused_mlp.gated_mlp.triton_single import candidates_for_gated_mlp_single, launch_gated_mlp_single
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from torch import Tensor

LEVELS = {
    Implementation.PURE: without_tiles(gated_mlp_pure),
    Implementation.POINTWISE: Level(
        launch=launch_gated_mlp_pointwise,
        candidates=beside_the_rule(candidates_for_gate_product),
    ),
    Implementation.EPILOGUE: Level(
        launch=launch_gated_mlp,
        candidates=beside_the_rule(candidates_for_dual_product),
    ),
    Implementation.SINGLE: Level(
        launch=launch_gated_mlp_single, candidates=lambda s: candidates_for_gated_mlp_single(**asdict(s))
    ),
}


def gated_mlp_on_cuda(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, *, activation: str, implementation: str | None = None
) -> Tensor:
    """Compute `gated_mlp` on the device of x, by `implementation` or the level chosen for the shape; arguments checked.

    Raises: Unavailable if the implementation named cannot run there or has no kernel for the shape.
    """
    return launched(
        Operation.GATED_MLP,
        LEVELS,
        x,
        (w_gate, w_up, w_down),
        first=w_gate,
        n_out=w_down.shape[0],
        activation=activation,
        implementation=implementation,
    )
