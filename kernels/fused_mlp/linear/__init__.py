"""act(x·Wᵀ + b) as one op: product, bias and activation in one pass over the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fused_mlp.activations import Activation, name_from_optional_activation
from fused_mlp.implementations import compute_with
from fused_mlp.library import explained, register
from fused_mlp.linear.gradients import linear_gradients
from fused_mlp.linear.pure import linear_pure
from fused_mlp.validation import fault_in_linear

if TYPE_CHECKING:
    from fused_mlp.vocabulary import Implementation
    from torch import Tensor


def linear(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    activation: Activation | str | None = None,
    implementation: Implementation | str | None = None,
) -> Tensor:
    """act(x·Wᵀ + b) in the dtype of x, accumulated in float32. x: [..., in], w: [out, in], b: [out].

    Runs on cpu and cuda in float32, bfloat16 and float16; differentiable, twice; backward keeps only the inputs
    and computes x·Wᵀ + b again. Inputs whose rows are not contiguous are copied first.

    `implementation` names one instead of leaving the choice to `choice_for`; it is used or refused, never replaced.

    Raises:
        InvalidArgument: an argument does not fit; the message names it.
        Unavailable: this machine cannot run it; `why_unavailable` tells before.
    """
    name = name_from_optional_activation(activation)
    if implementation is not None:
        if (fault := fault_in_linear(x, w, b)) is not None:
            raise fault
        return compute_with(
            implementation,
            "linear",
            x.device,
            op=lambda: _op(x, w, b, name, str(implementation)),
            pure=lambda: linear_pure(x, w, b, activation=name),
        )
    if torch.compiler.is_compiling():
        # The fake kernel words the faults.
        return _op(x, w, b, name)
    try:
        return _op(x, w, b, name)
    except Exception as error:  # noqa: BLE001 - raised again, worded
        raise explained(error, fault_in_linear(x, w, b)) from None


def _fake(x: Tensor, w: Tensor, b: Tensor | None, activation: str, implementation: str | None = None) -> Tensor:
    del activation, implementation
    if (fault := fault_in_linear(x, w, b)) is not None:
        raise fault
    return x.new_empty((*x.shape[:-1], w.shape[0]))


def _cuda(x: Tensor, w: Tensor, b: Tensor | None, activation: str, implementation: str | None = None) -> Tensor:
    from fused_mlp.linear.cuda import linear_on_cuda  # noqa: PLC0415 - triton only where it is used

    if (fault := fault_in_linear(x, w, b)) is not None:
        raise fault
    return linear_on_cuda(x, w, b, activation=activation, implementation=implementation)


def _keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    del output
    *tensors, ctx.activation, _ = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    needed = ctx.needs_input_grad[:3]
    return *linear_gradients(grad, *ctx.saved_tensors, activation=ctx.activation, needed=needed), None, None


_op = register(
    "linear(Tensor x, Tensor w, Tensor? b, str activation, str? implementation=None) -> Tensor",
    fake=_fake,
    cuda=_cuda,
    setup_context=_keep_inputs,
    backward=_backward,
)
