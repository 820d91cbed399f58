"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ as one op: the gated MLP of Llama, Gemma and Mistral."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.activations import Activation, name_from_activation
from fused_mlp.gated_mlp.gradients import gated_mlp_gradients
from fused_mlp.gated_mlp.pure import gated_mlp_pure
from fused_mlp.implementations import compute_with
from fused_mlp.library import explained, register
from fused_mlp.validation import fault_in_gated_mlp

if TYPE_CHECKING:
    from fused_mlp.vocabulary import Implementation
    from torch import Tensor


def gated_mlp(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    *,
    activation: Activation | str,
    implementation: Implementation | str | None = None,
) -> Tensor:
    """(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in the dtype of x, accumulated in float32.

    x: [..., dim], w_gate and w_up: [hidden, dim], w_down: [out, hidden]; returns [..., out]. The gated hidden
    activations are rounded to the dtype of x once, after the multiplication.

    Runs on cpu and cuda in float32, bfloat16 and float16; differentiable, twice; backward keeps only the inputs
    and computes gate and up again. Inputs whose rows are not contiguous are copied first.

    `implementation` names one instead of leaving the choice to `choice_for`; it is used or refused, never replaced.

    Raises:
        InvalidArgument: an argument does not fit; the message names it.
        Unavailable: this machine cannot run it; `why_unavailable` tells before.
    """
    name = name_from_activation(activation)
    if implementation is not None:
        if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
            raise fault
        return compute_with(
            implementation,
            "gated_mlp",
            x.device,
            op=lambda: _op(x, w_gate, w_up, w_down, name, str(implementation)),
            pure=lambda: gated_mlp_pure(x, w_gate, w_up, w_down, activation=name),
        )
    if torch.compiler.is_compiling():
        # The fake kernel words the faults.
        return _op(x, w_gate, w_up, w_down, name)
    try:
        return _op(x, w_gate, w_up, w_down, name)
    except Exception as error:  # noqa: BLE001 - raised again, worded
        raise explained(error, fault_in_gated_mlp(x, w_gate, w_up, w_down)) from None


def _fake(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, activation: str, implementation: str | None = None
) -> Tensor:
    del activation, implementation
    if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
        raise fault
    return x.new_empty((*x.shape[:-1], w_down.shape[0]))


def _cuda(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, activation: str, implementation: str | None = None
) -> Tensor:
    from fused_mlp.gated_mlp.cuda import gated_mlp_on_cuda  # noqa: PLC0415 - triton only where it is used

    if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
        raise fault
    return gated_mlp_on_cuda(x, w_gate, w_up, w_down, activation=activation, implementation=implementation)


def _keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    del output
    *tensors, ctx.activation, _ = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    needed = ctx.needs_input_grad[:4]
    return *gated_mlp_gradients(grad, *ctx.saved_tensors, activation=ctx.activation, needed=needed), None, None


_op = register(
    "gated_mlp(Tensor x, Tensor w_gate, Tensor w_up, Tensor w_down, str activation,"
    " str? implementation=None) -> Tensor",
    fake=_fake,
    cuda=_cuda,
    setup_context=_keep_inputs,
    backward=_backward,
)
