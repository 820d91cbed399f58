"""act(x·W1ᵀ + b1)·W2ᵀ + b2 as one op: Linear → activation → Linear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.compiler import is_dynamo_compiling

from fused_mlp.activations import Activation, name_from_activation
from fused_mlp.choice.implementations import compute_with
from fused_mlp.mlp.pure import mlp_pure
from fused_mlp.mlp.saved_for_backward import mlp_saving
from fused_mlp.native import fast_calls
from fused_mlp.ops.recomputation import Recompute, name_from_recompute
from fused_mlp.ops.registration import call_explained, explained, register, without_wrapper
from fused_mlp.ops.validation import fault_in_mlp

if TYPE_CHECKING:
    from torch import Tensor

    from fused_mlp.vocabulary import Implementation


def mlp(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    *,
    activation: Activation | str,
    implementation: Implementation | str | None = None,
    recompute: Recompute | str | None = None,
) -> Tensor:
    """Return act(x·W1ᵀ + b1)·W2ᵀ + b2 in the dtype of x, accumulated in float32.

    x: [..., dim], w1: [hidden, dim], b1: [hidden], w2: [out, hidden], b2: [out]; returns [..., out]. The hidden
    activations are rounded to the dtype of x, as between two layers.

    Runs on cpu and cuda in float32, bfloat16 and float16. Inputs whose rows are not contiguous are copied first.

    Differentiable, twice; `recompute` chooses what backward computes again and what is saved for it instead. None is
    ACTIVATION, or ALL with a CUDA implementation by name: those keep nothing.

    `implementation` names one instead of leaving the choice to `choice_for`; it is used or refused, never replaced.

    Raises:
        InvalidArgument: an argument does not fit; the message names it.
        Unavailable: this machine cannot run it; ask `why_unavailable` before.
    """
    name = name_from_activation(activation)
    kept = name_from_recompute(recompute, implementation)
    if implementation is not None:
        if (fault := fault_in_mlp(x, w1, b1, w2, b2)) is not None:
            raise fault
        return compute_with(
            implementation,
            "mlp",
            x.device,
            op=lambda: call_explained(_op, x, w1, b1, w2, b2, name, str(implementation), kept),
            pure=lambda: mlp_pure(x, w1, b1, w2, b2, activation=name),
        )
    return mlp_by_names(x, w1, b1, w2, b2, activation=name, recompute=kept)


def mlp_by_names(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, activation: str, recompute: str | None
) -> Tensor:
    """Compute `mlp` for the modules: choices are spelt as the op spells them, and not checked."""
    if is_dynamo_compiling():
        # The fake kernel words the faults.
        return _op(x, w1, b1, w2, b2, activation, None, recompute)
    try:
        result: Tensor = fast_calls.mlp(x, w1, b1, w2, b2, activation, recompute)
        if result is NotImplemented:
            result = _call(x, w1, b1, w2, b2, activation, None, recompute)
    except Exception as error:  # noqa: BLE001 - raised again, worded
        raise explained(error, fault_in_mlp(x, w1, b1, w2, b2)) from None
    return result


def _fake(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> Tensor:
    del activation, implementation, recompute
    if (fault := fault_in_mlp(x, w1, b1, w2, b2)) is not None:
        raise fault
    return x.new_empty((*x.shape[:-1], w2.shape[0]))


def _cuda(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> Tensor:
    del recompute  # without a gradient nothing is kept
    from fused_mlp.mlp.cuda import mlp_on_cuda  # noqa: PLC0415 - triton only where it is used

    if (fault := fault_in_mlp(x, w1, b1, w2, b2)) is not None:
        raise fault
    return mlp_on_cuda(x, w1, b1, w2, b2, activation=activation, implementation=implementation)


_op = register(
    "mlp(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, str activation, str? implementation=None,"
    " str? recompute=None) -> Tensor",
    fake=_fake,
    cuda=_cuda,
    saving=mlp_saving,
)
_call = without_wrapper(_op)
