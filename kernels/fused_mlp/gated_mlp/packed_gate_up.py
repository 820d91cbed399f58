"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ on CUDA with gate and up packed into one weight: their products are one.

For inference, and for the module only: packing is a copy that a function has nowhere to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fused_mlp.ops.registration import register_for_inference, without_wrapper

if TYPE_CHECKING:
    from torch import Tensor


def pack_gate_up(w_gate: Tensor, w_up: Tensor) -> Tensor:
    """Return gate's rows above up's, [2·hidden, dim], contiguous."""
    return torch.cat([w_gate, w_up])


def _cuda(x: Tensor, w_gate_up: Tensor, w_down: Tensor, activation: str) -> Tensor:
    from fused_mlp.gated_mlp.triton_pointwise import (  # noqa: PLC0415 - triton only where it is used
        launch_packed_gated_mlp_pointwise,
    )

    with torch.cuda.device(x.device):
        return launch_packed_gated_mlp_pointwise(x, w_gate_up, w_down, activation=activation)


gated_mlp_gate_up = without_wrapper(
    register_for_inference(
        "gated_mlp_gate_up(Tensor x, Tensor w_gate_up, Tensor w_down, str activation) -> Tensor", cuda=_cuda
    )
)
