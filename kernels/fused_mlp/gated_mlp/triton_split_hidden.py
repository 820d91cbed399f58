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

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from fused_mlp.configurations import POINTER_TYPES, Configuration, product_instruction
from fused_mlp.triton_activations import activate
from fused_mlp.triton_launch import launch
from fused_mlp.triton_partials import add_part, finish, is_last_to_arrive, parts_and_counters
from fused_mlp.triton_single_tiles import SplitTile, is_aligned, split_tile_for
from fused_mlp.triton_tiles import float32_precision, is_interpreting, multiply_add

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

_SIZES = frozenset(
    {"n_rows", "dim", "hidden", "n_out", "x_row_stride", "gate_row_stride", "up_row_stride", "down_row_stride"}
)


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
    PRECISION: tl.constexpr,
):
    """One slice of hidden for BLOCK_ROWS rows; grid: slices × blocks of rows."""
    slice_index = tl.program_id(0)
    first_row = tl.program_id(1) * BLOCK_ROWS
    rows = first_row + tl.arange(0, BLOCK_ROWS)
    hids = slice_index * BLOCK_HIDDEN + tl.arange(0, BLOCK_HIDDEN)
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
        gate = multiply_add(x, tl.load(gate_ptrs, mask=weight_ok, other=0.0), gate, UPCAST, PRECISION)
        up = multiply_add(x, tl.load(up_ptrs, mask=weight_ok, other=0.0), up, UPCAST, PRECISION)
        x_ptrs += BLOCK_IN
        gate_ptrs += BLOCK_IN
        up_ptrs += BLOCK_IN
    h = (activate(gate, ACTIVATION) * up).to(x_ptr.dtype.element_ty)

    n_out_tiles = tl.cdiv(n_out, BLOCK_OUT)
    for tile in range(n_out_tiles):
        # Each slice starts at another tile: else all programs would add to the same addresses at the same time.
        outs = (tile + slice_index) % n_out_tiles * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
        down_ptrs = down_ptr + outs[None, :].to(tl.int64) * down_row_stride + hids[:, None]
        down = tl.load(down_ptrs, mask=(outs[None, :] < n_out) & hid_ok[:, None], other=0.0)
        part = multiply_add(h, down, tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32), UPCAST, PRECISION)
        add_part(parts_ptr, part, rows, outs, n_rows, n_out, slice_index, ORDERED)

    n_slices = tl.num_programs(0)
    counter_ptr = counters_ptr + tl.program_id(1)
    has_bias: tl.constexpr = False
    if is_last_to_arrive(counter_ptr, n_slices):
        finish(parts_ptr, counter_ptr, None, y_ptr, first_row, n_rows, n_out, n_slices, has_bias, ORDERED, BLOCK_ROWS)


def launch_gated_mlp_split_hidden(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, y: Tensor, *, activation: str, tile: SplitTile
) -> None:
    """Y = (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in one launch; x and y are matrices, rows contiguous, y as a whole."""
    n_rows, dim = x.shape
    hidden, n_out = w_gate.shape[0], w_down.shape[0]
    n_slices = triton.cdiv(hidden, tile.block_hidden)
    n_row_blocks = triton.cdiv(n_rows, tile.block_rows)
    ordered, parts, counters = parts_and_counters(
        x, n_slices=n_slices, n_row_blocks=n_row_blocks, block_rows=tile.block_rows, n_out=n_out
    )
    launch(
        gated_mlp_split_hidden_kernel,
        (n_slices, n_row_blocks),
        (x, w_gate, w_up, w_down, y, parts, counters),
        (n_rows, dim, hidden, n_out, x.stride(0), w_gate.stride(0), w_up.stride(0), w_down.stride(0)),
        (
            activation,
            ordered,
            tile.block_rows,
            tile.block_hidden,
            tile.block_in,
            tile.block_out,
            is_interpreting(),
            float32_precision(),
        ),
        n_warps=tile.n_warps,
        n_stages=tile.n_stages,
    )


def configurations(*, capability: int) -> Iterator[Configuration]:
    """The rule's choices for few and for 64 rows, narrow and wide hidden, in both ways of adding up.

    bfloat16 also for ragged sizes, which other tiles take.
    """
    for dtype in POINTER_TYPES:
        for precision in ("tf32", "ieee") if dtype == torch.float32 else ("tf32",):
            for n_rows in (16, 64):
                for hidden in (4096, 16384, *((4095,) if dtype == torch.bfloat16 else ())):
                    tile = split_tile_for(
                        n_rows=n_rows,
                        dim=1024,
                        hidden=hidden,
                        n_out=1024,
                        dtype=dtype,
                        capability=capability,
                        precision=precision,
                        n_accumulators=2,
                    )
                    for ordered in (False, True):
                        yield configuration_of(
                            tile,
                            dtype=dtype,
                            capability=capability,
                            precision=precision,
                            activation="gelu",
                            ordered=ordered,
                            aligned=is_aligned(hidden),
                        )


def configuration_of(
    tile: SplitTile,
    *,
    dtype: torch.dtype,
    capability: int,
    precision: str,
    activation: str,
    ordered: bool,
    aligned: bool,
) -> Configuration:
    """`tile` as Triton compiles it for sizes that are multiples of 16, or for others."""
    product = {product_instruction(capability=capability, block_rows=tile.block_rows)} if precision != "ieee" else set()
    blocks = f"{tile.block_rows}x{tile.block_hidden}-in{tile.block_in}-out{tile.block_out}"
    return Configuration(
        kernel=gated_mlp_split_hidden_kernel,
        dtype=dtype,
        label=f"{blocks}-{'ordered' if ordered else 'atomic'}{'' if aligned else '-ragged'}-{precision}-{activation}",
        constants={
            "ACTIVATION": activation,
            "ORDERED": ordered,
            "BLOCK_ROWS": tile.block_rows,
            "BLOCK_HIDDEN": tile.block_hidden,
            "BLOCK_IN": tile.block_in,
            "BLOCK_OUT": tile.block_out,
            "UPCAST": False,
            "PRECISION": precision,
        },
        n_warps=tile.n_warps,
        n_stages=tile.n_stages,
        instructions=frozenset({*product, "LDGSTS"} if aligned else product),
        unaligned=frozenset() if aligned else _SIZES,
        types={"parts_ptr": "*fp32", "counters_ptr": "*i32"},
    )
