"""Patterns of blocks: the operation a block computes and its layers, read from the graph of its forward.

A block is traced with torch.fx, its children left whole, so that what counts is what forward does with them, not
what they or the class are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn

from fused_mlp.activations import Activation, activate

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class LinearBlock:
    """Forward is act(layer(x)). name: of the layer among the block's children."""

    name: str
    activation: Activation


@dataclass(frozen=True, kw_only=True)
class MlpBlock:
    """Forward is second(act(first(x))). names: of the layers among the block's children."""

    names: tuple[str, str]
    activation: Activation


@dataclass(frozen=True, kw_only=True)
class GatedBlock:
    """Forward is down(act(gate(x)) · up(x)). names: gate, up, down among the block's children."""

    names: tuple[str, str, str]
    activation: Activation


Pattern = LinearBlock | MlpBlock | GatedBlock


class NoPattern(Exception):
    """Block that computes something else; the message says what. Caught in fusion, never seen by a caller."""


def pattern_of(block: nn.Module) -> Pattern:
    """Return what `block` computes. Raises: NoPattern, saying why it is none of ours."""
    graph = _graph_of(block)
    inputs = [node for node in graph.nodes if node.op == "placeholder" and node.users]
    if len(inputs) != 1:
        raise NoPattern(f"forward uses {len(inputs)} inputs, not one")
    (result,) = (node.args[0] for node in graph.nodes if node.op == "output")
    if not isinstance(result, fx.Node):
        raise NoPattern("forward returns more than one tensor")
    matcher = _Matcher(block, inputs[0])
    last = matcher.without_idle_dropout(result)
    if not matcher.is_linear(last):
        name, source = matcher.layer_before(last)
        matcher.expect_input(source)
        return LinearBlock(name=name, activation=matcher.activation_of(last))
    return matcher.two_layers(last)


def activation_computed_by(function: Callable[[torch.Tensor], torch.Tensor]) -> Activation | None:
    """Return which activation `function` computes, found by calling it; None if none of ours."""
    probe = torch.linspace(-6, 6, 121, dtype=torch.float64)
    try:
        with torch.no_grad():
            values = function(probe.clone())
    except Exception:  # noqa: BLE001 - whatever a stranger's function raises, it is not one of ours
        return None
    for activation in Activation:
        # The two GELUs differ by up to 5e-4; formulas of the same one by rounding.
        if isinstance(values, torch.Tensor) and torch.allclose(values, activate(probe, activation), rtol=0, atol=1e-9):
            return activation
    return None


class _WholeChildren(fx.Tracer):
    """Traces a block's own forward; every child is a call."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        del m, module_qualified_name
        return True


def _graph_of(block: nn.Module) -> fx.Graph:
    try:
        return _WholeChildren().trace(block)
    except Exception as error:
        # A tracer that meets control flow raises whatever the block's code makes of a proxy.
        raise NoPattern(f"its forward cannot be traced ({type(error).__name__}: {error})") from error


class _Matcher:
    """Walks back from the output of a block's graph; each step names what it found instead of what it expected."""

    def __init__(self, block: nn.Module, source: fx.Node) -> None:
        self.block = block
        self.source = source

    def two_layers(self, last: fx.Node) -> MlpBlock | GatedBlock:
        before = self.without_idle_dropout(self._argument_of(last))
        if _is_product(before):
            return self._gated(last, before)
        first, source = self.layer_before(before)
        self.expect_input(source)
        return MlpBlock(names=(first, str(last.target)), activation=self.activation_of(before))

    def _gated(self, last: fx.Node, product: fx.Node) -> GatedBlock:
        sides = [side for side in product.args if isinstance(side, fx.Node)]
        ups = [side for side in sides if self.is_linear(side)]
        gates = [side for side in sides if not self.is_linear(side)]
        if len(ups) != 1 or len(gates) != 1:
            raise NoPattern("the product before the last layer is not act(gate(x)) times up(x)")
        gate, gate_source = self.layer_before(gates[0])
        self.expect_input(gate_source)
        self.expect_input(self._argument_of(ups[0]))
        names = (gate, str(ups[0].target), str(last.target))
        for name in names:
            if self._child(name).bias is not None:
                raise NoPattern(f"{name} has a bias, which the gated operation has not")
        return GatedBlock(names=names, activation=self.activation_of(gates[0]))

    def layer_before(self, activated: fx.Node) -> tuple[str, fx.Node]:
        """Return (name, its input) of the layer whose output `activated` takes."""
        layer = self._argument_of(activated)
        if not self.is_linear(layer):
            raise NoPattern(f"{self._described(layer)} stands where an nn.Linear is expected")
        return str(layer.target), self._argument_of(layer)

    def activation_of(self, node: fx.Node) -> Activation:
        if node.op == "call_module":
            activation = activation_computed_by(self._child(str(node.target)))
        elif node.op in ("call_function", "call_method"):
            activation = activation_computed_by(lambda probe: _applied(node, probe))
        else:
            activation = None
        if activation is None:
            raise NoPattern(f"{self._described(node)} is none of relu, gelu, gelu_tanh, silu")
        return activation

    def without_idle_dropout(self, node: fx.Node) -> fx.Node:
        if node.op == "call_module" and isinstance(self._child(str(node.target)), nn.Dropout | nn.Identity):
            p = getattr(self._child(str(node.target)), "p", 0.0)
            if p > 0:
                raise NoPattern(f"{node.target} drops with p = {p}")
            return self._argument_of(node)
        return node

    def expect_input(self, node: fx.Node) -> None:
        if node is not self.source:
            raise NoPattern(f"the first layer takes {self._described(node)}, not the block's input")

    def is_linear(self, node: fx.Node) -> bool:
        # Exactly nn.Linear: a subclass may compute anything.
        return node.op == "call_module" and type(self._child(str(node.target))) is nn.Linear

    def _argument_of(self, node: fx.Node) -> fx.Node:
        if not node.args or not isinstance(node.args[0], fx.Node):
            raise NoPattern(f"{self._described(node)} stands where a layer or an activation is expected")
        if len(node.users) > 1 and node is not self.source:
            raise NoPattern(f"the output of {self._described(node)} is used more than once")
        return node.args[0]

    def _child(self, name: str) -> Any:
        return self.block.get_submodule(name)

    def _described(self, node: fx.Node) -> str:
        if node.op == "call_module":
            return f"{node.target} ({type(self._child(str(node.target))).__name__})"
        return str(getattr(node.target, "__name__", node.target))


def _is_product(node: fx.Node) -> bool:
    return node.op in ("call_function", "call_method") and str(getattr(node.target, "__name__", node.target)) == "mul"


def _applied(node: fx.Node, probe: torch.Tensor) -> torch.Tensor:
    rest = node.args[1:]
    if any(isinstance(a, fx.Node) for a in (*rest, *node.kwargs.values())):
        raise NoPattern("the activation takes another tensor")
    if node.op == "call_method":
        return getattr(probe, str(node.target))(*rest, **node.kwargs)  # type: ignore[no-any-return]
    function: Any = node.target
    return function(probe, *rest, **node.kwargs)  # type: ignore[no-any-return]
