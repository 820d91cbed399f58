"""`mlp` as one kernel in C++ and CUDA: an example to read, in cuda_example.cu, and here to build and call it.

Built by nvcc when first used (half a minute), for every GPU that torch sees. No default of anything: it is called by
its name, `implementation="cuda"`.

What it can't do: inputs or outputs wider than 256; little time for few rows, as 64 rows are one block's work however
few there are; devices whose blocks have less shared memory than an A100's.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from fused_mlp.errors import Unavailable
from fused_mlp.native.libraries import (
    PACKAGE,
    ensure_compiled,
    library_path,
    torch_include_flags,
    torch_link_flags,
)
from fused_mlp.native.nvcc import compiles_for, find_nvcc, nvcc_version, why_no_nvcc

if TYPE_CHECKING:
    from torch import Tensor

SOURCE = PACKAGE / "mlp" / "cuda_example.cu"
WIDEST = 256
"""The most input and output features."""

_OLDEST_CAPABILITY = 80

_load_lock = threading.RLock()
_is_loaded = False
_failure: str | None = None


def launch_mlp_cuda(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, *, activation: str
) -> Tensor:
    """Return act(x·W1ᵀ + b1)·W2ᵀ + b2, in one launch on the current stream.

    Arguments as in `mlp`, checked by the caller; what is not contiguous is copied.

    Raises: Unavailable if the op cannot be built here, or the shape is beyond it; `why_not_cuda` and
    `why_not_cuda_shape` say so before.
    """
    ensure_built()
    if reason := why_not_cuda_shape(dim=w1.shape[1], out=w2.shape[0]):
        raise Unavailable(reason)
    y: Tensor = torch.ops.fused_mlp.mlp_cuda(x, w1, b1, w2, b2, activation)
    return y


def why_not_cuda(*, device: torch.device | str | None = None) -> str | None:
    """Return why the op cannot run on `device` (the current one by default), in words; None if it can.

    Compiles nothing: a compiler that is there but fails is known only after `ensure_built()`.
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
def why_not_cuda_shape(*, dim: int, out: int) -> str | None:
    """Return why a shape is beyond the op, in words; None if it is not."""
    if max(dim, out) > WIDEST:
        return f"the CUDA C++ op takes at most {WIDEST} input and output features, these are {dim} and {out}"
    return None


def ensure_built() -> None:
    """Build the op for every GPU that torch sees, and load it, unless that is done.

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
    """Compile the op for devices of `capabilities` (90: sm_90) against this torch, and return where it lies.

    Raises: Unavailable if there is no nvcc, or it fails; the message has what it printed.
    """
    if reason := why_no_nvcc():
        raise Unavailable(reason)
    nvcc = find_nvcc() or ""
    conditions = (*flags(capabilities), torch.__version__, str(torch.version.cuda), nvcc, nvcc_version(nvcc))
    library = library_path("fused_mlp_cuda.so", sources=(SOURCE,), conditions=conditions)
    libraries = (*torch_link_flags(), "-lc10", "-ltorch_cpu", "-lc10_cuda")
    command = [nvcc, *flags(capabilities), "-shared", str(SOURCE), *libraries]
    ensure_compiled(library, compiler="the CUDA C++ compiler", command=command)
    return library


def flags(capabilities: tuple[int, ...]) -> list[str]:
    """Return what nvcc needs to compile the op for `capabilities` against this torch."""
    # A torch without CUDA brings c10's headers for it, but not the one that says how it was configured.
    headers = Path(torch.__file__).parent / "include"
    is_configured = (headers / "c10/cuda/impl/cuda_cmake_macros.h").exists()
    host_compiler = os.environ.get("CXX")
    return [
        *("-std=c++20", "-O3"),
        *(f"-gencode=arch=compute_{capability},code=sm_{capability}" for capability in capabilities),
        *("-Xcompiler", "-fPIC,-w", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"),
        *([] if is_configured else ["-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"]),
        *(["-ccbin", host_compiler] if host_compiler else []),
        *torch_include_flags(),
    ]


def _capability_of(device: torch.device | str | int | None) -> int:
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


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
