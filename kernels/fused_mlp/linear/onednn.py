"""act(x·Wᵀ + b) by oneDNN's fused linear, on weights it has packed; needs no compiler.

What it cannot do: bfloat16 and float16 on CPUs without instructions for them, and gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fused_mlp.activations import NO_ACTIVATION, Activation, activate
from fused_mlp.errors import Unavailable

if TYPE_CHECKING:
    from torch import Tensor

# oneDNN's names: (attribute, algorithm). An activation that has none here is a pass of its own.
_NAMES: dict[str, tuple[str, str]] = {
    NO_ACTIVATION: ("none", ""),
    Activation.RELU.value: ("relu", ""),
    Activation.GELU.value: ("gelu", "none"),
    Activation.GELU_TANH.value: ("gelu", "tanh"),
    Activation.SILU.value: ("swish", ""),
}


def has_activation(activation: str) -> bool:
    """Return whether oneDNN takes it in a product's epilogue; any other reads sums rounded to the dtype of x."""
    return activation in _NAMES


def pack_onednn(w: Tensor) -> Tensor:
    """Return `w` in oneDNN's own layout. Raises: Unavailable if this PyTorch or this CPU cannot pack it."""
    if not torch.backends.mkldnn.is_available():
        raise Unavailable("this PyTorch was built without oneDNN")
    try:
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(w)  # noqa: SLF001 - torch offers no other name
    except RuntimeError as error:
        raise Unavailable(f"oneDNN cannot pack {w.dtype} on this CPU: {error}") from error
    return packed


def linear_onednn(x: Tensor, packed: Tensor, b: Tensor | None, *, activation: str) -> Tensor:
    """Compute `linear` in one oneDNN call where oneDNN has the activation. `packed`: by pack_onednn."""
    attribute, algorithm = _NAMES.get(activation, _NAMES[NO_ACTIVATION])
    out: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, b, attribute, [], algorithm)  # noqa: SLF001
    return out if has_activation(activation) else activate(out, activation)


def linear_times_onednn(x: Tensor, packed: Tensor, factor: Tensor) -> Tensor:
    """Return (x·Wᵀ) ⊙ factor in one oneDNN call. `packed`: by pack_onednn."""
    out: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, factor, packed, None, "mul")  # noqa: SLF001
    return out
