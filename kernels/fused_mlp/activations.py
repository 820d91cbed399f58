"""Activations between two linear layers, and their computation in plain PyTorch."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

import torch
from torch.nn import functional

from fused_mlp.errors import InvalidArgument

if TYPE_CHECKING:
    from torch import Tensor

# Torch's own also where somebody puts others into torch.nn.functional later.
_gelu, _relu, _silu = functional.gelu, functional.relu, functional.silu
NO_ACTIVATION = "none"
"""How the ops spell the absence of an activation; TorchScript has no optional enum."""


class Activation(StrEnum):
    """Elementwise nonlinearity. Each is equal to its name, so a plain string does as well.

    GELU is x·Φ(x) with the exact normal distribution (erf); GELU_TANH is its tanh approximation; SILU is
    x·sigmoid(x); QUICK_GELU is x·sigmoid(1.702·x), as in CLIP.
    """

    RELU = "relu"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    SILU = "silu"
    QUICK_GELU = "quick_gelu"


_QUICK_GELU_SLOPE = 1.702

# Plain strings as values: graphs and TorchScript carry them as constants, enum members they would not.
_NAMES: dict[str, str] = {activation: activation.value for activation in Activation}


def name_from_activation(activation: Activation | str) -> str:
    """Return the op's name of `activation`, as a plain string. Raises: InvalidArgument if there is none such."""
    name = _NAMES.get(activation) if isinstance(activation, str) else None
    if name is None:
        raise InvalidArgument("activation", got=repr(activation), expected=f"one of {', '.join(_NAMES)}")
    return name


def name_from_optional_activation(activation: Activation | str | None) -> str:
    """Return the op's name of `activation`, "none" for None."""
    return NO_ACTIVATION if activation is None else name_from_activation(activation)


def activate(z: Tensor, name: str) -> Tensor:
    """Return act(z) in the dtype of z, differentiable twice. `name` as the ops spell it, "none" included."""
    if name == NO_ACTIVATION:
        return z
    match Activation(name):
        case Activation.RELU:
            return _relu(z)
        case Activation.GELU:
            return _gelu(z)
        case Activation.GELU_TANH:
            return _gelu(z, approximate="tanh")
        case Activation.SILU:
            return _silu(z)
        case Activation.QUICK_GELU:
            return _quick_gelu(z)
        case unknown:
            assert_never(unknown)


def activate_in_place(z: Tensor, name: str) -> Tensor:
    """Return act(z), written over z unless autograd still needs it."""
    if name == NO_ACTIVATION or is_recording(z):
        return activate(z, name)
    aten = torch.ops.aten
    match Activation(name):
        case Activation.RELU:
            return z.relu_()
        case Activation.GELU:
            return _as_tensor(aten.gelu_(z))
        case Activation.GELU_TANH:
            return _as_tensor(aten.gelu_(z, approximate="tanh"))
        case Activation.SILU:
            return functional.silu(z, inplace=True)
        case Activation.QUICK_GELU:
            return _quick_gelu(z)
        case unknown:
            assert_never(unknown)


def is_recording(*tensors: Tensor) -> bool:
    """Return whether autograd records what is done with any of these."""
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def activation_gradient(grad: Tensor, z: Tensor, name: str) -> Tensor:
    """Return grad·act'(z) in the dtype of z, itself differentiable in both, so that second derivatives exist."""
    if name == NO_ACTIVATION:
        return grad
    aten = torch.ops.aten
    match Activation(name):
        case Activation.RELU:
            return _as_tensor(aten.threshold_backward(grad, z, 0))
        case Activation.GELU:
            return _as_tensor(aten.gelu_backward(grad, z))
        case Activation.GELU_TANH:
            return _as_tensor(aten.gelu_backward(grad, z, approximate="tanh"))
        case Activation.SILU:
            return _silu_gradient(grad, z)
        case Activation.QUICK_GELU:
            # silu(1.702·z)/1.702, so its derivative is silu's there.
            return _silu_gradient(_widened(grad), _QUICK_GELU_SLOPE * _widened(z)).to(z.dtype)
        case unknown:
            assert_never(unknown)


def _quick_gelu(z: Tensor) -> Tensor:
    # Rounded to the dtype of z once, as PyTorch's own activations are.
    wide = _widened(z)
    return (wide * torch.sigmoid(_QUICK_GELU_SLOPE * wide)).to(z.dtype)


def _widened(t: Tensor) -> Tensor:
    return t.to(torch.promote_types(t.dtype, torch.float32))


def _silu_gradient(grad: Tensor, z: Tensor) -> Tensor:
    if not torch.is_grad_enabled():
        return _as_tensor(torch.ops.aten.silu_backward(grad, z))
    # Written out where somebody may differentiate again: aten's has no derivative of its own.
    sigmoid = torch.sigmoid(z)
    return grad * sigmoid * (1 + z * (1 - sigmoid))


def _as_tensor(result: Tensor) -> Tensor:
    return result
