"""Whether an operation can run on a device, asked before anything is run."""

from __future__ import annotations

import importlib.util
from enum import StrEnum

import torch

from fused_mlp.build import why_not_buildable
from fused_mlp.errors import InvalidArgument


class Operation(StrEnum):
    """What this package computes; each is the name of a function of it."""

    LINEAR = "linear"
    MLP = "mlp"
    GATED_MLP = "gated_mlp"


def why_unavailable(operation: Operation | str, *, device: torch.device | str) -> str | None:
    """Why `operation` cannot run on `device` here, in words for a user; None if it can.

    Builds and launches nothing. A compiler that is there but fails is known only after
    `fused_mlp.build.ensure_built()`, which raises the same words.

    Raises: InvalidArgument if there is no such operation.
    """
    if operation not in list(Operation):
        raise InvalidArgument("operation", got=repr(operation), expected=f"one of {', '.join(Operation)}")
    device = torch.device(device)
    match device.type:
        case "cpu":
            return why_not_buildable()
        case "cuda":
            return _why_unavailable_on_cuda(device)
        case other:
            return f"fused_mlp.{operation} has no kernel for {other}; it runs on cpu and cuda"


def _why_unavailable_on_cuda(device: torch.device) -> str | None:
    if not torch.cuda.is_available():
        return "the CUDA kernels need an NVIDIA GPU and torch sees none"
    if importlib.util.find_spec("triton") is None:
        return "the CUDA kernels need triton, which is not installed: pip install triton"
    major, minor = torch.cuda.get_device_capability(device)
    if major < 8:
        return f"the CUDA kernels need sm_80 or later, this device is sm_{major}{minor}"
    return None
