"""Operations on other modules' parameters, read anew at each call: shared, transposed, halves of a merged layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from fused_mlp.activations import NO_ACTIVATION
from fused_mlp.models.reading.linear_layers import is_transposed
from fused_mlp.modules.layers import FusedGatedMLP, FusedLinear, FusedMLP, weight_alone
from fused_mlp.modules.packable import weight_and_bias
from fused_mlp.modules.packing import PackReport
from fused_mlp.vocabulary import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from fused_mlp.models.reading.block_patterns import Pattern
    from fused_mlp.modules.packable import PackableModule, Parameters
    from fused_mlp.vocabulary import Implementation


def module_of(pattern: Pattern, block: nn.Module, *, recompute: str) -> PackableModule | BiasedGatedMLP:
    """Return the operation of `pattern` on the parameters of `block`'s own layers. It is no child of the block."""
    layers = [block.get_submodule(path) for path in pattern.layers]
    activation = pattern.activation.value
    match pattern.operation:
        case Operation.LINEAR:
            return _linear(layers[0], activation, recompute)
        case Operation.MLP:
            kind = TransposedMLP if any(is_transposed(layer) for layer in layers) else FusedMLP
            return _with_layers(kind, ("0", "2"), layers, activation, recompute)
        case Operation.GATED_MLP:
            return _gated(pattern, layers, activation, recompute)


def _gated(
    pattern: Pattern, layers: list[nn.Module], activation: str, recompute: str
) -> PackableModule | BiasedGatedMLP:
    has_bias = any(weight_and_bias(layer)[1] is not None for layer in layers)
    if pattern.halves is None and not has_bias:
        return _with_layers(FusedGatedMLP, ("gate_proj", "up_proj", "down_proj"), layers, activation, recompute)
    if not has_bias:
        merged = _with_layers(MergedGatedMLP, ("merged", "down"), layers, activation, recompute)
        assert isinstance(merged, MergedGatedMLP)  # noqa: S101 - for the type
        merged.halves = pattern.halves
        return merged
    if pattern.halves is None:
        gate = _linear(layers[0], activation, recompute)
        up = _linear(layers[1], NO_ACTIVATION, recompute)
    else:
        gate, up = (
            _half(layers[0], half, name, recompute)
            for half, name in zip(pattern.halves, (activation, NO_ACTIVATION), strict=True)
        )
    return BiasedGatedMLP(gate, up, _linear(layers[-1], NO_ACTIVATION, recompute))


def _linear(layer: nn.Module, activation: str, recompute: str) -> FusedLinear:
    linear: BorrowedLinear = _empty(BorrowedLinear, activation, recompute)
    # One dictionary for both: a parameter replaced in the layer is replaced here. No child, which it would be counted.
    linear.__dict__["_parameters"] = layer._parameters  # noqa: SLF001 - nn.Module's register
    linear.__dict__["layer"] = layer
    return linear


def _half(layer: nn.Module, half: int, activation: str, recompute: str) -> HalfLinear:
    linear: HalfLinear = _empty(HalfLinear, activation, recompute)
    linear._modules["merged"] = layer  # noqa: SLF001 - as in _with_layers
    linear.rows_half = half
    return linear


def _with_layers(
    kind: type[FusedMLP | FusedGatedMLP], names: Any, layers: Sequence[nn.Module], activation: str, recompute: str
) -> PackableModule:
    module: FusedMLP | FusedGatedMLP = _empty(kind, activation, recompute)
    module.names = names
    for name, layer in zip(names, layers, strict=True):
        # Nothing is added to a model: hooks on what is registered may not see it, nor give another layer.
        module._modules[name] = layer  # noqa: SLF001 - nn.Module's register
    return module


def _empty(kind: type[Any], activation: str, recompute: str) -> Any:
    module: Any = object.__new__(kind)
    nn.Module.__init__(module)
    module.activation = activation
    module.recompute = recompute
    return module


class BorrowedLinear(FusedLinear):
    """FusedLinear on another layer's parameters, wherever that keeps them."""

    layer: nn.Module

    @property
    def is_direct(self) -> bool:  # type: ignore[override] # constant elsewhere
        """Whether the layer still has the register that it had: `__init__` called again gives it another."""
        return self._parameters is self.layer._parameters  # noqa: SLF001 - nn.Module's register

    def _parameters_in_order(self) -> Parameters:
        return weight_and_bias(self.layer)


