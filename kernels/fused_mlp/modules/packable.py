"""Base of the modules: weights that can be packed, and the rule for when the packed copies are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch._guards import detect_fake_mode
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from fused_mlp.choice.implementations import check_size
from fused_mlp.choice.on_cpu import packing_for
from fused_mlp.errors import InvalidArgument, Unavailable
from fused_mlp.modules.packing import PackedWeights, PackReport, pack_weights
from fused_mlp.native import fast_calls
from fused_mlp.ops.registration import explained
from fused_mlp.vocabulary import Implementation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from fused_mlp.vocabulary import Operation


# Weights and biases in the order of the operation's arguments; a bias may be None.
Parameters = tuple[Any, ...]


def weight_and_bias(layer: Any) -> tuple[Any, Any]:
    """Return the parameters of an nn.Linear, registered or computed when asked for; the bias may be None."""
    registered = layer._parameters  # noqa: SLF001 - a third of the price of layer.weight
    try:
        return registered["weight"], registered["bias"]
    except KeyError:
        return layer.weight, layer.bias


def layer_weight_and_bias(layers: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Return the parameters of the nn.Linear called `name`; the bias may be None.

    Raises: InvalidArgument if a call of that layer does more than multiply and add, which the fused call would skip.
    """
    layer = layers[name]
    if getattr(type(layer), "forward", None) is not nn.Linear.forward or "forward" in layer.__dict__:
        got = f"a {type(layer).__module__}.{type(layer).__qualname__} with a forward of its own"
    elif any(getattr(layer, hooks) for hooks in _HOOKS):
        got = "an nn.Linear with hooks"
    else:
        return weight_and_bias(layer)
    expected = "a plain nn.Linear without hooks: the fused call reads its parameters and would skip the rest"
    raise InvalidArgument(f"layer {name!r}", got=got, expected=expected)


def is_plain_tensor(value: Any) -> bool:
    """Return whether this is a tensor and of no subclass, as quantised weights are."""
    return type(value) in (torch.Tensor, nn.Parameter)


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def may_use_packs() -> bool:
    """Return whether nothing is recorded that would outlive the packed copies, and only numbers are computed.

    Under transforms, forward mode, fake tensors and autocast the plain op knows what to do, or refuses.
    """
    is_tracing = torch._C._get_tracing_state() is not None  # noqa: SLF001 - torch.jit.is_tracing, typed
    is_transformed = torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0  # noqa: SLF001 - no public names
    is_faked = detect_fake_mode() is not None or get_proxy_mode() is not None
    is_recorded = torch.is_grad_enabled() or is_tracing or is_transformed
    is_cast = torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
    return not (is_recorded or is_faked or is_cast)


