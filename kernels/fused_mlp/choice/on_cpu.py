"""Choice on the CPU: what packs weights, and how the C++ kernels divide a call."""

from __future__ import annotations

import torch

from fused_mlp.choice.choice import FORMATS, Choice, describe_shape, number_format
from fused_mlp.native.build import ensure_built
from fused_mlp.tuned import Found, Policy, Section, cpu_name, entries, policy_for, way_near
from fused_mlp.vocabulary import Implementation, Operation, Weights


def packing_for(
    operation: Operation, *, rows: int | None, dim: int, hidden: int, dtype: torch.dtype
) -> tuple[Implementation, Found, str]:
    """Return what packs weights for inference on this CPU: the implementation, how it was found, and why.

    Where `rows` is None the module may meet any number of rows: then oneDNN only if the table prefers it for every
    number of rows that it knows near this size, else the C++ kernels. They are the rule, too.
    """
    if dtype not in FORMATS:
        return Implementation.CPP, Found.RULE, f"no kernel packs {dtype}"
    section = Section(operation=operation, number_format=number_format(dtype, "cpu"), weights=Weights.PACKED)
    entry = entries().get(cpu_name())
    ways = entry.ways.get(section, ()) if entry else ()
    if rows is not None:
        near = way_near(ways, rows=rows, dim=dim, hidden=hidden)
        if near is None:
            return Implementation.CPP, Found.RULE, "nothing near this shape was tuned on this CPU"
        way, found = near
        return way.implementation, found, f"fastest at {describe_shape(way)} on this CPU"
    near_size = [way_near([way], rows=way.rows, dim=dim, hidden=hidden) for way in ways]
    if {near[0].implementation for near in near_size if near} == {Implementation.ONEDNN}:
        return Implementation.ONEDNN, Found.NEIGHBOUR, "fastest for every number of rows tuned near this size"
    return Implementation.CPP, Found.RULE, "the number of rows is not known, and oneDNN is not fastest for all"


def packed_on_cpu(operation: Operation, *, rows: int, dim: int, hidden: int, dtype: torch.dtype) -> Choice:
    """Return what a call on weights packed for `rows` rows gets."""
    implementation, found, why = packing_for(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
    shared_by = None
    if implementation is Implementation.CPP:
        _, shared_by = _choice_of_cpp(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype, packed=True)
    return Choice(implementation=implementation, weights="packed", shared_by=shared_by, found=found, why=why)


def plain_on_cpu(operation: Operation, *, rows: int, dim: int, hidden: int, dtype: torch.dtype) -> Choice:
    """Return what a call on plain weights gets."""
    weights, shared_by = _choice_of_cpp(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype, packed=False)
    policy, found = policy_for(cpu_name(), operation=operation, number_format=number_format(dtype, "cpu"))
    return Choice(
        implementation=Implementation.CPP,
        weights=weights,
        shared_by=shared_by,
        found=found,
        why=_describe_policy(policy),
    )


def _choice_of_cpp(
    operation: Operation, *, rows: int, dim: int, hidden: int, dtype: torch.dtype, packed: bool
) -> tuple[str, str]:
    ensure_built()
    n_products = {Operation.LINEAR: 1, Operation.MLP: 2, Operation.GATED_MLP: 3}[operation]
    # As many as the op's argument holds; far more than any threshold.
    flop = min(2 * rows * dim * hidden * n_products, 2**62)
    weights, shared_by = torch.ops.fused_mlp.cpu_choice(operation.value, dtype, rows, flop, packed).split()
    return weights, shared_by


def _describe_policy(policy: Policy) -> str:
    return (
        f"one thread below {policy.serial_flop:,} FLOP; shared by rows from {policy.row_split_rows} a thread on;"
        f" repacked from {policy.repacking_rows} rows on"
    )
