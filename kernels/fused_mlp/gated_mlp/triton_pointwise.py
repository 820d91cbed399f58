"""Level 1 on CUDA: the products by cuBLAS, act(gate)·up between them in one kernel, over gate.

```
x ─▶ [cuBLAS] ─▶ gate ┐
x ─▶ [cuBLAS] ─▶ up ──┴─▶ [act(gate)·up, over gate] ─▶ hidden ─▶ [cuBLAS] ─▶ y            4 launches
```

With gate and up weights in one [2·hidden, dim] matrix the first two are one launch, and the kernel reads and
writes within one [rows, 2·hidden] buffer.

What it can't do: spare the write and the read of gate and up.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch.nn import functional

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
def gate_product_kernel(
    gate_ptr,
    up_ptr,
    n_rows,
    n_columns,
    gate_row_stride,
    up_row_stride,
    ACTIVATION: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
):
    """Compute act(gate) ⊙ up over gate, one BLOCK_ROWS × BLOCK_COLUMNS tile a program; columns are contiguous."""
    n_column_tiles = tl.cdiv(n_columns, BLOCK_COLUMNS)
    rows = tl.program_id(0) // n_column_tiles * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    columns = tl.program_id(0) % n_column_tiles * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    inside = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    gate_ptrs = gate_ptr + rows[:, None].to(tl.int64) * gate_row_stride + columns[None, :]
    up_ptrs = up_ptr + rows[:, None].to(tl.int64) * up_row_stride + columns[None, :]
    gate = tl.load(gate_ptrs, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptrs, mask=inside, other=0.0).to(tl.float32)
    tl.store(gate_ptrs, (activate(gate, ACTIVATION) * up).to(gate_ptr.dtype.element_ty), mask=inside)


@lru_cache(maxsize=1024)
def tiles_for_gate_product(n_rows: int, dtype: torch.dtype, *, capability: int) -> PointwiseTiles:
    """Return the configuration for `n_rows`, as tiles_in_place has it; two tensors are read, so half as many rows."""
    del capability
    return tiles_in_place(n_rows, dtype, most_rows=4)


def candidates_for_gate_product(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[PointwiseTiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first."""
    del capability
    return candidates_in_place(n_rows, dtype, most_rows=4)


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries."""
    for dtype, tiles in tried_on(capability, candidates_for_gate_product, n_rows=(16, 8192)):
        yield elementwise_configuration(gate_product_kernel, dtype, tiles, flags={})


def apply_gate(gate: Tensor, up: Tensor, *, activation: str, tiles: PointwiseTiles | None = None) -> None:
    """Return act(gate) ⊙ up over gate, in one launch. Both [rows, columns], columns contiguous; rows may be strided."""
    if gate.numel() == 0:
        return
    n_rows, n_columns = gate.shape
    if tiles is None:
        tiles = tiles_for_gate_product(n_rows, gate.dtype, capability=0)
    sizes = (n_rows, n_columns, gate.stride(0), up.stride(0))
    start_elementwise(gate_product_kernel, (gate, up), sizes, (activation,), tiles=tiles)


def launch_gated_mlp_pointwise(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    *,
    activation: str,
    tiles: PointwiseTiles | None = None,
) -> Tensor:
    """Return (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in four launches. Arguments as in `gated_mlp`, checked by the caller.

    Gate and up are rounded to the dtype of x before they meet, as between two kernels they must be.
    """
    x_rows = x.reshape(-1, x.shape[-1])
    gate = torch.mm(x_rows, w_gate.t())
    apply_gate(gate, torch.mm(x_rows, w_up.t()), activation=activation, tiles=tiles)
    return functional.linear(gate, w_down).view(*x.shape[:-1], w_down.shape[0])


def launch_packed_gated_mlp_pointwise(
    x: Tensor, w_gate_up: Tensor, w_down: Tensor, *, activation: str, tiles: PointwiseTiles | None = None
) -> Tensor:
    """Compute launch_gated_mlp_pointwise in three launches, gate's weights above up's in one [2·hidden, dim]."""
    both = torch.mm(x.reshape(-1, x.shape[-1]), w_gate_up.t())
    gate, up = both.chunk(2, dim=1)
    apply_gate(gate, up, activation=activation, tiles=tiles)
    return functional.linear(gate, w_down).view(*x.shape[:-1], w_down.shape[0])
