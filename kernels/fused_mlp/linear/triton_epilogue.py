"""Level 2 on CUDA: one product kernel with bias and activation in its epilogue.

z never reaches memory: each program finishes its tile of act(x·Wᵀ + b) in registers and writes it once.
What it can't do: dtypes other than float32, bfloat16 and float16, and devices before sm_80.
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
from fused_mlp.gpu.activations import activate
from fused_mlp.gpu.configurations import PERSISTENT_CAPABILITY, PERSISTENT_ROWS, tried_on
from fused_mlp.gpu.products import product_configuration, start_product
from fused_mlp.gpu.tiles import (
    BUSY_PROGRAMS,
    Tiles,
    device_capability,
    is_tensor_core_product,
    multiply_add,
    rows_of,
    tile_of_program,
    with_contiguous_columns,
)
from fused_mlp.linear.triton_persistent import (
    candidates_for_linear_persistent,
    start_linear_persistent,
    tiles_for_linear_persistent,
    why_not_persistent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from fused_mlp.gpu.configurations import Configuration


@triton.jit
def linear_epilogue_kernel(
    x_ptr,
    w_ptr,
    b_ptr,
    y_ptr,
    z_ptr,
    n_rows,
    n_out,
    n_in,
    x_row_stride,
    w_row_stride,
    y_row_stride,
    ACTIVATION: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    KEEPS_Z: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    BLOCK_IN: tl.constexpr,
    GROUP_ROWS: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute one BLOCK_ROWS × BLOCK_OUT tile of y = act(x·Wᵀ + b); the inner dimension of x and w is contiguous.

    KEEPS_Z: what the activation is applied to is written too, to z, which has the strides of y.
    """
    row_tile, out_tile = tile_of_program(n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
    rows = row_tile * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    outs = out_tile * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    ins = tl.arange(0, BLOCK_IN)
    row_ok = rows[:, None] < n_rows
    out_ok = outs[None, :] < n_out
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    x_ptrs = x_ptr + rows[:, None].to(tl.int64) * x_row_stride + ins[None, :]
    w_ptrs = w_ptr + outs[None, :].to(tl.int64) * w_row_stride + ins[:, None]

    total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    for start in range(0, n_in, BLOCK_IN):
        left = n_in - start
        x = tl.load(x_ptrs, mask=row_ok & (ins[None, :] < left), other=0.0)
        w = tl.load(w_ptrs, mask=out_ok & (ins[:, None] < left), other=0.0)
        total = multiply_add(x, w, total, UPCAST)
        x_ptrs += BLOCK_IN
        w_ptrs += BLOCK_IN

    if HAS_BIAS:
        total += tl.load(b_ptr + outs, mask=outs < n_out, other=0.0).to(tl.float32)[None, :]
    y = activate(total, ACTIVATION)
    offsets = rows[:, None].to(tl.int64) * y_row_stride + outs[None, :]
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=row_ok & out_ok)
    if KEEPS_Z:
        tl.store(z_ptr + offsets, total.to(z_ptr.dtype.element_ty), mask=row_ok & out_ok)


@lru_cache(maxsize=1024)
def tiles_for_linear(
    n_rows: int, dtype: torch.dtype, *, capability: int, n_out: int | None = None, persistent: bool = True
) -> Tiles:
    """Return the configuration for `n_rows`: few rows are bound by reading the weights and take small tiles.

    Where `n_out` is given and its tiles would not keep the device busy, they are narrower. From sm_90 on, many rows
    of 16 bits take the persistent kernel, unless `persistent` forbids it. A rule from the arithmetic, not tuned on a
    device.
    """
    wide = dtype == torch.float32
    block_in = 32 if wide else 64
    if n_rows <= 64:
        block_rows = 16 if n_rows <= 16 else 64
        if n_out is not None and n_out < 64 * BUSY_PROGRAMS:
            return Tiles(
                block_rows=block_rows, block_out=32, block_in=2 * block_in, group_rows=1, n_warps=4, n_stages=4
            )
        return Tiles(block_rows=block_rows, block_out=64, block_in=2 * block_in, group_rows=1, n_warps=4, n_stages=3)
    if n_rows <= 1024 or wide:
        if n_out is not None and -(-n_rows // 64) * n_out < 128 * BUSY_PROGRAMS:
            return Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=8, n_warps=4, n_stages=4)
        return Tiles(block_rows=64, block_out=128, block_in=block_in, group_rows=8, n_warps=4, n_stages=3)
    if n_rows >= PERSISTENT_ROWS and persistent and capability >= PERSISTENT_CAPABILITY:
        return tiles_for_linear_persistent(n_rows, dtype, capability=capability, n_out=n_out)
    return _large_tiles(dtype)


@lru_cache(maxsize=1024)
def tiles_for_linear_saving(n_rows: int, dtype: torch.dtype, *, capability: int, n_out: int) -> Tiles:
    """Return the ordinary kernel's configuration that also writes z; four warps would spill on a tile of 128 × 128."""
    tiles = tiles_for_linear(n_rows, dtype, capability=capability, n_out=n_out, persistent=False)
    return replace(tiles, n_warps=8) if tiles.block_rows * tiles.block_out > 64 * 128 else tiles


def _large_tiles(dtype: torch.dtype) -> Tiles:
    block_in = 32 if dtype == torch.float32 else 64
    return Tiles(block_rows=128, block_out=128, block_in=block_in, group_rows=8, n_warps=8, n_stages=3)


