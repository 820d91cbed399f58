"""Level 3 on CUDA for many rows and widths up to 256: one launch, each program owns rows, hidden stays on chip.

    x tile ─▶ shared memory ─┐        for each block of hidden:
    Wg, Wu blocks (L2) ──────┴▶ gate, up ─▶ act(gate)·up ─▶ h (registers) ─┐
    Wd block (L2) ──────────────────────────────────────────────────────────┴▶ + sums [rows, out] (registers) ─▶ y

What it can't do: widths over 256 (the sums fill the registers), and few rows (every program reads every weight): there
`triton_split_hidden` computes in one launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from fused_mlp.configurations import POINTER_TYPES, Configuration, product_instruction
from fused_mlp.triton_activations import activate
from fused_mlp.triton_launch import launch
from fused_mlp.triton_single_tiles import WIDEST_FULL_TILE, FullTile, is_aligned, multiprocessors, padded_width
from fused_mlp.triton_tiles import float32_precision, is_interpreting, multiply_add

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

_SIZES = frozenset(
    {"n_rows", "dim", "hidden", "n_out", "x_row_stride", "gate_row_stride", "up_row_stride", "down_row_stride"}
)


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
    PRECISION: tl.constexpr,
):
    """BLOCK_ROWS rows of y = (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ; BLOCK_DIM ≥ dim, BLOCK_OUT ≥ n_out, y contiguous."""
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
        gate = multiply_add(x, tl.load(gate_ptrs, mask=weight_ok, other=0.0), zero, UPCAST, PRECISION)
        up = multiply_add(x, tl.load(up_ptrs, mask=weight_ok, other=0.0), zero, UPCAST, PRECISION)
        h = (activate(gate, ACTIVATION) * up).to(x_ptr.dtype.element_ty)
        down = tl.load(down_ptrs, mask=out_ok & (hids[:, None] < left), other=0.0)
        total = multiply_add(h, down, total, UPCAST, PRECISION)
        gate_ptrs += gate_step
        up_ptrs += up_step
        down_ptrs += BLOCK_HIDDEN

    y_ptrs = y_ptr + rows[:, None].to(tl.int64) * n_out + outs[None, :]
    tl.store(y_ptrs, total.to(y_ptr.dtype.element_ty), mask=row_ok & out_ok)


def tiles_for_gated_mlp_full_tile(
    *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int, precision: str
) -> FullTile:
    """The tile from the arithmetic, as large as compiles without spills; not tuned on a device.

    As for mlp, with half the block of hidden: gate and up are two float32 tiles.
    """
    width = max(padded_width(dim), padded_width(n_out))
    busy = 2 * n_rows >= 128 * multiprocessors(capability)
    if dtype == torch.float32:
        return _float32_tile(width, busy=busy, capability=capability, precision=precision)
    aligned = is_aligned(dim, hidden, n_out)
    if width <= 128:
        if not busy:
            return FullTile(block_rows=32, block_hidden=32, n_warps=4, n_stages=2)
        block_hidden = 64 if width <= 64 and capability >= 90 and aligned else 32
        return FullTile(block_rows=128, block_hidden=block_hidden, n_warps=8, n_stages=3)
    if not busy or not aligned:
        return FullTile(block_rows=32, block_hidden=32, n_warps=4 if aligned else 8, n_stages=2)
    block_rows = 64 if capability < 90 else 128
    return FullTile(block_rows=block_rows, block_hidden=32, n_warps=8, n_stages=2)


def _float32_tile(width: int, *, busy: bool, capability: int, precision: str) -> FullTile:
    # "ieee" products hold their operands in registers.
    del capability
    ieee = precision == "ieee"
    block_hidden = 32 if width <= 128 and not ieee else 16
    if width == WIDEST_FULL_TILE:
        return FullTile(block_rows=64 if busy and not ieee else 16, block_hidden=16, n_warps=8, n_stages=2)
    return FullTile(block_rows=64 if busy else 32, block_hidden=block_hidden, n_warps=8, n_stages=2)


def launch_gated_mlp_full_tile(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, y: Tensor, *, activation: str, tile: FullTile
) -> None:
    """Y = (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in one launch; x and y are matrices, rows contiguous, y as a whole."""
    n_rows, dim = x.shape
    hidden, n_out = w_gate.shape[0], w_down.shape[0]
    launch(
        gated_mlp_full_tile_kernel,
        (triton.cdiv(n_rows, tile.block_rows),),
        (x, w_gate, w_up, w_down, y),
        (n_rows, dim, hidden, n_out, x.stride(0), w_gate.stride(0), w_up.stride(0), w_down.stride(0)),
        (
            activation,
            tile.block_rows,
            padded_width(dim),
            tile.block_hidden,
            padded_width(n_out),
            is_interpreting(),
            float32_precision(),
        ),
        n_warps=tile.n_warps,
        n_stages=tile.n_stages,
    )


def configurations(*, capability: int) -> Iterator[Configuration]:
    """The rule's choices at widths 64, 128 and 256 for few and for many rows; float32 in both precisions.

    bfloat16 also for ragged sizes, 127 and 255 wide, which other tiles take.
    """
    for dtype in POINTER_TYPES:
        for precision in ("tf32", "ieee") if dtype == torch.float32 else ("tf32",):
            for width in (64, 128, 256, *((127, 255) if dtype == torch.bfloat16 else ())):
                for n_rows in (256, 65536):
                    tile = tiles_for_gated_mlp_full_tile(
                        n_rows=n_rows,
                        dim=width,
                        hidden=4 * width,
                        n_out=width,
                        dtype=dtype,
                        capability=capability,
                        precision=precision,
                    )
                    yield configuration_of(
                        tile, width=width, dtype=dtype, capability=capability, precision=precision, activation="gelu"
                    )


def configuration_of(
    tile: FullTile, *, width: int, dtype: torch.dtype, capability: int, precision: str, activation: str
) -> Configuration:
    """`tile` at dim = out = width as Triton compiles it; narrower widths take no more."""
    aligned = is_aligned(width)
    product = {product_instruction(capability=capability, block_rows=tile.block_rows)} if precision != "ieee" else set()
    return Configuration(
        kernel=gated_mlp_full_tile_kernel,
        dtype=dtype,
        label=f"{tile.block_rows}x{tile.block_hidden}-width{width}-{precision}-{activation}",
        constants={
            "ACTIVATION": activation,
            "BLOCK_ROWS": tile.block_rows,
            "BLOCK_DIM": padded_width(width),
            "BLOCK_HIDDEN": tile.block_hidden,
            "BLOCK_OUT": padded_width(width),
            "UPCAST": False,
            "PRECISION": precision,
        },
        n_warps=tile.n_warps,
        n_stages=tile.n_stages,
        instructions=frozenset({*product, "LDGSTS"} if aligned else product),
        unaligned=frozenset() if aligned else _SIZES,
    )
