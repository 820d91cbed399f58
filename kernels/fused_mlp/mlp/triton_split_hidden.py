"""Level 3 on CUDA for few rows: one launch, each program a slice of the hidden activations.

    program s of n:  x ─▶ [·W1[slice]ᵀ + b1, act] ─▶ hidden slice (registers) ─▶ [·W2[:, slice]ᵀ] ─▶ part of y (L2)
    the last of them to arrive:  sum of the parts + b2 ─▶ y

The hidden activations never leave the chip, nothing is computed twice, and each weight is read by one program (per
block of rows), so that all multiprocessors pull weights at the same time. No second launch clears or casts: the last
program does both.

What it can't do: save anything when rows × out is large. The parts are n × rows × out float32 written to L2, against
the rows × hidden values that a second launch would have read. Not bit for bit the same from run to run, unless few
bytes of parts (`is_ordered_cheap`) or torch.use_deterministic_algorithms make it add up in order.
"""

from __future__ import annotations

import triton
import triton.language as tl

from fused_mlp.gpu.activations import activate
from fused_mlp.gpu.partials import multiply_and_add_up
from fused_mlp.gpu.tiles import multiply_add


@triton.jit
def mlp_split_hidden_kernel(
    x_ptr,
    w1_ptr,
    b1_ptr,
    w2_ptr,
    b2_ptr,
    y_ptr,
    parts_ptr,
    counters_ptr,
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
    ORDERED: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_HIDDEN: tl.constexpr,
    BLOCK_IN: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute one slice of hidden for BLOCK_ROWS rows; grid: slices × blocks of rows."""
    rows = tl.program_id(1) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    hids = tl.program_id(0) * BLOCK_HIDDEN + tl.arange(0, BLOCK_HIDDEN)
    ins = tl.arange(0, BLOCK_IN)
    row_ok = rows[:, None] < n_rows
    hid_ok = hids < hidden
    x_ptrs = x_ptr + rows[:, None].to(tl.int64) * x_row_stride + ins[None, :]
    w1_ptrs = w1_ptr + hids[None, :].to(tl.int64) * w1_row_stride + ins[:, None]
    z = tl.zeros((BLOCK_ROWS, BLOCK_HIDDEN), dtype=tl.float32)
    for start in range(0, dim, BLOCK_IN):
        left = dim - start
        x = tl.load(x_ptrs, mask=row_ok & (ins[None, :] < left), other=0.0)
        w1 = tl.load(w1_ptrs, mask=hid_ok[None, :] & (ins[:, None] < left), other=0.0)
        z = multiply_add(x, w1, z, UPCAST)
        x_ptrs += BLOCK_IN
        w1_ptrs += BLOCK_IN
    if HAS_B1:
        z += tl.load(b1_ptr + hids, mask=hid_ok, other=0.0).to(tl.float32)[None, :]
    h = activate(z, ACTIVATION).to(x_ptr.dtype.element_ty)
    multiply_and_add_up(
        h,
        w2_ptr,
        b2_ptr,
        y_ptr,
        parts_ptr,
        counters_ptr,
        hids,
        n_rows,
        hidden,
        n_out,
        w2_row_stride,
        HAS_B2,
        ORDERED,
        BLOCK_ROWS,
        BLOCK_OUT,
        UPCAST,
    )
