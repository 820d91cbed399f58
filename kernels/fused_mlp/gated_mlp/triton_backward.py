"""The hidden half of the gated MLP's backward pass on CUDA: the gradients of gate and up from dy, Wd, gate and up.

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

from fused_mlp.configurations import POINTER_TYPES, Configuration, product_instruction
from fused_mlp.mlp.triton_backward import LARGEST_OUT_FOR_EPILOGUE
from fused_mlp.triton_activations import activate_with_slope
from fused_mlp.triton_launch import launch
from fused_mlp.triton_tiles import (
    PointwiseTiles,
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


class GatedGradients(NamedTuple):
    """What one backward kernel gives, all [rows, hidden] in the dtype of gate.

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
    """Writes both gradients, and act(gate) ⊙ up, of the tile whose dh is at hand in float32, contiguous."""
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
    """The gradients of gate and up from dh, one BLOCK_ROWS × BLOCK_COLUMNS tile a program.

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
    PRECISION: tl.constexpr,
):
    """One tile of the gradients of gate and up, dh = dy·W never leaving the registers; W: [n_in, n_out]."""
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
    if BLOCK_OUT < 64:
        store_gated_gradients(
            dh,
            gate_ptr,
            up_ptr,
            d_gate_ptr,
            d_up_ptr,
            hidden_ptr,
            rows,
            first,
            n_rows,
            n_out,
            gate_row_stride,
            up_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            BLOCK_OUT,
        )
    else:
        # By halves: dh, gate, up and three results at a time would not fit the registers.
        left, right = halves_of(dh, BLOCK_ROWS, BLOCK_OUT)
        store_gated_gradients(
            left,
            gate_ptr,
            up_ptr,
            d_gate_ptr,
            d_up_ptr,
            hidden_ptr,
            rows,
            first,
            n_rows,
            n_out,
            gate_row_stride,
            up_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            BLOCK_OUT // 2,
        )
        store_gated_gradients(
            right,
            gate_ptr,
            up_ptr,
            d_gate_ptr,
            d_up_ptr,
            hidden_ptr,
            rows,
            first + BLOCK_OUT // 2,
            n_rows,
            n_out,
            gate_row_stride,
            up_row_stride,
            ACTIVATION,
            HAS_HIDDEN,
            BLOCK_OUT // 2,
        )


@lru_cache(maxsize=1024)
def tiles_for_gate_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> PointwiseTiles:
    """The configuration for `n_rows`: 16 bytes a thread and load. A rule from the arithmetic, not tuned."""
    del n_rows, capability
    return PointwiseTiles(block_rows=4 if dtype != torch.float32 else 2, block_columns=256, n_warps=4)


def candidates_for_gate_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[PointwiseTiles, ...]:
    """What tuning tries for `n_rows`, the rule's choice first."""
    rule = tiles_for_gate_gradient(n_rows, dtype, capability=capability)
    return tuple(dict.fromkeys((rule, PointwiseTiles(block_rows=4, block_columns=512, n_warps=8))))


@lru_cache(maxsize=1024)
def tiles_for_gated_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> Tiles:
    """The configuration for `n_rows`. A rule from the arithmetic, not tuned on a device."""
    del capability
    wide = dtype == torch.float32
    block_in = 32 if wide else 64
    if n_rows <= 1024 or wide:
        n_warps = 4 if wide else 8
        return Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=8, n_warps=n_warps, n_stages=3)
    return Tiles(block_rows=128, block_out=128, block_in=block_in, group_rows=8, n_warps=8, n_stages=3)


