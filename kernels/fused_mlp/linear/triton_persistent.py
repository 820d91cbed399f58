"""Level 2 on CUDA from sm_90 on, for many rows: the epilogue kernel, persistent and fed by the TMA.

```
 program p of as many as the device has multiprocessors:
 for tile p, p + programs, …:   x, w ─TMA─▶ shared memory ─▶ product ─▶ +b, act ─▶ shared memory ─TMA─▶ y
```

Loads of the next tile start before this one's epilogue has ended, addresses are the TMA's business instead of the
registers', and bounds need no masks.

What it can't do: rows of x, w or y that do not start at multiples of 16 bytes, devices before sm_90, float32;
`why_not_persistent` says so, and the caller takes the ordinary kernel.
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
    BUSY_PROGRAMS,
    Tiles,
    halves_of,
    multiply_add,
    place_of_tile,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration

TMA_ALIGNMENT_BYTES = 16
"""What addresses and row strides of a tensor descriptor are multiples of.

Source: CUDA driver API, cuTensorMapEncodeTiled.
"""


@triton.jit
def linear_persistent_kernel(
    x_desc,
    w_desc,
    y_desc,
    b_ptr,
    n_rows,
    n_out,
    n_in,
    ACTIVATION: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    BLOCK_IN: tl.constexpr,
    GROUP_ROWS: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute every tl.num_programs(0)-th tile of y = act(x·Wᵀ + b); y_desc has blocks of half a tile's columns."""
    n_tiles = tl.cdiv(n_rows, BLOCK_ROWS) * tl.cdiv(n_out, BLOCK_OUT)
    for tile in tl.range(tl.program_id(0), n_tiles, tl.num_programs(0), flatten=True):
        row_tile, out_tile = place_of_tile(tile, n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
        first_row = row_tile * BLOCK_ROWS
        first_out = out_tile * BLOCK_OUT
        total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
        for start in range(0, n_in, BLOCK_IN):
            x = x_desc.load([first_row, start])
            w = w_desc.load([first_out, start])
            total = multiply_add(x, w.T, total, UPCAST)
        # By halves: the whole tile beside the operands' buffers would not fit the shared memory.
        left, right = halves_of(total, BLOCK_ROWS, BLOCK_OUT)
        store_activated(left, y_desc, b_ptr, first_row, first_out, n_out, ACTIVATION, HAS_BIAS, BLOCK_OUT // 2)
        second = first_out + BLOCK_OUT // 2
        store_activated(right, y_desc, b_ptr, first_row, second, n_out, ACTIVATION, HAS_BIAS, BLOCK_OUT // 2)


@triton.jit
def store_activated(
    total,
    y_desc,
    b_ptr,
    first_row,
    first_out,
    n_out,
    ACTIVATION: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Write act(total + b) through y_desc at first_row, first_out."""
    if HAS_BIAS:
        outs = first_out + tl.arange(0, COLUMNS)
        total += tl.load(b_ptr + outs, mask=outs < n_out, other=0.0).to(tl.float32)[None, :]
    y_desc.store([first_row, first_out], activate(total, ACTIVATION).to(y_desc.dtype))


def why_not_persistent(*tensors: Tensor, capability: int) -> str | None:
    """Return why the TMA cannot read these [rows, columns] tensors on sm_<capability>, in words; None if it can.

    The result, whose rows are as long as the weights are many, has to suit it too: `tensors` are x and the weights.
    """
    if capability < PERSISTENT_CAPABILITY:
        return f"needs sm_90, this device is sm_{capability}"
    x, w = tensors[:2]
    if x.dtype == torch.float32:
        return "takes 16-bit numbers, not float32"
    for t in tensors:
        if t.data_ptr() % TMA_ALIGNMENT_BYTES or t.stride(0) * t.element_size() % TMA_ALIGNMENT_BYTES:
            return "needs rows that start at multiples of 16 bytes"
    if w.shape[0] * w.element_size() % TMA_ALIGNMENT_BYTES:
        return "needs rows of the result that start at multiples of 16 bytes"
    return None


def tiles_for_linear_persistent(n_rows: int, dtype: torch.dtype, *, capability: int, n_out: int | None = None) -> Tiles:
    """Return the configuration for `n_rows` from PERSISTENT_ROWS on: the largest tile of which three steps fit.

    Half as wide, with a step more, where `n_out` is given and the larger tiles would not keep the device busy.
    """
    del dtype, capability
    if n_out is not None and -(-n_rows // 128) * n_out < 256 * (BUSY_PROGRAMS - 1):
        return _tiles(128, 128, n_stages=4)
    return _tiles(128, 256, n_stages=3)


def candidates_for_linear_persistent(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """Return what tuning tries, the rule's choice first; nothing for float32, before sm_90 or below a tile's rows.

    From 128 rows on, far fewer than the rule takes these kernels for: a tile of 64 × 64 reads each operand twice as
    often, and cannot reach half of what the tensor cores do.
    """
    if capability < PERSISTENT_CAPABILITY or dtype == torch.float32:
        return ()
    rule = tiles_for_linear_persistent(n_rows, dtype, capability=capability)
    tried = rule, _tiles(128, 256, n_stages=4), _tiles(128, 128, n_stages=4), _tiles(256, 128, n_stages=3)
    return tuple(tiles for tiles in tried if tiles.block_rows <= n_rows)


def _tiles(block_rows: int, block_out: int, *, n_stages: int) -> Tiles:
    return Tiles(
        block_rows=block_rows,
        block_out=block_out,
        block_in=64,
        group_rows=8,
        n_warps=8,
        n_stages=n_stages,
        persistent=True,
    )


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries."""
    for dtype, tiles in tried_on(capability, candidates_for_linear_persistent, n_rows=(8192,)):
        yield persistent_product_configuration(
            linear_persistent_kernel, dtype, tiles, capability=capability, weights=("w_desc",), flags={"HAS_BIAS": True}
        )


def start_linear_persistent(
    x: Tensor, w: Tensor, b: Tensor | None, y: Tensor, *, activation: str, tiles: Tiles
) -> None:
    """Write act(x·Wᵀ + b) to y, [rows, out] and contiguous, in one launch; why_not_persistent must be None."""
    start_persistent_product(linear_persistent_kernel, x, (w,), y, (b,), (activation, b is not None), tiles=tiles)
