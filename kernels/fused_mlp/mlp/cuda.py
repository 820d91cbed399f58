"""`mlp` on CUDA: which kernel a call gets, and the call. Importing this needs triton."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.vocabulary import Implementation

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

LAUNCHERS = {
    Implementation.POINTWISE: ("fused_mlp.mlp.triton_pointwise", "launch_mlp_pointwise"),
    Implementation.EPILOGUE: ("fused_mlp.mlp.triton_epilogue", "launch_mlp"),
    Implementation.SINGLE: ("fused_mlp.mlp.triton_single", "launch_mlp_single"),
    Implementation.CUDA: ("fused_mlp.mlp.cuda_op", "launch_mlp_cuda"),
}


def mlp_on_cuda(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    *,
    activation: str,
    implementation: str | None = None,
) -> Tensor:
    """As `mlp`, on the device of x, by `implementation` or the one chosen for the shape; arguments checked."""
    launch = launcher(Implementation(implementation or Implementation.EPILOGUE))
    with torch.cuda.device(x.device):
        result: Tensor = launch(x, w1, b1, w2, b2, activation=activation)
    return result


def launcher(implementation: Implementation) -> Callable[..., Any]:
    """The function that launches `implementation`."""
    module, name = LAUNCHERS[implementation]
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
