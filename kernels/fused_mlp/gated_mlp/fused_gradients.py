"""Gradients of (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ on CUDA, those of gate and up from one kernel; not differentiable again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from fused_mlp.linear.gradients import parameter_gradients, z_from
from fused_mlp.ops.registration import register_for_backward

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


def fused_gated_mlp_gradients(
    grad: Tensor,
    x: Tensor | None,
    w_gate: Tensor | None,
    w_up: Tensor | None,
    w_down: Tensor | None,
    kept_gate: Tensor | None = None,
    kept_up: Tensor | None = None,
    kept_hidden: Tensor | None = None,
    *,
    activation: str,
    needed: tuple[bool, bool, bool, bool],
    kernel: Callable[..., tuple[Tensor, ...]] | None = None,
) -> tuple[Tensor | None, ...]:
    """Return gated_mlp_gradients from dy alone, for calls that need more than dWd.

    kept_gate (before its activation), kept_up, kept_hidden: from the forward pass; computed again unless given. The
    other tensors: as there.
    kernel: (dy, w_down, gate, up, activation, with_hidden) → d_gate, d_up, act(gate) ⊙ up; the op on CUDA unless
    given. dx is summed by cuBLAS as it multiplies, in the dtype of x.
    """
    need_x, need_gate, need_up, need_down = needed
    x_rows, dy = None if x is None else x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
    if kept_gate is None or kept_up is None:
        gate, up = z_from(x_rows, w_gate, None), z_from(x_rows, w_up, None)
    else:
        gate, up = kept_gate.reshape(-1, kept_gate.shape[-1]), kept_up.reshape(-1, kept_up.shape[-1])
    d_gate, d_up, hidden = (kernel or _op)(
        dy, cast("Tensor", w_down), gate, up, activation, need_down and kept_hidden is None
    )
    if kept_hidden is not None:
        hidden = kept_hidden.reshape(gate.shape)
    dx, dw_gate, _ = parameter_gradients(d_gate, x_rows, w_gate, needed=(need_x, need_gate, False))
    if dx is not None:
        dx = torch.addmm(dx, d_up, cast("Tensor", w_up))
        dx = dx.view(*grad.shape[:-1], dx.shape[-1])
    _, dw_up, _ = parameter_gradients(d_up, x_rows, None, needed=(False, need_up, False))
    return dx, dw_gate, dw_up, dy.t() @ hidden if need_down else None


def _fake(
    dy: Tensor,
    w_down: Tensor,
    gate: Tensor,
    up: Tensor,
    activation: str,
    with_hidden: bool,  # noqa: FBT001 - an op's argument
) -> tuple[Tensor, Tensor, Tensor]:
    del dy, w_down, up, activation
    hidden = torch.empty_like(gate) if with_hidden else gate.new_empty(0)
    return torch.empty_like(gate), torch.empty_like(gate), hidden


def _cuda(
    dy: Tensor,
    w_down: Tensor,
    gate: Tensor,
    up: Tensor,
    activation: str,
    with_hidden: bool,  # noqa: FBT001 - an op's argument
) -> tuple[Tensor, Tensor, Tensor]:
    from fused_mlp.gated_mlp.triton_backward import launch_gated_gradients  # noqa: PLC0415 - triton only where used

    with torch.cuda.device(gate.device):
        result = launch_gated_gradients(dy, w_down, gate, up, activation=activation, with_hidden=with_hidden)
    return result.d_gate, result.d_up, gate.new_empty(0) if result.hidden is None else result.hidden


_op = register_for_backward(
    "gated_mlp_d_hidden(Tensor dy, Tensor w_down, Tensor gate, Tensor up, str activation, bool with_hidden)"
    " -> (Tensor, Tensor, Tensor)",
    fake=_fake,
    cuda=_cuda,
)
