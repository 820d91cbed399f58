"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ as one op: the gated MLP of Llama, Gemma and Mistral."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.compiler import is_dynamo_compiling

from fused_mlp.activations import Activation, name_from_activation
from fused_mlp.choice.implementations import compute_with
from fused_mlp.gated_mlp.pure import gated_mlp_pure
from fused_mlp.gated_mlp.saved_for_backward import gated_mlp_saving
from fused_mlp.native import fast_calls
from fused_mlp.ops.recomputation import Recompute, name_from_recompute
from fused_mlp.ops.registration import call_explained, explained, register, without_wrapper
from fused_mlp.ops.validation import fault_in_gated_mlp

if TYPE_CHECKING:
    from torch import Tensor

    from fused_mlp.vocabulary import Implementation


def gated_mlp(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    *,
    activation: Activation | str,
    implementation: Implementation | str | None = None,
    recompute: Recompute | str | None = None,
) -> Tensor:
    """Return (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ in the dtype of x, accumulated in float32.

    x: [..., dim], w_gate and w_up: [hidden, dim], w_down: [out, hidden]; returns [..., out]. The gated hidden
    activations are rounded to the dtype of x once, after the multiplication.

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
        if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
            raise fault
        return compute_with(
            implementation,
            "gated_mlp",
            x.device,
            op=lambda: call_explained(_op, x, w_gate, w_up, w_down, name, str(implementation), kept),
            pure=lambda: gated_mlp_pure(x, w_gate, w_up, w_down, activation=name),
        )
    return gated_mlp_by_names(x, w_gate, w_up, w_down, activation=name, recompute=kept)


def gated_mlp_by_names(
    x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, activation: str, recompute: str | None
) -> Tensor:
    """Compute `gated_mlp` for the modules: choices are spelt as the op spells them, and not checked."""
    if is_dynamo_compiling():
        # The fake kernel words the faults.
        return _op(x, w_gate, w_up, w_down, activation, None, recompute)
    try:
        result: Tensor = fast_calls.gated_mlp(x, w_gate, w_up, w_down, activation, recompute)
        if result is NotImplemented:
            result = _call(x, w_gate, w_up, w_down, activation, None, recompute)
    except Exception as error:  # noqa: BLE001 - raised again, worded
        raise explained(error, fault_in_gated_mlp(x, w_gate, w_up, w_down)) from None
    return result


def _fake(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> Tensor:
    del activation, implementation, recompute
    if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
        raise fault
    return x.new_empty((*x.shape[:-1], w_down.shape[0]))


def _cuda(
    x: Tensor,
    w_gate: Tensor,
    w_up: Tensor,
    w_down: Tensor,
    activation: str,
    implementation: str | None = None,
    recompute: str | None = None,
) -> Tensor:
    del recompute  # without a gradient nothing is kept
    from fused_mlp.gated_mlp.cuda import gated_mlp_on_cuda  # noqa: PLC0415 - triton only where it is used

    if (fault := fault_in_gated_mlp(x, w_gate, w_up, w_down)) is not None:
        raise fault
    return gated_mlp_on_cuda(x, w_gate, w_up, w_down, activation=activation, implementation=implementation)


_op = register(
    "gated_mlp(Tensor x, Tensor w_gate, Tensor w_up, Tensor w_down, str activation,"
    " str? implementation=None,"
    " str? recompute=None) -> Tensor",
    fake=_fake,
    cuda=_cuda,
    saving=gated_mlp_saving,
)
_call = without_wrapper(_op)
