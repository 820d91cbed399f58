"""The hidden half of the MLP's backward pass on CUDA: dz, act(z) and db1 from dy, W2 and z.

```
 out ≤ 1024   dy, W2 ─▶ [product ─▶ ⊙ act'(z); act(z); sums of dz] ─▶ dz, hidden, parts       1 launch
 beyond       dy, W2 ─▶ [cuBLAS] ─▶ dh ─▶ [⊙ act'(z), over dh; act(z); sums] ─▶ the same      2 launches
```

The first spares the write and the read of dh, 4·rows·hidden bytes in 16 bits. The products for dx, dW1 and dW2 stay
in cuBLAS. No atomics: db1 is the same at every run.

What it can't do: be differentiated again; gradients.py has the formulas that can.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from fused_mlp.configurations import POINTER_TYPES, Configuration, product_instruction
from fused_mlp.linear.triton_backward import HiddenGradients, launch_activation_gradient
from fused_mlp.triton_activations import activate_with_slope
from fused_mlp.triton_launch import launch
from fused_mlp.triton_tiles import (
    Tiles,
    device_capability,
    halves_of,
    is_interpreting,
    multiply_add,
    precision_of,
    tile_of_program,
    with_contiguous_columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

LARGEST_OUT_FOR_EPILOGUE = 1024
"""The inner dimension up to which the product's epilogue makes dz.

Sparing dh is worth 4/4.3e12 seconds an element, the product costs 2·out/790e12: a share of 367/out. A Triton product
that is a quarter slower than cuBLAS has lost that gain from out = 1470 on. Ceilings of an H200; not tuned on one.
"""


@triton.jit
def store_hidden_gradients(
    dh,
    z_ptr,
    dz_ptr,
    hidden_ptr,
    part_ptr,
    rows,
    first_column,
    row_tile,
    n_rows,
    n_out,
    z_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_HIDDEN: tl.constexpr,
    HAS_PARTS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Writes dz, act(z) and the sums of dz of COLUMNS columns whose dh is at hand in float32, contiguous."""
    columns = first_column + tl.arange(0, COLUMNS)
    inside = (rows < n_rows)[:, None] & (columns < n_out)[None, :]
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    wide_rows = rows[:, None].to(tl.int64)
    z = tl.load(z_ptr + wide_rows * z_row_stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)
    hidden, slope = activate_with_slope(z, ACTIVATION)
    dz = dh * slope
    offsets = wide_rows * n_out + columns[None, :]
    tl.store(dz_ptr + offsets, dz.to(dz_ptr.dtype.element_ty), mask=inside)
    if HAS_HIDDEN:
        tl.store(hidden_ptr + offsets, hidden.to(hidden_ptr.dtype.element_ty), mask=inside)
    if HAS_PARTS:
        # Rows beyond the last are zeros of dy, and so of dz.
        tl.store(part_ptr + row_tile.to(tl.int64) * n_out + columns, tl.sum(dz, axis=0), mask=columns < n_out)


