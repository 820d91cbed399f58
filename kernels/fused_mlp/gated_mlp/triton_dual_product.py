"""Level 2 on CUDA: two launches, gate and up in the first.

They are one kernel with two accumulators, so that x is read once and act(gate)·up is all that is written; the
down product is cuBLAS.

What it can't do: keep the gated hidden activations on the chip; they are written and read once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch.nn import functional

from fused_mlp.activations import activate as activate_in_pytorch
from fused_mlp.gated_mlp.triton_persistent import (
    candidates_for_dual_product_persistent,
    start_dual_product_persistent,
    tiles_for_dual_product_persistent,
)
from fused_mlp.gpu.activations import activate
from fused_mlp.gpu.configurations import PERSISTENT_CAPABILITY, PERSISTENT_ROWS, tried_on
from fused_mlp.gpu.products import product_configuration, start_product
from fused_mlp.gpu.tiles import (
    BUSY_PROGRAMS,
    Tiles,
    device_capability,
    multiply_add,
    rows_of,
    tile_of_program,
    with_contiguous_columns,
)
from fused_mlp.linear.triton_epilogue import saving_pays
from fused_mlp.linear.triton_persistent import why_not_persistent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration


@triton.jit
def dual_product_kernel(
    x_ptr,
    gate_ptr,
    up_ptr,
    y_ptr,
    kept_gate_ptr,
    kept_up_ptr,
    n_rows,
    n_out,
    n_in,
    x_row_stride,
    gate_row_stride,
    up_row_stride,
    y_row_stride,
    ACTIVATION: tl.constexpr,
    KEEPS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    BLOCK_IN: tl.constexpr,
    GROUP_ROWS: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute one tile of y = act(x·Wgᵀ) ⊙ (x·Wuᵀ); the inner dimension of x and both weights is contiguous.

    KEEPS: both products are written too, to kept_gate and kept_up, which have the strides of y.
    """
    row_tile, out_tile = tile_of_program(n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
    rows = row_tile * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    outs = out_tile * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    ins = tl.arange(0, BLOCK_IN)
    row_ok = rows[:, None] < n_rows
    out_ok = outs[None, :] < n_out
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    x_ptrs = x_ptr + rows[:, None].to(tl.int64) * x_row_stride + ins[None, :]
    gate_ptrs = gate_ptr + outs[None, :].to(tl.int64) * gate_row_stride + ins[:, None]
    up_ptrs = up_ptr + outs[None, :].to(tl.int64) * up_row_stride + ins[:, None]

    gate_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    up_total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    for start in range(0, n_in, BLOCK_IN):
        left = n_in - start
        x = tl.load(x_ptrs, mask=row_ok & (ins[None, :] < left), other=0.0)
        weight_ok = out_ok & (ins[:, None] < left)
        gate_total = multiply_add(x, tl.load(gate_ptrs, mask=weight_ok, other=0.0), gate_total, UPCAST)
        up_total = multiply_add(x, tl.load(up_ptrs, mask=weight_ok, other=0.0), up_total, UPCAST)
        x_ptrs += BLOCK_IN
        gate_ptrs += BLOCK_IN
        up_ptrs += BLOCK_IN

    y = activate(gate_total, ACTIVATION) * up_total
    offsets = rows[:, None].to(tl.int64) * y_row_stride + outs[None, :]
    inside = row_ok & out_ok
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)
    if KEEPS:
        tl.store(kept_gate_ptr + offsets, gate_total.to(kept_gate_ptr.dtype.element_ty), mask=inside)
        tl.store(kept_up_ptr + offsets, up_total.to(kept_up_ptr.dtype.element_ty), mask=inside)


