"""Launch of Triton kernels: by their compiled handle where that is known to work, else by Triton's JIT.

Triton's JIT inspects every argument of every call to find the compiled kernel; here the first call of a kernel with
given sizes, alignments and constants goes that way, and later ones start the compiled kernel it returned. Nothing
here waits for the device, reads from it or allocates on it, so that all of it can be captured in a CUDA graph.

What it can't do: notice `triton.knobs` for debugging or instrumentation that change after a kernel's first call.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import triton
from triton import knobs

from fused_mlp.gpu.tiles import is_interpreting
from fused_mlp.native import fast_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

HANDLE_VERSIONS = ((3, 6), (3, 7))
"""The versions of Triton whose compiled kernels are started directly. Source: CompiledKernel.run and CudaLauncher in
their triton/compiler/compiler.py and triton/backends/nvidia/driver.py; both take the same arguments in both."""

DIVISOR = 16
"""What addresses and sizes are divisible by in the code Triton makes for them. Source: get_tensor_specialization and
get_int_specialization in triton/backends/compiler.py."""

MOST_HANDLES = 4096
"""Distinct calls remembered; all are forgotten when there are more, so that a process with ever new sizes does not
grow without bound."""


class LaunchPath(StrEnum):
    """Way in which kernels are started in this process.

    HANDLE: through the compiled kernel, found by sizes, alignments and constants. JIT: through Triton's dispatch at
    every call. INTERPRETER: by Triton's interpreter on the CPU. AHEAD: not started, only compiled by Triton's JIT.
    """

    HANDLE = "handle"
    JIT = "jit"
    INTERPRETER = "interpreter"
    AHEAD = "ahead"


def path_for(*, triton_version: str, interpreting: bool) -> LaunchPath:
    """Return how kernels are started under `triton_version` ("3.7.1"): directly only where that was read and tried."""
    if interpreting:
        return LaunchPath.INTERPRETER
    major, minor = triton_version.split(".")[:2]
    is_known = (int(major), int(minor)) in HANDLE_VERSIONS
    return LaunchPath.HANDLE if is_known else LaunchPath.JIT


_path = path_for(triton_version=triton.__version__, interpreting=is_interpreting())
_handles: dict[tuple[Any, ...], tuple[Any, ...]] = {}
_noting = threading.local()


class Started(NamedTuple):
    """Kernel that was started, with what it was given: its parameters are tensors, sizes, constants, in this order.

    compiled: Triton's compiled kernel. A launch with descriptors is noted as such, by their number alone.
    """

    kernel: Any
    compiled: Any
    grid: tuple[int, ...]
    tensors: tuple[Tensor | None, ...]
    sizes: tuple[int, ...]
    constants: tuple[Any, ...]
    n_descriptors: int


@contextmanager
def noting_launches() -> Iterator[list[Started]]:
    """Yield a list that gets this thread's launches, but for those through the interpreter or past a hook."""
    _noting.started = started = list[Started]()
    try:
        yield started
    finally:
        _noting.started = None


def launch_path() -> LaunchPath:
    """Return how kernels are started in this process."""
    return _path


@contextmanager
def launching_through(path: LaunchPath) -> Iterator[None]:
    """Start kernels through `path` for a while, to compare paths. Not for several threads at once."""
    global _path  # noqa: PLW0603 - the one switch, put back below
    before, _path = _path, path
    fast_calls.forget()
    try:
        yield
    finally:
        _path = before
        fast_calls.forget()


def forget_handles() -> None:
    """Let every kernel's next call go through Triton's JIT again."""
    _handles.clear()
    fast_calls.forget()


def launch(
    kernel: Any,
    grid: tuple[int, ...],
    tensors: tuple[Tensor | None, ...],
    sizes: tuple[int, ...],
    constants: tuple[Any, ...],
    *,
    n_warps: int,
    n_stages: int,
    descriptors: tuple[Any, ...] = (),
) -> None:
    """Start `kernel` on `grid` programs, on the current stream of the current device.

    The kernel's parameters are, in this order: descriptors, tensors, sizes, constants. descriptors: Triton's
    TensorDescriptor, whose blocks follow from the constants. The first of them, or else the first tensor, is not None
    and on the current device.
    """
    if _path is not LaunchPath.HANDLE or knobs.runtime.launch_enter_hook.calls or knobs.runtime.launch_exit_hook.calls:
        compiled = _launch_through_jit(kernel, grid, (*descriptors, *tensors, *sizes), constants, n_warps, n_stages)
        if _path is LaunchPath.AHEAD:
            _note(Started(kernel, compiled, grid, tensors, sizes, constants, len(descriptors)))
        return
    # Everything Triton specialises on: types, divisibility of addresses by 16, and of sizes, which stand here whole.
    key: list[Any] = [id(kernel), n_warps, n_stages, sizes, constants]
    pointers: list[int | None] = []
    for t in tensors:
        address = None if t is None else t.data_ptr()
        pointers.append(address)
        # Pointers as numbers: a tensor would be asked for its address again, and the driver about the address.
        key.append(None if t is None else t.dtype)
        key.append(address is not None and address % DIVISOR == 0)
    key.extend([descriptor.base.dtype for descriptor in descriptors])
    first: Any = descriptors[0].base if descriptors else tensors[0]
    device = first.get_device()
    key.append(device)
    handle = _handles.get(tuple(key))
    if handle is None:
        compiled = _launch_through_jit(kernel, grid, (*descriptors, *tensors, *sizes), constants, n_warps, n_stages)
        _remember(tuple(key), kernel, compiled)
        _note(Started(kernel, compiled, grid, tensors, sizes, constants, len(descriptors)))
        return
    _, compiled, run, function, metadata = handle
    _note(Started(kernel, compiled, grid, tensors, sizes, constants, len(descriptors)))
    n_x, n_y, n_z = grid if len(grid) == 3 else (*grid, 1, 1)[:3]
    stream = _current_stream(device)
    run(n_x, n_y, n_z, stream, function, metadata, None, None, None, *descriptors, *pointers, *sizes, *constants)


def _note(started: Started) -> None:
    noted = getattr(_noting, "started", None)
    if noted is not None:
        noted.append(started)


def _current_stream(device: int) -> int:
    # What Triton's own driver asks.
    stream: int = torch._C._cuda_getCurrentRawStream(device)  # noqa: SLF001 - torch has no public name for it
    return stream


def _launch_through_jit(
    kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], constants: tuple[Any, ...], warps: int, stages: int
) -> Any:
    if _path is LaunchPath.AHEAD:
        return kernel.warmup(*arguments, *constants, grid=grid, num_warps=warps, num_stages=stages)
    return kernel[grid](*arguments, *constants, num_warps=warps, num_stages=stages)


def _remember(key: tuple[Any, ...], kernel: Any, compiled: Any) -> None:
    # A hook of the user's can keep Triton from compiling, or make it do so later: then there is no handle yet.
    if getattr(compiled, "packed_metadata", None) is None:
        return
    if len(_handles) >= MOST_HANDLES:
        _handles.clear()
    # The kernel itself is kept: its id stands in the key, and must not become another's.
    _handles[key] = (kernel, compiled, compiled.run, compiled.function, compiled.packed_metadata)
