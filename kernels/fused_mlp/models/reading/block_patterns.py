"""Patterns in a block's graph: linear layers that follow each other through an activation, with or without a gate.

What counts is what the code between two layers computes, not what it, they or their class are called.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import fx

from fused_mlp.models.reading.recognition import activation_by_identity, activation_of, gate_of, merged_gate_of
from fused_mlp.models.reading.stand_ins import NoPattern
from fused_mlp.models.reading.steps import Steps
from fused_mlp.vocabulary import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import nn

    from fused_mlp.activations import Activation

_LONGEST_ACTIVATION = 12
"""Steps of the longest formula of an activation that is looked for behind a layer; tanh-GELU takes 8."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """What a part of a graph computes.

    Attributes:
        operation: which.
        layers: paths of its linear layers below the block, in the operation's order; for a merged gate (merged, down).
        activation: the one between the first and the second product, or behind the only one.
        halves: of a merged layer's rows, which half is (gate, up); None where gate and up are layers of their own.
    """

    operation: Operation
    layers: tuple[str, ...]
    activation: Activation
    halves: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Match:
    """Pattern and the nodes that compute it: `source` goes in, `nodes` in order, the last of which comes out."""

    pattern: Pattern
    source: fx.Node
    nodes: tuple[fx.Node, ...] = field(repr=False)


class Matcher:
    """Patterns in one graph of a block in one mode; `reasons` has a line for each pair of layers that is none."""

    def __init__(self, block: nn.Module, graph: fx.Graph, *, training: bool) -> None:
        self._steps = Steps(block, training=training)
        self.order = {node: index for index, node in enumerate(graph.nodes)}
        self.reasons: list[str] = []
        self._taken: set[fx.Node] = set()
        by_name = dict.fromkeys(str(node.target) for node in self.order if self._steps.is_layer_called_by_name(node))
        self.reasons += [f"{layer} is called with its input by name, not by its place" for layer in by_name]

    def mlps(self) -> tuple[Match, ...]:
        """Return the chains of two products, from the last backwards, so that none takes another's second layer."""
        return tuple(self._matches(self._two_layers, reversed(self._linear_nodes())))

    def activated_layers(self) -> tuple[Match, ...]:
        """Return the layers with an activation behind them that are in no chain."""
        return tuple(self._matches(self._one_layer, self._linear_nodes()))

    def _matches(
        self, attempt: Callable[[fx.Node], Match | None], nodes: Iterator[fx.Node] | list[fx.Node]
    ) -> Iterator[Match]:
        for node in nodes:
            if node in self._taken:
                continue
            try:
                match = attempt(node)
            except NoPattern as mismatch:
                self.reasons.append(str(mismatch))
                continue
            if match is not None:
                self._taken.update(match.nodes)
                yield match

    def _linear_nodes(self) -> list[fx.Node]:
        return [node for node in self.order if self._steps.is_layer_call(node)]

    def _two_layers(self, last: fx.Node) -> Match | None:
        between, sources = self._back_to_layers(last.args[0], of=f"input of {last.target}")
        sources = [source for source in sources if source not in self._taken]
        if not sources or len(sources) > 2:
            return None
        inputs = {source.args[0] for source in sources}
        names = tuple(str(node.target) for node in (*sources, last))
        described = f"{' and '.join(names[:-1])} and {names[-1]}"
        if len(inputs) > 1:
            raise NoPattern(f"{' and '.join(names[:-1])} take different inputs")
        (source,) = inputs
        self._expect_closed((*sources, *between), last)
        self._expect_no_write_between(sources, between)
        self._expect_no_write_into_weights(sources[0], last)
        steps = self._steps.without_idle_steps(between)
        pattern = self._pattern(sources, steps, between, last)
        if pattern is None:
            self._expect_no_dropout(between)
            what = " → ".join(self._steps.described(node) for node in between) or "nothing"
            raise NoPattern(f"{what} stands between {described}: no activation of ours, nor a gate with one")
        nodes = sorted((*sources, *between, last), key=self.order.__getitem__)
        assert isinstance(source, fx.Node)  # noqa: S101 - for the type: _is_layer_call has looked
        return Match(pattern=pattern, source=source, nodes=tuple(nodes))

    def _pattern(
        self, sources: list[fx.Node], steps: Sequence[fx.Node], between: Sequence[fx.Node], last: fx.Node
    ) -> Pattern | None:
        width = self._steps.sizes(sources[0])[0]
        names = tuple(str(node.target) for node in (*sources, last))
        result = last.args[0]
        with self._steps.mode_of(between):
            if len(sources) == 2:
                if width != self._steps.sizes(sources[1])[0]:
                    raise NoPattern(f"{' and '.join(names[:-1])} give different numbers of values")
                gate = gate_of(self._steps.function(between, sources, result), width=width)
                if gate is None:
                    return None
                activation, is_first = gate
                layers = names if is_first else (names[1], names[0], names[2])
                return Pattern(operation=Operation.GATED_MLP, layers=layers, activation=activation)
            if self._steps.sizes(last)[1] * 2 == width:
                gate = merged_gate_of(self._steps.function(between, sources, result), width=width)
                if gate is not None:
                    halves = (0, 1) if gate[1] else (1, 0)
                    return Pattern(operation=Operation.GATED_MLP, layers=names, activation=gate[0], halves=halves)
            known = self._activation(sources[0], steps, between, result)
            return None if known is None else Pattern(operation=Operation.MLP, layers=names, activation=known)

    def _one_layer(self, layer: fx.Node) -> Match | None:
        source = layer.args[0]
        assert isinstance(source, fx.Node)  # noqa: S101 - as above
        later = [node for node in self.order if self.order[node] > self.order[layer]][:_LONGEST_ACTIVATION]
        for result in later:
            if result.op == "output":
                break
            try:
                between, sources = self._back_to_layers(result, of=str(result))
                self._expect_closed((layer, *between), result)
            except NoPattern:
                continue
            if sources != [layer]:
                continue
            steps = self._steps.without_idle_steps((*between,))
            with self._steps.mode_of(between):
                known = self._activation(layer, steps, between, result)
            if known:
                pattern = Pattern(operation=Operation.LINEAR, layers=(str(layer.target),), activation=known)
                return Match(pattern=pattern, source=source, nodes=(layer, *between))
        return None

    def _activation(
        self, layer: fx.Node, steps: Sequence[fx.Node], between: Sequence[fx.Node], result: Any
    ) -> Activation | None:
        if len(steps) == 1 and (known := self._by_identity(steps[0])) is not None:
            return known
        return (
            activation_of(self._steps.function(between, [layer], result), width=self._steps.sizes(layer)[0])
            if steps
            else None
        )

    def _by_identity(self, node: fx.Node) -> Activation | None:
        target = self._steps.module(node) if node.op == "call_module" else node.target
        if node.op == "call_method" and not isinstance(target, str):
            return None
        return activation_by_identity(target, node.args[1:], node.kwargs)

    def _back_to_layers(self, result: Any, *, of: str) -> tuple[list[fx.Node], list[fx.Node]]:
        """Return (the steps between, in order; the layers) that `result` is made from, none where it is from none.

        Raises: NoPattern where it is made from layers and from something else.
        """
        between: set[fx.Node] = set()
        layers: set[fx.Node] = set()
        others: list[str] = []
        waiting = [result]
        while waiting:
            node = waiting.pop()
            if not isinstance(node, fx.Node) or node in between or node in layers:
                continue
            if self._steps.is_layer_call(node):
                layers.add(node)
                continue
            if node.op in ("placeholder", "get_attr"):
                kind = "argument" if node.op == "placeholder" else "parameter or buffer"
                others.append(f"the {kind} {node.target}")
                continue
            between.add(node)
            waiting += node.all_input_nodes
        if not layers:
            return [], []
        if others:
            raise NoPattern(f"the {of} is made from {others[0]}, not from linear layers alone")
        steps = sorted(between, key=self.order.__getitem__)
        for node in steps:
            self._expect_no_weights(node)
        return steps, sorted(layers, key=self.order.__getitem__)

    def _expect_no_weights(self, node: fx.Node) -> None:
        if node.op == "call_module":
            module = self._steps.module(node)
            if any(True for _ in module.parameters()) or any(True for _ in module.buffers()):
                raise NoPattern(f"{self._steps.described(node)} stands between, which has weights of its own")
        self._steps.expect_read(node)

    def _expect_closed(self, nodes: Sequence[fx.Node], last: fx.Node) -> None:
        inside = {*nodes, last}
        for node in nodes:
            if node is not last and not inside >= set(node.users):
                raise NoPattern(f"the output of {self._steps.described(node)} is used more than once")

    def _expect_no_write_between(self, sources: Sequence[fx.Node], between: Sequence[fx.Node]) -> None:
        """Raise NoPattern if the layers' common input may change from the first to the last of them."""
        first, last = self.order[sources[0]], self.order[sources[-1]]
        for node, position in self.order.items():
            if first < position < last and node not in between and self._steps.may_write(node):
                raise NoPattern(
                    f"{self._steps.described(node)} stands between {sources[0].target} and {sources[-1].target}"
                )

    def _expect_no_write_into_weights(self, first: fx.Node, last: fx.Node) -> None:
        """Raise NoPattern if a step between the layers may write into what the later one, computed before, reads."""
        steps = [node for node in self.order if self.order[first] < self.order[node] < self.order[last]]
        for node in steps:
            if self._steps.may_write(node) and any(each.op == "get_attr" for each in _all_inputs(node)):
                raise NoPattern(f"{self._steps.described(node)} may write into weights, between {first} and {last}")

    def _expect_no_dropout(self, between: Sequence[fx.Node]) -> None:
        for node in between:
            p = self._steps.p_of_active_dropout(node)
            if p:
                raise NoPattern(f"{self._steps.described(node)} drops with p = {p} in training")


def _all_inputs(node: fx.Node) -> set[fx.Node]:
    """Return all steps that a step's arguments are made from."""
    found: set[fx.Node] = set()
    waiting = list(node.all_input_nodes)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += each.all_input_nodes
    return found
