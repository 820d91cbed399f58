"""Level 3 on CUDA: mlp in one launch, as a full tile or with hidden split, whichever the arithmetic favours.

What it can't do: more than 64 rows where dim or out is over 256; `why_not_single` says so. Backward is the op's own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fused_mlp.errors import Unavailable
from fused_mlp.mlp.triton_full_tile import launch_mlp_full_tile, tiles_for_mlp_full_tile
from fused_mlp.mlp.triton_split_hidden import launch_mlp_split_hidden
from fused_mlp.triton_single_tiles import (
    MOST_SPLIT_ROWS,
    WIDEST_FULL_TILE,
    FullTile,
    SingleTiles,
    SplitTile,
    as_rows,
    full_tile_candidates,
    is_full_tile_better,
    multiprocessors,
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
    full, split = _tiles_by_rule(n_rows, dim, hidden, n_out, dtype, capability)
    weight_bytes = hidden * (dim + n_out) * dtype.itemsize
    if is_full_tile_better(n_rows=n_rows, dim=dim, n_out=n_out, weight_bytes=weight_bytes, capability=capability):
        return full
    return split


def candidates_for_mlp_single(
    *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
) -> list[SingleTiles]:
    """What tuning tries for a shape, the rule's choice among it.

    Both kinds where both can run, but split hidden only while its blocks of rows do not fill the device by themselves.
    """
    full, split = _tiles_by_rule(n_rows, dim, hidden, n_out, dtype, capability)
    of_split = split_candidates(split, dim=dim, n_out=n_out, dtype=dtype)
    if max(dim, n_out) > WIDEST_FULL_TILE:
        return [*of_split]
    of_full = full_tile_candidates(full, dim=dim, n_out=n_out, dtype=dtype, capability=capability, n_accumulators=1)
    return [*of_full] if n_rows >= MOST_SPLIT_ROWS * multiprocessors(capability) else [*of_full, *of_split]


def _tiles_by_rule(
    n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
) -> tuple[FullTile, SplitTile]:
    precision = float32_precision()
    full = tiles_for_mlp_full_tile(
        n_rows=n_rows,
        dim=dim,
        hidden=hidden,
        n_out=n_out,
        dtype=dtype,
        capability=capability,
        precision=precision,
    )
    split = split_tile_for(
        n_rows=n_rows,
        dim=dim,
        hidden=hidden,
        n_out=n_out,
        dtype=dtype,
        capability=capability,
        precision=precision,
        n_accumulators=1,
    )
    return full, split


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

    `tiles` names a tile; without, the rule chooses.

    Raises: Unavailable if the shape is not one for one launch, or not for the tile named.
    """
    y = x.new_empty((*x.shape[:-1], w2.shape[0]))
    if y.numel() == 0:
        return y
    x_rows, w1, w2 = as_rows(x.reshape(-1, x.shape[-1])), as_rows(w1), as_rows(w2)
    b1, b2 = (None if b is None else b.contiguous() for b in (b1, b2))
    plan = _plan(
        *x_rows.shape, w1.shape[0], w2.shape[0], x.dtype, device_capability(x.device), float32_precision(), tiles
    )
    if isinstance(plan, str):
        raise Unavailable(f"fused_mlp.mlp in one launch: {plan}")
    if isinstance(plan, FullTile):
        launch_mlp_full_tile(x_rows, w1, b1, w2, b2, y, activation=activation, tile=plan)
    else:
        launch_mlp_split_hidden(x_rows, w1, b1, w2, b2, y, activation=activation, tile=plan)
    return y


@lru_cache(maxsize=4096)
def _plan(
    n_rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    dtype: torch.dtype,
    capability: int,
    precision: str,
    tiles: SingleTiles | None,
) -> SingleTiles | str:
    """The tile to launch, or why there is none; asked at every call, so remembered."""
    del precision  # a key: what tiles_for_mlp_single asks for itself
    reason = why_no_tile(n_rows=n_rows, dim=dim, n_out=n_out, dtype=dtype, capability=capability)
    if reason is None and isinstance(tiles, FullTile) and max(dim, n_out) > WIDEST_FULL_TILE:
        reason = f"the full tile named takes at most {WIDEST_FULL_TILE} columns; this is {dim} to {n_out}"
    if reason is not None:
        return reason
    if tiles is not None:
        return tiles
    return tiles_for_mlp_single(n_rows=n_rows, dim=dim, hidden=hidden, n_out=n_out, dtype=dtype, capability=capability)
