"""Configurations of level 3's kernels: both kinds, in all that their rules choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.gpu.configurations import POINTER_TYPES, Configuration, product_instruction
from fused_mlp.gpu.single_tiles import is_aligned, padded_width, split_candidates, split_tile_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fused_mlp.gpu.single import SingleKernels
    from fused_mlp.gpu.single_tiles import SingleTiles, SplitTile

_TF32_ONE_BY_ONE = (
    "float32 as tf32 in a full tile: the hidden tile reaches the second product in registers that the next round"
    " writes again"
)


def single_configurations(kernels: SingleKernels, *, capability: int) -> Iterator[Configuration]:
    """Yield the rule's choices for both kinds; bfloat16 also for ragged sizes."""
    for dtype in POINTER_TYPES:
        yield from _full_tiles(kernels, dtype, capability)
        yield from _splits(kernels, dtype, capability)


def _full_tiles(kernels: SingleKernels, dtype: torch.dtype, capability: int) -> Iterator[Configuration]:
    """Yield full tiles at widths 64, 128 and 256 for few and for many rows; in bfloat16 also 127 and 255 wide."""
    for width in (64, 128, 256, *((127, 255) if dtype == torch.bfloat16 else ())):
        for n_rows in (256, 65536):
            tile = kernels.full_tile_rule(
                n_rows=n_rows,
                dim=width,
                hidden=4 * width,
                n_out=width,
                dtype=dtype,
                capability=capability,
            )
            blocks = {
                "BLOCK_ROWS": tile.block_rows,
                "BLOCK_DIM": padded_width(width),
                "BLOCK_HIDDEN": tile.block_hidden,
                "BLOCK_OUT": padded_width(width),
            }
            is_tf32_wgmma = dtype == torch.float32 and capability == 90 and tile.block_rows >= 64
            one_by_one = _TF32_ONE_BY_ONE if is_tf32_wgmma else ""
            yield _configuration(
                kernels,
                kernels.full_tile,
                tile,
                dtype,
                f"{tile.block_rows}x{tile.block_hidden}-width{width}",
                blocks,
                capability=capability,
                aligned=is_aligned(width),
                one_by_one=one_by_one,
            )


def _splits(kernels: SingleKernels, dtype: torch.dtype, capability: int) -> Iterator[Configuration]:
    """Yield split tiles for few and for 64 rows, narrow and wide hidden, in both ways of adding up."""
    for n_rows in (16, 64):
        for hidden in (4096, 16384, *((4095,) if dtype == torch.bfloat16 else ())):
            tile = split_tile_for(
                n_rows=n_rows,
                dim=1024,
                hidden=hidden,
                n_out=1024,
                dtype=dtype,
                capability=capability,
                n_accumulators=kernels.n_first,
            )
            aligned = is_aligned(hidden)
            for ordered in (False, True):
                yield _split(kernels, tile, dtype, capability=capability, aligned=aligned, ordered=ordered)
            # What tuning tries of more stages, where its larger slices fit too.
            if dtype == torch.bfloat16 and hidden == 4096 and capability >= 90:
                fits: dict[str, Any] = {"dtype": dtype, "capability": capability, "n_accumulators": kernels.n_first}
                for one in split_candidates(tile, dim=1024, n_out=1024, **fits):
                    if one.n_stages >= 4 and one != tile:
                        yield _split(kernels, one, dtype, capability=capability, aligned=True, ordered=False)


def _split(
    kernels: SingleKernels, tile: SplitTile, dtype: torch.dtype, *, capability: int, aligned: bool, ordered: bool
) -> Configuration:
    blocks = {
        "BLOCK_ROWS": tile.block_rows,
        "BLOCK_HIDDEN": tile.block_hidden,
        "BLOCK_IN": tile.block_in,
        "BLOCK_OUT": tile.block_out,
    }
    size = f"{tile.block_rows}x{tile.block_hidden}-in{tile.block_in}-out{tile.block_out}"
    return _configuration(
        kernels,
        kernels.split_hidden,
        tile,
        dtype,
        f"{size}-{'ordered' if ordered else 'atomic'}{'' if aligned else '-ragged'}",
        {"ORDERED": ordered, **blocks},
        capability=capability,
        aligned=aligned,
    )


def _configuration(
    kernels: SingleKernels,
    kernel: Any,
    tile: SingleTiles,
    dtype: torch.dtype,
    label: str,
    constants: Mapping[str, object],
    *,
    capability: int,
    aligned: bool,
    one_by_one: str = "",
) -> Configuration:
    """Return `tile` as Triton compiles it for sizes that are multiples of 16 (aligned), or for others."""
    product = product_instruction(capability=capability, block_rows=tile.block_rows)
    sizes = [
        name for name in kernel.arg_names if name.startswith("n_") or name in {"dim", "hidden"} or "stride" in name
    ]
    pointers = {"parts_ptr": "*fp32", "counters_ptr": "*i32"}
    return Configuration(
        kernel=kernel,
        dtype=dtype,
        label=label,
        constants={**dict.fromkeys(kernels.biases, True), **constants, "UPCAST": False},
        n_warps=tile.n_warps,
        n_stages=tile.n_stages,
        instructions=frozenset({product, "LDGSTS"} if aligned else {product}),
        unaligned=frozenset() if aligned else frozenset(sizes),
        types={name: pointer for name, pointer in pointers.items() if name in kernel.arg_names},
        one_by_one=one_by_one,
    )