class TransposedMLP(FusedMLP):
    """FusedMLP on layers with weights as [in, out], as transformers' Conv1D has them."""

    is_direct = False

    def _parameters_in_order(self) -> Parameters:
        modules, (first, second) = self._modules, self.names
        (w1, b1), (w2, b2) = weight_and_bias(modules[first]), weight_and_bias(modules[second])
        return w1.t(), b1, w2.t(), b2

    def own_weights(self) -> tuple[Tensor, ...]:
        """Return the layers' weights as they hold them."""
        return tuple(weight_and_bias(self._modules[name])[0] for name in self.names)


class MergedGatedMLP(FusedGatedMLP):
    """FusedGatedMLP on one layer for gate and up. halves: which half of its rows is the gate, which up."""

    is_direct = False
    halves: tuple[int, int] | None

    def _parameters_in_order(self) -> Parameters:
        merged, down = self.own_weights()
        halves = merged.chunk(2)
        gate, up = self.halves or (0, 1)
        return halves[gate], halves[up], down

    def own_weights(self) -> tuple[Tensor, ...]:
        """Return the layers' weights as they hold them. Raises: InvalidArgument if one has a bias."""
        return tuple(weight_alone(self._modules, name) for name in self.names[:2])


class HalfLinear(FusedLinear):
    """FusedLinear on half the rows of a layer's weight and bias."""

    is_direct = False
    rows_half: int

    def _parameters_in_order(self) -> Parameters:
        weight, bias = weight_and_bias(self._modules["merged"])
        # Of one number for all rows there are no halves; the operation refuses it.
        is_whole = bias is None or bias.dim() == 0
        return weight.chunk(2)[self.rows_half], bias if is_whole else bias.chunk(2, dim=-1)[self.rows_half]

    def own_weights(self) -> tuple[Tensor, ...]:
        """Return the layer's weight as it holds it."""
        return (weight_and_bias(self._modules["merged"])[0],)


class BiasedGatedMLP(nn.Module):
    """(act(x·Wgᵀ + bg) ⊙ (x·Wuᵀ + bu))·Wdᵀ + bd, by three of `linear`: the gated operation has no bias."""

    is_direct = False

    def __init__(self, gate: FusedLinear, up: FusedLinear, down: FusedLinear) -> None:
        super().__init__()
        self._linears = (gate, up, down)

    def forward(self, x: Tensor) -> Tensor:
        """Return the gated MLP of x: [..., dim] → [..., dim]."""
        gate, up, down = self._linears
        return down.forward(gate.forward(x) * up.forward(x))

    def forward_directly(self, x: Tensor) -> Any:
        """Return NotImplemented: three calls have no short way."""
        del x
        return NotImplemented

    def weights(self) -> tuple[Tensor, ...]:
        """Return the weights of gate, up and down, [out, in] each."""
        return tuple(linear.weights()[0] for linear in self._linears)

    def own_weights(self) -> tuple[Tensor, ...]:
        """Return the layers' weights as they hold them."""
        return tuple(weight for linear in self._linears for weight in linear.own_weights())

    def prepare(self, *, rows: int | None = None, implementation: Implementation | str | None = None) -> PackReport:
        """Pack the weights as PackableModule.prepare does; the report's figures are sums."""
        reports = [linear.prepare(rows=rows, implementation=implementation) for linear in self._linears]
        return PackReport(
            implementation=reports[0].implementation,
            seconds=sum(report.seconds for report in reports),
            n_bytes=sum(report.n_bytes for report in reports),
        )

    @property
    def is_plain(self) -> bool:
        """Whether weights and biases are tensors of no subclass."""
        return all(linear.is_plain for linear in self._linears)

    @property
    def is_prepared(self) -> bool:
        """True if packed copies exist and the weights are unchanged since."""
        return all(linear.is_prepared for linear in self._linears)

    @property
    def uses_onednn(self) -> bool:
        """True if there are packed copies, and oneDNN made them."""
        return all(linear.uses_onednn for linear in self._linears)

    def drop_packs(self) -> None:
        """Forget the packed copies."""
        for linear in self._linears:
            linear.drop_packs()
