"""`mlp` as one kernel in CUDA C++: a reference point for the Triton kernels, small enough to be read at one sitting.

A block takes 64 rows: x stays in shared memory, the sums of y in registers, and the hidden activations, 32 columns at
a time, never leave the chip (level 3, full tile). bfloat16 and float16 multiply on the tensor cores by mma.sync
(wmma), float32 on the ordinary units, exactly as torch at "highest". Compiled by nvcc when first used.

What it can't do: inputs or outputs wider than 256; few rows in little time, as 64 rows are one block's work however
few there are; Hopper's and Blackwell's own matrix instructions, which wmma does not reach.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.utils import cpp_extension

from fused_mlp.errors import Unavailable
from fused_mlp.native.libraries import PACKAGE, ensure_compiled, library_path
from fused_mlp.native.nvcc import compiles_for, find_nvcc, nvcc_version, why_no_nvcc

if TYPE_CHECKING:
    from torch import Tensor

WIDEST = 256
"""The most input and output features."""

DEVICE_FLAGS = ("-std=c++20", "-O3")
"""What decides the kernels' machine code, beside the target."""

KERNEL_SOURCE = PACKAGE / "mlp" / "cuda.cu"

_OLDEST_CAPABILITY = 80
_SHARED_MEMORY_LIMIT_BYTES = {86: 101_376, 89: 101_376, 120: 101_376, 121: 101_376}
# Of one block, where that is less than the widest shape needs; the others from sm_80 on have 166912 or more. Source:
# CUDA C++ Programming Guide, table of technical specifications per compute capability.
_ROWS, _HIDDEN = 64, 32
_ELEMENT_BYTES = {torch.float32: 4, torch.bfloat16: 2, torch.float16: 2}

_load_lock = threading.RLock()
_is_loaded = False
_failure: str | None = None


def launch_mlp_cuda(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, *, activation: str, tiles: None = None
) -> Tensor:
    """act(x·W1ᵀ + b1)·W2ᵀ + b2 in one launch on the current stream. Arguments as in `mlp`, checked by the caller.

    tiles: there is one choice of tiles, so nothing can be chosen.

    Raises: Unavailable if the op cannot be built here, or the shape is beyond it; `why_not_cuda` and
    `why_not_cuda_shape` say so before.
    """
    del tiles
    ensure_built()
    hidden, dim = w1.shape
    capability = _capability_at_launch(x.device)
    if reason := why_not_cuda_shape(dim=dim, hidden=hidden, out=w2.shape[0], dtype=x.dtype, capability=capability):
        raise Unavailable(reason)
    y: Tensor = torch.ops.fused_mlp.mlp_cuda(x, w1, b1, w2, b2, activation)
    return y


def why_not_cuda(*, device: torch.device | str | None = None) -> str | None:
    """Why the op cannot run on `device` (the current one by default), in words; None if it can. Compiles nothing.

    A compiler that is there but fails is known only after `ensure_built()`.
    """
    if not torch.cuda.is_available():
        built = "torch sees none" if torch.version.cuda else f"torch {torch.__version__} is built without CUDA"
        return f"the CUDA C++ op needs an NVIDIA GPU and {built}"
    if (capability := _capability_of(device)) < _OLDEST_CAPABILITY:
        return f"the CUDA C++ op needs sm_{_OLDEST_CAPABILITY} or later, this device is sm_{capability}"
    if _is_loaded:
        return None
    return _failure or why_no_nvcc() or _why_not_this_nvcc(find_nvcc() or "")


@cache
def why_not_cuda_shape(*, dim: int, hidden: int, out: int, dtype: torch.dtype, capability: int) -> str | None:
    """Why a shape is beyond the op on a device of `capability` (90: sm_90), in words; None if it is not."""
    if max(dim, out) > WIDEST:
        return f"the CUDA C++ op takes at most {WIDEST} input and output features, these are {dim} and {out}"
    if min(dim, hidden) < 1:
        return f"the CUDA C++ op takes no empty product, this has {dim} inputs and {hidden} hidden features"
    needed = shared_memory_bytes(dim=dim, out=out, dtype=dtype)
    limit = _SHARED_MEMORY_LIMIT_BYTES.get(capability, needed)
    if needed > limit:
        return f"the CUDA C++ op needs {needed} bytes of shared memory for this shape, sm_{capability} has {limit}"
    return None


