"""Pointwise half of a backward pass on CUDA: dz = dh ⊙ act'(z), act(z) and db from one reading.

```
dh, z ─▶ [dz = dh ⊙ act'(z); act(z); sums of dz over strips of rows] ─▶ dz, hidden, parts ─▶ [Σ parts] ─▶ db
```

One kernel instead of three (dz, act(z) again, db's reading of dz). The sums go to one row of float32 per strip, which
PyTorch adds up: no atomics, so that db is the same at every run.

What it can't do: be differentiated again; gradients.py has the formulas that can.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import torch
import triton
import triton.language as tl

from fused_mlp.gpu.activations import activate_with_slope
from fused_mlp.gpu.configurations import tried_on
from fused_mlp.gpu.elementwise import elementwise_configuration, start_elementwise, tiles_for_gradient
from fused_mlp.gpu.tiles import PointwiseTiles, with_contiguous_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration

ROW_BLOCKS_PER_STRIP = 16
"""Row blocks that one program takes one after another, so that the strips' sums stay small beside dz."""


class HiddenGradients(NamedTuple):
    """Results of one backward kernel.

    dz: as z. hidden: act(z), rounded to the dtype of z; None if not asked for. db: [columns], the sums of dz over
    the rows before dz was rounded; None if not asked for.
    """

    dz: Tensor
    hidden: Tensor | None
    db: Tensor | None


@triton.jit
def activation_gradient_kernel(
    dh_ptr,
    z_ptr,
    dz_ptr,
    hidden_ptr,
    part_ptr,
    n_rows,
    n_columns,
    dh_row_stride,
    z_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_HIDDEN: tl.constexpr,
    HAS_PARTS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    ROW_BLOCKS: tl.constexpr,
):
    """Compute one strip of ROW_BLOCKS × BLOCK_ROWS rows and BLOCK_COLUMNS columns; what is written is contiguous.

    dz may be dh itself: each element is read before it is written, by the same program.
    """
    n_column_tiles = tl.cdiv(n_columns, BLOCK_COLUMNS)
    strip = tl.program_id(0) // n_column_tiles
    columns = tl.program_id(0) % n_column_tiles * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    column_ok = columns < n_columns
    sums = tl.zeros((BLOCK_COLUMNS,), dtype=tl.float32)
    for block in range(ROW_BLOCKS):
        rows = (strip * ROW_BLOCKS + block) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
        inside = (rows < n_rows)[:, None] & column_ok[None, :]
        # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
        wide_rows = rows[:, None].to(tl.int64)
        dh = tl.load(dh_ptr + wide_rows * dh_row_stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)
        z = tl.load(z_ptr + wide_rows * z_row_stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)
        hidden, slope = activate_with_slope(z, ACTIVATION)
        dz = dh * slope
        offsets = wide_rows * n_columns + columns[None, :]
        tl.store(dz_ptr + offsets, dz.to(dz_ptr.dtype.element_ty), mask=inside)
        if HAS_HIDDEN:
            tl.store(hidden_ptr + offsets, hidden.to(hidden_ptr.dtype.element_ty), mask=inside)
        sums += tl.sum(dz, axis=0)
    if HAS_PARTS:
        tl.store(part_ptr + strip.to(tl.int64) * n_columns + columns, sums, mask=column_ok)


@lru_cache(maxsize=1024)
def tiles_for_activation_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> PointwiseTiles:
    """Return the configuration for any rows, as tiles_for_gradient has it."""
    del n_rows, capability
    return tiles_for_gradient(dtype)


def candidates_for_activation_gradient(
    n_rows: int, dtype: torch.dtype, *, capability: int
) -> tuple[PointwiseTiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first."""
    rule = tiles_for_activation_gradient(n_rows, dtype, capability=capability)
    others = (
        PointwiseTiles(block_rows=8, block_columns=128, n_warps=4),
        PointwiseTiles(block_rows=4, block_columns=512, n_warps=8),
    )
    return tuple(dict.fromkeys((rule, *others)))


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries, with every output."""
    for dtype, tiles in tried_on(capability, candidates_for_activation_gradient, n_rows=(8192,)):
        yield elementwise_configuration(
            activation_gradient_kernel,
            dtype,
            tiles,
            flags={"HAS_HIDDEN": True, "HAS_PARTS": True},
            row_blocks=ROW_BLOCKS_PER_STRIP,
            types={"part_ptr": "*fp32"},
        )


def launch_activation_gradient(
    dh: Tensor,
    z: Tensor,
    *,
    activation: str,
    with_hidden: bool,
    with_bias: bool,
    overwrite_dh: bool = False,
    tiles: PointwiseTiles | None = None,
) -> HiddenGradients:
    """Return the gradient dz = dh ⊙ act'(z) in one launch on the current device, and three small ones more for db.

    dh, z: [rows, columns] of one dtype. overwrite_dh: dh is the caller's own and contiguous, and becomes dz.
    """
    dh, z = with_contiguous_columns(dh), with_contiguous_columns(z)
    n_rows, n_columns = z.shape
    if tiles is None:
        tiles = tiles_for_activation_gradient(n_rows, z.dtype, capability=0)
    n_strips = -(-n_rows // (tiles.block_rows * ROW_BLOCKS_PER_STRIP))
    dz = dh if overwrite_dh else torch.empty_like(z, memory_format=torch.contiguous_format)
    hidden = torch.empty_like(dz) if with_hidden else None
    parts = z.new_empty((n_strips, n_columns), dtype=torch.float32) if with_bias else None
    if z.numel() > 0:
        start_elementwise(
            activation_gradient_kernel,
            (dh, z, dz, hidden, parts),
            (n_rows, n_columns, dh.stride(0), z.stride(0)),
            (activation, with_hidden, with_bias),
            tiles=tiles,
            row_blocks=ROW_BLOCKS_PER_STRIP,
        )
    return HiddenGradients(dz, hidden, None if parts is None else parts.sum(dim=0).to(z.dtype))
