"""Gradients of act(x·W1ᵀ + b1)·W2ᵀ + b2 on CUDA: dz, act(z) and db1 from one kernel; not differentiable again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from fused_mlp.linear.gradients import parameter_gradients, z_from
from fused_mlp.ops.registration import register_for_backward

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


def fused_mlp_gradients(
    grad: Tensor,
    x: Tensor | None,
    w1: Tensor | None,
    b1: Tensor | None,
    w2: Tensor | None,
    kept_z: Tensor | None = None,
    kept_hidden: Tensor | None = None,
    *,
    activation: str,
    needed: tuple[bool, bool, bool, bool, bool],
    kernel: Callable[..., tuple[Tensor, ...]] | None = None,
) -> tuple[Tensor | None, ...]:
    """Return mlp_gradients from dy alone, for calls that need more than dW2 and db2.

    kept_z, kept_hidden: z and act(z) from the forward pass; computed again unless given. Other tensors: as there.
    kernel: (dy, w2, z, activation, with_hidden, with_bias) → dz, act(z), db1; the op on CUDA unless given.
    """
    need_x, need_w1, need_b1, need_w2, need_b2 = needed
    x_rows, dy = None if x is None else x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
    z = z_from(x_rows, w1, b1) if kept_z is None else kept_z.reshape(-1, kept_z.shape[-1])
    dz, hidden, db1 = (kernel or _op)(dy, cast("Tensor", w2), z, activation, need_w2 and kept_hidden is None, need_b1)
    if kept_hidden is not None:
        hidden = kept_hidden.reshape(z.shape)
    dw2 = dy.t() @ hidden if need_w2 else None
    dx, dw1, _ = parameter_gradients(dz, x_rows, w1, needed=(need_x, need_w1, False))
    dx = None if dx is None else dx.view(*grad.shape[:-1], dx.shape[-1])
    return dx, dw1, db1 if need_b1 else None, dw2, dy.sum(dim=0) if need_b2 else None


def _fake(
    dy: Tensor,
    w2: Tensor,
    z: Tensor,
    activation: str,
    with_hidden: bool,  # noqa: FBT001 - an op's argument
    with_bias: bool,  # noqa: FBT001 - an op's argument
) -> tuple[Tensor, Tensor, Tensor]:
    del dy, w2, activation
    hidden = torch.empty_like(z) if with_hidden else z.new_empty(0)
    return torch.empty_like(z), hidden, z.new_empty(z.shape[1] if with_bias else 0)


def _cuda(
    dy: Tensor,
    w2: Tensor,
    z: Tensor,
    activation: str,
    with_hidden: bool,  # noqa: FBT001 - an op's argument
    with_bias: bool,  # noqa: FBT001 - an op's argument
) -> tuple[Tensor, Tensor, Tensor]:
    from fused_mlp.mlp.triton_backward import launch_hidden_gradients  # noqa: PLC0415 - triton only where it is used

    with torch.cuda.device(z.device):
        result = launch_hidden_gradients(dy, w2, z, activation=activation, with_hidden=with_hidden, with_bias=with_bias)
    nothing = z.new_empty(0)
    return (
        result.dz,
        nothing if result.hidden is None else result.hidden,
        nothing.clone() if result.db is None else result.db,
    )


_op = register_for_backward(
    "mlp_dz(Tensor dy, Tensor w2, Tensor z, str activation, bool with_hidden, bool with_bias)"
    " -> (Tensor, Tensor, Tensor)",
    fake=_fake,
    cuda=_cuda,
)
