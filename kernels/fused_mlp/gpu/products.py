"""Launch and static check of the product kernels.

Their parameters stand in one order: descriptors, tensors, sizes, the operation's activation and flags,
then the four of the tile and UPCAST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triton.tools.tensor_descriptor import TensorDescriptor

from fused_mlp.gpu.configurations import POINTER_TYPES, Configuration, product_instruction
from fused_mlp.gpu.launch import launch
from fused_mlp.gpu.tiles import is_interpreting, multiprocessors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch
    from torch import Tensor

    from fused_mlp.gpu.tiles import Tiles

WIDEST_GRADIENT_EPILOGUE = 1024
"""Width of dy up to which the epilogue of dh = dy·W computes the activation's gradient; beyond, cuBLAS computes dh.

Sparing dh is worth 4/4.3e12 seconds an element, the product costs 2·out/790e12: a share of 367/out. A Triton product
that is a quarter slower than cuBLAS has lost that gain from out = 1470 on. Ceilings of an H200; not tuned on one.
"""


def start_product(
    kernel: Any,
    tensors: tuple[Tensor | None, ...],
    sizes: tuple[int, ...],
    flags: tuple[Any, ...],
    *,
    tiles: Tiles,
) -> None:
    """Start one program for each tile of the result. sizes: the result's rows and columns, then the others."""
    n_rows, n_out = sizes[:2]
    launch(
        kernel,
        (-(-n_rows // tiles.block_rows) * -(-n_out // tiles.block_out),),
        tensors,
        sizes,
        (*flags, *_constants(tiles)),
        n_warps=tiles.n_warps,
        n_stages=tiles.n_stages,
    )


def start_persistent_product(
    kernel: Any,
    x: Tensor,
    weights: Sequence[Tensor],
    y: Tensor,
    biases: tuple[Tensor | None, ...],
    flags: tuple[Any, ...],
    *,
    tiles: Tiles,
) -> None:
    """Start as many programs as the device has multiprocessors, x, weights and y as tensor descriptors.

    x: [rows, in], weights: each [out, in], y: [rows, out] and contiguous. y is written by halves of a tile.
    """
    (n_rows, n_in), n_out = x.shape, y.shape[1]
    n_tiles = -(-n_rows // tiles.block_rows) * -(-n_out // tiles.block_out)
    launch(
        kernel,
        (min(n_tiles, multiprocessors(x.device)),),
        biases,
        (n_rows, n_out, n_in),
        (*flags, *_constants(tiles)),
        n_warps=tiles.n_warps,
        n_stages=tiles.n_stages,
        descriptors=(
            _descriptor_of(x, tiles.block_rows, tiles.block_in),
            *(_descriptor_of(w, tiles.block_out, tiles.block_in) for w in weights),
            _descriptor_of(y, tiles.block_rows, tiles.block_out // 2),
        ),
    )


def _constants(tiles: Tiles) -> tuple[Any, ...]:
    return tiles.block_rows, tiles.block_out, tiles.block_in, tiles.group_rows, is_interpreting()


def _descriptor_of(t: Tensor, block_rows: int, block_columns: int) -> TensorDescriptor:
    """Return the descriptor of t, [rows, columns], in blocks: beyond its bounds the TMA reads 0, writes nothing."""
    return TensorDescriptor(t, list(t.shape), list(t.stride()), [block_rows, block_columns])


def product_configuration(
    kernel: Any,
    dtype: torch.dtype,
    tiles: Tiles,
    *,
    capability: int,
    flags: Mapping[str, object],
    label: str = "",
    types: Mapping[str, str] | None = None,
) -> Configuration:
    """Return `kernel` as start_product compiles it. flags: of the kernel. label: what distinguishes it."""
    product = product_instruction(capability=capability, block_rows=tiles.block_rows)
    return Configuration(
        kernel=kernel,
        dtype=dtype,
        label=f"{tiles.block_rows}x{tiles.block_out}x{tiles.block_in}{label}",
        constants={
            **flags,
            "BLOCK_ROWS": tiles.block_rows,
            "BLOCK_OUT": tiles.block_out,
            "BLOCK_IN": tiles.block_in,
            "GROUP_ROWS": tiles.group_rows,
            "UPCAST": False,
        },
        types=types or {},
        n_warps=tiles.n_warps,
        n_stages=tiles.n_stages,
        instructions=frozenset({product, *(("UTMALDG", "UTMASTG") if tiles.persistent else ("LDGSTS",))}),
    )


def persistent_product_configuration(
    kernel: Any,
    dtype: torch.dtype,
    tiles: Tiles,
    *,
    capability: int,
    weights: Sequence[str],
    flags: Mapping[str, object],
) -> Configuration:
    """Return `kernel` as start_persistent_product compiles it. weights: the names of their descriptors."""
    number = POINTER_TYPES[dtype].removeprefix("*")
    types = {
        "x_desc": f"tensordesc<{number}[{tiles.block_rows}, {tiles.block_in}]>",
        **dict.fromkeys(weights, f"tensordesc<{number}[{tiles.block_out}, {tiles.block_in}]>"),
        "y_desc": f"tensordesc<{number}[{tiles.block_rows}, {tiles.block_out // 2}]>",
    }
    return product_configuration(kernel, dtype, tiles, capability=capability, flags=flags, types=types)
