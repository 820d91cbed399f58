"""Levels of fusion on CUDA: how each is launched, and the tiles that tuning tries. Needs triton."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.choice.call_recipes import remember, why_no_recipes
from fused_mlp.choice.choice import number_format
from fused_mlp.choice.choices import choice_on_cuda
from fused_mlp.gpu.launch import noting_launches
from fused_mlp.gpu.single_tiles import FullTile, SplitTile
from fused_mlp.gpu.tiles import PointwiseTiles, Tiles
from fused_mlp.native import fast_calls
from fused_mlp.vocabulary import Implementation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from torch import Tensor

    from fused_mlp.vocabulary import NumberFormat, Operation

TILE_KINDS = (Tiles, PointwiseTiles, FullTile, SplitTile)
"""Told apart by the names of their fields, which is how the tuned table keeps them."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Shape and device that a kernel's tiles depend on: rows × dim → hidden → n_out on sm_<capability>."""

    n_rows: int
    dim: int
    hidden: int
    n_out: int
    dtype: torch.dtype
    capability: int


@dataclass(frozen=True, kw_only=True)
class Level:
    """Implementation of an operation on CUDA.

    launch: the operation's tensors, activation= and tiles= → the result, on the current device; tiles None means the
    kernel's own rule. candidates: what tuning tries beside that.
    """

    launch: Callable[..., Tensor]
    candidates: Callable[[Shape], Iterable[Any]]


def without_tiles(compute: Callable[..., Tensor]) -> Level:
    """Return the level of an implementation whose tiles nobody chooses."""

    def launch(*tensors: Tensor | None, activation: str, tiles: None = None) -> Tensor:
        del tiles
        return compute(*tensors, activation=activation)

    return Level(launch=launch, candidates=lambda _: ())


def beside_the_rule(candidates: Callable[..., Iterable[Any]]) -> Callable[[Shape], Iterable[Any]]:
    """Return `candidates` without the rule's choice, which comes first, as a function of a shape."""
    return lambda shape: tuple(candidates(shape.n_rows, shape.dtype, capability=shape.capability))[1:]


def launched(
    operation: Operation,
    levels: Mapping[Implementation, Level],
    x: Tensor,
    weights: tuple[Tensor | None, ...],
    *,
    first: Tensor,
    n_out: int,
    activation: str,
    implementation: str | None,
) -> Tensor:
    """Compute the operation on the device of x, by the level named or else chosen for the shape; arguments checked.

    weights: weights and biases in the operation's order. first: the first weight, hidden × dim.

    Raises: Unavailable if the implementation named cannot run there or has no kernel for the shape.
    """
    hidden, dim = first.shape
    rows, index = x.numel() // dim if dim else 0, x.get_device()
    level, tiles = level_and_tiles(
        operation, implementation, rows, dim, hidden, n_out, number_format(x.dtype, "cuda"), index, activation
    )
    launch = levels[level].launch
    with torch.cuda.device(index):
        if implementation is not None or why_no_recipes() is not None or not fast_calls.was_wanted():
            return launch(x, *weights, activation=activation, tiles=tiles)
        with noting_launches() as started:
            result = launch(x, *weights, activation=activation, tiles=tiles)
    remember(operation, level, (x, *weights), started, activation=activation)
    return result


@lru_cache(maxsize=4096)
def level_and_tiles(
    operation: Operation,
    implementation: str | None,
    rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    products_in: NumberFormat,
    device_index: int,
    activation: str,
) -> tuple[Implementation, Any | None]:
    """Return the level a call gets, `implementation` if it names one, and its tiles; None for the kernel's own rule.

    Remembered, so that a shape met before costs one look-up.

    Raises: Unavailable if the implementation named cannot run there or has no kernel for the shape.
    """
    named = Implementation(implementation) if implementation else None
    choice = choice_on_cuda(operation, named, rows, dim, hidden, n_out, products_in, device_index, activation)
    return choice.implementation, tiles_from_values(choice.tiles)


def tiles_from_values(values: Mapping[str, Any]) -> Any | None:
    """Return the configuration whose fields `values` holds; None where there are none.

    Raises: ValueError if no kind of configuration has these fields.
    """
    if not values:
        return None
    for kind in TILE_KINDS:
        if {each.name for each in fields(kind)} == set(values):
            return kind(**values)
    raise ValueError(f"no kernel has tiles of {', '.join(values)}; tune this device again")


def values_from_tiles(tiles: Any | None) -> dict[str, Any]:
    """Return the fields of a configuration by their names; none for None."""
    return {} if tiles is None else asdict(tiles)
