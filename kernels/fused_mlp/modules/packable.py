"""Base of the modules: weights that can be packed, and the rule for when the packed copies are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

from fused_mlp.choice.choices import packing_for
from fused_mlp.modules.packing import PackedWeights, PackReport, pack_weights
from fused_mlp.native import fast_calls
from fused_mlp.ops.registration import explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from fused_mlp.errors import InvalidArgument
    from fused_mlp.vocabulary import Implementation, Operation


# Weights and biases in the order of the operation's arguments; a bias may be None.
Parameters = tuple[Any, ...]


def weight_and_bias(layer: Any) -> tuple[Any, Any]:
    """Return the parameters of an nn.Linear, registered or computed when asked for; the bias may be None."""
    registered = layer._parameters  # noqa: SLF001 - a third of the price of layer.weight
    try:
        return registered["weight"], registered["bias"]
    except KeyError:
        return layer.weight, layer.bias


def _may_use_packs() -> bool:
    """Return whether nothing is recorded that would outlive the packed copies, and no other dtype is asked for."""
    is_tracing = torch._C._get_tracing_state() is not None  # noqa: SLF001 - torch.jit.is_tracing, typed
    return not (torch.is_grad_enabled() or is_tracing or torch.is_autocast_enabled("cpu"))


class PackableModule(nn.Module):
    """Module whose weights can be packed, and the rule for when the packed copies are used.

    They are used where no gradient is recorded (torch.no_grad, torch.inference_mode) and the weights are unchanged;
    never in training or under autocast, and never under torch.compile or torch.jit, whose graphs would keep them past
    a change.
    """

    _operation: Operation
    _packed: PackedWeights | None = None

    def prepare(self, *, rows: int | None = None, implementation: Implementation | str | None = None) -> PackReport:
        """Pack the weights for inference on the CPU; returns who packed them, and the time and memory it took.

        After a change of the weights the packed copies are dropped at the next call, which uses the weights
        themselves, until `prepare` is called again. A write through `weight.data` by other than an optimiser is not
        seen: call it after one.

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
        """True if packed copies exist and the weights are unchanged since."""
        weights = self._weights_among(self._parameters_in_order())
        return self._packed is not None and self._packed.are_current(weights)

    def forward(self, x: Tensor) -> Tensor:
        """Return the operation on x and the module's parameters; raises as the function of its name."""
        if not is_dynamo_compiling():
            try:
                result: Tensor = fast_calls.call_module(self._operation, self, x)
            except Exception as error:  # noqa: BLE001 - raised again, worded
                raise explained(error, self._fault(x, self._parameters_in_order())) from None
            if result is not NotImplemented:
                return result
        return self._forward_by_torch(x)

    def _forward_by_torch(self, x: Tensor) -> Tensor:
        """Compute forward by torch.ops: for what fast_calls does not take, and before it is compiled."""
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
