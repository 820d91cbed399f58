"""act(x·Wᵀ + b) where a gradient is recorded: the op that keeps z = x·Wᵀ + b, and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.activations import NO_ACTIVATION
from fused_mlp.linear.fused_gradients import fused_linear_gradients
from fused_mlp.linear.gradients import linear_gradients
from fused_mlp.ops.recomputation import name_from_recompute, saved_or_none, saves_z
from fused_mlp.ops.registration import is_backward_fused, register_saving
from fused_mlp.ops.validation import fault_in_linear

if TYPE_CHECKING:
    from torch import Tensor


def _fake(
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> tuple[Tensor, Tensor]:
    if (fault := fault_in_linear(x, w, b)) is not None:
        raise fault
    policy = name_from_recompute(recompute, implementation)
    y = x.new_empty((*x.shape[:-1], w.shape[0]))
    return y, y.new_empty(y.shape if _is_kept(activation, policy) else 0)


def _cuda(
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> tuple[Tensor, Tensor]:
    if (fault := fault_in_linear(x, w, b)) is not None:
        raise fault
    policy = name_from_recompute(recompute, implementation)
    if not _is_kept(activation, policy):
        from fused_mlp.linear.cuda import linear_on_cuda  # noqa: PLC0415 - triton only where it is used

        return linear_on_cuda(x, w, b, activation=activation, implementation=implementation), x.new_empty(0)
    from fused_mlp.linear.triton_epilogue import launch_linear_saving  # noqa: PLC0415 - triton only where it is used

    with torch.cuda.device(x.device):
        return launch_linear_saving(x, w, b, activation=activation)


def _is_kept(activation: str, policy: str) -> bool:
    return activation != NO_ACTIVATION and saves_z(policy)


def _hold(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w, b, ctx.activation, implementation, recompute = inputs
    policy = name_from_recompute(recompute, implementation)
    needs_x, needs_w, _ = ctx.needs_input_grad[:3]
    z = saved_or_none(output[1], _is_kept(ctx.activation, policy))
    repeats_z = z is None and ctx.activation != NO_ACTIVATION
    ctx.save_for_backward(
        saved_or_none(x, needs_w or repeats_z), saved_or_none(w, needs_x or repeats_z), b if repeats_z else None, z
    )
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    x, w, b, z = ctx.saved_tensors
    needed = ctx.needs_input_grad[:3]
    dy, dz = grads[0], None if z is None else grads[1]
    if dz is None and dy is not None and ctx.activation != NO_ACTIVATION and is_backward_fused(dy):
        return *fused_linear_gradients(dy, x, w, b, z, activation=ctx.activation, needed=needed), None, None, None
    return *linear_gradients((dy, dz), x, w, b, z, activation=ctx.activation, needed=needed), None, None, None


linear_saving = register_saving(
    "linear_keeping(Tensor x, Tensor w, Tensor? b, str activation, str? implementation=None,"
    " str? recompute=None) -> (Tensor y, Tensor z)",
    fake=_fake,
    cuda=_cuda,
    setup_context=_hold,
    backward=_backward,
)
