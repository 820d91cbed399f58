"""Level 3 on CUDA: mlp in one launch, as a full tile or with hidden split, whichever the arithmetic favours.

What it can't do: more than 64 rows where dim or out is over 256; `why_not_single` says so. Backward is the op's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fused_mlp.errors import Unavailable
from fused_mlp.mlp.triton_full_tile import (
    candidates_for_mlp_full_tile,
    launch_mlp_full_tile,
    tiles_for_mlp_full_tile,
)
from fused_mlp.mlp.triton_split_hidden import (
    launch_mlp_split_hidden,
)
from fused_mlp.triton_single_tiles import (
    WIDEST_FULL_TILE,
    FullTile,
    SingleTiles,
    as_rows,
    is_full_tile_better,
    split_candidates,
    split_tile_for,
    why_no_tile,
)
from fused_mlp.triton_tiles import device_capability, float32_precision

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def why_not_single(
    *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
) -> str | None:
    """Why one launch cannot compute this shape, in words for a user; None if it can."""
    del hidden
    return why_no_tile(n_rows=n_rows, dim=dim, n_out=n_out, dtype=dtype, capability=capability)


def tiles_for_mlp_single(
    *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
) -> SingleTiles:
    """Kind and tile for a shape that `why_not_single` admits, by rules from the arithmetic, not tuned on a device."""
    weight_bytes = hidden * (dim + n_out) * dtype.itemsize
    precision = float32_precision()
    if is_full_tile_better(n_rows=n_rows, dim=dim, n_out=n_out, weight_bytes=weight_bytes, capability=capability):
        return tiles_for_mlp_full_tile(
            n_rows=n_rows, dim=dim, n_out=n_out, dtype=dtype, capability=capability, precision=precision
        )
    return split_tile_for(
        n_rows=n_rows,
        dim=dim,
        hidden=hidden,
        n_out=n_out,
        dtype=dtype,
        capability=capability,
        precision=precision,
        n_accumulators=1,
    )


def candidates_for_mlp_single(
    *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
) -> list[SingleTiles]:
    """What tuning tries for a shape: both kinds where both can run."""
    del hidden
    candidates: list[SingleTiles] = []
    candidates += split_candidates(n_rows=n_rows, dim=dim, n_out=n_out, dtype=dtype)
    if max(dim, n_out) <= WIDEST_FULL_TILE:
        candidates += candidates_for_mlp_full_tile(dim=dim, n_out=n_out, dtype=dtype, capability=capability)
    return candidates


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
    """act(x·W1ᵀ + b1)·W2ᵀ + b2 in one launch on the current device. Arguments as in `mlp`, checked by the caller.

    `tiles` names a tile; without, the rule chooses. Raises: Unavailable if the shape is not one for one launch.
    """
    y = x.new_empty((*x.shape[:-1], w2.shape[0]))
    if y.numel() == 0:
        return y
    x_rows, w1, w2 = as_rows(x.reshape(-1, x.shape[-1])), as_rows(w1), as_rows(w2)
    b1, b2 = (None if b is None else b.contiguous() for b in (b1, b2))
    if tiles is None:
        shape = {"n_rows": x_rows.shape[0], "dim": x_rows.shape[1], "hidden": w1.shape[0], "n_out": w2.shape[0]}
        capability = device_capability(x.device)
        if (reason := why_not_single(**shape, dtype=x.dtype, capability=capability)) is not None:
            raise Unavailable(f"fused_mlp.mlp in one launch: {reason}")
        tiles = tiles_for_mlp_single(**shape, dtype=x.dtype, capability=capability)
    if isinstance(tiles, FullTile):
        launch_mlp_full_tile(x_rows, w1, b1, w2, b2, y, activation=activation, tile=tiles)
    else:
        launch_mlp_split_hidden(x_rows, w1, b1, w2, b2, y, activation=activation, tile=tiles)
    return y
