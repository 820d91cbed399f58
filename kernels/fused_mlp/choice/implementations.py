"""Availability of implementations, and calls of one by name."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

import torch

from fused_mlp.activations import Activation
from fused_mlp.errors import InvalidArgument
from fused_mlp.native.build import why_not_buildable
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum

    from torch import Tensor

_TRITON_PRODUCTS = (Implementation.EPILOGUE, Implementation.SINGLE)
CUBLASLT_ACTIVATIONS = (Activation.RELU, Activation.GELU_TANH)
"""Source: at::_addmm_activation of PyTorch, whose use_gelu is cuBLASLt's, the tanh form."""
_FULL_FLOAT32 = (
    "it multiplies float32 on tensor cores, which round to tf32: allow that by"
    " torch.set_float32_matmul_precision('high'), or name 'pure' or 'pointwise', whose products are cuBLAS's"
)
_NO_GPU = "the CUDA kernels need an NVIDIA GPU and torch sees none"
_Member = TypeVar("_Member", bound="StrEnum")


def why_unavailable(
    operation: Operation | str, *, device: torch.device | str, implementation: Implementation | str | None = None
) -> str | None:
    """Return why `operation` cannot run on `device` here, in words for a user; None if it can.

    Without an `implementation`, the question is about the one that a call without one would get. Builds and
    launches nothing. A compiler that is there but fails is known only after `fused_mlp.native.build.ensure_built()`,
    which raises the same words.

    Raises: InvalidArgument if there is no such operation or implementation.
    """
    operation = member(Operation, operation, "operation")
    device = torch.device(device)
    if implementation is None:
        implementation = Implementation.EPILOGUE if device.type == "cuda" else Implementation.CPP
    match member(Implementation, implementation, "implementation"):
        case Implementation.CPP:
            return _why_not_on(device, "cpu", operation) or why_not_buildable()
        case Implementation.POINTWISE | Implementation.EPILOGUE:
            return _why_not_on(device, "cuda", operation) or _why_not_triton(device)
        case Implementation.SINGLE | Implementation.CUBLASLT as level:
            reason = _why_never(operation, level)
            return reason or _why_not_on(device, "cuda", operation) or _why_not_triton(device)
        case Implementation.CUDA:
            reason = _why_never(operation, Implementation.CUDA)
            return reason or _why_not_on(device, "cuda", operation) or _why_not_cuda_op(device)
        case Implementation.ONEDNN:
            available = torch.backends.mkldnn.is_available()
            return _why_not_on(device, "cpu", operation) or (
                None if available else "this PyTorch was built without oneDNN"
            )
        case Implementation.PURE:
            return None


def why_not_for_shape(
    operation: Operation | str,
    *,
    implementation: Implementation | str,
    rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    dtype: torch.dtype,
    capability: int,
    activation: str | None = None,
) -> str | None:
    """Return why `implementation` has no kernel for a shape on sm_<capability>, in words; None if it has one.

    rows × dim → hidden → n_out; for linear n_out is hidden. activation: None: some that it has. Asks nothing of a
    device, so none need be there; whether one is there is `why_unavailable`'s question. On the CPU every implementation
    takes every shape. float32 is what torch.set_float32_matmul_precision allows now: tf32 or not.

    Raises: InvalidArgument if there is no such operation or implementation.
    """
    return why_no_kernel(
        member(Operation, operation, "operation"),
        implementation=member(Implementation, implementation, "implementation"),
        rows=rows,
        dim=dim,
        hidden=hidden,
        n_out=n_out,
        dtype=dtype,
        capability=capability,
        activation=activation,
        allows_tf32=torch.get_float32_matmul_precision() != "highest",
    )


