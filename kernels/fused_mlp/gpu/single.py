"""Launch of level 3's kernels, and the choice between its two kinds.

An operation says in SingleKernels what is its own. Its kernels' parameters stand in one order: x, the weights and
biases, y, for split hidden parts and counters; rows, dim, hidden, out, the row strides of x and the weights;
ACTIVATION, a flag for each bias, for split hidden ORDERED; the blocks and UPCAST.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fused_mlp.errors import Unavailable
from fused_mlp.gpu.launch import launch
from fused_mlp.gpu.partials import parts_and_counters
from fused_mlp.gpu.single_tiles import (
    MOST_SPLIT_ROWS,
    WIDEST_FULL_TILE,
    FullTile,
    SingleTiles,
    SplitTile,
    as_rows,
    full_tile_candidates,
    is_full_tile_better,
    multiprocessors,
    padded_width,
    split_candidates,
    split_tile_for,
    why_no_tile,
)
from fused_mlp.gpu.tiles import device_capability, is_interpreting

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor


class Operands(NamedTuple):
    """Arguments of a call beside x, as the kernels take them.

    tensors: weights and biases in their order; weights: those of them with rows, the first hidden × dim, the last
    out × hidden; biases: for each whether it is there.
    """

    tensors: tuple[Tensor | None, ...]
    weights: tuple[Tensor, ...]
    biases: tuple[bool, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SingleKernels:
    """Both kernels of an operation, and what their tiles depend on.

    full_tile_rule: the full tile for a shape (n_rows, dim, hidden, n_out, dtype, capability). n_first:
    products of x, 2 for gate and up, else 1. biases: the names of the flags that say which are there.
    """

    operation: str
    full_tile: Any
    split_hidden: Any
    full_tile_rule: Callable[..., FullTile]
    n_first: int
    biases: tuple[str, ...] = ()

    def why_not(
        self, *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
    ) -> str | None:
        """Return why one launch cannot compute this shape, in words for a user; None if it can."""
        del hidden
        return why_no_tile(n_rows=n_rows, dim=dim, n_out=n_out, dtype=dtype, capability=capability)

    def tiles_for(
        self, *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
    ) -> SingleTiles:
        """Return kind and tile for a shape that `why_not` admits, by rules from the arithmetic, not tuned."""
        full, split = self._tiles_by_rule(n_rows, dim, hidden, n_out, dtype, capability)
        weight_bytes = hidden * (self.n_first * dim + n_out) * dtype.itemsize
        if is_full_tile_better(n_rows=n_rows, dim=dim, n_out=n_out, weight_bytes=weight_bytes, capability=capability):
            return full
        return split

    def candidates_for(
        self, *, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
    ) -> list[SingleTiles]:
        """Return what tuning tries for a shape, the rule's choice among it.

        Both kinds where both can run, but split hidden only while its blocks of rows do not fill the device by
        themselves.
        """
        full, split = self._tiles_by_rule(n_rows, dim, hidden, n_out, dtype, capability)
        fits: dict[str, Any] = {"dtype": dtype, "capability": capability, "n_accumulators": self.n_first}
        of_split = split_candidates(split, dim=dim, n_out=n_out, **fits)
        if max(dim, n_out) > WIDEST_FULL_TILE:
            return [*of_split]
        of_full = full_tile_candidates(full, dim=dim, n_out=n_out, **fits)
        return [*of_full] if n_rows >= MOST_SPLIT_ROWS * multiprocessors(capability) else [*of_full, *of_split]

    def _tiles_by_rule(
        self, n_rows: int, dim: int, hidden: int, n_out: int, dtype: torch.dtype, capability: int
    ) -> tuple[FullTile, SplitTile]:
        shape: dict[str, Any] = {"n_rows": n_rows, "dim": dim, "hidden": hidden, "n_out": n_out, "dtype": dtype}
        shape |= {"capability": capability}
        return self.full_tile_rule(**shape), split_tile_for(**shape, n_accumulators=self.n_first)

    def launch(self, x: Tensor, operands: Operands, *, activation: str, tiles: SingleTiles | None) -> Tensor:
        """Return the operation in one launch on the current device; arguments checked by the caller, rows contiguous.

        tiles: None: the rule chooses. Raises: Unavailable if the shape is not one for one launch, or not for `tiles`.
        """
        hidden, n_out = operands.weights[0].shape[0], operands.weights[-1].shape[0]
        y = x.new_empty((*x.shape[:-1], n_out))
        if y.numel() == 0:
            return y
        x = as_rows(x.reshape(-1, x.shape[-1]))
        capability = device_capability(x.device)
        plan = _plan(self, *x.shape, hidden, n_out, x.dtype, capability, tiles)
        if isinstance(plan, str):
            raise Unavailable(f"fused_mlp.{self.operation} in one launch: {plan}")
        sizes = (*x.shape, hidden, n_out, x.stride(0), *(w.stride(0) for w in operands.weights))
        if isinstance(plan, FullTile):
            _start_full_tile(self, x, operands, y, sizes, activation, plan)
        else:
            _start_split_hidden(self, x, operands, y, sizes, activation, plan)
        return y


@lru_cache(maxsize=4096)
def _plan(
    kernels: SingleKernels,
    n_rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    dtype: torch.dtype,
    capability: int,
    tiles: SingleTiles | None,
) -> SingleTiles | str:
    """Return the tile to launch, or why there is none; asked at every call, so remembered."""
    reason = why_no_tile(n_rows=n_rows, dim=dim, n_out=n_out, dtype=dtype, capability=capability)
    if reason is None and isinstance(tiles, FullTile) and max(dim, n_out) > WIDEST_FULL_TILE:
        reason = f"the full tile named takes at most {WIDEST_FULL_TILE} columns; this is {dim} to {n_out}"
    if reason is not None:
        return reason
    if tiles is not None:
        return tiles
    return kernels.tiles_for(n_rows=n_rows, dim=dim, hidden=hidden, n_out=n_out, dtype=dtype, capability=capability)


def _start_full_tile(
    kernels: SingleKernels,
    x: Tensor,
    operands: Operands,
    y: Tensor,
    sizes: tuple[int, ...],
    activation: str,
    tile: FullTile,
) -> None:
    n_rows, dim, _, n_out = sizes[:4]
    blocks = (tile.block_rows, padded_width(dim), tile.block_hidden, padded_width(n_out))
    launch(
        kernels.full_tile,
        (-(-n_rows // tile.block_rows),),
        (x, *operands.tensors, y),
        sizes,
        (activation, *operands.biases, *blocks, is_interpreting()),
        n_warps=tile.n_warps,
        n_stages=tile.n_stages,
    )


def _start_split_hidden(
    kernels: SingleKernels,
    x: Tensor,
    operands: Operands,
    y: Tensor,
    sizes: tuple[int, ...],
    activation: str,
    tile: SplitTile,
) -> None:
    n_rows, _, hidden, n_out = sizes[:4]
    n_slices, n_row_blocks = -(-hidden // tile.block_hidden), -(-n_rows // tile.block_rows)
    ordered, parts, counters = parts_and_counters(
        x, n_slices=n_slices, n_row_blocks=n_row_blocks, block_rows=tile.block_rows, n_out=n_out
    )
    blocks = (tile.block_rows, tile.block_hidden, tile.block_in, tile.block_out)
    launch(
        kernels.split_hidden,
        (n_slices, n_row_blocks),
        (x, *operands.tensors, y, parts, counters),
        sizes,
        (activation, *operands.biases, ordered, *blocks, is_interpreting()),
        n_warps=tile.n_warps,
        n_stages=tile.n_stages,
    )
