"""act(x·Wᵀ + b) as one op: product, bias and activation in one pass over the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.compiler import is_dynamo_compiling

from fused_mlp.activations import Activation, name_from_optional_activation
from fused_mlp.choice.implementations import compute_with
from fused_mlp.linear.pure import linear_pure
from fused_mlp.linear.saved_for_backward import linear_saving
from fused_mlp.native import fast_calls
from fused_mlp.ops.recomputation import Recompute, name_from_recompute
from fused_mlp.ops.registration import call_explained, explained, register, without_wrapper
from fused_mlp.ops.validation import fault_in_linear

if TYPE_CHECKING:
    from torch import Tensor

    from fused_mlp.vocabulary import Implementation


def linear(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    activation: Activation | str | None = None,
    implementation: Implementation | str | None = None,
    recompute: Recompute | str | None = None,
) -> Tensor:
    """Return act(x·Wᵀ + b) in the dtype of x, accumulated in float32. x: [..., in], w: [out, in], b: [out].

    Runs on cpu and cuda in float32, bfloat16 and float16. Inputs whose rows are not contiguous are copied first.

    Differentiable, twice; `recompute` chooses what backward computes again and what is saved for it instead. None is
    ACTIVATION, or ALL with a CUDA implementation by name: those keep nothing.

    `implementation` names one instead of leaving the choice to `choice_for`; it is used or refused, never replaced.

    Raises:
        InvalidArgument: an argument does not fit; the message names it.
        Unavailable: this machine cannot run it; ask `why_unavailable` before.
    """
    name = name_from_optional_activation(activation)
    kept = name_from_recompute(recompute, implementation)
    if implementation is not None:
        if (fault := fault_in_linear(x, w, b)) is not None:
            raise fault
        return compute_with(
            implementation,
            "linear",
            x.device,
            op=lambda: call_explained(_op, x, w, b, name, str(implementation), kept),
            pure=lambda: linear_pure(x, w, b, activation=name),
        )
    return linear_by_names(x, w, b, activation=name, recompute=kept)


def linear_by_names(x: Tensor, w: Tensor, b: Tensor | None, *, activation: str, recompute: str | None) -> Tensor:
    """Compute `linear` for the modules: choices are spelt as the op spells them, and not checked."""
    if is_dynamo_compiling():
        # The fake kernel words the faults.
        return _op(x, w, b, activation, None, recompute)
    try:
        result: Tensor = fast_calls.linear(x, w, b, activation, recompute)
        if result is NotImplemented:
            result = _call(x, w, b, activation, None, recompute)
    except Exception as error:  # noqa: BLE001 - raised again, worded
        raise explained(error, fault_in_linear(x, w, b)) from None
    return result


def _fake(
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> Tensor:
    del activation, implementation, recompute
    if (fault := fault_in_linear(x, w, b)) is not None:
        raise fault
    return x.new_empty((*x.shape[:-1], w.shape[0]))


def _cuda(
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> Tensor:
    del recompute  # without a gradient nothing is kept
    from fused_mlp.linear.cuda import linear_on_cuda  # noqa: PLC0415 - triton only where it is used

    if (fault := fault_in_linear(x, w, b)) is not None:
        raise fault
    return linear_on_cuda(x, w, b, activation=activation, implementation=implementation)


_op = register(
    "linear(Tensor x, Tensor w, Tensor? b, str activation, str? implementation=None, str? recompute=None) -> Tensor",
    fake=_fake,
    cuda=_cuda,
    saving=linear_saving,
)
_call = without_wrapper(_op)
