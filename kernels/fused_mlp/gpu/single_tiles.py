"""Level 3 in one launch: the two kinds of tiles, and the arithmetic that chooses between them.

*Full tile*: a program owns rows and walks through all of hidden. Every program reads every weight, so it needs many
rows, and the result of a row has to fit the registers. *Split hidden*: a program owns a slice of hidden and walks
through all outputs; the parts are added up in device memory. It needs few rows, because parts are what it writes.
Needs neither triton nor a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    import torch
    from torch import Tensor

WIDEST_FULL_TILE = 256
"""The largest dim and out of the full tile: 128 rows × 256 float32 sums are half of a multiprocessor's registers."""

MOST_SPLIT_ROWS = 64
"""The most rows of split hidden beyond that width: parts, rows × out × 4 bytes a slice, then outweigh what is saved."""

MULTIPROCESSORS = {80: 108, 90: 132}
"""Of an A100, and of an H100 or H200. Source: NVIDIA's architecture white papers."""

BYTES_UNDER_WAY = 32 * 1024
"""Of weights, for each multiprocessor: 4.3 TB/s over 132 of them at 0.9 µs of latency are 29 KB. Arithmetic."""

SPLIT_STAGES = (5, 6, 8)
"""The stages that tuning tries of split hidden beside the rule's, of 227 KB of shared memory. Not timed yet."""

_CHEAP_WEIGHT_BYTES = 256 * 1024
_SPLIT_BLOCK_HIDDEN = (128, 32)


@dataclass(frozen=True, kw_only=True)
class FullTile:
    """block_rows: rows a program owns. block_hidden: hidden activations it makes and uses up in one step."""

    block_rows: int
    block_hidden: int
    n_warps: int
    n_stages: int


@dataclass(frozen=True, kw_only=True)
class SplitTile:
    """block_rows × block_hidden: the hidden activations of one program, its whole slice.

    block_in: its step along dim. block_out: its step along the outputs.
    """

    block_rows: int
    block_hidden: int
    block_in: int
    block_out: int
    n_warps: int
    n_stages: int


SingleTiles: TypeAlias = FullTile | SplitTile
_Tile = TypeVar("_Tile", FullTile, SplitTile)


def padded_width(size: int) -> int:
    """Return the power of two, at least 16, to which a kernel pads `size`: tensor cores take no less."""
    return max(16, 1 << (size - 1).bit_length())


def is_aligned(*sizes: int) -> bool:
    """Return whether rows of these sizes can be copied 16 bytes at a time, as Triton tells: all are multiples of 16."""
    return all(size % 16 == 0 for size in sizes)


def multiprocessors(capability: int) -> int:
    """Return how many multiprocessors a device of `capability` has, as far as a rule needs to know."""
    return MULTIPROCESSORS[max((known for known in MULTIPROCESSORS if known <= capability), default=80)]


def is_full_tile_better(*, n_rows: int, dim: int, n_out: int, weight_bytes: int, capability: int) -> bool:
    """Return which kind for this shape, from the arithmetic; not tuned on a device.

    A program of the full tile reads all weights from L2, at 64 bytes a clock 2.3 µs for 256 KiB. That is hidden once
    tiles of 64 rows give half of the multiprocessors work, and it is cheap while the weights are small. Otherwise
    split hidden, which reads each weight once for 64 rows.
    """
    if max(padded_width(dim), padded_width(n_out)) > WIDEST_FULL_TILE:
        return False
    if n_rows <= MOST_SPLIT_ROWS:
        return False
    return weight_bytes <= _CHEAP_WEIGHT_BYTES or 2 * n_rows >= MOST_SPLIT_ROWS * multiprocessors(capability)


def _shared_limit_bytes(capability: int) -> int:
    """Return the shared memory of a block, less what a kernel takes beside its stages."""
    return (160 if capability < 90 else 224) * 1024


