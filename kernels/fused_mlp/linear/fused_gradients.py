"""Gradients of act(x·Wᵀ + b) on CUDA with dz and db from one kernel; not differentiable again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fused_mlp.linear.gradients import parameter_gradients, z_from
from fused_mlp.ops.registration import register_for_backward

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


def fused_linear_gradients(
    grad: Tensor,
    x: Tensor | None,
    w: Tensor | None,
    b: Tensor | None,
    kept_z: Tensor | None = None,
    *,
    activation: str,
    needed: tuple[bool, bool, bool],
    kernel: Callable[..., tuple[Tensor, ...]] | None = None,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return linear_gradients from dy alone.

    kernel: (dy, z, activation, with_bias) → dz, db; the op on CUDA unless given.
    kept_z: z from the forward pass; computed again unless given. x, w and b: as there.
    """
    need_x, need_w, need_b = needed
    x_rows = None if x is None else x.reshape(-1, x.shape[-1])
    z = z_from(x_rows, w, b) if kept_z is None else kept_z.reshape(-1, kept_z.shape[-1])
    dz, db = (kernel or _op)(grad.reshape(-1, grad.shape[-1]), z, activation, need_b)
    dx, dw, _ = parameter_gradients(dz, x_rows, w, needed=(need_x, need_w, False))
    return None if dx is None else dx.view(*grad.shape[:-1], dx.shape[-1]), dw, db if need_b else None


def _fake(dy: Tensor, z: Tensor, activation: str, with_bias: bool) -> tuple[Tensor, Tensor]:  # noqa: FBT001 - an op's argument
    del dy, activation
    return torch.empty_like(z), z.new_empty(z.shape[1] if with_bias else 0)


def _cuda(dy: Tensor, z: Tensor, activation: str, with_bias: bool) -> tuple[Tensor, Tensor]:  # noqa: FBT001 - an op's argument
    from fused_mlp.linear.triton_backward import launch_activation_gradient  # noqa: PLC0415 - triton only where used

    with torch.cuda.device(z.device):
        result = launch_activation_gradient(dy, z, activation=activation, with_hidden=False, with_bias=with_bias)
    return result.dz, z.new_empty(0) if result.db is None else result.db


_op = register_for_backward(
    "linear_dz(Tensor dy, Tensor z, str activation, bool with_bias) -> (Tensor, Tensor)", fake=_fake, cuda=_cuda
)