def why_no_kernel(
    operation: Operation,
    *,
    implementation: Implementation,
    rows: int,
    dim: int,
    hidden: int,
    n_out: int,
    dtype: torch.dtype,
    capability: int,
    activation: str | None,
    allows_tf32: bool,
) -> str | None:
    """Return what why_not_for_shape does, with float32 products as tf32 or not."""
    if reason := _why_never(operation, implementation):
        return reason
    if implementation is Implementation.CUBLASLT and activation not in (None, *CUBLASLT_ACTIVATIONS):
        return f"cuBLASLt's epilogues are {' and '.join(CUBLASLT_ACTIVATIONS)}, not {activation}"
    if implementation in _TRITON_PRODUCTS and dtype == torch.float32 and not allows_tf32:
        return _FULL_FLOAT32
    asked: Callable[..., str | None]
    match implementation:
        case Implementation.SINGLE:
            asked = import_module(f"fused_mlp.{operation}.triton_single").why_not_single
            return asked(n_rows=rows, dim=dim, hidden=hidden, n_out=n_out, dtype=dtype, capability=capability)
        case Implementation.CUDA:
            asked = import_module("fused_mlp.mlp.cuda_example").why_not_cuda_shape
            return asked(dim=dim, out=n_out)
        case _:
            return None


def compute_with(
    implementation: Implementation | str,
    operation: str,
    device: torch.device,
    *,
    op: Callable[[], Tensor],
    pure: Callable[[], Tensor],
) -> Tensor:
    """Return the result of the implementation named, never by another.

    Raises: InvalidArgument if it is for another device, or for packed weights only.
    """
    match member(Implementation, implementation, "implementation"):
        case Implementation.PURE:
            return pure()
        case Implementation.ONEDNN:
            expected = "another: oneDNN packs weights, which only a module can keep (see prepare)"
            raise InvalidArgument("implementation", got="'onednn' in a function", expected=expected)
        case chosen:
            needed = "cpu" if chosen is Implementation.CPP else "cuda"
            reason = _why_never(Operation(operation), chosen) or _why_not_on(device, needed, operation)
            if reason:
                raise InvalidArgument("implementation", got=f"{str(chosen)!r} ({reason})", expected=f"one for {device}")
            return op()


def member(kind: type[_Member], value: _Member | str, argument: str) -> _Member:
    """Return the member of `kind` called `value`. Raises: InvalidArgument, naming the choices."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidArgument(argument, got=repr(value), expected=f"one of {', '.join(kind)}") from None


def check_size(size: object, argument: str) -> None:
    """Raise InvalidArgument unless `size` is a whole number, 0 or more, that C++ can count with."""
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**63:
        raise InvalidArgument(argument, got=repr(size), expected="a whole number, 0 or more")


def _why_not_on(device: torch.device, needed: str, operation: str) -> str | None:
    if device.type == needed:
        return None
    if device.type in ("cpu", "cuda"):
        return f"it runs on {needed}, not on {device.type}"
    return f"fused_mlp.{operation} has no kernel for {device.type}; it runs on cpu and cuda"


def _why_never(operation: Operation, implementation: Implementation) -> str | None:
    if implementation is Implementation.SINGLE and operation is Operation.LINEAR:
        return "linear is one launch at level 2 already: epilogue"
    if implementation is Implementation.CUBLASLT and operation is Operation.GATED_MLP:
        return "cuBLASLt's epilogues have no gate"
    if implementation is Implementation.CUDA and operation is not Operation.MLP:
        return f"the CUDA C++ op computes mlp, not {operation}"
    return None


def _why_not_cuda_op(device: torch.device) -> str | None:
    if not torch.cuda.is_available():
        return _NO_GPU
    reason: str | None = import_module("fused_mlp.mlp.cuda_example").why_not_cuda(device=device)
    return reason


def _why_not_triton(device: torch.device) -> str | None:
    if not torch.cuda.is_available():
        return _NO_GPU
    if importlib.util.find_spec("triton") is None:
        return "the CUDA kernels need triton, which is not installed: pip install triton"
    major, minor = torch.cuda.get_device_capability(device)
    if major < 8:
        return f"the CUDA kernels need sm_80 or later, this device is sm_{major}{minor}"
    return None
