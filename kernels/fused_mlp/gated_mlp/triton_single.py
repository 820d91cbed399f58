"""Level 3 on CUDA: gated_mlp in one launch, as a full tile or with hidden split, whichever the arithmetic favours.

What it can't do: more than 64 rows where dim or out is over 256; `why_not_single` says so. Backward is the op's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.gated_mlp.triton_full_tile import gated_mlp_full_tile_kernel, tiles_for_gated_mlp_full_tile
from fused_mlp.gated_mlp.triton_split_hidden import gated_mlp_split_hidden_kernel
from fused_mlp.gpu.single import Operands, SingleKernels
from fused_mlp.gpu.single_configurations import single_configurations
from fused_mlp.gpu.single_tiles import as_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration
    from fused_mlp.gpu.single_tiles import SingleTiles

_KERNELS = SingleKernels(
    operation="gated_mlp",
    full_tile=gated_mlp_full_tile_kernel,
    split_hidden=gated_mlp_split_hidden_kernel,
    full_tile_rule=tiles_for_gated_mlp_full_tile,
    n_first=2,
)
why_not_single = _KERNELS.why_not
tiles_for_gated_mlp_single = _KERNELS.tiles_for
candidates_for_gated_mlp_single = _KERNELS.candidates_for


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Return the rule's choices for both kinds."""
    return single_configurations(_KERNELS, capability=capability)


def launch_gated_mlp_single(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    *,
    activation: str,
    tiles: SingleTiles | None = None,
) -> Tensor:
    """Return (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in one launch on the current device; arguments checked by the caller.

    `tiles` names a tile; without, the rule chooses.

    Raises: Unavailable if the shape is not one for one launch, or not for the tile named.
    """
    weights = as_rows(w_gate), as_rows(w_up), as_rows(w_down)
    return _KERNELS.launch(x, Operands(weights, weights), activation=activation, tiles=tiles)