def shared_memory_bytes(*, dim: int, out: int, dtype: torch.dtype) -> int:
    """The shared memory of one block; the same arithmetic as shared_layout in cuda_arguments.cuh."""
    element = _ELEMENT_BYTES[dtype]
    vector = 16 // element
    out_tile = 64 if out <= 64 else 128 if out <= 128 else 256
    x_row = -(-dim // 16) * 16 + vector
    hidden_row = _HIDDEN + vector
    x, w1, w2 = _ROWS * x_row * element, _HIDDEN * x_row * element, out_tile * hidden_row * element
    hidden, sums = _ROWS * hidden_row * element, _ROWS * (_HIDDEN + 4) * 4
    tiles = sum(-(-n_bytes // 128) * 128 for n_bytes in (x, w1, w2, hidden, sums))
    return max(tiles, _ROWS * (out_tile + 4) * 4)


def ensure_built() -> None:
    """The op is built, for every GPU that torch sees, and loaded when this returns; the first time takes ~10 s.

    Raises: Unavailable: no GPU, no nvcc, the wrong one, or one that fails; the message says which.
    """
    global _is_loaded, _failure  # noqa: PLW0603 - a library is loaded once per process
    if _is_loaded:
        return
    with _load_lock:
        if not _is_loaded:
            if reason := why_not_cuda():
                raise Unavailable(reason)
            try:
                library = build_library(capabilities=_capabilities_here())
                torch.ops.load_library(str(library))
            except Unavailable as unavailable:
                _failure = str(unavailable)
                raise
            except OSError as error:
                _failure = f"the CUDA C++ op was built but does not load: {error.__cause__ or error}"
                raise Unavailable(_failure) from error
            _is_loaded = True


def build_library(*, capabilities: tuple[int, ...]) -> Path:
    """The op compiled for devices of `capabilities` (90: sm_90), by this nvcc against this torch; where it lies.

    Raises: Unavailable if there is no nvcc, or it fails; the message has what it printed.
    """
    if reason := why_no_nvcc():
        raise Unavailable(reason)
    nvcc = find_nvcc() or ""
    targets = [f"-gencode=arch=compute_{capability},code=sm_{capability}" for capability in capabilities]
    flags = [*DEVICE_FLAGS, *targets, *host_flags()]
    sources = (KERNEL_SOURCE, KERNEL_SOURCE.with_name("cuda_op.cpp"), *KERNEL_SOURCE.parent.glob("cuda*.cuh"))
    conditions = (*flags, torch.__version__, str(torch.version.cuda), nvcc, nvcc_version(nvcc))
    library = library_path("fused_mlp_cuda.so", sources=sources, conditions=conditions)
    folders = [f"-L{folder}" for folder in cpp_extension.library_paths()]
    command = [nvcc, *flags, "-shared", *map(str, sources[:2]), *folders, "-lc10", "-ltorch_cpu", "-lc10_cuda"]
    ensure_compiled(library, compiler="the CUDA C++ compiler", command=command)
    return library


def host_flags() -> list[str]:
    """How the C++ around the kernels is compiled against this torch."""
    folders = cpp_extension.include_paths()
    # A torch without CUDA brings c10's headers for it, but not the one that says how it was configured.
    is_configured = any((Path(folder) / "c10/cuda/impl/cuda_cmake_macros.h").exists() for folder in folders)
    host_compiler = os.environ.get("CXX")
    return [
        *("-Xcompiler", "-fPIC,-w", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"),
        *([] if is_configured else ["-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"]),
        *(["-ccbin", host_compiler] if host_compiler else []),
        *(flag for folder in folders for flag in ("-isystem", folder)),
    ]


def _capability_of(device: torch.device | str | int | None) -> int:
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


# A tensor's device has an index, so what it means does not change with the current device.
_capability_at_launch = cache(_capability_of)


def _capabilities_here() -> tuple[int, ...]:
    # One library for all devices that can use it: a second would define the op again.
    found = {_capability_of(index) for index in range(torch.cuda.device_count())}
    return tuple(sorted(capability for capability in found if capability >= _OLDEST_CAPABILITY))


def _why_not_this_nvcc(nvcc: str) -> str | None:
    version = nvcc_version(nvcc)
    if version.split(".")[0] != str(torch.version.cuda).split(".")[0]:
        return (
            f"the CUDA C++ op needs the nvcc of torch's CUDA {torch.version.cuda}, {nvcc} is {version}; see CUDA_HOME"
        )
    unknown = [capability for capability in _capabilities_here() if not compiles_for(nvcc, capability=capability)]
    return f"the CUDA C++ op needs an nvcc for sm_{unknown[0]}, {nvcc} {version} has none" if unknown else None