@lru_cache(maxsize=1024)
def tiles_for_dual_product(
    n_rows: int, dtype: torch.dtype, *, capability: int, n_out: int | None = None, persistent: bool = True
) -> Tiles:
    """Return the configuration for `n_rows`; half as wide as for one product, because there are two accumulators.

    Where `n_out` is given and few rows' tiles would not keep the device busy, they are narrower. From sm_90 on, many
    rows of 16 bits take the persistent kernel, unless `persistent` forbids it. Before, two 128 × 128 accumulators do
    not fit the registers of eight warps. A rule from the arithmetic, not tuned on a device.
    """
    wide = dtype == torch.float32
    block_in = 32 if wide else 64
    block_out = 128 if capability >= 90 else 64
    # Four warps would spill: a float32 product is steered by more addresses for as many sums.
    n_warps = 8 if wide else 4
    if n_rows <= 64:
        block_rows = 16 if n_rows <= 16 else 64
        if n_out is not None and n_out < 64 * BUSY_PROGRAMS:
            return _narrow_tiles(block_rows, dtype, capability=capability)
        if block_rows == 16:
            return Tiles(block_rows=16, block_out=64, block_in=block_in, group_rows=1, n_warps=8, n_stages=4)
        return Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=1, n_warps=n_warps, n_stages=3)
    if n_rows <= 1024 or wide:
        return Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=8, n_warps=n_warps, n_stages=3)
    if n_rows >= PERSISTENT_ROWS and persistent and capability >= PERSISTENT_CAPABILITY:
        return tiles_for_dual_product_persistent(n_rows, dtype, capability=capability)
    return Tiles(block_rows=128, block_out=block_out, block_in=block_in, group_rows=8, n_warps=8, n_stages=3)


def _narrow_tiles(block_rows: int, dtype: torch.dtype, *, capability: int) -> Tiles:
    # Four warps of 64 rows would spill on sm_80, where ptxas gives them 80 registers a thread.
    n_warps = 8 if block_rows == 64 and capability < 90 else 4
    block_in = 32 if dtype == torch.float32 else 64
    return Tiles(block_rows=block_rows, block_out=32, block_in=block_in, group_rows=1, n_warps=n_warps, n_stages=5)


@lru_cache(maxsize=1024)
def tiles_for_dual_product_saving(n_rows: int, dtype: torch.dtype, *, capability: int, n_out: int) -> Tiles:
    """Return the configuration that also writes gate and up: no two 128 × 128 sums, which would spill."""
    tiles = tiles_for_dual_product(n_rows, dtype, capability=capability, n_out=n_out, persistent=False)
    return replace(tiles, block_out=64) if tiles.block_out > 64 else tiles


