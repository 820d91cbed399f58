"""What a call without a named implementation gets: the tuned table's answer for its shape, or the general rule's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.build import ensure_built
from fused_mlp.implementations import member
from fused_mlp.tuned import Found, Series, cpu_name, entries, policy_for, way_near
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights

if TYPE_CHECKING:
    from collections.abc import Mapping

N_PRODUCTS = {Operation.LINEAR: 1, Operation.MLP: 2, Operation.GATED_MLP: 3}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What one call gets.

    Attributes:
        implementation: which computes it.
        weights: "plain", "repacked" (during the call) or "packed" (before it).
        shared_by: how threads divide the work, "rows", "columns" or "serial"; None where that is not ours to say.
        tiles: the Triton configuration by the names of its fields; empty where the kernel's own rule gives it.
        found: whether the answer was tuned for this shape, for a neighbour of it, or follows from the rule.
        why: the reason, in words.
    """

    implementation: Implementation
    weights: str
    shared_by: str | None
    found: Found
    why: str
    tiles: Mapping[str, Any] = field(default_factory=dict)


def choice_for(
    operation: Operation | str,
    *,
    rows: int,
    dim: int,
    hidden: int,
    device: torch.device | str,
    dtype: torch.dtype = torch.float32,
    packed: bool = False,
) -> Choice:
    """What a call of `operation` on `rows` rows gets on `device`; with `packed`, on weights prepared for `rows`.

    linear: dim → hidden; mlp and gated_mlp: dim → hidden → dim.

    Raises:
        InvalidArgument: there is no such operation.
        Unavailable: the operation cannot run there.
    """
    operation = member(Operation, operation, "operation")
    if torch.device(device).type == "cuda":
        return Choice(
            implementation=Implementation.EPILOGUE, weights="plain", shared_by=None, found=Found.RULE, why="level 2"
        )
    if packed:
        return _packed_on_cpu(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
    return _by_cpp(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype, packed=False)


def _packed_on_cpu(operation: Operation, *, rows: int, dim: int, hidden: int, dtype: torch.dtype) -> Choice:
    implementation, found, why = packing_for(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
    if implementation is Implementation.CPP:
        by_cpp = _by_cpp(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype, packed=True)
        return Choice(implementation=implementation, weights="packed", shared_by=by_cpp.shared_by, found=found, why=why)
    return Choice(implementation=implementation, weights="packed", shared_by=None, found=found, why=why)


def packing_for(
    operation: Operation, *, rows: int | None, dim: int, hidden: int, dtype: torch.dtype
) -> tuple[Implementation, Found, str]:
    """What packs weights for inference on this CPU: the implementation, how it was found, and why.

    Where `rows` is None the module may meet any number of rows: then oneDNN only if the table prefers it for every
    number of rows that it knows near this size, else the C++ kernels.
    """
    series = Series(operation=operation, number_format=NumberFormat(_name_of(dtype)), weights=Weights.PACKED)
    entry = entries().get(cpu_name())
    ways = entry.ways.get(series, ()) if entry else ()
    if rows is not None:
        near = way_near(ways, rows=max(1, rows), dim=dim, hidden=hidden)
        if near is None:
            return Implementation.CPP, Found.RULE, f"nothing is tuned near this shape for packed {series.number_format}"
        way, found = near
        return way.implementation, found, f"fastest at {way.rows} × {way.dim} × {way.hidden} on this CPU"
    known = [way_near([way], rows=way.rows, dim=dim, hidden=hidden) for way in ways]
    winners = {near[0].implementation for near in known if near}
    if winners == {Implementation.ONEDNN}:
        return Implementation.ONEDNN, Found.NEIGHBOUR, "fastest for every number of rows tuned near this size"
    return Implementation.CPP, Found.RULE, "any number of rows may come, and none is known to be faster for all"


def _by_cpp(operation: Operation, *, rows: int, dim: int, hidden: int, dtype: torch.dtype, packed: bool) -> Choice:
    ensure_built()
    flop = 2 * rows * dim * hidden * N_PRODUCTS[operation]
    said = torch.ops.fused_mlp.cpu_choice(operation.value, dtype, rows, flop, packed)
    weights, shared_by = said.split()
    number_format = NumberFormat(_name_of(dtype))
    policy, found = policy_for(cpu_name(), operation=operation, number_format=number_format)
    known = "the general numbers" if found is Found.RULE else "numbers tuned on this CPU"
    why = (
        f"{known}: alone below {policy.serial_flop:,} FLOP, shared by rows from {policy.row_split_rows} a thread,"
        f" repacked from {policy.repacking_rows} rows"
    )
    return Choice(implementation=Implementation.CPP, weights=weights, shared_by=shared_by, found=found, why=why)


def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
