"""Sums over programs that each hold a part: added in device memory, finished by the last program to arrive.

Why the last one sees everything, in the words of the PTX memory model: each thread adds or writes its part of the
sum; the barrier orders that before the counter's atomic of the one thread that performs it; that atomic is a release,
which is cumulative, so it carries the whole block's parts with it; and an acquire, so the block that reads the last
number has all earlier blocks' parts before it; the barrier after it passes that on to the block's other threads.
Their loads then go to L2, where the parts are. Nothing waits, so nothing has to run at the same time.

Two ways of adding up, chosen by ORDERED. In order: each program writes its part beside the others', and the last one
adds them in the order of the slices, so that equal inputs give equal bits. Else float32 atomics: the sum is made in L2
as the parts come, in no fixed order, so the last bits may differ from run to run, but nothing is read back but the sum.

What it can't do: finish in parallel. One program reads all parts of its rows; see `is_ordered_cheap`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from fused_mlp.gpu.tiles import multiply_add
from fused_mlp.gpu.workspace import workspace_for

if TYPE_CHECKING:
    from torch import Tensor

MOST_ORDERED_BYTES = 256 * 1024
"""Parts of one block of rows that one program may read back. Arithmetic, not measured: a multiprocessor reads 64 bytes
a clock from L2, 256 KiB take 2.3 µs at 1.8 GHz, which is what the launch saved is worth."""


def is_ordered_cheap(*, n_slices: int, block_rows: int, n_out: int) -> bool:
    """Return whether one program can add up the parts of a block of rows in the time that a launch takes."""
    return n_slices * block_rows * n_out * 4 <= MOST_ORDERED_BYTES


def parts_and_counters(
    x: Tensor, *, n_slices: int, n_row_blocks: int, block_rows: int, n_out: int
) -> tuple[bool, Tensor, Tensor]:
    """Return (ORDERED, parts, counters) for a launch on x: ordered where that is cheap or determinism is asked for.

    In order, the parts are n_slices × rows × out float32 of scratch, whatever it holds; else rows × out that are zero.
    """
    n_rows = x.shape[0]
    ordered = is_ordered_cheap(n_slices=n_slices, block_rows=min(block_rows, n_rows), n_out=n_out)
    ordered = ordered or torch.are_deterministic_algorithms_enabled()
    workspace = workspace_for(x.device, n_counters=n_row_blocks, n_sums=1 if ordered else n_rows * n_out)
    if not ordered:
        return False, workspace.sums, workspace.counters
    return True, x.new_empty(n_slices * n_rows * n_out, dtype=torch.float32), workspace.counters


@triton.jit
def multiply_and_add_up(
    h,
    w_ptr,
    b_ptr,
    y_ptr,
    parts_ptr,
    counters_ptr,
    hids,
    n_rows,
    hidden,
    n_out,
    w_row_stride,
    HAS_BIAS: tl.constexpr,
    ORDERED: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute y = h·Wᵀ + b from all h, [BLOCK_ROWS, hids]; grid: slices × blocks of rows. W: [n_out, hidden]."""
    slice_index = tl.program_id(0)
    first_row = tl.program_id(1) * BLOCK_ROWS
    rows = first_row + tl.arange(0, BLOCK_ROWS)
    n_out_tiles = tl.cdiv(n_out, BLOCK_OUT)
    for tile in range(n_out_tiles):
        # Each slice starts at another tile: else all programs would add to the same addresses at the same time.
        outs = (tile + slice_index) % n_out_tiles * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
        w_ptrs = w_ptr + outs[None, :].to(tl.int64) * w_row_stride + hids[:, None]
        w = tl.load(w_ptrs, mask=(outs[None, :] < n_out) & (hids < hidden)[:, None], other=0.0)
        part = multiply_add(h, w, tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32), UPCAST)
        add_part(parts_ptr, part, rows, outs, n_rows, n_out, slice_index, ORDERED)

    n_slices = tl.num_programs(0)
    counter_ptr = counters_ptr + tl.program_id(1)
    if is_last_to_arrive(counter_ptr, n_slices):
        finish(parts_ptr, counter_ptr, b_ptr, y_ptr, first_row, n_rows, n_out, n_slices, HAS_BIAS, ORDERED, BLOCK_ROWS)


@triton.jit
def add_part(parts_ptr, part, rows, outs, n_rows, n_out, slice_index, ORDERED: tl.constexpr):
    """Add one program's float32 `part` of the rows × outs to the sum, or puts it beside the others."""
    ok = (rows[:, None] < n_rows) & (outs[None, :] < n_out)
    offsets = rows[:, None].to(tl.int64) * n_out + outs[None, :]
    if ORDERED:
        tl.store(parts_ptr + slice_index.to(tl.int64) * n_rows * n_out + offsets, part, mask=ok)
    else:
        tl.atomic_add(parts_ptr + offsets, part, mask=ok, sem="relaxed")


@triton.jit
def is_last_to_arrive(counter_ptr, n_parts):
    """Compute whether all other programs have arrived; the module's docstring says why their parts are then visible."""
    tl.debug_barrier()
    return tl.atomic_add(counter_ptr, 1, sem="acq_rel", scope="gpu") == n_parts - 1


@triton.jit
def finish(
    parts_ptr,
    counter_ptr,
    b_ptr,
    y_ptr,
    first_row,
    n_rows,
    n_out,
    n_parts,
    HAS_BIAS: tl.constexpr,
    ORDERED: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
):
    """Write y = sum of the parts + b for BLOCK_ROWS rows, and leaves sum and counter at zero for the next launch.

    y and the parts are contiguous, so a block of rows is one run of elements.
    """
    # One program finishes, so what it takes is the latency of its loads: 4096 numbers at a time are eight loads of
    # 16 bytes a thread of four warps, all under way together.
    parts_at_once: tl.constexpr = 8
    chunk: tl.constexpr = 4096 // parts_at_once if ORDERED else 4096
    first = first_row.to(tl.int64) * n_out
    n_elements = tl.minimum(n_rows - first_row, BLOCK_ROWS) * n_out
    within = tl.arange(0, chunk)
    for start in range(0, n_elements, chunk):
        elements = start + within
        ok = elements < n_elements
        if ORDERED:
            slices = tl.arange(0, parts_at_once)
            total = tl.zeros((chunk,), dtype=tl.float32)
            for first_slice in range(0, n_parts, parts_at_once):
                here = first_slice + slices
                offsets = here[:, None].to(tl.int64) * n_rows * n_out + first + elements[None, :]
                both_ok = (here[:, None] < n_parts) & ok[None, :]
                total += tl.sum(tl.load(parts_ptr + offsets, mask=both_ok, other=0.0, cache_modifier=".cg"), axis=0)
        else:
            total = tl.load(parts_ptr + first + elements, mask=ok, other=0.0, cache_modifier=".cg")
        if HAS_BIAS:
            total += tl.load(b_ptr + elements % n_out, mask=ok, other=0.0).to(tl.float32)
        tl.store(y_ptr + first + elements, total.to(y_ptr.dtype.element_ty), mask=ok)
    if not ORDERED:
        # Triton lays out loads and stores apart: whoever clears a sum need not be the thread that read it.
        tl.debug_barrier()
        for start in range(0, n_elements, chunk):
            elements = start + within
            tl.store(parts_ptr + first + elements, tl.zeros((chunk,), dtype=tl.float32), mask=elements < n_elements)
    tl.store(counter_ptr, 0)
