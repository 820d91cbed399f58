"""Level 3 on CUDA: mlp in one launch, as a full tile or with hidden split, whichever the arithmetic favours.

What it can't do: more than 64 rows where dim or out is over 256; `why_not_single` says so. Backward is the op's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.gpu.single import Operands, SingleKernels
from fused_mlp.gpu.single_configurations import single_configurations
from fused_mlp.gpu.single_tiles import as_rows
from fused_mlp.mlp.triton_full_tile import mlp_full_tile_kernel, tiles_for_mlp_full_tile
from fused_mlp.mlp.triton_split_hidden import mlp_split_hidden_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration
    from fused_mlp.gpu.single_tiles import SingleTiles

_KERNELS = SingleKernels(
    operation="mlp",
    full_tile=mlp_full_tile_kernel,
    split_hidden=mlp_split_hidden_kernel,
    full_tile_rule=tiles_for_mlp_full_tile,
    n_first=1,
    biases=("HAS_B1", "HAS_B2"),
)
why_not_single = _KERNELS.why_not
tiles_for_mlp_single = _KERNELS.tiles_for
candidates_for_mlp_single = _KERNELS.candidates_for


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Return the rule's choices for both kinds."""
    return single_configurations(_KERNELS, capability=capability)


def launch_mlp_single(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    *,
    activation: str,
    tiles: SingleTiles | None = None,
) -> Tensor:
    """Return act(x·W1ᵀ + b1)·W2ᵀ + b2 in one launch on the current device; arguments checked by the caller.

    `tiles` names a tile; without, the rule chooses.

    Raises: Unavailable if the shape is not one for one launch, or not for the tile named.
    """
    w1, w2 = as_rows(w1), as_rows(w2)
    b1, b2 = (None if b is None else b.contiguous() for b in (b1, b2))
    operands = Operands((w1, b1, w2, b2), (w1, w2), (b1 is not None, b2 is not None))
    return _KERNELS.launch(x, operands, activation=activation, tiles=tiles)
