"""The operations as modules: parameters named as in their eager twins, packed weights for inference on the CPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from fused_mlp import short_calls
from fused_mlp.activations import (
    Activation,
    name_from_activation,
    name_from_optional_activation,
)
from fused_mlp.choices import packing_for
from fused_mlp.gated_mlp import gated_mlp_by_names
from fused_mlp.gated_mlp.onednn import gated_mlp_onednn
from fused_mlp.library import explained
from fused_mlp.linear import linear_by_names
from fused_mlp.linear.onednn import linear_onednn
from fused_mlp.mlp import mlp_by_names
from fused_mlp.mlp.onednn import mlp_onednn
from fused_mlp.packed import gated_mlp_packed, linear_packed, mlp_packed
from fused_mlp.packing import PackedWeights, PackReport, pack_weights
from fused_mlp.recomputation import Recompute, name_from_recompute
from fused_mlp.scripting import ScriptableGatedMLP, ScriptableLinear, ScriptableMLP
from fused_mlp.validation import fault_in_gated_mlp, fault_in_linear, fault_in_mlp
from fused_mlp.vocabulary import Implementation, Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from fused_mlp.errors import InvalidArgument


# Weights and biases in the order of the operation's arguments; a bias may be None.
Parameters = tuple[Any, ...]


def _weight_and_bias(layer: Any) -> tuple[Any, Any]:
    registered = layer._parameters  # noqa: SLF001 - a third of the price of layer.weight
    try:
        return registered["weight"], registered["bias"]
    except KeyError:
        return layer.weight, layer.bias


def _may_use_packs() -> bool:
    """No gradient is recorded, no graph that would outlive the packed copies, and no other dtype is asked for."""
    is_tracing = torch._C._get_tracing_state() is not None  # noqa: SLF001 - torch.jit.is_tracing, typed
    return not (torch.is_grad_enabled() or is_tracing or torch.is_autocast_enabled("cpu"))


class PackableModule(nn.Module):
    """A module whose weights can be packed, and the rule for when the packed copies are used.

    They are used where no gradient is recorded (torch.no_grad, torch.inference_mode) and the weights are unchanged;
    never in training or under autocast, and never under torch.compile or torch.jit, whose graphs would keep them past
    a change.
    """

    _operation: Operation
    _packed: PackedWeights | None = None

    def prepare(self, *, rows: int | None = None, implementation: Implementation | str | None = None) -> PackReport:
        """Pack the weights for inference on the CPU; returns who packed them, and the time and memory it took.

        After a change of the weights the packed copies are dropped at the next call, which uses the weights
        themselves, until `prepare` is called again. A write through `weight.data` is not seen: call it after one.

        Args:
            rows: how many rows calls will mostly have; the tuned table then says what is fastest for them.
            implementation: "cpp" for the C++ kernels or "onednn", instead of what the table says.

        Raises:
            InvalidArgument: another implementation, or weights created under torch.inference_mode.
            Unavailable: no compiler (for "cpp"), weights not on the CPU, or a dtype that cannot be packed here.
        """
        weights = self._weights_among(self._parameters_in_order())
        if implementation is None:
            hidden, dim = weights[0].shape
            implementation, *_ = packing_for(self._operation, rows=rows, dim=dim, hidden=hidden, dtype=weights[0].dtype)
        self._packed, report = pack_weights(weights, implementation=implementation)
        return report

    @property
    def is_prepared(self) -> bool:
        """Whether packed copies exist and the weights are unchanged since."""
        weights = self._weights_among(self._parameters_in_order())
        return self._packed is not None and self._packed.are_current(weights)

    def forward(self, x: Tensor) -> Tensor:
        """The operation on x and the module's parameters; raises as the function of its name."""
        if not is_dynamo_compiling():
            try:
                result: Tensor = short_calls.call_module(self._operation, self, x)
            except Exception as error:  # noqa: BLE001 - raised again, worded
                raise explained(error, self._fault(x, self._parameters_in_order())) from None
            if result is not NotImplemented:
                return result
        return self._forward_by_torch(x)

    def _forward_by_torch(self, x: Tensor) -> Tensor:
        """As forward, by torch.ops: for arguments and modes that short_calls leaves, and before it is compiled."""
        parameters = self._parameters_in_order()
        if self._packed is None or torch.compiler.is_compiling() or not _may_use_packs():
            return self._compute(x, parameters)
        packed = self._packed
        if not packed.are_current(self._weights_among(parameters)):
            self._packed = None
            return self._compute(x, parameters)
        try:
            return self._compute_packed(packed, x, parameters)
        except Exception as error:  # noqa: BLE001 - raised again, worded
            raise explained(error, self._fault(x, parameters)) from None

    # What each operation fills in. Parameters are fetched once per call: nn.Module makes that slow.

    def _parameters_in_order(self) -> Parameters:
        raise NotImplementedError

    def _weights_among(self, parameters: Parameters) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _compute(self, x: Tensor, parameters: Parameters) -> Tensor:
        raise NotImplementedError

    def _compute_packed(self, packed: PackedWeights, x: Tensor, parameters: Parameters) -> Tensor:
        raise NotImplementedError

    def _fault(self, x: Tensor, parameters: Parameters) -> InvalidArgument | None:
        raise NotImplementedError

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> PackableModule:  # noqa: FBT001, FBT002 - nn.Module's
        self._packed = None
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Packed copies are for this CPU and this process.
        return {name: value for name, value in self.__dict__.items() if name != "_packed"}


