"""Level 3 on CUDA for many rows and widths up to 256: one launch, each program owns rows, hidden stays on chip.

    x tile ─▶ shared memory ─┐        for each block of hidden:
    Wg, Wu blocks (L2) ──────┴▶ gate, up ─▶ act(gate)·up ─▶ h (registers) ─┐
    Wd block (L2) ──────────────────────────────────────────────────────────┴▶ + sums [rows, out] (registers) ─▶ y

What it can't do: widths over 256 (the sums fill the registers), and few rows (every program reads every weight): there
`triton_split_hidden` computes in one launch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from fused_mlp.gpu.activations import activate
from fused_mlp.gpu.single_tiles import WIDEST_FULL_TILE, FullTile, is_aligned, multiprocessors, padded_width
from fused_mlp.gpu.tiles import multiply_add


@triton.jit
def gated_mlp_full_tile_kernel(
    x_ptr,
    gate_ptr,
    up_ptr,
    down_ptr,
    y_ptr,
    n_rows,
    dim,
    hidden,
    n_out,
    x_row_stride,
    gate_row_stride,
    up_row_stride,
    down_row_stride,
    ACTIVATION: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
    BLOCK_HIDDEN: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute BLOCK_ROWS rows of y = (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ; BLOCK_DIM ≥ dim, BLOCK_OUT ≥ n_out, y contiguous."""
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    dims = tl.arange(0, BLOCK_DIM)
    outs = tl.arange(0, BLOCK_OUT)
    hids = tl.arange(0, BLOCK_HIDDEN)
    row_ok = rows[:, None] < n_rows
    out_ok = outs[None, :] < n_out
    x_ptrs = x_ptr + rows[:, None].to(tl.int64) * x_row_stride + dims[None, :]
    x = tl.load(x_ptrs, mask=row_ok & (dims[None, :] < dim), other=0.0)
    gate_ptrs = gate_ptr + hids[None, :].to(tl.int64) * gate_row_stride + dims[:, None]
    up_ptrs = up_ptr + hids[None, :].to(tl.int64) * up_row_stride + dims[:, None]
    down_ptrs = down_ptr + outs[None, :].to(tl.int64) * down_row_stride + hids[:, None]
    gate_step = tl.full((), BLOCK_HIDDEN, tl.int64) * gate_row_stride
    up_step = tl.full((), BLOCK_HIDDEN, tl.int64) * up_row_stride

    total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    for start in range(0, hidden, BLOCK_HIDDEN):
        left = hidden - start
        weight_ok = (dims[:, None] < dim) & (hids[None, :] < left)
        zero = tl.zeros((BLOCK_ROWS, BLOCK_HIDDEN), dtype=tl.float32)
        gate = multiply_add(x, tl.load(gate_ptrs, mask=weight_ok, other=0.0), zero, UPCAST)
        up = multiply_add(x, tl.load(up_ptrs, mask=weight_ok, other=0.0), zero, UPCAST)
        h = (activate(gate, ACTIVATION) * up).to(x_ptr.dtype.element_ty)
        down = tl.load(down_ptrs, mask=out_ok & (hids[:, None] < left), other=0.0)
        total = multiply_add(h, down, total, UPCAST)
        gate_ptrs += gate_step
        up_ptrs += up_step
        down_ptrs += BLOCK_HIDDEN

    y_ptrs = y_ptr + rows[:, None].to(tl.int64) * n_out + outs[None, :]
    tl.store(y_ptrs, total.to(y_ptr.dtype.element_ty), mask=row_ok & out_ok)


def tiles_for_gated_mlp_full_tile(
    *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
) -> FullTile:
    """Return the tile from the arithmetic, as large as compiles without spills; not tuned on a device.

    As for mlp, with half the block of hidden: gate and up are two float32 tiles.
    """
    width = max(padded_width(dim), padded_width(n_out))
    busy = 2 * n_rows >= 128 * multiprocessors(capability)
    if dtype == torch.float32:
        if width == WIDEST_FULL_TILE:
            return FullTile(block_rows=64 if busy else 16, block_hidden=16, n_warps=8, n_stages=2)
        return FullTile(block_rows=64 if busy else 32, block_hidden=32, n_warps=8, n_stages=2)
    aligned = is_aligned(dim, hidden, n_out)
    if width <= 128:
        if not busy:
            return FullTile(block_rows=32, block_hidden=32, n_warps=4, n_stages=2)
        block_hidden = 64 if width <= 64 and capability >= 90 and aligned else 32
        return FullTile(block_rows=128, block_hidden=block_hidden, n_warps=8, n_stages=3)
    if not busy or not aligned:
        block_rows = 32 if aligned or capability >= 90 else 16
        return FullTile(block_rows=block_rows, block_hidden=32, n_warps=4 if aligned else 8, n_stages=2)
    block_rows = 64 if capability < 90 else 128
    return FullTile(block_rows=block_rows, block_hidden=32, n_warps=8, n_stages=2)