class PackableModule(nn.Module):
    """Module whose weights can be packed, and the rule for when the packed copies are used.

    They are used where no gradient is recorded (torch.no_grad, torch.inference_mode) and the weights are unchanged;
    never in training or under autocast, and never under torch.compile or torch.jit, whose graphs would keep them past
    a change. They end where weights may be about to change unseen: at `train()`, and at a call that records a
    gradient of theirs.
    """

    is_direct = True
    """Whether the parameters are registered as fast_calls reads them."""
    _operation: Operation
    _packed: PackedWeights | None = None
    __jit_ignored_attributes__ = ("_packed",)
    __jit_unused_properties__ = ("is_plain", "is_prepared", "uses_onednn")

    def prepare(self, *, rows: int | None = None, implementation: Implementation | str | None = None) -> PackReport:
        """Pack the weights for inference; returns who packed them, and the time and memory it took.

        On the CPU in the layout that is fastest there. On CUDA gate and up of a gated MLP in one matrix, so that their
        products are one launch; other operations have nothing to pack there.

        After a change of the weights the packed copies are dropped at the next call, which uses the weights
        themselves, until `prepare` is called again; so they are at `train()` and at a call that records a gradient of
        the weights. A write behind torch's back (through `weight.data` or numpy) is seen by samples of the weights on
        the CPU; one that misses all of them, or on CUDA, is not: call `prepare` after it.

        Args:
            rows: how many rows calls will mostly have; the tuned table then says what is fastest for them.
            implementation: "cpp" for the C++ kernels or "onednn", instead of what the table says; on CUDA
                "pointwise".

        Raises:
            InvalidArgument: `rows` is no number, another implementation, or weights created under
                torch.inference_mode.
            Unavailable: no compiler (for "cpp"), weights on a device where nothing is packed of this operation, of a
                subclass of tensors or of a dtype that cannot be packed here.
        """
        if rows is not None:
            check_size(rows, "rows")
        for weight in self.own_weights():
            if not is_plain_tensor(weight):
                raise Unavailable(f"a weight is of {type(weight).__name__}, and only plain tensors can be packed")
            if weight.dim() != 2:
                raise Unavailable("a weight is no matrix: its values are elsewhere, as of a sharded model's")
        weights = self._weights_among(self._parameters_in_order())
        if implementation is None and weights[0].device.type == "cuda":
            implementation = Implementation.POINTWISE
        if implementation is None:
            hidden, dim = weights[0].shape
            implementation, *_ = packing_for(self._operation, rows=rows, dim=dim, hidden=hidden, dtype=weights[0].dtype)
        self._packed, report = pack_weights(weights, implementation=implementation)
        return report

    @property
    def is_prepared(self) -> bool:
        """True if packed copies exist and the weights are unchanged since."""
        weights = self._weights_among(self._parameters_in_order())
        packed = self._packed
        return packed is not None and packed.are_current(weights)

    @property
    def uses_onednn(self) -> bool:
        """True if there are packed copies, and oneDNN made them."""
        packed = self._packed
        return packed is not None and packed.implementation is Implementation.ONEDNN

    def drop_packs(self) -> None:
        """Forget the packed copies; calls use the weights themselves until `prepare`."""
        # Of no more than there is: an attribute that appears makes torch.compile compile again.
        if self._packed is not None:
            self._packed = None

    def weights(self) -> tuple[Tensor, ...]:
        """Return the weights of the products in the operation's order, [out, in] each."""
        return self._weights_among(self._parameters_in_order())

    def own_weights(self) -> tuple[Tensor, ...]:
        """Return the weights as the layers hold them: tensors of any kind, of which nothing is computed.

        Raises: InvalidArgument if the layers compute more than the operation does, by a bias for one.
        """
        return self.weights()

    @property
    def is_plain(self) -> bool:
        """Whether weights and biases are tensors of no subclass, which would see its own layers' operations."""
        return all(value is None or is_plain_tensor(value) for value in self._parameters_in_order())

    def train(self, mode: bool = True) -> PackableModule:  # noqa: FBT001, FBT002 - nn.Module's
        """Set the mode; training ends the packed copies: optimisers may step without a trace on a CPU."""
        if mode:
            self.drop_packs()
        super().train(mode)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Return the operation on x and the module's parameters; raises as the function of its name."""
        if not is_dynamo_compiling() and self.is_direct:
            result: Tensor = self.forward_directly(x)
            if result is not NotImplemented:
                return result
        return self._forward_by_torch(x)

    def forward_directly(self, x: Tensor) -> Any:
        """Return forward by the short way, NotImplemented where that does not take the arguments or the mode."""
        if self._packed is not None:
            self._end_packs_in_training()
        try:
            return fast_calls.call_module(self._operation, self, x)
        except Exception as error:  # noqa: BLE001 - raised again, worded
            raise explained(error, self._fault(x, self._parameters_in_order())) from None

    def _end_packs_in_training(self) -> None:
        if torch.is_grad_enabled() and any(weight.requires_grad for weight in self.weights()):
            self._packed = None

    def _forward_by_torch(self, x: Tensor) -> Tensor:
        """Compute forward by torch.ops: for what fast_calls does not take, and before it is compiled."""
        parameters = self._parameters_in_order()
        if self._packed is not None:
            self._end_packs_in_training()
        packed = self._packed  # once: another thread may end them
        if packed is None or torch.compiler.is_compiling() or not may_use_packs():
            return self._compute(x, parameters)
        weights = self._weights_among(parameters)
        if not packed.are_current(weights):
            if packed.are_changed(weights):
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

    def __prepare_scriptable__(self) -> PackableModule:
        # What this returns, torch.jit.script leaves in the model. TorchScript finds layers by their order alone.
        self._parameters_in_order()
        names = getattr(self, "names", ())
        if tuple(self._modules) != names:
            got = f"the children {', '.join(self._modules)}"
            raise InvalidArgument(
                "a module to script", got=got, expected=f"{', '.join(names) or 'none'}, in this order"
            )
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Packed copies are for this CPU and this process.
        return {name: value for name, value in self.__dict__.items() if name != "_packed"}
