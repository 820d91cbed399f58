"""Level 1 on CUDA: the product by cuBLAS, then bias and activation in one kernel, in place.

```
x ─▶ [cuBLAS] ─▶ z ─▶ [+b, act, over z] ─▶ y                                             2 launches
```

What it can't do: spare the write and the read of z between the two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from fused_mlp.activations import NO_ACTIVATION
from fused_mlp.gpu.activations import activate
from fused_mlp.gpu.configurations import tried_on
from fused_mlp.gpu.elementwise import (
    candidates_in_place,
    elementwise_configuration,
    start_elementwise,
    tiles_in_place,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration
    from fused_mlp.gpu.tiles import PointwiseTiles


@triton.jit
def bias_activation_kernel(
    z_ptr,
    b_ptr,
    n_rows,
    n_columns,
    z_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
):
    """Compute act(z + b) over z, one BLOCK_ROWS × BLOCK_COLUMNS tile a program; the columns of z are contiguous."""
    n_column_tiles = tl.cdiv(n_columns, BLOCK_COLUMNS)
    rows = tl.program_id(0) // n_column_tiles * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    columns = tl.program_id(0) % n_column_tiles * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    column_ok = columns < n_columns
    inside = (rows < n_rows)[:, None] & column_ok[None, :]
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    z_ptrs = z_ptr + rows[:, None].to(tl.int64) * z_row_stride + columns[None, :]
    z = tl.load(z_ptrs, mask=inside, other=0.0).to(tl.float32)
    if HAS_BIAS:
        z += tl.load(b_ptr + columns, mask=column_ok, other=0.0).to(tl.float32)[None, :]
    tl.store(z_ptrs, activate(z, ACTIVATION).to(z_ptr.dtype.element_ty), mask=inside)


@lru_cache(maxsize=1024)
def tiles_for_bias_activation(n_rows: int, dtype: torch.dtype, *, capability: int) -> PointwiseTiles:
    """Return the configuration for `n_rows`, as tiles_in_place has it."""
    del capability
    return tiles_in_place(n_rows, dtype, most_rows=8)


def candidates_for_bias_activation(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[PointwiseTiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first."""
    del capability
    return candidates_in_place(n_rows, dtype, most_rows=8)


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries."""
    for dtype, tiles in tried_on(capability, candidates_for_bias_activation, n_rows=(16, 8192)):
        yield elementwise_configuration(bias_activation_kernel, dtype, tiles, flags={"HAS_BIAS": True})


def apply_bias_activation(z: Tensor, b: Tensor | None, *, activation: str, tiles: PointwiseTiles | None = None) -> None:
    """Return act(z + b) over z, in one launch; none where there is neither. z: [rows, columns], columns contiguous."""
    if z.numel() == 0 or (b is None and activation == NO_ACTIVATION):
        return
    n_rows, n_columns = z.shape
    if tiles is None:
        tiles = tiles_for_bias_activation(n_rows, z.dtype, capability=0)
    start_elementwise(
        bias_activation_kernel,
        (z, None if b is None else b.contiguous()),
        (n_rows, n_columns, z.stride(0)),
        (activation, b is not None),
        tiles=tiles,
    )


def launch_linear_pointwise(
    x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, tiles: PointwiseTiles | None = None
) -> Tensor:
    """Return act(x·Wᵀ + b) in two launches on the current device. Arguments as in `linear`, checked by the caller.

    The product is rounded to the dtype of x before the bias is added, as between two kernels it must be.
    """
    y = torch.mm(x.reshape(-1, x.shape[-1]), w.t())
    apply_bias_activation(y, b, activation=activation, tiles=tiles)
    return y.view(*x.shape[:-1], w.shape[0])
