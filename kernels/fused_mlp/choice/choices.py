"""Choice of an implementation where a call names none: from the tuned table, or by the general rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.choice.implementations import check_size, member, why_no_kernel, why_unavailable
from fused_mlp.choice.rules import Ceilings, Sizes, nominal_ceilings, ranked_by_rule
from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.gpu.single_tiles import padded_width
from fused_mlp.native.build import ensure_built
from fused_mlp.tuned import Found, Policy, Section, Way, cpu_name, entries, policy_for, way_near
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BY_RULE = (Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Implementation and tiles of one call.

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


@dataclass(frozen=True, kw_only=True)
class CudaDevice:
    """CUDA device as far as a choice depends on it. name: torch's; capability: 90 for sm_90."""

    name: str
    capability: int
    ceilings: Ceilings


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
    """Return what a call of `operation` on `rows` rows gets on `device`; with `packed`, on weights prepared for `rows`.

    linear: dim → hidden; mlp and gated_mlp: dim → hidden → dim.

    Raises:
        InvalidArgument: there is no such operation, no kernel takes the dtype, or a size is no number of elements.
        Unavailable: the operation cannot run there.
    """
    operation = member(Operation, operation, "operation")
    device = torch.device(device)
    for name, size in (("rows", rows), ("dim", dim), ("hidden", hidden)):
        check_size(size, name)
    if dtype not in _FORMATS:
        raise InvalidArgument("dtype", got=repr(dtype), expected=f"one of {', '.join(map(str, _FORMATS))}")
    if device.type == "cpu":
        choose = _packed_on_cpu if packed else _plain_on_cpu
        return choose(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
    if reason := why_unavailable(operation, device=device):
        raise Unavailable(reason)
    n_out = hidden if operation is Operation.LINEAR else dim
    return choice_on_cuda(operation, None, rows, dim, hidden, n_out, number_format(dtype, "cuda"), device.index or 0)


# On the CPU


def packing_for(
    operation: Operation, *, rows: int | None, dim: int, hidden: int, dtype: torch.dtype
) -> tuple[Implementation, Found, str]:
    """Return what packs weights for inference on this CPU: the implementation, how it was found, and why.

    Where `rows` is None the module may meet any number of rows: then oneDNN only if the table prefers it for every
    number of rows that it knows near this size, else the C++ kernels. They are the rule, too.
    """
    if dtype not in _FORMATS:
        return Implementation.CPP, Found.RULE, f"no kernel packs {dtype}"
    section = Section(operation=operation, number_format=number_format(dtype, "cpu"), weights=Weights.PACKED)
    entry = entries().get(cpu_name())
    ways = entry.ways.get(section, ()) if entry else ()
    if rows is not None:
        near = way_near(ways, rows=rows, dim=dim, hidden=hidden)
        if near is None:
            return Implementation.CPP, Found.RULE, "nothing near this shape was tuned on this CPU"
        way, found = near
        return way.implementation, found, f"fastest at {_describe_shape(way)} on this CPU"
    near_size = [way_near([way], rows=way.rows, dim=dim, hidden=hidden) for way in ways]
    if {near[0].implementation for near in near_size if near} == {Implementation.ONEDNN}:
        return Implementation.ONEDNN, Found.NEIGHBOUR, "fastest for every number of rows tuned near this size"
    return Implementation.CPP, Found.RULE, "the number of rows is not known, and oneDNN is not fastest for all"


def _packed_on_cpu(operation: Operation, *, rows: int, dim: int, hidden: int, dtype: torch.dtype) -> Choice:
    implementation, found, why = packing_for(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
    shared_by = None
    if implementation is Implementation.CPP:
        _, shared_by = _choice_of_cpp(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype, packed=True)
    return Choice(implementation=implementation, weights="packed", shared_by=shared_by, found=found, why=why)


def _plain_on_cpu(operation: Operation, *, rows: int, dim: int, hidden: int, dtype: torch.dtype) -> Choice:
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


# On CUDA


def choice_on_cuda(
    operation: Operation,
    named: Implementation | None,
    rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    number_format: NumberFormat,
    device_index: int,
) -> Choice:
    """Choose as `chosen_on` does, for a device of this process.

    Raises: Unavailable if the implementation that is `named` cannot run there or has no kernel for the shape.
    """
    rows, dim, hidden, n_out = (max(1, size) for size in (rows, dim, hidden, n_out))
    sizes = Sizes(operation=operation, rows=rows, dim=dim, hidden=hidden, n_out=n_out, number_format=number_format)
    return chosen_on(
        cuda_device(device_index),
        sizes,
        named=named,
        why_not=lambda each: why_unavailable(operation, device=f"cuda:{device_index}", implementation=each),
    )


def chosen_on(
    device: CudaDevice,
    sizes: Sizes,
    *,
    named: Implementation | None = None,
    why_not: Callable[[Implementation], str | None] = lambda _: None,
) -> Choice:
    """Return what `sizes` get on `device`: the tuned way for them, that of a neighbour, or the rule's; in this order.

    With `named`, that implementation, and only its tiles are chosen. float32 without tf32 is left to PyTorch: cuBLAS
    has the faster products. `why_not` says what cannot run on the device at all; what has no kernel for the shape is
    never chosen.

    Raises: Unavailable if what is named cannot run, or nothing can.
    """
    if named is None and sizes.number_format is NumberFormat.FLOAT32:
        return _on_cuda(Implementation.PURE, Found.RULE, "cuBLAS is fastest in float32 without tf32")
    reasons = {each: why_not(each) or _why_not_for(sizes, each, device) for each in _candidates(device, sizes, named)}
    possible = [each for each, reason in reasons.items() if reason is None]
    if not possible:
        each, reason = next(iter(reasons.items()))
        raise Unavailable(f"fused_mlp.{sizes.operation} by {each}: {reason}")
    ways = [way for way in _ways(device, sizes) if way.is_fastest or way.implementation is named]
    near = way_near(
        ways,
        rows=sizes.rows,
        dim=sizes.dim,
        hidden=sizes.hidden,
        is_possible=lambda way: way.implementation in possible,
    )
    if near is not None:
        way, found = near
        why = f"{'its best tiles' if named else 'fastest'} at {_describe_shape(way)} on {device.name}"
        return _on_cuda(way.implementation, found, why, tiles=way.tiles if _fits(way, sizes) else {})
    if named:
        return _on_cuda(named, Found.RULE, "named by the caller; tiles by the kernel's own rule")
    by_rule = [each for each in possible if each in _BY_RULE]
    ranked = ranked_by_rule(sizes, device.ceilings, possible=by_rule, capability=device.capability)
    if not ranked:
        raise Unavailable(f"fused_mlp.{sizes.operation}: no implementation the rule knows can run on {device.name}")
    estimates = ", ".join(f"{each} {seconds * 1e6:.1f} µs" for each, seconds in ranked)
    return _on_cuda(ranked[0][0], Found.RULE, f"by the arithmetic for {device.name}: {estimates}")


@cache
def cuda_device(index: int) -> CudaDevice:
    """Return the device of this process with that index, its ceilings from its data sheet as the driver tells it."""
    properties = torch.cuda.get_device_properties(index)
    capability = 10 * properties.major + properties.minor
    # Clocks in kHz; two transfers a clock.
    bytes_per_s = 2 * properties.memory_clock_rate * 1e3 * properties.memory_bus_width / 8
    ceilings = nominal_ceilings(
        capability=capability,
        multiprocessors=properties.multi_processor_count,
        clock_hz=properties.clock_rate * 1e3,
        bytes_per_s=bytes_per_s,
    )
    return CudaDevice(name=properties.name, capability=capability, ceilings=ceilings)


def number_format(dtype: torch.dtype, device_type: str) -> NumberFormat:
    """Return how products of `dtype` are computed there: on CUDA, float32 as the user allowed it for PyTorch's own."""
    if dtype == torch.float32 and device_type == "cuda" and torch.get_float32_matmul_precision() != "highest":
        return NumberFormat.TF32
    return _FORMATS[dtype]


_FORMATS = {
    torch.float32: NumberFormat.FLOAT32,
    torch.bfloat16: NumberFormat.BFLOAT16,
    torch.float16: NumberFormat.FLOAT16,
}
_DTYPES = {**{each: dtype for dtype, each in _FORMATS.items()}, NumberFormat.TF32: torch.float32}


def _candidates(device: CudaDevice, sizes: Sizes, named: Implementation | None) -> tuple[Implementation, ...]:
    if named:
        return (named,)
    tuned = (way.implementation for way in _ways(device, sizes) if way.is_fastest)
    return tuple(dict.fromkeys((*_BY_RULE, *tuned)))


def _ways(device: CudaDevice, sizes: Sizes) -> tuple[Way, ...]:
    entry = entries().get(device.name)
    section = Section(operation=sizes.operation, number_format=sizes.number_format, weights=Weights.PLAIN)
    return entry.ways.get(section, ()) if entry else ()


def _why_not_for(sizes: Sizes, implementation: Implementation, device: CudaDevice) -> str | None:
    return why_no_kernel(
        sizes.operation,
        implementation=implementation,
        rows=sizes.rows,
        dim=sizes.dim,
        hidden=sizes.hidden,
        n_out=sizes.n_out,
        dtype=_DTYPES[sizes.number_format],
        capability=device.capability,
        allows_tf32=sizes.number_format is NumberFormat.TF32,
    )


def _fits(way: Way, sizes: Sizes) -> bool:
    """Return whether the tiles of a neighbour fit: level 3 pads dim to a power of two and keeps it on chip."""
    if way.implementation is not Implementation.SINGLE:
        return True
    return padded_width(way.dim) == padded_width(sizes.dim) == padded_width(max(sizes.dim, sizes.n_out))


def _on_cuda(
    implementation: Implementation, found: Found, why: str, *, tiles: Mapping[str, Any] | None = None
) -> Choice:
    return Choice(
        implementation=implementation, weights="plain", shared_by=None, found=found, why=why, tiles=tiles or {}
    )


def _describe_shape(way: Way) -> str:
    return f"{way.rows} rows, dim {way.dim}, hidden {way.hidden}"
