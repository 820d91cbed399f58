"""`gated_mlp` on CUDA: which kernel a call gets, and the call. Importing this needs triton."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.vocabulary import Implementation

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

LAUNCHERS = {
    Implementation.POINTWISE: ("fused_mlp.gated_mlp.triton_pointwise", "launch_gated_mlp_pointwise"),
    Implementation.EPILOGUE: ("fused_mlp.gated_mlp.triton_dual_product", "launch_gated_mlp"),
    Implementation.SINGLE: ("fused_mlp.gated_mlp.triton_single", "launch_gated_mlp_single"),
}


def gated_mlp_on_cuda(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, *, activation: str, implementation: str | None = None
) -> Tensor:
    """As `gated_mlp`, on the device of x, by `implementation` or the one chosen for the shape; arguments checked."""
    launch = launcher(Implementation(implementation or Implementation.EPILOGUE))
    with torch.cuda.device(x.device):
        result: Tensor = launch(x, w_gate, w_up, w_down, activation=activation)
    return result


def launcher(implementation: Implementation) -> Callable[..., Any]:
    """The function that launches `implementation`."""
    module, name = LAUNCHERS[implementation]
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
