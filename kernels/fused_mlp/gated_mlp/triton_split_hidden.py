"""Level 3 on CUDA for few rows: one launch, each program a slice of the hidden activations.

    program s of n:  x ─▶ [·Wg[slice]ᵀ, ·Wu[slice]ᵀ] ─▶ act(gate)·up (registers) ─▶ [·Wd[:, slice]ᵀ] ─▶ part of y (L2)
    the last of them to arrive:  sum of the parts ─▶ y

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
def gated_mlp_split_hidden_kernel(
    x_ptr,
    gate_ptr,
    up_ptr,
    down_ptr,
    y_ptr,
    parts_ptr,
    counters_ptr,
    n_rows,
    dim,
    hidden,
    n_out,
    x_row_stride,
    gate_row_stride,
    up_row_stride,
    down_row_stride,
    ACTIVATION: tl.constexpr,
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
    gate_ptrs = gate_ptr + hids[None, :].to(tl.int64) * gate_row_stride + ins[:, None]
    up_ptrs = up_ptr + hids[None, :].to(tl.int64) * up_row_stride + ins[:, None]
    gate = tl.zeros((BLOCK_ROWS, BLOCK_HIDDEN), dtype=tl.float32)
    up = tl.zeros((BLOCK_ROWS, BLOCK_HIDDEN), dtype=tl.float32)
    for start in range(0, dim, BLOCK_IN):
        left = dim - start
        x = tl.load(x_ptrs, mask=row_ok & (ins[None, :] < left), other=0.0)
        weight_ok = hid_ok[None, :] & (ins[:, None] < left)
        gate = multiply_add(x, tl.load(gate_ptrs, mask=weight_ok, other=0.0), gate, UPCAST)
        up = multiply_add(x, tl.load(up_ptrs, mask=weight_ok, other=0.0), up, UPCAST)
        x_ptrs += BLOCK_IN
        gate_ptrs += BLOCK_IN
        up_ptrs += BLOCK_IN
    h = (activate(gate, ACTIVATION) * up).to(x_ptr.dtype.element_ty)
    has_bias: tl.constexpr = False
    multiply_and_add_up(
        h,
        down_ptr,
        None,
        y_ptr,
        parts_ptr,
        counters_ptr,
        hids,
        n_rows,
        hidden,
        n_out,
        down_row_stride,
        has_bias,
        ORDERED,
        BLOCK_ROWS,
        BLOCK_OUT,
        UPCAST,
    )
