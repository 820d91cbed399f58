"""Level 3 on CUDA for many rows and widths up to 256: one launch, each program owns rows, hidden stays on chip.

    x tile ─▶ shared memory ─┐        for each block of hidden:
    W1 block (L2) ───────────┴▶ z ─▶ +b1, act ─▶ h (registers) ─┐
    W2 block (L2) ───────────────────────────────────────────────┴▶ + sums [rows, out] (registers) ─▶ +b2 ─▶ y

What it can't do: widths over 256 (the sums fill the registers), and few rows (every program reads every weight): there
`triton_split_hidden` computes in one launch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from fused_mlp.gpu.activations import activate
from fused_mlp.gpu.single_tiles import FullTile, is_aligned, multiprocessors, padded_width
from fused_mlp.gpu.tiles import multiply_add


@triton.jit
def mlp_full_tile_kernel(
    x_ptr,
    w1_ptr,
    b1_ptr,
    w2_ptr,
    b2_ptr,
    y_ptr,
    n_rows,
    dim,
    hidden,
    n_out,
    x_row_stride,
    w1_row_stride,
    w2_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_B1: tl.constexpr,
    HAS_B2: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
    BLOCK_HIDDEN: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute BLOCK_ROWS rows of y = act(x·W1ᵀ + b1)·W2ᵀ + b2; BLOCK_DIM ≥ dim, BLOCK_OUT ≥ n_out, y contiguous."""
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    dims = tl.arange(0, BLOCK_DIM)
    outs = tl.arange(0, BLOCK_OUT)
    hids = tl.arange(0, BLOCK_HIDDEN)
    row_ok = rows[:, None] < n_rows
    out_ok = outs[None, :] < n_out
    x_ptrs = x_ptr + rows[:, None].to(tl.int64) * x_row_stride + dims[None, :]
    x = tl.load(x_ptrs, mask=row_ok & (dims[None, :] < dim), other=0.0)
    w1_ptrs = w1_ptr + hids[None, :].to(tl.int64) * w1_row_stride + dims[:, None]
    w2_ptrs = w2_ptr + outs[None, :].to(tl.int64) * w2_row_stride + hids[:, None]
    w1_step = tl.full((), BLOCK_HIDDEN, tl.int64) * w1_row_stride

    total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    for start in range(0, hidden, BLOCK_HIDDEN):
        left = hidden - start
        w1 = tl.load(w1_ptrs, mask=(dims[:, None] < dim) & (hids[None, :] < left), other=0.0)
        z = multiply_add(x, w1, tl.zeros((BLOCK_ROWS, BLOCK_HIDDEN), dtype=tl.float32), UPCAST)
        if HAS_B1:
            b1 = tl.load(b1_ptr + start + hids, mask=hids < left, other=0.0).to(tl.float32)[None, :]
            # Not z + b1: Triton would start the product's sum from b1, and Hopper's products from registers that other
            # instructions wrote run one after another.
            z = tl.fma(z, tl.full(z.shape, 1.0, tl.float32), tl.broadcast_to(b1, z.shape))
        # Beyond hidden z is zero, every activation of which is zero, and so are the weights it meets.
        h = activate(z, ACTIVATION).to(x_ptr.dtype.element_ty)
        w2 = tl.load(w2_ptrs, mask=out_ok & (hids[:, None] < left), other=0.0)
        total = multiply_add(h, w2, total, UPCAST)
        w1_ptrs += w1_step
        w2_ptrs += BLOCK_HIDDEN

    if HAS_B2:
        total += tl.load(b2_ptr + outs, mask=outs < n_out, other=0.0).to(tl.float32)[None, :]
    y_ptrs = y_ptr + rows[:, None].to(tl.int64) * n_out + outs[None, :]
    tl.store(y_ptrs, total.to(y_ptr.dtype.element_ty), mask=row_ok & out_ok)


def tiles_for_mlp_full_tile(
    *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
) -> FullTile:
    """Return the tile from the arithmetic, as large as compiles without spills; not tuned on a device.

    With 128 rows to a program each weight's 2 bytes from L2 feed 256 FLOP, which L2 keeps up with. Where 128 rows would
    leave most multiprocessors idle, fewer; and where rows of the weights are no multiple of 16 elements, because their
    loads then go through registers.
    """
    width = max(padded_width(dim), padded_width(n_out))
    busy = 2 * n_rows >= 128 * multiprocessors(capability)
    if dtype == torch.float32:
        block_rows = 64 if busy else 32
        return FullTile(block_rows=block_rows, block_hidden=32 if width <= 128 else 16, n_warps=8, n_stages=2)
    aligned = is_aligned(dim, hidden, n_out)
    if width <= 128:
        if not busy:
            return FullTile(block_rows=32, block_hidden=64, n_warps=4, n_stages=2)
        block_hidden = 32 if width == 128 and not (capability >= 90 and aligned) else 64
        return FullTile(block_rows=128, block_hidden=block_hidden, n_warps=8, n_stages=3)
    if not busy or not aligned:
        return FullTile(block_rows=32, block_hidden=32, n_warps=8, n_stages=2)
    if capability < 90:
        return FullTile(block_rows=64, block_hidden=32, n_warps=8, n_stages=2)
    return FullTile(block_rows=128, block_hidden=64, n_warps=8, n_stages=2)
