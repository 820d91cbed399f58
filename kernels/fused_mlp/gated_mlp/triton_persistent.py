"""Level 2 of the gated MLP from sm_90 on, for many rows: the dual product, persistent and fed by the TMA.

As linear/triton_persistent.py, with two weights and two sums: x is read once, and only act(gate)·up is written.

What it can't do: the same as there; `why_not_persistent` says so, and the caller takes the ordinary kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from fused_mlp.gpu.activations import activate
from fused_mlp.gpu.configurations import PERSISTENT_CAPABILITY, tried_on
from fused_mlp.gpu.products import persistent_product_configuration, start_persistent_product
from fused_mlp.gpu.tiles import (
    Tiles,
    halves_of,
    multiply_add,
    place_of_tile,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration


@triton.jit
def dual_product_persistent_kernel(
    x_desc,
    gate_desc,
    up_desc,
    y_desc,
    n_rows,
    n_out,
    n_in,
    ACTIVATION: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    BLOCK_IN: tl.constexpr,
    GROUP_ROWS: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute every tl.num_programs(0)-th tile of y = act(x·Wgᵀ) ⊙ (x·Wuᵀ); y_desc has blocks of half a tile's columns.

    The loops over tiles and over the inner dimension are one, and the sums are cleared before a product. Where Triton
    makes one of two (flatten=True) it clears them after it, and then ptxas runs all of Hopper's products one by one.
    """
    n_tiles = tl.cdiv(n_rows, BLOCK_ROWS) * tl.cdiv(n_out, BLOCK_OUT)
    n_steps = tl.maximum(tl.cdiv(n_in, BLOCK_IN), 1)
    n_turns = tl.cdiv(n_tiles - tl.program_id(0), tl.num_programs(0)) * n_steps
    tile = tl.program_id(0) - tl.num_programs(0)
    step = -1
    first_row = 0
    first_out = 0
    gate_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    up_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    for _ in range(n_turns):
        step = tl.where(step == n_steps - 1, 0, step + 1)
        if step == 0:
            tile += tl.num_programs(0)
            row_tile, out_tile = place_of_tile(tile, n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
            first_row = row_tile * BLOCK_ROWS
            first_out = out_tile * BLOCK_OUT
        # Apart from the above: with both in one condition Triton would not load ahead.
        if step == 0:
            gate_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
            up_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
        start = step * BLOCK_IN
        x = x_desc.load([first_row, start])
        gate_total = multiply_add(x, gate_desc.load([first_out, start]).T, gate_total, UPCAST)
        up_total = multiply_add(x, up_desc.load([first_out, start]).T, up_total, UPCAST)
        if step == n_steps - 1:
            # By halves: the whole tile beside the operands' buffers would not fit the shared memory.
            y = activate(gate_total, ACTIVATION) * up_total
            left, right = halves_of(y, BLOCK_ROWS, BLOCK_OUT)
            y_desc.store([first_row, first_out], left.to(y_desc.dtype))
            y_desc.store([first_row, first_out + BLOCK_OUT // 2], right.to(y_desc.dtype))


def tiles_for_dual_product_persistent(n_rows: int, dtype: torch.dtype, *, capability: int) -> Tiles:
    """Return the configuration for `n_rows` from PERSISTENT_ROWS on: two 128 × 128 sums, all that eight warps hold."""
    del n_rows, dtype, capability
    return _tiles(n_stages=3)


def candidates_for_dual_product_persistent(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """Return what tuning tries, the rule's choice first; nothing for float32, before sm_90 or below a tile's rows."""
    if capability < PERSISTENT_CAPABILITY or dtype == torch.float32:
        return ()
    tried = tiles_for_dual_product_persistent(n_rows, dtype, capability=capability), _tiles(n_stages=4)
    return tuple(tiles for tiles in tried if tiles.block_rows <= n_rows)


def _tiles(*, n_stages: int) -> Tiles:
    return Tiles(
        block_rows=128, block_out=128, block_in=64, group_rows=8, n_warps=8, n_stages=n_stages, persistent=True
    )


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries."""
    weights = ("gate_desc", "up_desc")
    for dtype, tiles in tried_on(capability, candidates_for_dual_product_persistent, n_rows=(8192,)):
        yield persistent_product_configuration(
            dual_product_persistent_kernel, dtype, tiles, capability=capability, weights=weights, flags={}
        )


def start_dual_product_persistent(
    x: Tensor, w_gate: Tensor, w_up: Tensor, y: Tensor, *, activation: str, tiles: Tiles
) -> None:
    """Write act(x·Wgᵀ) ⊙ (x·Wuᵀ) to y, [rows, out] and contiguous, in one launch; why_not_persistent must be None."""
    start_persistent_product(dual_product_persistent_kernel, x, (w_gate, w_up), y, (), (activation,), tiles=tiles)