def candidates_for_gated_hidden_gradient(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """What tuning tries for `n_rows`, the rule's choice first."""
    rule = tiles_for_gated_hidden_gradient(n_rows, dtype, capability=capability)
    if dtype == torch.float32:
        # Any larger tile of float32 spills.
        return (rule,)
    return (
        *dict.fromkeys(
            (rule, Tiles(block_rows=128, block_out=64, block_in=64, group_rows=8, n_warps=8, n_stages=3)),
        ),
    )


def configurations(*, capability: int) -> Iterator[Configuration]:
    """All that the rules choose and tuning tries, with gelu and every output; float32 as tf32."""
    for dtype in POINTER_TYPES:
        for pointwise in candidates_for_gate_gradient(8192, dtype, capability=capability):
            yield Configuration(
                kernel=gate_gradient_kernel,
                dtype=dtype,
                label=f"{pointwise.block_rows}x{pointwise.block_columns}-gelu",
                constants={
                    "ACTIVATION": "gelu",
                    "HAS_HIDDEN": True,
                    "BLOCK_ROWS": pointwise.block_rows,
                    "BLOCK_COLUMNS": pointwise.block_columns,
                },
                n_warps=pointwise.n_warps,
                n_stages=1,
            )
        tried = [
            tiles
            for n_rows in (1024, 8192)
            for tiles in candidates_for_gated_hidden_gradient(n_rows, dtype, capability=capability)
        ]
        for tiles in dict.fromkeys(tried):
            product = product_instruction(capability=capability, block_rows=tiles.block_rows)
            yield Configuration(
                kernel=gated_hidden_gradient_kernel,
                dtype=dtype,
                label=f"{tiles.block_rows}x{tiles.block_out}x{tiles.block_in}-gelu",
                constants={
                    "ACTIVATION": "gelu",
                    "HAS_HIDDEN": True,
                    "BLOCK_ROWS": tiles.block_rows,
                    "BLOCK_OUT": tiles.block_out,
                    "BLOCK_IN": tiles.block_in,
                    "GROUP_ROWS": tiles.group_rows,
                    "UPCAST": False,
                    "PRECISION": "tf32",
                },
                n_warps=tiles.n_warps,
                n_stages=tiles.n_stages,
                instructions=frozenset({product, "LDGSTS"}),
            )


def launch_gated_gradients(
    dy: Tensor, w_down: Tensor, gate: Tensor, up: Tensor, *, activation: str, with_hidden: bool
) -> GatedGradients:
    """The gradients of gate and up, by the way that suits the width of dy.

    dy: [rows, out], w_down: [out, hidden], gate (before its activation) and up: [rows, hidden], of one dtype, on the
    current device.
    """
    if dy.shape[1] <= LARGEST_OUT_FOR_EPILOGUE:
        return launch_gated_gradient_epilogue(dy, w_down, gate, up, activation=activation, with_hidden=with_hidden)
    return launch_gate_gradient(dy @ w_down, gate, up, activation=activation, with_hidden=with_hidden)


def launch_gate_gradient(
    dh: Tensor,
    gate: Tensor,
    up: Tensor,
    *,
    activation: str,
    with_hidden: bool,
    tiles: PointwiseTiles | None = None,
) -> GatedGradients:
    """The gradients of gate and up from dh in one launch; d_up is written over dh, which is the caller's own."""
    gate, up = with_contiguous_columns(gate), with_contiguous_columns(up)
    n_rows, n_columns = gate.shape
    if tiles is None:
        tiles = tiles_for_gate_gradient(n_rows, gate.dtype, capability=0)
    d_gate = torch.empty_like(gate, memory_format=torch.contiguous_format)
    hidden = torch.empty_like(d_gate) if with_hidden else None
    if gate.numel() > 0:
        launch(
            gate_gradient_kernel,
            (-(-n_rows // tiles.block_rows) * -(-n_columns // tiles.block_columns),),
            (dh, gate, up, d_gate, dh, hidden),
            (n_rows, n_columns, dh.stride(0), gate.stride(0), up.stride(0)),
            (activation, with_hidden, tiles.block_rows, tiles.block_columns),
            n_warps=tiles.n_warps,
            n_stages=1,
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
    """As launch_gated_gradients, in the epilogue of the product, whatever the width."""
    dy, w_down = with_contiguous_columns(dy), with_contiguous_columns(w_down)
    gate, up = with_contiguous_columns(gate), with_contiguous_columns(up)
    (n_rows, n_in), n_out = dy.shape, w_down.shape[1]
    if tiles is None:
        tiles = tiles_for_gated_hidden_gradient(n_rows, gate.dtype, capability=device_capability(gate.device))
    d_gate = torch.empty_like(gate, memory_format=torch.contiguous_format)
    d_up = torch.empty_like(d_gate)
    hidden = torch.empty_like(d_gate) if with_hidden else None
    if gate.numel() > 0:
        launch(
            gated_hidden_gradient_kernel,
            (-(-n_rows // tiles.block_rows) * -(-n_out // tiles.block_out),),
            (dy, w_down, gate, up, d_gate, d_up, hidden),
            (n_rows, n_out, n_in, dy.stride(0), w_down.stride(0), gate.stride(0), up.stride(0)),
            (
                activation,
                with_hidden,
                tiles.block_rows,
                tiles.block_out,
                tiles.block_in,
                tiles.group_rows,
                is_interpreting(),
                precision_of(gate.dtype),
            ),
            n_warps=tiles.n_warps,
            n_stages=tiles.n_stages,
        )
    return GatedGradients(d_gate, d_up, hidden)
