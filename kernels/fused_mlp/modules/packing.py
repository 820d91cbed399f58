"""Weights packed for inference: when they may be used, and what they cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.gated_mlp.packed_gate_up import pack_gate_up
from fused_mlp.linear.onednn import pack_onednn
from fused_mlp.modules.packed import pack
from fused_mlp.native import fast_calls
from fused_mlp.native.build import ensure_built, why_not_buildable
from fused_mlp.ops.validation import SUPPORTED_DTYPES
from fused_mlp.vocabulary import Implementation

if TYPE_CHECKING:
    from torch import Tensor


_N_SAMPLES = 16
"""Values of each weight that are compared at each call on packed weights: a bound on its cost, not a proof."""


@dataclass(frozen=True, kw_only=True)
class PackReport:
    """Cost of `prepare`. seconds: wall time of packing; n_bytes: memory of the packed copies, beside the weights."""

    implementation: Implementation
    seconds: float
    n_bytes: int


@dataclass(frozen=True, eq=False)
class PackedWeights:
    """Packed copies of some weights, and what those were: tensor, address, version counter and strides each.

    Holding the weights keeps their addresses from being given to others. samples: some values of each; none on CUDA,
    where comparing them would wait for the device at each call. rows: how many
    each weight has; asking a tensor for its shape costs a tenth of a small call. handle: all of this for fast_calls,
    or NotImplemented.
    """

    implementation: Implementation
    tensors: tuple[Tensor, ...]
    sources: tuple[tuple[Tensor, int, int, tuple[int, ...]], ...]
    samples: tuple[Tensor, ...]
    rows: tuple[int, ...]
    handle: Any

    def are_changed(self, weights: tuple[Tensor, ...]) -> bool:
        """Return whether a weight that was packed holds other values now; another weight in its place is no change.

        torch.func.functional_call puts others there for one call.
        """
        return any(
            weight.data_ptr() == address for (_, address, *_), weight in zip(self.sources, weights, strict=True)
        ) and not self.are_current(weights)

    def are_current(self, weights: tuple[Tensor, ...]) -> bool:
        """Return whether `weights` are those that were packed, unchanged since.

        A change is seen by address, version counter, strides and sizes: an optimiser's step, an in-place operation,
        another parameter; and on the CPU by a sample of the values: a write through `weight.data` or numpy moves no
        counter.
        """
        for (source, address, version, strides), weight in zip(self.sources, weights):  # noqa: B905 - of equal length
            if (
                weight.is_inference()
                or weight._version != version  # noqa: SLF001 - torch's own way
                or weight.data_ptr() != address
                or weight.stride() != strides
                or weight.shape != source.shape
            ):
                return False
        pairs = zip(weights, self.samples, strict=False)  # none on CUDA
        return all(torch.equal(_sample(weight), sample) for weight, sample in pairs)


def pack_weights(
    weights: tuple[Tensor, ...], *, implementation: Implementation | str
) -> tuple[PackedWeights, PackReport]:
    """Copy of `weights` in the layout of `implementation`, cpp, onednn or pointwise, and what they took.

    Raises:
        InvalidArgument: another implementation, or a weight created under torch.inference_mode, whose changes
            cannot be seen.
        Unavailable: the weights are on another device or of an operation it packs nothing of, or this machine cannot
            pack them.
    """
    if not isinstance(implementation, str) or implementation not in _PACKED_ON:
        raise InvalidArgument("implementation", got=repr(implementation), expected=f"one of {', '.join(_PACKED_ON)}")
    implementation = Implementation(implementation)
    needed = _PACKED_ON[implementation]
    if implementation is Implementation.POINTWISE and len(weights) != 3:
        raise Unavailable("on CUDA gate and up of gated_mlp are packed, and nothing of other operations")
    for weight in weights:
        if weight.device.type != needed:
            raise Unavailable(f"{implementation} packs weights on {needed}, and these are on {weight.device}")
        if weight.dtype not in SUPPORTED_DTYPES:
            raise Unavailable(f"{weight.dtype} weights cannot be packed; float32, bfloat16 and float16 can")
        if weight.is_inference():
            expected = "one created outside torch.inference_mode, whose changes can be seen"
            raise InvalidArgument("weight", got="an inference tensor", expected=expected)
    if implementation is Implementation.CPP or why_not_buildable() is None:
        # Building is paid once per machine and is no part of packing. oneDNN needs none of it, and is called the
        # short way where it is there.
        _build(is_needed=implementation is Implementation.CPP)
    start = time.perf_counter()
    with torch.no_grad():
        tensors = _copies(tuple(weight.detach().contiguous() for weight in weights), implementation)
        is_sampled = implementation is not Implementation.POINTWISE
        samples = tuple(_sample(weight) for weight in weights) if is_sampled else ()
    seconds = time.perf_counter() - start
    sources = tuple((w.detach(), w.data_ptr(), w._version, w.stride()) for w in weights)  # noqa: SLF001 - as above
    # On CUDA the last weight is not copied.
    n_bytes = sum(_n_bytes(tensor) for tensor in (tensors if is_sampled else tensors[:1]))
    report = PackReport(implementation=implementation, seconds=seconds, n_bytes=n_bytes)
    rows = tuple(w.shape[0] for w in weights)
    is_onednn = implementation is Implementation.ONEDNN
    handle = fast_calls.pack(weights, tensors, is_onednn) if is_sampled else NotImplemented
    packed = PackedWeights(implementation, tensors, sources, samples, rows, handle)
    _in_use.add(packed)
    _watch_optimisers()
    return packed, report


_PACKED_ON = {Implementation.CPP: "cpu", Implementation.ONEDNN: "cpu", Implementation.POINTWISE: "cuda"}
"""Type of device for which each implementation packs."""


def _copies(weights: tuple[Tensor, ...], implementation: Implementation) -> tuple[Tensor, ...]:
    if implementation is Implementation.POINTWISE:
        w_gate, w_up, w_down = weights
        return pack_gate_up(w_gate, w_up), w_down
    packer = pack if implementation is Implementation.CPP else pack_onednn
    return tuple(packer(weight) for weight in weights)


_in_use: WeakSet[PackedWeights] = WeakSet()


@cache
def _watch_optimisers() -> None:
    """Let steps of all optimisers move the counters of packed weights, from now on.

    Torch's fused optimisers, and others that write through `.data`, change parameters and leave their counters alone.
    """
    register_optimizer_step_post_hook(_count_step)


def _count_step(optimiser: torch.optim.Optimizer, args: object, kwargs: object) -> None:
    del args, kwargs
    if torch.compiler.is_compiling():
        # What is compiled moves the counters of all it writes.
        return
    watched = [source for packed in tuple(_in_use) for source in packed.sources]
    if not watched:
        return
    parameters = (p for group in optimiser.param_groups for p in group["params"])
    written = {p.data_ptr() for p in parameters if p.device.type in ("cpu", "cuda")}
    for weight, address, version, _ in watched:
        if address in written and weight._version == version:  # noqa: SLF001 - as above
            torch.autograd.graph.increment_version(weight)


def _build(*, is_needed: bool) -> None:
    try:
        ensure_built()
    except Unavailable:
        if is_needed:
            raise


def _sample(weight: Tensor) -> Tensor:
    """Return values of `weight` spread over its rows and columns, the same ones every time."""
    n_rows, n_columns = weight.shape
    with torch.no_grad():
        index = torch.arange(min(_N_SAMPLES, n_rows * n_columns))
        # Steps by the golden ratio meet all rows and columns alike.
        rows = (index * 0.6180339887 % 1.0 * n_rows).long()
        columns = (index * 0.7548776662 % 1.0 * n_columns).long()
        return weight.detach()[rows, columns]


def _n_bytes(packed: Tensor) -> int:
    return packed.numel() * packed.element_size()
