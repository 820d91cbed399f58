"""Hidden half of the gated MLP's backward pass on CUDA: the gradients of gate and up from dy, Wd, gate and up.

```
 out ≤ 1024   dy, Wd ─▶ [product ─▶ d_gate, d_up, act(gate)·up]                               1 launch
 beyond       dy, Wd ─▶ [cuBLAS] ─▶ dh ─▶ [d_gate, d_up over dh, act(gate)·up]                2 launches
```

The first spares the write and the read of dh, 4·rows·hidden bytes in 16 bits. The products for dx and the weights
stay in cuBLAS.

What it can't do: be differentiated again; gradients.py has the formulas that can.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import torch
import triton
import triton.language as tl

from fused_mlp.gpu.activations import activate_with_slope
from fused_mlp.gpu.configurations import tried_on
from fused_mlp.gpu.elementwise import elementwise_configuration, start_elementwise, tiles_for_gradient
from fused_mlp.gpu.products import WIDEST_GRADIENT_EPILOGUE, product_configuration, start_product
from fused_mlp.gpu.tiles import (
    PointwiseTiles,
    Tiles,
    device_capability,
    halves_of,
    is_tensor_core_product,
    tile_of_gradient,
    tile_of_program,
    with_contiguous_columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration


class GatedGradients(NamedTuple):
    """Results of one backward kernel, all [rows, hidden] in the dtype of gate.

    d_gate: the gradient of gate before its activation; d_up: of up; hidden: act(gate) ⊙ up, None if not asked for.
    """

    d_gate: Tensor
    d_up: Tensor
    hidden: Tensor | None


@triton.jit
def store_gated_gradients(
    dh,
    gate_ptr,
    up_ptr,
    d_gate_ptr,
    d_up_ptr,
    hidden_ptr,
    rows,
    first_column,
    n_rows,
    n_columns,
    gate_row_stride,
    up_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_HIDDEN: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Write both gradients, and act(gate) ⊙ up, of the tile whose dh is at hand in float32, contiguous."""
    columns = first_column + tl.arange(0, COLUMNS)
    inside = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    wide_rows = rows[:, None].to(tl.int64)
    gate = tl.load(gate_ptr + wide_rows * gate_row_stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + wide_rows * up_row_stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)
    activated, slope = activate_with_slope(gate, ACTIVATION)
    offsets = wide_rows * n_columns + columns[None, :]
    tl.store(d_gate_ptr + offsets, (dh * up * slope).to(d_gate_ptr.dtype.element_ty), mask=inside)
    tl.store(d_up_ptr + offsets, (dh * activated).to(d_up_ptr.dtype.element_ty), mask=inside)
    if HAS_HIDDEN:
        tl.store(hidden_ptr + offsets, (activated * up).to(hidden_ptr.dtype.element_ty), mask=inside)


@triton.jit
def gate_gradient_kernel(
    dh_ptr,
    gate_ptr,
    up_ptr,
    d_gate_ptr,
    d_up_ptr,
    hidden_ptr,
    n_rows,
    n_columns,
    dh_row_stride,
    gate_row_stride,
    up_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_HIDDEN: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
):
    """Compute the gradients of gate and up from dh, one BLOCK_ROWS × BLOCK_COLUMNS tile a program.

    d_up may be dh itself: each element is read before it is written, by the same program.
    """
    n_column_tiles = tl.cdiv(n_columns, BLOCK_COLUMNS)
    rows = tl.program_id(0) // n_column_tiles * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    first_column = tl.program_id(0) % n_column_tiles * BLOCK_COLUMNS
    columns = first_column + tl.arange(0, BLOCK_COLUMNS)
    inside = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    wide_rows = rows[:, None].to(tl.int64)
    dh = tl.load(dh_ptr + wide_rows * dh_row_stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)
    store_gated_gradients(
        dh,
        gate_ptr,
        up_ptr,
        d_gate_ptr,
        d_up_ptr,
        hidden_ptr,
        rows,
        first_column,
        n_rows,
        n_columns,
        gate_row_stride,
        up_row_stride,
        ACTIVATION,
        HAS_HIDDEN,
        BLOCK_COLUMNS,
    )