class FusedLinear(PackableModule):
    """act(x·Wᵀ + b). x: [..., in_features] → [..., out_features].

    Parameters `weight` and `bias` are named, laid out and initialised as in nn.Linear.
    """

    _operation = Operation.LINEAR

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
        """The parameters of `layer`, shared with it, and an activation behind them."""
        fused = cls(1, 1, bias=False, activation=activation, recompute=recompute, device="meta")
        fused.weight, fused.bias = _weight_and_bias(layer)
        fused.train(layer.training)
        return fused

    def reset_parameters(self) -> None:
        """Initialise as nn.Linear does: both uniform within ±1/√in_features."""
        in_features = self.weight.shape[1]
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        for parameter in self.parameters(recurse=False):
            nn.init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes, bias and activation."""
        out_features, in_features = self.weight.shape
        return f"{in_features}, {out_features}, bias={self.bias is not None}, activation={self.activation}"

    def _parameters_in_order(self) -> Parameters:
        return _weight_and_bias(self)

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

    def __prepare_scriptable__(self) -> nn.Module:
        return ScriptableLinear(self.activation, self.recompute, *self._parameters_in_order())


class FusedMLP(PackableModule):
    """act(x·W1ᵀ + b1)·W2ᵀ + b2. x: [..., dim] → [..., dim].

    Its two layers are nn.Linear modules called `names`, by default "0" and "2" as in the eager twin
    nn.Sequential(Linear, activation, Linear), so that state dicts load both ways.
    """

    _operation = Operation.MLP

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
        self.names = names
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
        """The two layers themselves, under `names`, with an activation between them."""
        fused = cls(1, 1, bias=False, activation=activation, recompute=recompute, names=names, device="meta")
        fused.add_module(names[0], first)
        fused.add_module(names[1], second)
        fused.train(first.training)
        return fused

    def _parameters_in_order(self) -> Parameters:
        modules, (first, second) = self._modules, self.names
        return *_weight_and_bias(modules[first]), *_weight_and_bias(modules[second])

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
        """The activation between the layers."""
        return f"activation={self.activation}"

    def __prepare_scriptable__(self) -> nn.Module:
        return ScriptableMLP(self.activation, self.recompute, *self._parameters_in_order())


class FusedGatedMLP(PackableModule):
    """(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ, no bias. x: [..., dim] → [..., dim].

    Its layers are nn.Linear modules called `names`, by default gate_proj, up_proj, down_proj as in Llama, Gemma and
    Mistral, so that state dicts load both ways.
    """

    _operation = Operation.GATED_MLP

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
        self.names = names
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
        """The three layers themselves, under `names`; none has a bias."""
        fused = cls(1, 1, activation=activation, recompute=recompute, names=names, device="meta")
        for name, layer in zip(names, (gate, up, down), strict=True):
            fused.add_module(name, layer)
        fused.train(gate.training)
        return fused

    def _parameters_in_order(self) -> Parameters:
        modules, (gate, up, down) = self._modules, self.names
        return tuple(_weight_and_bias(modules[name])[0] for name in (gate, up, down))

    def _weights_among(self, parameters: Parameters) -> tuple[Tensor, ...]:
        return parameters

    def _compute(self, x: Tensor, parameters: Parameters) -> Tensor:
        gate, up, down = parameters
        return gated_mlp_by_names(x, gate, up, down, activation=self.activation, recompute=self.recompute)

    def _compute_packed(self, packed: PackedWeights, x: Tensor, parameters: Parameters) -> Tensor:
        del parameters
        if packed.implementation is Implementation.ONEDNN:
            return gated_mlp_onednn(x, *packed.tensors, activation=self.activation)
        out: Tensor = gated_mlp_packed(x, *packed.tensors, self.activation, *packed.rows[1:])
        return out

    def _fault(self, x: Tensor, parameters: Parameters) -> InvalidArgument | None:
        return fault_in_gated_mlp(x, *parameters)

    def extra_repr(self) -> str:
        """The activation of the gate."""
        return f"activation={self.activation}"

    def __prepare_scriptable__(self) -> nn.Module:
        return ScriptableGatedMLP(self.activation, self.recompute, *self._parameters_in_order())
