"""Recipes of calls on CUDA: what a call launched, handed to C++, which launches it again for later calls of its sizes.

host/launches.h says what a recipe is and when it applies. A call has none if its kernel takes tensor descriptors (they
hold addresses), wants more of a launch than a grid, or was not started by its compiled handle; it then goes the long
way every time, which computes the same.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from triton import knobs

from fused_mlp.gpu.launch import LaunchPath, launch_path
from fused_mlp.native import fast_calls
from fused_mlp.native.build import ensure_calls_built
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from fused_mlp.gpu.launch import Started

_SLOTS = ("x", "w0", "w1", "w2", "b0", "b1", "out", "h0", "h1", "scratch")
"""Tensors of a call, in the order of Slot in host/launches.h."""

_TENSORS: dict[tuple[Operation, Implementation], tuple[str | None, ...]] = {
    (Operation.LINEAR, Implementation.POINTWISE): ("h0", "b0"),
    (Operation.LINEAR, Implementation.EPILOGUE): ("x", "w0", "b0", "h0", None),
    (Operation.MLP, Implementation.POINTWISE): ("h0", "b0"),
    (Operation.MLP, Implementation.EPILOGUE): ("x", "w0", "b0", "h0", None),
    (Operation.MLP, Implementation.SINGLE): ("x", "w0", "b0", "w1", "b1", "out"),
    (Operation.GATED_MLP, Implementation.POINTWISE): ("h0", "h1"),
    (Operation.GATED_MLP, Implementation.EPILOGUE): ("x", "w0", "w1", "h0", None, None),
    (Operation.GATED_MLP, Implementation.SINGLE): ("x", "w0", "w1", "w2", "out"),
}
"""What the one kernel of a level takes first, in its order; split hidden takes parts and counters behind it."""

_WITHOUT_KERNEL = (Implementation.PURE, Implementation.CUBLASLT)
_WANTED = {"num_ctas": 1, "launch_pdl": False, "launch_cooperative_grid": False}
_NOT_ALLOCATED = ("global_scratch_size", "profile_scratch_size")

_ABSENT = 1
# The handle of a kernel that was compiled for a GPU that is not here: no driver is asked for it.

# What recipes point to: compiled kernels, and the workspaces of their streams.
_kept: list[Any] = []


@cache
def why_no_recipes() -> str | None:
    """Build the fast path; return why calls in this process go the long way, None if they may have recipes.

    FUSED_MLP_RECIPES=0 in the environment is a reason.
    """
    if os.environ.get("FUSED_MLP_RECIPES") == "0":
        return "FUSED_MLP_RECIPES=0 asks for the long way"
    if launch_path() is not LaunchPath.HANDLE:
        return f"kernels are started through {launch_path()}, not by their compiled handles"
    if reason := ensure_calls_built():
        return reason
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        addresses = [
            ctypes.cast(getattr(cuda, name), ctypes.c_void_p).value
            for name in ("cuLaunchKernel", "cuStreamIsCapturing", "cuCtxGetCurrent")
        ]
    except (OSError, AttributeError) as error:
        return f"CUDA's driver does not load: {error}"
    fast_calls.drive(*addresses, "cuda", torch._C._cuda_getCurrentRawStream)  # noqa: SLF001 - as Triton's own driver
    return None


def remember(
    operation: Operation,
    level: Implementation,
    arguments: tuple[Tensor | None, ...],
    started: Sequence[Started],
    *,
    activation: str,
) -> bool:
    """Keep the recipe of a call with these `arguments`, which launched `started`; return whether there is one."""
    asked = (*arguments, activation, "activation")
    hooks = knobs.runtime.launch_enter_hook.calls, knobs.runtime.launch_exit_hook.calls
    if level in _WITHOUT_KERNEL:
        has_bias = operation is not Operation.GATED_MLP and arguments[2] is not None
        if started or (level is Implementation.CUBLASLT and not has_bias):
            return False
        return fast_calls.remember(operation, asked, level, 0, (1, 1, 1), 0, 0, 0, (), hooks) is True
    slots = _TENSORS.get((operation, level))
    if slots is None or len(started) != 1:
        return False
    (one,) = started
    parameters = _parameters(one, slots)
    metadata = getattr(one.compiled, "metadata", None)
    if parameters is None or metadata is None or not _is_plain_launch(metadata):
        return False
    _kept.append((one.compiled, one.tensors[len(slots) :]))
    grid = (*one.grid, 1, 1)[:3]
    scratch = one.tensors[len(slots)] if _is_ordered(one) else None
    n_scratch = 0 if scratch is None else scratch.numel()
    function = _ABSENT if launch_path() is LaunchPath.AHEAD else one.compiled.function
    n_threads = 32 * metadata.num_warps
    launch = function, grid, n_threads, metadata.shared, n_scratch, parameters
    return fast_calls.remember(operation, asked, level, *launch, hooks) is True


def _is_plain_launch(metadata: Any) -> bool:
    return all(getattr(metadata, name, wanted) == wanted for name, wanted in _WANTED.items()) and not any(
        getattr(metadata, name, 0) for name in _NOT_ALLOCATED
    )


def _is_ordered(one: Started) -> bool:
    """Return whether a launch of split hidden has its parts in scratch of its own, not in its stream's workspace."""
    names = one.kernel.arg_names
    values = dict(zip(names, (*one.tensors, *one.sizes, *one.constants), strict=True))
    return bool(values.get("ORDERED", False))


def _parameters(one: Started, slots: tuple[str | None, ...]) -> tuple[tuple[int, int], ...] | None:
    """Return the kernel's parameters as recipes hold them, (slot, 0) or (-1, value); None if it has others.

    What Triton made a constant of is none: sizes of 1, tensors that are not there. Behind them stand the addresses of
    two scratch buffers, which these kernels have no use for. Source: _launch in triton/backends/nvidia/driver.c.
    """
    if one.n_descriptors:
        return None
    all_slots = (*slots, "scratch" if _is_ordered(one) else "kept", "kept")
    types = one.compiled.src.signature
    found = []
    for index, name in enumerate(one.kernel.arg_names[: len(one.tensors) + len(one.sizes)]):
        if types[name] == "constexpr":
            continue
        if index < len(one.tensors):
            slot, tensor = all_slots[index], one.tensors[index]
            if slot is None or tensor is None:
                return None
            found.append((-1, tensor.data_ptr()) if slot == "kept" else (_SLOTS.index(slot), 0))
        elif types[name] in ("i32", "i64"):
            found.append((-1, one.sizes[index - len(one.tensors)]))
        else:
            return None
    return *found, (-1, 0), (-1, 0)