@triton.jit
def gated_hidden_gradient_kernel(
    dy_ptr,
    w_ptr,
    gate_ptr,
    up_ptr,
    d_gate_ptr,
    d_up_ptr,
    hidden_ptr,
    n_rows,
    n_out,
    n_in,
    dy_row_stride,
    w_row_stride,
    gate_row_stride,
    up_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_HIDDEN: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    BLOCK_IN: tl.constexpr,
    GROUP_ROWS: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute one tile of the gradients of gate and up, dh = dy·W never leaving the registers; W: [n_in, n_out]."""
    row_tile, out_tile = tile_of_program(n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
    rows = row_tile * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    outs = out_tile * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    dh = tile_of_gradient(dy_ptr, w_ptr, rows, outs, n_rows, n_out, n_in, dy_row_stride, w_row_stride, BLOCK_IN, UPCAST)
    # By halves, where it is wide: dh, gate, up and three results at a time would not fit the registers.
    n_parts: tl.constexpr = 1 if BLOCK_OUT < 64 else 2
    if n_parts == 2:
        left, right = halves_of(dh, BLOCK_ROWS, BLOCK_OUT)
    for part in tl.static_range(n_parts):
        store_gated_gradients(
            dh if n_parts == 1 else (left if part == 0 else right),
            gate_ptr,
            up_ptr,
            d_gate_ptr,
            d_up_ptr,
            hidden_ptr,
            rows,
            out_tile * BLOCK_OUT + part * (BLOCK_OUT // n_parts),
            n_rows,
            n_out,
            gate_row_stride,
            up_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            BLOCK_OUT // n_parts,
        )


@lru_cache(maxsize=1024)
def tiles_for_gate_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> PointwiseTiles:
    """Return the configuration for any rows, as tiles_for_gradient has it."""
    del n_rows, capability
    return tiles_for_gradient(dtype)


def candidates_for_gate_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[PointwiseTiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first."""
    rule = tiles_for_gate_gradient(n_rows, dtype, capability=capability)
    return tuple(dict.fromkeys((rule, PointwiseTiles(block_rows=4, block_columns=512, n_warps=8))))


@lru_cache(maxsize=1024)
def tiles_for_gated_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> Tiles:
    """Return the configuration for `n_rows`. A rule from the arithmetic, not tuned on a device."""
    del capability
    if dtype == torch.float32:
        return Tiles(block_rows=64, block_out=64, block_in=32, group_rows=8, n_warps=4, n_stages=3)
    size = 64 if n_rows <= 1024 else 128
    return Tiles(block_rows=size, block_out=size, block_in=64, group_rows=8, n_warps=8, n_stages=3)


def candidates_for_gated_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first."""
    rule = tiles_for_gated_hidden_gradient(n_rows, dtype, capability=capability)
    narrow = Tiles(block_rows=128, block_out=64, block_in=64, group_rows=8, n_warps=8, n_stages=3)
    # Any larger tile of float32 spills.
    return (rule,) if dtype == torch.float32 else tuple(dict.fromkeys((rule, narrow)))


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rules choose and tuning tries, with every output; float32 as tf32."""
    flags = {"HAS_HIDDEN": True}
    for dtype, pointwise in tried_on(capability, candidates_for_gate_gradient, n_rows=(8192,)):
        yield elementwise_configuration(gate_gradient_kernel, dtype, pointwise, flags=flags)
    for dtype, tiles in tried_on(capability, candidates_for_gated_hidden_gradient, n_rows=(1024, 8192)):
        yield product_configuration(gated_hidden_gradient_kernel, dtype, tiles, capability=capability, flags=flags)


def launch_gated_gradients(
    dy: Tensor, w_down: Tensor, gate: Tensor, up: Tensor, *, activation: str, with_hidden: bool
) -> GatedGradients:
    """Return the gradients of gate and up, by the way that suits the width of dy.

    dy: [rows, out], w_down: [out, hidden], gate (before its activation) and up: [rows, hidden], of one dtype, on the
    current device.
    """
    if dy.shape[1] <= WIDEST_GRADIENT_EPILOGUE and is_tensor_core_product(dy.dtype):
        return launch_gated_gradient_epilogue(dy, w_down, gate, up, activation=activation, with_hidden=with_hidden)
    return launch_gate_gradient(dy @ w_down, gate, up, activation=activation, with_hidden=with_hidden)


def launch_gate_gradient(
    dh: Tensor, gate: Tensor, up: Tensor, *, activation: str, with_hidden: bool, tiles: PointwiseTiles | None = None
) -> GatedGradients:
    """Return the gradients of gate and up from dh in one launch; d_up is written over dh, which is the caller's own."""
    gate, up = with_contiguous_columns(gate), with_contiguous_columns(up)
    n_rows, n_columns = gate.shape
    if tiles is None:
        tiles = tiles_for_gate_gradient(n_rows, gate.dtype, capability=0)
    d_gate = torch.empty_like(gate, memory_format=torch.contiguous_format)
    hidden = torch.empty_like(d_gate) if with_hidden else None
    if gate.numel() > 0:
        start_elementwise(
            gate_gradient_kernel,
            (dh, gate, up, d_gate, dh, hidden),
            (n_rows, n_columns, dh.stride(0), gate.stride(0), up.stride(0)),
            (activation, with_hidden),
            tiles=tiles,
        )
    return GatedGradients(d_gate, dh, hidden)


def launch_gated_gradient_epilogue(
    dy: Tensor,
    w_down: Tensor,
    gate: Tensor,
    up: Tensor,
    *,
    activation: str,
    with_hidden: bool,
    tiles: Tiles | None = None,
) -> GatedGradients:
    """Return launch_gated_gradients by the epilogue of the product, whatever the width."""
    dy, w_down = with_contiguous_columns(dy), with_contiguous_columns(w_down)
    gate, up = with_contiguous_columns(gate), with_contiguous_columns(up)
    (n_rows, n_in), n_out = dy.shape, w_down.shape[1]
    if tiles is None:
        tiles = tiles_for_gated_hidden_gradient(n_rows, gate.dtype, capability=device_capability(gate.device))
    d_gate = torch.empty_like(gate, memory_format=torch.contiguous_format)
    d_up = torch.empty_like(d_gate)
    hidden = torch.empty_like(d_gate) if with_hidden else None
    if gate.numel() > 0:
        start_product(
            gated_hidden_gradient_kernel,
            (dy, w_down, gate, up, d_gate, d_up, hidden),
            (n_rows, n_out, n_in, dy.stride(0), w_down.stride(0), gate.stride(0), up.stride(0)),
            (activation, with_hidden),
            tiles=tiles,
        )
    return GatedGradients(d_gate, d_up, hidden)
