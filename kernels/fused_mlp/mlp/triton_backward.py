"""Hidden half of the MLP's backward pass on CUDA: dz, act(z) and db1 from dy, W2 and z.

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

from fused_mlp.gpu.activations import activate_with_slope
from fused_mlp.gpu.configurations import tried_on
from fused_mlp.gpu.products import WIDEST_GRADIENT_EPILOGUE, product_configuration, start_product
from fused_mlp.gpu.tiles import (
    Tiles,
    device_capability,
    halves_of,
    is_tensor_core_product,
    tile_of_gradient,
    tile_of_program,
    with_contiguous_columns,
)
from fused_mlp.linear.triton_backward import HiddenGradients, launch_activation_gradient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration


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
    """Write dz, act(z) and the sums of dz of COLUMNS columns whose dh is at hand in float32, contiguous."""
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
):
    """Compute one tile of dz = (dy·W) ⊙ act'(z), W: [n_in, n_out]; results contiguous, parts one row a row tile."""
    row_tile, out_tile = tile_of_program(n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
    rows = row_tile * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    outs = out_tile * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    dh = tile_of_gradient(dy_ptr, w_ptr, rows, outs, n_rows, n_out, n_in, dy_row_stride, w_row_stride, BLOCK_IN, UPCAST)
    # By halves, where it is wide: dh, z and two results at a time would not fit the registers.
    n_parts: tl.constexpr = 1 if BLOCK_OUT < 128 else 2
    if n_parts == 2:
        left, right = halves_of(dh, BLOCK_ROWS, BLOCK_OUT)
    for part in tl.static_range(n_parts):
        store_hidden_gradients(
            dh if n_parts == 1 else (left if part == 0 else right),
            z_ptr,
            dz_ptr,
            hidden_ptr,
            part_ptr,
            rows,
            out_tile * BLOCK_OUT + part * (BLOCK_OUT // n_parts),
            row_tile,
            n_rows,
            n_out,
            z_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            HAS_PARTS,
            BLOCK_OUT // n_parts,
        )


@lru_cache(maxsize=1024)
def tiles_for_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> Tiles:
    """Return the configuration for `n_rows`. A rule from the arithmetic, not tuned on a device."""
    del capability
    wide = dtype == torch.float32
    block_in = 32 if wide else 64
    if n_rows <= 1024 or wide:
        return Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=8, n_warps=4, n_stages=3)
    return Tiles(block_rows=128, block_out=128, block_in=block_in, group_rows=8, n_warps=8, n_stages=3)


def candidates_for_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first."""
    block_in = 32 if dtype == torch.float32 else 64
    rule = tiles_for_hidden_gradient(n_rows, dtype, capability=capability)
    others = (
        Tiles(block_rows=64, block_out=128, block_in=block_in, group_rows=8, n_warps=8, n_stages=3),
        Tiles(block_rows=128, block_out=64, block_in=block_in, group_rows=8, n_warps=8, n_stages=3),
    )
    return tuple(dict.fromkeys((rule, *others)))


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries, with every output; float32 as tf32."""
    for dtype, tiles in tried_on(capability, candidates_for_hidden_gradient, n_rows=(1024, 8192)):
        yield product_configuration(
            hidden_gradient_kernel,
            dtype,
            tiles,
            capability=capability,
            flags={"HAS_HIDDEN": True, "HAS_PARTS": True},
            types={"part_ptr": "*fp32"},
        )


def launch_hidden_gradients(
    dy: Tensor, w2: Tensor, z: Tensor, *, activation: str, with_hidden: bool, with_bias: bool
) -> HiddenGradients:
    """Return the gradient dz = (dy·W2) ⊙ act'(z), act(z) and db1, by the way that suits the width of dy.

    dy: [rows, out], w2: [out, hidden], z: [rows, hidden], of one dtype, on the current device.
    """
    if dy.shape[1] <= WIDEST_GRADIENT_EPILOGUE and is_tensor_core_product(dy.dtype):
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
    """Return launch_hidden_gradients by the epilogue of the product, whatever the width."""
    dy, w2, z = with_contiguous_columns(dy), with_contiguous_columns(w2), with_contiguous_columns(z)
    (n_rows, n_in), n_out = dy.shape, w2.shape[1]
    if tiles is None:
        tiles = tiles_for_hidden_gradient(n_rows, z.dtype, capability=device_capability(z.device))
    n_row_tiles = -(-n_rows // tiles.block_rows)
    dz = torch.empty_like(z, memory_format=torch.contiguous_format)
    hidden = torch.empty_like(dz) if with_hidden else None
    parts = z.new_empty((n_row_tiles, n_out), dtype=torch.float32) if with_bias else None
    if z.numel() > 0:
        start_product(
            hidden_gradient_kernel,
            (dy, w2, z, dz, hidden, parts),
            (n_rows, n_out, n_in, dy.stride(0), w2.stride(0), z.stride(0)),
            (activation, with_hidden, with_bias),
            tiles=tiles,
        )
    return HiddenGradients(dz, hidden, None if parts is None else parts.sum(dim=0).to(z.dtype))