def split_block_hidden(hidden: int, *, capability: int) -> int:
    """Return the largest slice that still gives most multiprocessors one: fewer slices, fewer parts to add up."""
    for block in _SPLIT_BLOCK_HIDDEN[:-1]:
        if -(-hidden // block) >= 0.6 * multiprocessors(capability):
            return block
    return _SPLIT_BLOCK_HIDDEN[-1]


def split_tile_for(
    *,
    n_rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    dtype: torch.dtype,
    capability: int,
    n_accumulators: int,
) -> SplitTile:
    """Return the tile of split hidden from the arithmetic; not tuned. n_accumulators: 2 for gate and up, else 1.

    Slices as `split_block_hidden` says; as many stages as keep BYTES_UNDER_WAY of weights on their way while one step
    is computed. Rows that are no multiple of 16 elements are loaded through registers, which a wide slice would exceed
    and of which three stages are what four warps hold.
    """
    block_rows = 16 if n_rows <= 16 else 64
    aligned = is_aligned(dim, hidden, n_out)
    block_hidden = split_block_hidden(hidden, capability=capability) if aligned else 32
    tile = _split_tile(block_rows=block_rows, block_hidden=block_hidden, dim=dim, n_out=n_out, dtype=dtype)
    if not aligned:
        step_in, step_out = max(16, tile.block_in // 2), max(16, tile.block_out // 2)
        return replace(tile, block_rows=min(32, block_rows), block_in=step_in, block_out=step_out, n_warps=8)
    tile = replace(tile, n_stages=_stages_for(tile, dtype, capability=capability, n_accumulators=n_accumulators))
    return replace(tile, n_warps=8) if n_accumulators * block_rows * block_hidden > 64 * 128 else tile


def split_candidates(
    rule: SplitTile, *, dim: int, n_out: int, dtype: torch.dtype, capability: int, n_accumulators: int
) -> list[SplitTile]:
    """Return what tuning tries: the rule's tile, and it with one thing changed; one that spills will lose.

    All that a multiprocessor has the shared memory for; n_accumulators: 2 for gate and up, else 1.
    """

    def of_slice(block_hidden: int) -> SplitTile:
        tile = _split_tile(block_rows=rule.block_rows, block_hidden=block_hidden, dim=dim, n_out=n_out, dtype=dtype)
        n_stages = _stages_for(tile, dtype, capability=capability, n_accumulators=n_accumulators)
        return replace(tile, n_stages=n_stages)

    slices = [of_slice(block_hidden) for block_hidden in (16, 32, 64, 128)]
    # Of 32 rows five stages spill on sm_90.
    rows = [replace(rule, block_rows=32, n_stages=min(rule.n_stages, 4))] if rule.block_rows > 32 else []
    stages = [replace(rule, n_stages=n) for n in (3, *SPLIT_STAGES)]
    changed = [*slices, *rows, replace(rule, n_warps=8), *stages]
    limit = _shared_limit_bytes(capability)
    fitting = [one for one in changed if _shared_bytes(one, dtype, n_accumulators=n_accumulators) <= limit]
    return _each_once([rule, *fitting])


def _stages_for(tile: SplitTile, dtype: torch.dtype, *, capability: int, n_accumulators: int) -> int:
    """Return how many stages keep BYTES_UNDER_WAY: one of them is computed, while the others' loads are under way."""
    step = tile.block_hidden * min(tile.block_out, n_accumulators * tile.block_in) * dtype.itemsize
    n_stages = min(1 + -(-BYTES_UNDER_WAY // step), SPLIT_STAGES[-1])
    if capability < 90 and dtype.itemsize == 4 and tile.block_rows >= 64 and n_accumulators > 1:
        n_stages = min(n_stages, 4)  # the fifth's addresses spill
    per_stage = _shared_bytes(tile, dtype, n_accumulators=n_accumulators) // tile.n_stages
    return max(2, min(n_stages, _shared_limit_bytes(capability) // per_stage))


def _shared_bytes(tile: SplitTile, dtype: torch.dtype, *, n_accumulators: int) -> int:
    """Return the stages of the larger of its two loops: x with the first weights, or the last one alone."""
    first = (tile.block_rows + n_accumulators * tile.block_hidden) * tile.block_in
    return tile.n_stages * max(first, tile.block_hidden * tile.block_out) * dtype.itemsize


def full_tile_candidates(
    rule: FullTile, *, dim: int, n_out: int, dtype: torch.dtype, capability: int, n_accumulators: int
) -> list[FullTile]:
    """Return what tuning tries: the rule's tile, and it with one thing changed, if a multiprocessor can hold it.

    n_accumulators: 2 for gate and up, else 1.
    """
    width = max(padded_width(dim), padded_width(n_out))

    def fits(tile: FullTile) -> bool:
        # The float32 sums and products in the registers of the warps; x and the stages of weights in shared memory.
        register_bytes = 4 * tile.block_rows * (width + n_accumulators * tile.block_hidden)
        weights = (n_accumulators + 1) * tile.block_hidden * tile.n_stages
        shared_bytes = dtype.itemsize * width * (tile.block_rows + weights)
        return register_bytes <= tile.n_warps * 32 * 4 * 200 and shared_bytes <= _shared_limit_bytes(capability)

    changed = [
        *(replace(rule, block_rows=rows) for rows in (rule.block_rows // 2, 2 * rule.block_rows) if rows >= 16),
        *(
            replace(rule, block_hidden=hidden)
            for hidden in (rule.block_hidden // 2, 2 * rule.block_hidden)
            if hidden >= 16
        ),
        *(replace(rule, n_warps=warps) for warps in (4, 8)),
        *(replace(rule, n_stages=stages) for stages in (2, 3, 4)),
    ]
    if rule.block_hidden >= 32:
        half = replace(rule, block_hidden=rule.block_hidden // 2)
        # Twice the rows halve what L2 delivers; two blocks of 4 warps on a multiprocessor compute in turns.
        changed += [replace(half, block_rows=2 * rule.block_rows), replace(half, n_warps=4, n_stages=2)]
    return _each_once([rule, *filter(fits, changed)])


def _each_once(tiles: list[_Tile]) -> list[_Tile]:
    return list(dict.fromkeys(tiles))


def _split_tile(*, block_rows: int, block_hidden: int, dim: int, n_out: int, dtype: torch.dtype) -> SplitTile:
    step = 64 if block_hidden >= 128 else 128
    if dtype.itemsize > 2:
        step //= 2
    return SplitTile(
        block_rows=block_rows,
        block_hidden=block_hidden,
        block_in=min(step, padded_width(dim)),
        block_out=min(step, padded_width(n_out)),
        n_warps=4,
        n_stages=3,
    )


def why_no_tile(*, n_rows: int, dim: int, n_out: int, dtype: torch.dtype, capability: int) -> str | None:
    """Return why neither kind takes this shape, in words for a user; None if one does."""
    del dtype
    if capability < min(MULTIPROCESSORS):
        return f"one launch needs sm_80 or later, this device is sm_{capability}"
    if max(dim, n_out) > WIDEST_FULL_TILE and n_rows > MOST_SPLIT_ROWS:
        return (
            f"one launch takes at most {MOST_SPLIT_ROWS} rows where dim or out is over {WIDEST_FULL_TILE}; "
            f"this is {n_rows} rows, {dim} to {n_out}"
        )
    return None


def as_rows(matrix: Tensor) -> Tensor:
    """Return the same matrix, copied only if its rows are not contiguous."""
    return matrix if matrix.stride(1) == 1 else matrix.contiguous()
