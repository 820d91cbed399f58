"""Tiles, launch and static check of the elementwise kernels.

Their parameters stand in one order: tensors, sizes, the operation's activation and flags, then the two
of the tile, and what a kernel has beyond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.gpu.configurations import Configuration
from fused_mlp.gpu.launch import launch
from fused_mlp.gpu.tiles import PointwiseTiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor


def tiles_in_place(n_rows: int, dtype: torch.dtype, *, most_rows: int) -> PointwiseTiles:
    """Return the configuration for `n_rows`: few rows are cut along the columns, to give several programs work.

    A rule from the arithmetic, not tuned on a device: 16 bytes a thread and load, several loads on their way.
    most_rows: of a tile in 16 bits.
    """
    if n_rows <= 16:
        return PointwiseTiles(block_rows=1, block_columns=512, n_warps=4)
    return PointwiseTiles(block_rows=_rows_for(dtype, most_rows), block_columns=512, n_warps=4)


def candidates_in_place(n_rows: int, dtype: torch.dtype, *, most_rows: int) -> tuple[PointwiseTiles, ...]:
    """Return what tuning tries for `n_rows`, the choice of tiles_in_place first."""
    rule = tiles_in_place(n_rows, dtype, most_rows=most_rows)
    if n_rows <= 16:
        return rule, PointwiseTiles(block_rows=1, block_columns=256, n_warps=2)
    wide = PointwiseTiles(block_rows=2, block_columns=1024, n_warps=4)
    return tuple(dict.fromkeys((rule, wide, PointwiseTiles(block_rows=8, block_columns=512, n_warps=8))))


def tiles_for_gradient(dtype: torch.dtype) -> PointwiseTiles:
    """Return the configuration for any rows: 16 bytes a thread and load. A rule from the arithmetic, not tuned."""
    return PointwiseTiles(block_rows=_rows_for(dtype, 4), block_columns=256, n_warps=4)


def _rows_for(dtype: torch.dtype, rows: int) -> int:
    return rows if dtype != torch.float32 else rows // 2


def start_elementwise(
    kernel: Any,
    tensors: tuple[Tensor | None, ...],
    sizes: tuple[int, ...],
    flags: tuple[Any, ...],
    *,
    tiles: PointwiseTiles,
    row_blocks: int | None = None,
) -> None:
    """Start one program for each tile of n_rows × n_columns, the first two sizes.

    row_blocks: how many tiles, one below the other, a program takes, where the kernel is flags that.
    """
    n_rows, n_columns = sizes[:2]
    blocks = (tiles.block_rows, tiles.block_columns, *(() if row_blocks is None else (row_blocks,)))
    launch(
        kernel,
        (-(-n_rows // (tiles.block_rows * (row_blocks or 1))) * -(-n_columns // tiles.block_columns),),
        tensors,
        sizes,
        (*flags, *blocks),
        n_warps=tiles.n_warps,
        n_stages=1,
    )


def elementwise_configuration(
    kernel: Any,
    dtype: torch.dtype,
    tiles: PointwiseTiles,
    *,
    flags: Mapping[str, object],
    row_blocks: int | None = None,
    types: Mapping[str, str] | None = None,
) -> Configuration:
    """Return `kernel` as start_elementwise compiles it. flags: of the kernel."""
    beyond = {} if row_blocks is None else {"ROW_BLOCKS": row_blocks}
    return Configuration(
        kernel=kernel,
        dtype=dtype,
        label=f"{tiles.block_rows}x{tiles.block_columns}",
        constants={**flags, "BLOCK_ROWS": tiles.block_rows, "BLOCK_COLUMNS": tiles.block_columns, **beyond},
        types=types or {},
        n_warps=tiles.n_warps,
        n_stages=1,
    )