def candidates_for_linear(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """Return what tuning tries for `n_rows`, the rule's choice first, persistent kernels included."""
    wide = dtype == torch.float32
    block_in = 32 if wide else 64
    rule = tiles_for_linear(n_rows, dtype, capability=capability)
    others: tuple[Tiles, ...]
    if n_rows <= 64:
        block_rows = rule.block_rows
        others = (
            Tiles(block_rows=block_rows, block_out=32, block_in=2 * block_in, group_rows=1, n_warps=4, n_stages=4),
            Tiles(block_rows=block_rows, block_out=128, block_in=block_in, group_rows=1, n_warps=4, n_stages=4),
        )
    else:
        others = (
            Tiles(block_rows=64, block_out=128, block_in=block_in, group_rows=8, n_warps=4, n_stages=3),
            Tiles(block_rows=64, block_out=64, block_in=block_in, group_rows=8, n_warps=4, n_stages=4),
        )
    if n_rows > 1024:
        # Two groups of four warps: 128 × 256 in float32 would spill.
        others += (_large_tiles(dtype),)
    others += candidates_for_linear_persistent(n_rows, dtype, capability=capability)
    return tuple(dict.fromkeys((rule, *others)))


def configurations(*, capability: int) -> Iterator[Configuration]:
    """Yield all that the rule chooses and tuning tries, float32 as tf32; for z kept, all that the rule chooses."""

    def tried(n_rows: int, dtype: torch.dtype, *, capability: int) -> list[Tiles]:
        return [one for one in candidates_for_linear(n_rows, dtype, capability=capability) if not one.persistent]

    def tried_saving(n_rows: int, dtype: torch.dtype, *, capability: int) -> list[Tiles]:
        return [tiles_for_linear_saving(n_rows, dtype, capability=capability, n_out=n) for n in (1024, 65536)]

    for keeps_z, candidates in ((False, tried), (True, tried_saving)):
        without_z = {} if keeps_z else {"z_ptr": None}
        for dtype, tiles in tried_on(capability, candidates, n_rows=(16, 64, 1024, 8192)):
            yield product_configuration(
                linear_epilogue_kernel,
                dtype,
                tiles,
                capability=capability,
                flags={**without_z, "HAS_BIAS": True, "KEEPS_Z": keeps_z},
                label=f"g{tiles.group_rows}{'-z' if keeps_z else ''}",
            )


def launch_linear(x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, tiles: Tiles | None = None) -> Tensor:
    """Return act(x·Wᵀ + b) in one launch on the current device. Arguments as in `linear`, checked by the caller.

    Where `tiles` ask for the persistent kernel and it cannot take x and w (why_not_persistent), the rule's ordinary
    configuration is used.
    """
    y = x.new_empty((*x.shape[:-1], w.shape[0]))
    if y.numel() == 0:
        return y
    x_rows = rows_of(x)
    w = with_contiguous_columns(w)
    b = b if b is None or b.is_contiguous() else b.contiguous()
    n_rows, n_out = x_rows.shape[0], w.shape[0]
    capability = device_capability(x.device)
    if tiles is None:
        tiles = tiles_for_linear(n_rows, x.dtype, capability=capability, n_out=n_out)
    if tiles.persistent:
        if why_not_persistent(x_rows, w, capability=capability) is None:
            start_linear_persistent(x_rows, w, b, y.view(n_rows, n_out), activation=activation, tiles=tiles)
            return y
        tiles = tiles_for_linear(n_rows, x.dtype, capability=capability, n_out=n_out, persistent=False)
    _start(x_rows, w, b, y, None, activation=activation, tiles=tiles)
    return y


def launch_linear_saving(
    x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, tiles: Tiles | None = None
) -> tuple[Tensor, Tensor]:
    """Return act(z) and z = x·Wᵀ + b, both in the dtype of x, for a backward pass; arguments as in launch_linear.

    In one launch by the ordinary kernel where that pays (saving_pays), else cuBLAS and PyTorch's activation. The
    kernel's act(z) is that of z before it was rounded. tiles: of the kernel, which is then taken in any case.
    """
    n_out, n_in = w.shape
    x_rows = rows_of(x)
    n_rows = x_rows.shape[0]
    if tiles is None and not saving_pays(n_rows, n_in, x.dtype):
        z = functional.linear(x, w, b)
        return activate_in_pytorch(z, activation), z
    y = x.new_empty((*x.shape[:-1], n_out))
    z = torch.empty_like(y)
    if y.numel() > 0:
        if tiles is None:
            capability = device_capability(x.device)
            tiles = tiles_for_linear_saving(n_rows, x.dtype, capability=capability, n_out=n_out)
        b = b if b is None or b.is_contiguous() else b.contiguous()
        _start(x_rows, with_contiguous_columns(w), b, y, z, activation=activation, tiles=tiles)
    return y, z


def saving_pays(n_rows: int, n_in: int, dtype: torch.dtype) -> bool:
    """Return whether one kernel that writes z and act(z) beats a product and an activation.

    It spares the reading of z and a launch: 184/n_in of the product's time on an H200, which a Triton product a
    quarter slower than cuBLAS has lost from n_in = 736 on; with few rows the launch. Arithmetic, not tuned.
    """
    return is_tensor_core_product(dtype) and (n_in <= 512 or n_rows <= 64)


def _start(
    x: Tensor, w: Tensor, b: Tensor | None, y: Tensor, z: Tensor | None, *, activation: str, tiles: Tiles
) -> None:
    (n_rows, n_in), n_out = x.shape, w.shape[0]
    start_product(
        linear_epilogue_kernel,
        (x, w, b, y, z),
        (n_rows, n_out, n_in, x.stride(0), w.stride(0), n_out),
        (activation, b is not None, z is not None),
        tiles=tiles,
    )
