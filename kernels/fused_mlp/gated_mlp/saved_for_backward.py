"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ where a gradient is recorded: the op that keeps hidden values, and its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from fused_mlp.gated_mlp.fused_gradients import fused_gated_mlp_gradients
from fused_mlp.gated_mlp.gradients import gated_mlp_gradients
from fused_mlp.ops.recomputation import name_from_recompute, saved_or_none, saves_hidden, saves_z
from fused_mlp.ops.registration import is_backward_fused, register_saving
from fused_mlp.ops.validation import fault_in_gated_mlp

if TYPE_CHECKING:
    from torch import Tensor


def _fake(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    del activation
    if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
        raise fault
    policy = name_from_recompute(recompute, implementation)
    hidden_shape = (*x.shape[:-1], w_gate.shape[0])
    return (
        x.new_empty((*x.shape[:-1], w_down.shape[0])),
        x.new_empty(hidden_shape if saves_z(policy) else 0),
        x.new_empty(hidden_shape if saves_z(policy) else 0),
        x.new_empty(hidden_shape if saves_hidden(policy) else 0),
    )


def _cuda(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
        raise fault
    policy = name_from_recompute(recompute, implementation)
    if not saves_z(policy):
        from fused_mlp.gated_mlp.cuda import gated_mlp_on_cuda  # noqa: PLC0415 - triton only where it is used

        y = gated_mlp_on_cuda(x, w_gate, w_up, w_down, activation=activation, implementation=implementation)
        return y, x.new_empty(0), x.new_empty(0), x.new_empty(0)
    from fused_mlp.gated_mlp.triton_dual_product import launch_dual_product_saving  # noqa: PLC0415 - as above

    with torch.cuda.device(x.device):
        hidden, z, up = launch_dual_product_saving(x, w_gate, w_up, activation=activation)
        y = functional.linear(hidden, w_down)
    return y, z, up, hidden if saves_hidden(policy) else x.new_empty(0)


def _hold(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w_gate, w_up, w_down, ctx.activation, implementation, recompute = inputs
    policy = name_from_recompute(recompute, implementation)
    _, z, up, hidden = output
    needs_x, needs_gate, needs_up, needs_down = ctx.needs_input_grad[:4]
    ctx.keeps_hidden = saves_hidden(policy)
    needs_first = needs_gate or needs_up
    needs_z = needs_x or needs_first or not ctx.keeps_hidden
    repeats_z = needs_z and not saves_z(policy)
    ctx.save_for_backward(
        saved_or_none(x, needs_first or repeats_z),
        saved_or_none(w_gate, needs_x or repeats_z),
        saved_or_none(w_up, needs_x or repeats_z),
        saved_or_none(w_down, needs_x or needs_first),
        saved_or_none(z, needs_z and not repeats_z),
        saved_or_none(up, needs_z and not repeats_z),
        saved_or_none(hidden, needs_down and ctx.keeps_hidden),
    )
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    needed = ctx.needs_input_grad[:4]
    # Asked for once: torch.utils.checkpoint lets each be unpacked only once.
    saved = ctx.saved_tensors
    z, up = saved[4:6]
    dy, *others = (
        grads[0],
        None if z is None else grads[1],
        None if up is None else grads[2],
        grads[3] if ctx.keeps_hidden else None,
    )
    if dy is not None and others == [None, None, None] and any(needed[:3]) and is_backward_fused(dy):
        fused = fused_gated_mlp_gradients(dy, *saved, activation=ctx.activation, needed=needed)
        return *fused, None, None, None
    by_formula = gated_mlp_gradients((dy, *others), *saved, activation=ctx.activation, needed=needed)
    return *by_formula, None, None, None


gated_mlp_saving = register_saving(
    "gated_mlp_keeping(Tensor x, Tensor w_gate, Tensor w_up, Tensor w_down, str activation,"
    " str? implementation=None, str? recompute=None) -> (Tensor y, Tensor z, Tensor up, Tensor hidden)",
    fake=_fake,
    cuda=_cuda,
    setup_context=_hold,
    backward=_backward,
)
