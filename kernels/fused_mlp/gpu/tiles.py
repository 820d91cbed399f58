"""Building blocks of the Triton kernels: tile sizes, the order of tiles, one step of a product."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """Configuration of a product kernel: the tile one program computes and how it is computed.

    block_rows × block_out: the tile of the output. block_in: its step along the inner dimension. group_rows: how
    many row tiles run beside each other before the next column tile, so that weights are read from L2. persistent:
    as many programs as multiprocessors, fed by the TMA; where that cannot be, the rule's other configuration is used.
    """

    block_rows: int
    block_out: int
    block_in: int
    group_rows: int
    n_warps: int
    n_stages: int
    persistent: bool = False


@dataclass(frozen=True, kw_only=True)
class PointwiseTiles:
    """Configuration of an elementwise kernel: the block_rows × block_columns elements one program takes."""

    block_rows: int
    block_columns: int
    n_warps: int


BUSY_PROGRAMS = 128
"""As many programs as keep a device busy, roughly: 108, 132 and 148 multiprocessors on A100, H100/H200 and B200."""


@triton.jit
def tile_of_program(n_rows, n_out, BLOCK_ROWS: tl.constexpr, BLOCK_OUT: tl.constexpr, GROUP_ROWS: tl.constexpr):
    """Compute (row tile, column tile) of this program, in groups of GROUP_ROWS row tiles that share weights in L2.

    Source: the grouped ordering of Triton's matrix multiplication tutorial.
    """
    return place_of_tile(tl.program_id(0), n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)


@triton.jit
def place_of_tile(tile, n_rows, n_out, BLOCK_ROWS: tl.constexpr, BLOCK_OUT: tl.constexpr, GROUP_ROWS: tl.constexpr):
    """Compute (row tile, column tile) of the `tile`-th tile, in the same order."""
    n_row_tiles = tl.cdiv(n_rows, BLOCK_ROWS)
    n_out_tiles = tl.cdiv(n_out, BLOCK_OUT)
    per_group = GROUP_ROWS * n_out_tiles
    first_row_tile = tile // per_group * GROUP_ROWS
    rows_in_group = tl.minimum(n_row_tiles - first_row_tile, GROUP_ROWS)
    within = tile % per_group
    return first_row_tile + within % rows_in_group, within // rows_in_group


@triton.jit
def multiply_add(a, b, total, UPCAST: tl.constexpr):
    """Return total + a·b in float32; float32 operands are rounded to tf32."""
    if UPCAST:
        # Triton's interpreter multiplies the bit patterns of bfloat16.
        return tl.dot(a.to(tl.float32), b.to(tl.float32), total, input_precision="tf32")
    else:
        return tl.dot(a, b, total, input_precision="tf32")


@triton.jit
def tile_of_gradient(
    dy_ptr,
    w_ptr,
    rows,
    outs,
    n_rows,
    n_out,
    n_in,
    dy_row_stride,
    w_row_stride,
    BLOCK_IN: tl.constexpr,
    UPCAST: tl.constexpr,
):
    """Compute dy·W at rows × outs in float32, W: [n_in, n_out]; what is beyond the bounds is 0."""
    ins = tl.arange(0, BLOCK_IN)
    row_ok = rows[:, None] < n_rows
    out_ok = outs[None, :] < n_out
    # 64-bit offsets: rows times row stride passes 2³¹ elements on large batches.
    dy_ptrs = dy_ptr + rows[:, None].to(tl.int64) * dy_row_stride + ins[None, :]
    w_ptrs = w_ptr + ins[:, None].to(tl.int64) * w_row_stride + outs[None, :]
    total = tl.zeros((rows.shape[0], outs.shape[0]), dtype=tl.float32)
    for start in range(0, n_in, BLOCK_IN):
        left = n_in - start
        dy = tl.load(dy_ptrs, mask=row_ok & (ins[None, :] < left), other=0.0)
        w = tl.load(w_ptrs, mask=out_ok & (ins[:, None] < left), other=0.0)
        total = multiply_add(dy, w, total, UPCAST)
        dy_ptrs += BLOCK_IN
        w_ptrs += BLOCK_IN * w_row_stride
    return total


@triton.jit
def halves_of(tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Compute the left and the right half of a ROWS × COLUMNS tile, so that an epilogue holds less at a time."""
    return tl.split(tl.permute(tl.reshape(tile, (ROWS, 2, COLUMNS // 2)), (0, 2, 1)))


@cache
def is_interpreting() -> bool:
    """Return whether Triton kernels run in its interpreter, on the CPU. Decided by the environment at import."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@cache
def device_capability(device: torch.device) -> int:
    """Return 80 for sm_80 and so on; 90 for the interpreter's CPU tensors."""
    if device.type != "cuda":
        return 90
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


@cache
def multiprocessors(device: torch.device) -> int:
    """Return how many multiprocessors `device` has; three for the interpreter's CPU, so that tiles outnumber them."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3


def with_contiguous_columns(t: Tensor) -> Tensor:
    """Return `t` where its columns are contiguous and its rows apart, else a copy: a gradient may be expanded."""
    if t.is_contiguous():
        return t
    is_fine = t.stride(1) == 1 and (t.stride(0) >= t.shape[1] or t.shape[0] == 1)
    return t if is_fine else t.contiguous()


def rows_of(x: Tensor) -> Tensor:
    """Return the same values, [rows, columns] with contiguous columns; a copy only where they are not."""
    return with_contiguous_columns(x if x.dim() == 2 else x.reshape(-1, x.shape[-1]))


def is_tensor_core_product(dtype: torch.dtype) -> bool:
    """Return whether products of `dtype` may use tensor cores, as Triton's do: float32 only where tf32 is allowed."""
    return dtype != torch.float32 or torch.get_float32_matmul_precision() != "highest"
