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
from triton.tools.tensor_descriptor import TensorDescriptor

from fused_mlp.configurations import Configuration, product_instruction
from fused_mlp.triton_activations import activate
from fused_mlp.triton_launch import launch
from fused_mlp.triton_tiles import (
    BUSY_PROGRAMS,
    Tiles,
    halves_of,
    is_interpreting,
    multiply_add,
    multiprocessors,
    place_of_tile,
    precision_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

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
    PRECISION: tl.constexpr,
):
    """Every tl.num_programs(0)-th tile of y = act(x·Wᵀ + b); y_desc has blocks of half a tile's columns."""
    n_tiles = tl.cdiv(n_rows, BLOCK_ROWS) * tl.cdiv(n_out, BLOCK_OUT)
    for tile in tl.range(tl.program_id(0), n_tiles, tl.num_programs(0), flatten=True):
        row_tile, out_tile = place_of_tile(tile, n_rows, n_out, BLOCK_ROWS, BLOCK_OUT, GROUP_ROWS)
        first_row = row_tile * BLOCK_ROWS
        first_out = out_tile * BLOCK_OUT
        total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
        for start in range(0, n_in, BLOCK_IN):
            x = x_desc.load([first_row, start])
            w = w_desc.load([first_out, start])
            total = multiply_add(x, w.T, total, UPCAST, PRECISION)
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
    """Writes act(total + b) through y_desc at first_row, first_out."""
    if HAS_BIAS:
        outs = first_out + tl.arange(0, COLUMNS)
        total += tl.load(b_ptr + outs, mask=outs < n_out, other=0.0).to(tl.float32)[None, :]
    y_desc.store([first_row, first_out], activate(total, ACTIVATION).to(y_desc.dtype))


def why_not_persistent(*tensors: Tensor, capability: int) -> str | None:
    """Why the TMA cannot read these [rows, columns] tensors on a device of `capability`, in words; None if it can.

    The result, whose rows are as long as the weights are many, has to suit it too: `tensors` are x and the weights.
    """
    if capability < 90:
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
    """The configuration for `n_rows` ≥ 4096: the largest tile of which three steps fit the shared memory.

    Half as wide, with a step more, where `n_out` is given and the larger tiles would not keep the device busy.
    """
    del dtype, capability
    if n_out is not None and -(-n_rows // 128) * n_out < 256 * (BUSY_PROGRAMS - 1):
        return _tiles(128, 128, n_stages=4)
    return _tiles(128, 256, n_stages=3)


def candidates_for_linear_persistent(n_rows: int, dtype: torch.dtype, *, capability: int) -> tuple[Tiles, ...]:
    """What tuning tries, the rule's choice first; nothing for float32 or before sm_90."""
    if capability < 90 or dtype == torch.float32:
        return ()
    rule = tiles_for_linear_persistent(n_rows, dtype, capability=capability)
    return rule, _tiles(128, 256, n_stages=4), _tiles(128, 128, n_stages=4), _tiles(256, 128, n_stages=3)


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
    """All that the rule chooses and tuning tries, with the activation of most instructions."""
    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float16, "fp16")):
        for tiles in candidates_for_linear_persistent(8192, dtype, capability=capability):
            product = product_instruction(capability=capability, block_rows=tiles.block_rows)
            yield Configuration(
                kernel=linear_persistent_kernel,
                dtype=dtype,
                label=f"{tiles.block_rows}x{tiles.block_out}x{tiles.block_in}-gelu",
                constants={
                    "ACTIVATION": "gelu",
                    "HAS_BIAS": True,
                    "BLOCK_ROWS": tiles.block_rows,
                    "BLOCK_OUT": tiles.block_out,
                    "BLOCK_IN": tiles.block_in,
                    "GROUP_ROWS": tiles.group_rows,
                    "UPCAST": False,
                    "PRECISION": "tf32",
                },
                types={
                    "x_desc": f"tensordesc<{name}[{tiles.block_rows}, {tiles.block_in}]>",
                    "w_desc": f"tensordesc<{name}[{tiles.block_out}, {tiles.block_in}]>",
                    "y_desc": f"tensordesc<{name}[{tiles.block_rows}, {tiles.block_out // 2}]>",
                },
                n_warps=tiles.n_warps,
                n_stages=tiles.n_stages,
                instructions=frozenset({product, "UTMALDG", "UTMASTG"}),
            )


def start_linear_persistent(
    x: Tensor, w: Tensor, b: Tensor | None, y: Tensor, *, activation: str, tiles: Tiles
) -> None:
    """act(x·Wᵀ + b) into y, [rows, out] and contiguous, in one launch. why_not_persistent has said nothing."""
    (n_rows, n_in), n_out = x.shape, w.shape[0]
    n_tiles = -(-n_rows // tiles.block_rows) * -(-n_out // tiles.block_out)
    launch(
        linear_persistent_kernel,
        (min(n_tiles, multiprocessors(x.device)),),
        (b,),
        (n_rows, n_out, n_in),
        (
            activation,
            b is not None,
            tiles.block_rows,
            tiles.block_out,
            tiles.block_in,
            tiles.group_rows,
            is_interpreting(),
            precision_of(x.dtype),
        ),
        n_warps=tiles.n_warps,
        n_stages=tiles.n_stages,
        descriptors=(
            descriptor_of(x, tiles.block_rows, tiles.block_in),
            descriptor_of(w, tiles.block_out, tiles.block_in),
            descriptor_of(y, tiles.block_rows, tiles.block_out // 2),
        ),
    )


def descriptor_of(t: Tensor, block_rows: int, block_columns: int) -> TensorDescriptor:
    """How the TMA reads or writes t, [rows, columns], in blocks; beyond its bounds it reads 0 and writes nothing."""
    return TensorDescriptor(t, list(t.shape), list(t.stride()), [block_rows, block_columns])