def candidates_for_dual_product(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first, persistent kernels included."""
    wide = dtype == torch.float32
    block_in = 32 if wide else 64
    rule = tiles_for_dual_product(n_rows, dtype, capability=capability)
    others: tuple[Tiles, ...]
    if n_rows <= 64:
        block_rows = rule.block_rows
        others = (
            _narrow_tiles(block_rows, dtype, capability=capability),
            *(
                ()
                if wide
                else (Tiles(block_rows=block_rows, block_out=64, block_in=128, group_rows=1, n_warps=8, n_stages=3),)
            ),
        )
    else:
        others = (
            Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=8, n_warps=8 if wide else 4, n_stages=3),
            Tiles(block_rows=128, block_out=64, block_in=block_in, group_rows=8, n_warps=8, n_stages=3),
        )
    if n_rows > 1024:
        others += (tiles_for_dual_product(n_rows, dtype, capability=capability, persistent=False),)
    others += candidates_for_dual_product_persistent(n_rows, dtype, capability=capability)
    return tuple(dict.fromkeys((rule, *others)))


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries; for gate and up kept, all that the rule chooses."""

    def tried(n_rows: int, dtype: torch.dtype, *, capability: int) -> list[Tiles]:
        return [one for one in candidates_for_dual_product(n_rows, dtype, capability=capability) if not one.persistent]

    def tried_saving(n_rows: int, dtype: torch.dtype, *, capability: int) -> list[Tiles]:
        return [tiles_for_dual_product_saving(n_rows, dtype, capability=capability, n_out=n) for n in (1024, 65536)]

    for keeps, candidates in ((False, tried), (True, tried_saving)):
        not_kept = {} if keeps else {"kept_gate_ptr": None, "kept_up_ptr": None}
        for dtype, tiles in tried_on(capability, candidates, n_rows=(16, 64, 1024, 8192)):
            yield product_configuration(
                dual_product_kernel,
                dtype,
                tiles,
                capability=capability,
                flags={**not_kept, "KEEPS": keeps},
                label=f"g{tiles.group_rows}{'-kept' if keeps else ''}",
            )


def launch_dual_product(
    x: Tensor, w_gate: Tensor, w_up: Tensor, *, activation: str, tiles: Tiles | None = None
) -> Tensor:
    """Return act(x·Wgᵀ) ⊙ (x·Wuᵀ) in one launch on the current device. Arguments as in `gated_mlp`, checked.

    Where `tiles` ask for the persistent kernel and it cannot take x and the weights (why_not_persistent), the rule's
    ordinary configuration is used.
    """
    y = x.new_empty((*x.shape[:-1], w_gate.shape[0]))
    if y.numel() == 0:
        return y
    x_rows = rows_of(x)
    w_gate, w_up = with_contiguous_columns(w_gate), with_contiguous_columns(w_up)
    n_rows, n_out = x_rows.shape[0], w_gate.shape[0]
    capability = device_capability(x.device)
    if tiles is None:
        tiles = tiles_for_dual_product(n_rows, x.dtype, capability=capability, n_out=n_out)
    if tiles.persistent:
        if why_not_persistent(x_rows, w_gate, w_up, capability=capability) is None:
            rows_of_y = y.view(n_rows, n_out)
            start_dual_product_persistent(x_rows, w_gate, w_up, rows_of_y, activation=activation, tiles=tiles)
            return y
        tiles = tiles_for_dual_product(n_rows, x.dtype, capability=capability, n_out=n_out, persistent=False)
    _start(x_rows, w_gate, w_up, y, None, None, activation=activation, tiles=tiles)
    return y


def launch_dual_product_saving(
    x: Tensor, w_gate: Tensor, w_up: Tensor, *, activation: str, tiles: Tiles | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return act(gate) ⊙ up, gate = x·Wgᵀ and up = x·Wuᵀ, in the dtype of x, for a backward pass.

    Arguments as in launch_dual_product. In one launch by the ordinary kernel where that pays (saving_pays), else
    two products by cuBLAS and PyTorch's activation. tiles: of the kernel, which is then taken in any case.
    """
    n_out, n_in = w_gate.shape
    x_rows = rows_of(x)
    n_rows = x_rows.shape[0]
    if tiles is None and not saving_pays(n_rows, n_in, x.dtype):
        gate, up = functional.linear(x, w_gate), functional.linear(x, w_up)
        return activate_in_pytorch(gate, activation).mul_(up), gate, up
    y = x.new_empty((*x.shape[:-1], n_out))
    gate, up = torch.empty_like(y), torch.empty_like(y)
    if y.numel() > 0:
        if tiles is None:
            capability = device_capability(x.device)
            tiles = tiles_for_dual_product_saving(n_rows, x.dtype, capability=capability, n_out=n_out)
        w_gate, w_up = with_contiguous_columns(w_gate), with_contiguous_columns(w_up)
        _start(x_rows, w_gate, w_up, y, gate, up, activation=activation, tiles=tiles)
    return y, gate, up


def _start(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    y: Tensor,
    kept_gate: Tensor | None,
    kept_up: Tensor | None,
    *,
    activation: str,
    tiles: Tiles,
) -> None:
    (n_rows, n_in), n_out = x.shape, w_gate.shape[0]
    start_product(
        dual_product_kernel,
        (x, w_gate, w_up, y, kept_gate, kept_up),
        (n_rows, n_out, n_in, x.stride(0), w_gate.stride(0), w_up.stride(0), n_out),
        (activation, kept_gate is not None),
        tiles=tiles,
    )


def launch_gated_mlp(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, *, activation: str, tiles: Tiles | None = None
) -> Tensor:
    """Return (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in two launches. Arguments as in `gated_mlp`, checked by the caller."""
    return functional.linear(launch_dual_product(x, w_gate, w_up, activation=activation, tiles=tiles), w_down)