@triton.jit
def hidden_gradient_kernel(
    dy_ptr,
    w_ptr,
    z_ptr,
    dz_ptr,
    hidden_ptr,
    part_ptr,
    n_rows,
    n_out,
    n_in,
    dy_row_stride,
    w_row_stride,
    z_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_HIDDEN: tl.constexpr,
    HAS_PARTS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    BLOCK_IN: tl.constexpr,
    GROUP_ROWS: tl.constexpr,
    UPCAST: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One tile of dz = (dy·W) ⊙ act'(z), W: [n_in, n_out]; what is written is contiguous, parts one row a row tile."""
    row_tile, out_tile = tile_of_program(n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
    rows = row_tile * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    outs = out_tile * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    ins = tl.arange(0, BLOCK_IN)
    row_ok = rows[:, None] < n_rows
    out_ok = outs[None, :] < n_out
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    wide_rows = rows[:, None].to(tl.int64)
    dy_ptrs = dy_ptr + wide_rows * dy_row_stride + ins[None, :]
    w_ptrs = w_ptr + ins[:, None].to(tl.int64) * w_row_stride + outs[None, :]

    dh = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    for start in range(0, n_in, BLOCK_IN):
        left = n_in - start
        dy = tl.load(dy_ptrs, mask=row_ok & (ins[None, :] < left), other=0.0)
        w = tl.load(w_ptrs, mask=out_ok & (ins[:, None] < left), other=0.0)
        dh = multiply_add(dy, w, dh, UPCAST, PRECISION)
        dy_ptrs += BLOCK_IN
        w_ptrs += BLOCK_IN * w_row_stride

    first = out_tile * BLOCK_OUT
    if BLOCK_OUT < 128:
        store_hidden_gradients(
            dh,
            z_ptr,
            dz_ptr,
            hidden_ptr,
            part_ptr,
            rows,
            first,
            row_tile,
            n_rows,
            n_out,
            z_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            HAS_PARTS,
            BLOCK_OUT,
        )
    else:
        # By halves: dh, z and two results at a time would not fit the registers.
        left, right = halves_of(dh, BLOCK_ROWS, BLOCK_OUT)
        store_hidden_gradients(
            left,
            z_ptr,
            dz_ptr,
            hidden_ptr,
            part_ptr,
            rows,
            first,
            row_tile,
            n_rows,
            n_out,
            z_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            HAS_PARTS,
            BLOCK_OUT // 2,
        )
        store_hidden_gradients(
            right,
            z_ptr,
            dz_ptr,
            hidden_ptr,
            part_ptr,
            rows,
            first + BLOCK_OUT // 2,
            row_tile,
            n_rows,
            n_out,
            z_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            HAS_PARTS,
            BLOCK_OUT // 2,
        )


@lru_cache(maxsize=1024)
def tiles_for_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> Tiles:
    """The configuration for `n_rows`. A rule from the arithmetic, not tuned on a device."""
    del capability
    wide = dtype == torch.float32
    block_in = 32 if wide else 64
    if n_rows <= 1024 or wide:
        return Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=8, n_warps=4, n_stages=3)
    return Tiles(block_rows=128, block_out=128, block_in=block_in, group_rows=8, n_warps=8, n_stages=3)


def candidates_for_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """What tuning tries for `n_rows`, the rule's choice first."""
    block_in = 32 if dtype == torch.float32 else 64
    rule = tiles_for_hidden_gradient(n_rows, dtype, capability=capability)
    others = (
        Tiles(block_rows=64, block_out=128, block_in=block_in, group_rows=8, n_warps=8, n_stages=3),
        Tiles(block_rows=128, block_out=64, block_in=block_in, group_rows=8, n_warps=8, n_stages=3),
    )
    return tuple(dict.fromkeys((rule, *others)))


def configurations(*, capability: int) -> Iterator[Configuration]:
    """All that the rule chooses and tuning tries, with gelu and every output; float32 as tf32."""
    for dtype in POINTER_TYPES:
        tried = [
            tiles
            for n_rows in (1024, 8192)
            for tiles in candidates_for_hidden_gradient(n_rows, dtype, capability=capability)
        ]
        for tiles in dict.fromkeys(tried):
            product = product_instruction(capability=capability, block_rows=tiles.block_rows)
            yield Configuration(
                kernel=hidden_gradient_kernel,
                dtype=dtype,
                label=f"{tiles.block_rows}x{tiles.block_out}x{tiles.block_in}-gelu",
                constants={
                    "ACTIVATION": "gelu",
                    "HAS_HIDDEN": True,
                    "HAS_PARTS": True,
                    "BLOCK_ROWS": tiles.block_rows,
                    "BLOCK_OUT": tiles.block_out,
                    "BLOCK_IN": tiles.block_in,
                    "GROUP_ROWS": tiles.group_rows,
                    "UPCAST": False,
                    "PRECISION": "tf32",
                },
                types={"part_ptr": "*fp32"},
                n_warps=tiles.n_warps,
                n_stages=tiles.n_stages,
                instructions=frozenset({product, "LDGSTS"}),
            )


def launch_hidden_gradients(
    dy: Tensor, w2: Tensor, z: Tensor, *, activation: str, with_hidden: bool, with_bias: bool
) -> HiddenGradients:
    """The gradient dz = (dy·W2) ⊙ act'(z), act(z) and db1, by the way that suits the width of dy.

    dy: [rows, out], w2: [out, hidden], z: [rows, hidden], of one dtype, on the current device.
    """
    if dy.shape[1] <= LARGEST_OUT_FOR_EPILOGUE:
        return launch_hidden_gradient_epilogue(
            dy, w2, z, activation=activation, with_hidden=with_hidden, with_bias=with_bias
        )
    return launch_activation_gradient(
        dy @ w2, z, activation=activation, with_hidden=with_hidden, with_bias=with_bias, overwrite_dh=True
    )


def launch_hidden_gradient_epilogue(
    dy: Tensor,
    w2: Tensor,
    z: Tensor,
    *,
    activation: str,
    with_hidden: bool,
    with_bias: bool,
    tiles: Tiles | None = None,
) -> HiddenGradients:
    """As launch_hidden_gradients, in the epilogue of the product, whatever the width."""
    dy, w2, z = with_contiguous_columns(dy), with_contiguous_columns(w2), with_contiguous_columns(z)
    (n_rows, n_in), n_out = dy.shape, w2.shape[1]
    if tiles is None:
        tiles = tiles_for_hidden_gradient(n_rows, z.dtype, capability=device_capability(z.device))
    n_row_tiles = -(-n_rows // tiles.block_rows)
    dz = torch.empty_like(z, memory_format=torch.contiguous_format)
    hidden = torch.empty_like(dz) if with_hidden else None
    parts = z.new_empty((n_row_tiles, n_out), dtype=torch.float32) if with_bias else None
    if z.numel() > 0:
        launch(
            hidden_gradient_kernel,
            (n_row_tiles * -(-n_out // tiles.block_out),),
            (dy, w2, z, dz, hidden, parts),
            (n_rows, n_out, n_in, dy.stride(0), w2.stride(0), z.stride(0)),
            (
                activation,
                with_hidden,
                with_bias,
                tiles.block_rows,
                tiles.block_out,
                tiles.block_in,
                tiles.group_rows,
                is_interpreting(),
                precision_of(z.dtype),
            ),
            n_warps=tiles.n_warps,
            n_stages=tiles.n_stages,
        )
    return HiddenGradients(dz, hidden, None if parts is None else parts.sum(dim=0).to(z.dtype))
