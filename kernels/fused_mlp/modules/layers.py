"""Operations as modules: parameters named as in nn.Linear, packed weights for inference.

What they share, the rule for when packed copies are used among it, is in packable.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from fused_mlp.activations import (
    Activation,
    name_from_activation,
    name_from_optional_activation,
)
from fused_mlp.errors import InvalidArgument
from fused_mlp.gated_mlp import gated_mlp_by_names
from fused_mlp.gated_mlp.onednn import gated_mlp_onednn
from fused_mlp.gated_mlp.packed_gate_up import gated_mlp_gate_up
from fused_mlp.linear import linear_by_names
from fused_mlp.linear.onednn import linear_onednn
from fused_mlp.mlp import mlp_by_names
from fused_mlp.mlp.onednn import mlp_onednn
from fused_mlp.modules.packable import PackableModule, layer_weight_and_bias, weight_and_bias
from fused_mlp.modules.packed import gated_mlp_packed, linear_packed, mlp_packed
from fused_mlp.modules.scripting import gated_mlp_in_script, linear_in_script, mlp_in_script, scripted_as
from fused_mlp.ops.recomputation import Recompute, name_from_recompute
from fused_mlp.ops.validation import fault_in_gated_mlp, fault_in_linear, fault_in_mlp
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from fused_mlp.modules.packable import Parameters
    from fused_mlp.modules.packing import PackedWeights


class FusedLinear(PackableModule):
    """act(x·Wᵀ + b). x: [..., in_features] → [..., out_features].

    Parameters `weight` and `bias` are named, laid out and initialised as in nn.Linear.
    """

    _operation = Operation.LINEAR
    forward = scripted_as(PackableModule.forward, linear_in_script)

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,  # noqa: FBT001, FBT002 - nn.Linear's signature
        *,
        activation: Activation | str | None = None,
        recompute: Recompute | str | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.activation = name_from_optional_activation(activation)
        self.recompute = name_from_recompute(recompute)
        self.bias: nn.Parameter | None
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        empty = nn.Parameter(torch.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", empty)
        self.reset_parameters()

    @classmethod
    def from_linear(
        cls,
        layer: nn.Linear,
        *,
        activation: Activation | str | None = None,
        recompute: Recompute | str | None = None,
    ) -> FusedLinear:
        """Return the parameters of `layer`, shared with it, and an activation behind them."""
        fused = cls(1, 1, bias=False, activation=activation, recompute=recompute, device="meta")
        fused.weight, fused.bias = weight_and_bias(layer)
        fused.train(layer.training)
        return fused

    def reset_parameters(self) -> None:
        """Initialise as nn.Linear does: both uniform within ±1/√in_features."""
        in_features = self.weight.shape[1]
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        for parameter in self.parameters(recurse=False):
            nn.init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """Return sizes, bias and activation."""
        out_features, in_features = self.weight.shape
        return f"{in_features}, {out_features}, bias={self.bias is not None}, activation={self.activation}"

    def _parameters_in_order(self) -> Parameters:
        return weight_and_bias(self)

    def _weights_among(self, parameters: Parameters) -> tuple[Tensor, ...]:
        return parameters[:1]

    def _compute(self, x: Tensor, parameters: Parameters) -> Tensor:
        return linear_by_names(x, *parameters, activation=self.activation, recompute=self.recompute)

    def _compute_packed(self, packed: PackedWeights, x: Tensor, parameters: Parameters) -> Tensor:
        (w,), b = packed.tensors, parameters[1]
        if packed.implementation is Implementation.ONEDNN:
            return linear_onednn(x, w, b, activation=self.activation)
        out: Tensor = linear_packed(x, w, b, self.activation, *packed.rows)
        return out

    def _fault(self, x: Tensor, parameters: Parameters) -> InvalidArgument | None:
        return fault_in_linear(x, *parameters)


class FusedMLP(PackableModule):
    """act(x·W1ᵀ + b1)·W2ᵀ + b2. x: [..., dim] → [..., dim].

    Its two layers are nn.Linear modules called `names`, by default "0" and "2" as in the eager twin
    nn.Sequential(Linear, activation, Linear), so that state dicts load both ways.
    """

    _operation = Operation.MLP
    forward = scripted_as(PackableModule.forward, mlp_in_script)

    def __init__(
        self,
        dim: int,
        hidden: int,
        bias: bool = True,  # noqa: FBT001, FBT002 - nn.Linear's signature
        *,
        activation: Activation | str = Activation.GELU,
        recompute: Recompute | str | None = None,
        names: tuple[str, str] = ("0", "2"),
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.activation = name_from_activation(activation)
        self.recompute = name_from_recompute(recompute)
        self.names = _distinct(names, n=2)
        self.add_module(names[0], nn.Linear(dim, hidden, bias=bias, device=device, dtype=dtype))
        self.add_module(names[1], nn.Linear(hidden, dim, bias=bias, device=device, dtype=dtype))

    @classmethod
    def from_linears(
        cls,
        first: nn.Linear,
        second: nn.Linear,
        *,
        activation: Activation | str,
        recompute: Recompute | str | None = None,
        names: tuple[str, str] = ("0", "2"),
    ) -> FusedMLP:
        """Return the two layers themselves, under `names`, with an activation between them.

        Raises: InvalidArgument if a layer is no plain nn.Linear.
        """
        fused = cls(1, 1, bias=False, activation=activation, recompute=recompute, names=names, device="meta")
        fused.add_module(names[0], first)
        fused.add_module(names[1], second)
        fused._parameters_in_order()
        fused.train(first.training)
        return fused

    def _parameters_in_order(self) -> Parameters:
        modules, (first, second) = self._modules, self.names
        return *layer_weight_and_bias(modules, first), *layer_weight_and_bias(modules, second)

    def _weights_among(self, parameters: Parameters) -> tuple[Tensor, ...]:
        return parameters[::2]

    def _compute(self, x: Tensor, parameters: Parameters) -> Tensor:
        w1, b1, w2, b2 = parameters
        return mlp_by_names(x, w1, b1, w2, b2, activation=self.activation, recompute=self.recompute)

    def _compute_packed(self, packed: PackedWeights, x: Tensor, parameters: Parameters) -> Tensor:
        (w1, w2), (_, b1, _, b2) = packed.tensors, parameters
        if packed.implementation is Implementation.ONEDNN:
            return mlp_onednn(x, w1, b1, w2, b2, activation=self.activation)
        out: Tensor = mlp_packed(x, w1, b1, w2, b2, self.activation, *packed.rows)
        return out

    def _fault(self, x: Tensor, parameters: Parameters) -> InvalidArgument | None:
        return fault_in_mlp(x, *parameters)

    def extra_repr(self) -> str:
        """Return the activation between the layers."""
        return f"activation={self.activation}"


class FusedGatedMLP(PackableModule):
    """(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ, no bias. x: [..., dim] → [..., dim].

    Its layers are nn.Linear modules called `names`, by default gate_proj, up_proj, down_proj as in Llama, Gemma and
    Mistral, so that state dicts load both ways.
    """

    _operation = Operation.GATED_MLP
    forward = scripted_as(PackableModule.forward, gated_mlp_in_script)

    def __init__(
        self,
        dim: int,
        hidden: int,
        *,
        activation: Activation | str = Activation.SILU,
        recompute: Recompute | str | None = None,
        names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.activation = name_from_activation(activation)
        self.recompute = name_from_recompute(recompute)
        self.names = _distinct(names, n=3)
        for name in names[:2]:
            self.add_module(name, nn.Linear(dim, hidden, bias=False, device=device, dtype=dtype))
        self.add_module(names[2], nn.Linear(hidden, dim, bias=False, device=device, dtype=dtype))

    @classmethod
    def from_linears(
        cls,
        gate: nn.Linear,
        up: nn.Linear,
        down: nn.Linear,
        *,
        activation: Activation | str,
        recompute: Recompute | str | None = None,
        names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    ) -> FusedGatedMLP:
        """Return the three layers themselves, under `names`.

        Raises: InvalidArgument if a layer is no plain nn.Linear or has a bias.
        """
        fused = cls(1, 1, activation=activation, recompute=recompute, names=names, device="meta")
        for name, layer in zip(names, (gate, up, down), strict=True):
            fused.add_module(name, layer)
        fused._parameters_in_order()
        fused.train(gate.training)
        return fused

    def _parameters_in_order(self) -> Parameters:
        modules, (gate, up, down) = self._modules, self.names
        return tuple(weight_alone(modules, name) for name in (gate, up, down))

    def _weights_among(self, parameters: Parameters) -> tuple[Tensor, ...]:
        return parameters

    def _compute(self, x: Tensor, parameters: Parameters) -> Tensor:
        gate, up, down = parameters
        return gated_mlp_by_names(x, gate, up, down, activation=self.activation, recompute=self.recompute)

    def _compute_packed(self, packed: PackedWeights, x: Tensor, parameters: Parameters) -> Tensor:
        del parameters
        if packed.implementation is Implementation.POINTWISE:
            by_gate_up: Tensor = gated_mlp_gate_up(x, *packed.tensors, self.activation)
            return by_gate_up
        if packed.implementation is Implementation.ONEDNN:
            return gated_mlp_onednn(x, *packed.tensors, activation=self.activation)
        out: Tensor = gated_mlp_packed(x, *packed.tensors, self.activation, *packed.rows[1:])
        return out

    def _fault(self, x: Tensor, parameters: Parameters) -> InvalidArgument | None:
        return fault_in_gated_mlp(x, *parameters)

    def extra_repr(self) -> str:
        """Return the activation of the gate."""
        return f"activation={self.activation}"


def _distinct(names: Sequence[str], *, n: int) -> Any:
    """Return `names` as a tuple. Raises: InvalidArgument unless they are `n` different ones."""
    if isinstance(names, str) or len(set(names)) != n or len(names) != n:
        raise InvalidArgument("names", got=repr(names), expected=f"{n} different names of layers")
    return tuple(names)


def weight_alone(layers: dict[str, Any], name: str) -> Any:
    """Return the weight of the nn.Linear called `name`. Raises: InvalidArgument if it has a bias, or as with one."""
    weight, bias = layer_weight_and_bias(layers, name)
    if bias is not None:
        raise InvalidArgument(f"layer {name!r}", got="an nn.Linear with a bias", expected="one without: none is added")
    return weight
