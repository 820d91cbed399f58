"""Choice of an implementation where a call names none: from the tuned table, or by the general rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.choice.choice import FORMATS, Choice, describe_shape, number_format
from fused_mlp.choice.implementations import check_size, member, why_no_kernel, why_unavailable
from fused_mlp.choice.on_cpu import packed_on_cpu, plain_on_cpu
from fused_mlp.choice.rules import Ceilings, Sizes, nominal_ceilings, ranked_by_rule
from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.gpu.single_tiles import padded_width
from fused_mlp.tuned import Found, Section, Way, entries, way_near
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ANY = "any"
_BY_RULE = (Implementation.POINTWISE, Implementation.CUBLASLT, Implementation.EPILOGUE, Implementation.SINGLE)


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
    activation: str | None = None,
) -> Choice:
    """Return what a call of `operation` on `rows` rows gets on `device`; with `packed`, on weights prepared for `rows`.

    linear: dim → hidden; mlp and gated_mlp: dim → hidden → dim. activation: None: one that every level has.

    Raises:
        InvalidArgument: there is no such operation, no kernel takes the dtype, or a size is no number of elements.
        Unavailable: the operation cannot run there.
    """
    operation = member(Operation, operation, "operation")
    device = torch.device(device)
    for name, size in (("rows", rows), ("dim", dim), ("hidden", hidden)):
        check_size(size, name)
    if dtype not in FORMATS:
        raise InvalidArgument("dtype", got=repr(dtype), expected=f"one of {', '.join(map(str, FORMATS))}")
    if device.type == "cpu":
        choose = packed_on_cpu if packed else plain_on_cpu
        return choose(operation, rows=rows, dim=dim, hidden=hidden, dtype=dtype)
    if reason := why_unavailable(operation, device=device):
        raise Unavailable(reason)
    if packed and operation is Operation.GATED_MLP:
        return PACKED_ON_CUDA
    n_out = hidden if operation is Operation.LINEAR else dim
    products_in = number_format(dtype, "cuda")
    return choice_on_cuda(operation, None, rows, dim, hidden, n_out, products_in, device.index or 0, activation)


def choice_on_cuda(
    operation: Operation,
    named: Implementation | None,
    rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    number_format: NumberFormat,
    device_index: int,
    activation: str | None,
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
        activation=activation,
        why_not=lambda each: why_unavailable(operation, device=f"cuda:{device_index}", implementation=each),
    )


def chosen_on(
    device: CudaDevice,
    sizes: Sizes,
    *,
    named: Implementation | None = None,
    activation: str | None = None,
    why_not: Callable[[Implementation], str | None] = lambda _: None,
) -> Choice:
    """Return what `sizes` get on `device`: the tuned way for them, that of a neighbour, or the rule's; in this order.

    With `named`, that implementation, and only its tiles are chosen. float32 without tf32 is left to PyTorch: cuBLAS
    has the faster products. `why_not` says what cannot run on the device at all; what has no kernel for the shape or
    the activation (None: what is not named needs kernels for all) is never chosen.

    Raises: Unavailable if what is named cannot run, or nothing can.
    """
    if named is None and sizes.number_format is NumberFormat.FLOAT32:
        return _on_cuda(Implementation.PURE, Found.RULE, "cuBLAS is fastest in float32 without tf32")
    asked = activation if named or activation else _ANY
    candidates = _candidates(device, sizes, named)
    reasons = {each: why_not(each) or _why_not_for(sizes, each, device, asked) for each in candidates}
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
        why = f"{'its best tiles' if named else 'fastest'} at {describe_shape(way)} on {device.name}"
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


_DTYPES = {**{each: dtype for dtype, each in FORMATS.items()}, NumberFormat.TF32: torch.float32}


def _candidates(device: CudaDevice, sizes: Sizes, named: Implementation | None) -> tuple[Implementation, ...]:
    if named:
        return (named,)
    tuned = (way.implementation for way in _ways(device, sizes) if way.is_fastest)
    return tuple(dict.fromkeys((*_BY_RULE, *tuned)))


def _ways(device: CudaDevice, sizes: Sizes) -> tuple[Way, ...]:
    entry = entries().get(device.name)
    section = Section(operation=sizes.operation, number_format=sizes.number_format, weights=Weights.PLAIN)
    return entry.ways.get(section, ()) if entry else ()


def _why_not_for(
    sizes: Sizes, implementation: Implementation, device: CudaDevice, activation: str | None
) -> str | None:
    return why_no_kernel(
        sizes.operation,
        implementation=implementation,
        rows=sizes.rows,
        dim=sizes.dim,
        hidden=sizes.hidden,
        n_out=sizes.n_out,
        dtype=_DTYPES[sizes.number_format],
        capability=device.capability,
        activation=activation,
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


PACKED_ON_CUDA = Choice(
    implementation=Implementation.POINTWISE,
    weights="packed",
    shared_by=None,
    found=Found.RULE,
    why="gate and up in one product, as they were packed",
)
