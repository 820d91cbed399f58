"""Level 2 of the gated MLP from sm_90 on, for many rows: the dual product, persistent and fed by the TMA.

As linear/triton_persistent.py, with two weights and two sums: x is read once, and only act(gate)·up is written.

What it can't do: the same as there; `why_not_persistent` says so, and the caller takes the ordinary kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from fused_mlp.configurations import Configuration, product_instruction
from fused_mlp.linear.triton_persistent import descriptor_of
from fused_mlp.triton_activations import activate
from fused_mlp.triton_launch import launch
from fused_mlp.triton_tiles import (
    Tiles,
    halves_of,
    is_interpreting,
    multiply_add,
    multiprocessors,
    place_of_tile,
    precision_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


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
    PRECISION: tl.constexpr,
):
    """Every tl.num_programs(0)-th tile of y = act(x·Wgᵀ) ⊙ (x·Wuᵀ); y_desc has blocks of half a tile's columns."""
    n_tiles = tl.cdiv(n_rows, BLOCK_ROWS) * tl.cdiv(n_out, BLOCK_OUT)
    for tile in tl.range(tl.program_id(0), n_tiles, tl.num_programs(0), flatten=True):
        row_tile, out_tile = place_of_tile(tile, n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
        first_row = row_tile * BLOCK_ROWS
        first_out = out_tile * BLOCK_OUT
        gate_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
        up_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
        for start in range(0, n_in, BLOCK_IN):
            x = x_desc.load([first_row, start])
            gate_total = multiply_add(x, gate_desc.load([first_out, start]).T, gate_total, UPCAST, PRECISION)
            up_total = multiply_add(x, up_desc.load([first_out, start]).T, up_total, UPCAST, PRECISION)
        # By halves: the whole tile beside the operands' buffers would not fit the shared memory.
        y = activate(gate_total, ACTIVATION) * up_total
        left, right = halves_of(y, BLOCK_ROWS, BLOCK_OUT)
        y_desc.store([first_row, first_out], left.to(y_desc.dtype))
        y_desc.store([first_row, first_out + BLOCK_OUT // 2], right.to(y_desc.dtype))


def tiles_for_dual_product_persistent(n_rows: int, dtype: torch.dtype, *, capability: int) -> Tiles:
    """The configuration for `n_rows` ≥ 4096: two 128 × 128 sums are what the registers of eight warps hold."""
    del n_rows, dtype, capability
    return _tiles(n_stages=3)


def candidates_for_dual_product_persistent(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """What tuning tries, the rule's choice first; nothing for float32 or before sm_90."""
    if capability < 90 or dtype == torch.float32:
        return ()
    return tiles_for_dual_product_persistent(n_rows, dtype, capability=capability), _tiles(n_stages=4)


def _tiles(*, n_stages: int) -> Tiles:
    return Tiles(
        block_rows=128, block_out=128, block_in=64, group_rows=8, n_warps=8, n_stages=n_stages, persistent=True
    )


def configurations(*, capability: int) -> Iterator[Configuration]:
    """All that the rule chooses and tuning tries, with the activation of most instructions."""
    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float16, "fp16")):
        for tiles in candidates_for_dual_product_persistent(8192, dtype, capability=capability):
            product = product_instruction(capability=capability, block_rows=tiles.block_rows)
            weight = f"tensordesc<{name}[{tiles.block_out}, {tiles.block_in}]>"
            yield Configuration(
                kernel=dual_product_persistent_kernel,
                dtype=dtype,
                label=f"{tiles.block_rows}x{tiles.block_out}x{tiles.block_in}-gelu",
                constants={
                    "ACTIVATION": "gelu",
                    "BLOCK_ROWS": tiles.block_rows,
                    "BLOCK_OUT": tiles.block_out,
                    "BLOCK_IN": tiles.block_in,
                    "GROUP_ROWS": tiles.group_rows,
                    "UPCAST": False,
                    "PRECISION": "tf32",
                },
                types={
                    "x_desc": f"tensordesc<{name}[{tiles.block_rows}, {tiles.block_in}]>",
                    "gate_desc": weight,
                    "up_desc": weight,
                    "y_desc": f"tensordesc<{name}[{tiles.block_rows}, {tiles.block_out // 2}]>",
                },
                n_warps=tiles.n_warps,
                n_stages=tiles.n_stages,
                instructions=frozenset({product, "UTMALDG", "UTMASTG"}),
            )


def start_dual_product_persistent(
    x: Tensor, w_gate: Tensor, w_up: Tensor, y: Tensor, *, activation: str, tiles: Tiles
) -> None:
    """act(x·Wgᵀ) ⊙ (x·Wuᵀ) into y, [rows, out] and contiguous, in one launch. why_not_persistent has said nothing."""
    (n_rows, n_in), n_out = x.shape, w_gate.shape[0]
    n_tiles = -(-n_rows // tiles.block_rows) * -(-n_out // tiles.block_out)
    launch(
        dual_product_persistent_kernel,
        (min(n_tiles, multiprocessors(x.device)),),
        (),
        (n_rows, n_out, n_in),
        (
            activation,
            tiles.block_rows,
            tiles.block_out,
            tiles.block_in,
            tiles.group_rows,
            is_interpreting(),
            precision_of(x.dtype),
        ),
        n_warps=tiles.n_warps,
        n_stages=tiles.n_stages,
        descriptors=(
            descriptor_of(x, tiles.block_rows, tiles.block_in),
            descriptor_of(w_gate, tiles.block_out, tiles.block_in),
            descriptor_of(w_up, tiles.block_out, tiles.block_in),
            descriptor_of(y, tiles.block_rows, tiles.block_out // 2),
        ),
    )
