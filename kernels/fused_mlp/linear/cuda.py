"""`linear` on CUDA: which kernel a call gets, and the call. Importing this needs triton."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.vocabulary import Implementation

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

LAUNCHERS = {
    Implementation.POINTWISE: ("fused_mlp.linear.triton_pointwise", "launch_linear_pointwise"),
    Implementation.EPILOGUE: ("fused_mlp.linear.triton_epilogue", "launch_linear"),
}


def linear_on_cuda(
    x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, implementation: str | None = None
) -> Tensor:
    """act(x·Wᵀ + b) on the device of x, by `implementation` or the one chosen for the shape; arguments checked."""
    launch = launcher(Implementation(implementation or Implementation.EPILOGUE))
    with torch.cuda.device(x.device):
        result: Tensor = launch(x, w, b, activation=activation)
    return result


def launcher(implementation: Implementation) -> Callable[..., Any]:
    """The function that launches `implementation`."""
    module, name = LAUNCHERS[implementation]
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
