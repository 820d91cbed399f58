"""act(x·W1ᵀ + b1)·W2ᵀ + b2 where a gradient is recorded: the op that keeps hidden values, and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from fused_mlp.mlp.fused_gradients import fused_mlp_gradients
from fused_mlp.mlp.gradients import mlp_gradients
from fused_mlp.ops.recomputation import name_from_recompute, saved_or_none, saves_hidden, saves_z
from fused_mlp.ops.registration import is_backward_fused, register_saving
from fused_mlp.ops.validation import fault_in_mlp

if TYPE_CHECKING:
    from torch import Tensor


def _fake(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    del activation
    if (fault := fault_in_mlp(x, w1, b1, w2, b2)) is not None:
        raise fault
    policy = name_from_recompute(recompute, implementation)
    hidden_shape = (*x.shape[:-1], w1.shape[0])
    return (
        x.new_empty((*x.shape[:-1], w2.shape[0])),
        x.new_empty(hidden_shape if saves_z(policy) else 0),
        x.new_empty(hidden_shape if saves_hidden(policy) else 0),
    )


def _cuda(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if (fault := fault_in_mlp(x, w1, b1, w2, b2)) is not None:
        raise fault
    policy = name_from_recompute(recompute, implementation)
    if not saves_z(policy):
        from fused_mlp.mlp.cuda import mlp_on_cuda  # noqa: PLC0415 - triton only where it is used

        y = mlp_on_cuda(x, w1, b1, w2, b2, activation=activation, implementation=implementation)
        return y, x.new_empty(0), x.new_empty(0)
    from fused_mlp.linear.triton_epilogue import launch_linear_saving  # noqa: PLC0415 - triton only where it is used

    with torch.cuda.device(x.device):
        hidden, z = launch_linear_saving(x, w1, b1, activation=activation)
        y = functional.linear(hidden, w2, b2)
    return y, z, hidden if saves_hidden(policy) else x.new_empty(0)


def _hold(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w1, b1, w2, _, ctx.activation, implementation, recompute = inputs
    policy = name_from_recompute(recompute, implementation)
    needs_x, needs_w1, needs_b1, needs_w2, _ = ctx.needs_input_grad[:5]
    ctx.keeps_hidden = saves_hidden(policy)
    needs_dz = needs_x or needs_w1 or needs_b1
    needs_z = needs_dz or (needs_w2 and not ctx.keeps_hidden)
    repeats_z = needs_z and not saves_z(policy)
    ctx.save_for_backward(
        saved_or_none(x, needs_w1 or repeats_z),
        saved_or_none(w1, needs_x or repeats_z),
        b1 if repeats_z else None,
        saved_or_none(w2, needs_dz),
        saved_or_none(output[1], needs_z and not repeats_z),
        saved_or_none(output[2], needs_w2 and ctx.keeps_hidden),
    )
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    x, w1, b1, w2, z, hidden = ctx.saved_tensors
    needed = ctx.needs_input_grad[:5]
    dy, *others = grads[0], None if z is None else grads[1], grads[2] if ctx.keeps_hidden else None
    if dy is not None and others == [None, None] and any(needed[:3]) and is_backward_fused(dy):
        fused = fused_mlp_gradients(dy, x, w1, b1, w2, z, hidden, activation=ctx.activation, needed=needed)
        return *fused, None, None, None
    by_formula = mlp_gradients((dy, *others), x, w1, b1, w2, z, hidden, activation=ctx.activation, needed=needed)
    return *by_formula, None, None, None


mlp_saving = register_saving(
    "mlp_keeping(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, str activation, str? implementation=None,"
    " str? recompute=None) -> (Tensor y, Tensor z, Tensor hidden)",
    fake=_fake,
    cuda=_cuda,
    setup_context=_hold,
    backward=_backward,
)
