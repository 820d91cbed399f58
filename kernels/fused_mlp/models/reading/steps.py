"""Steps of a block's graph: what one of them calls, whether it may write or drop, and several as a function."""

from __future__ import annotations

import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn
from torch.nn import functional

from fused_mlp.models.reading.contents import module_of
from fused_mlp.models.reading.elementwise import is_elementwise
from fused_mlp.models.reading.linear_layers import is_linear, is_transposed
from fused_mlp.models.reading.methods import arguments_of, method_of, with_required_only
from fused_mlp.models.reading.stand_ins import IN_PLACE, NoPattern
from fused_mlp.models.reading.surroundings import surroundings_of, surroundings_of_modules
from fused_mlp.models.reading.tracing import graph_of, leaving_no_trace
from fused_mlp.models.reading.unpacking import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

_WITHOUT_BRANCHES = {"torch", "_operator", "operator", "builtins", "math"}
_NOT_LISTED = "none of the steps known to treat each element alike, in its own dtype and with its gradient"
_WRITING = {*IN_PLACE.values(), operator.setitem}


class Steps:
    """Questions about the nodes of one graph of `block`, in training or in evaluation."""

    def __init__(self, block: nn.Module, *, training: bool) -> None:
        self.block = block
        self.training = training

    def may_write(self, node: fx.Node) -> bool:
        """Return whether a step may write into a tensor that it did not make."""
        if node.op == "call_module":
            return not type(self.module(node)).__module__.startswith("torch.nn.") or "inplace" in vars(
                self.module(node)
            )
        name = str(node.target if node.op == "call_method" else getattr(node.target, "__name__", node.target))
        return name.rstrip("_") != name or node.target in _WRITING or bool({"out", "inplace"} & set(node.kwargs))

    def without_idle_steps(self, between: Sequence[fx.Node]) -> list[fx.Node]:
        """Return the steps without those that do nothing in this mode."""
        return [node for node in between if self.p_of_active_dropout(node) != 0.0]

    def p_of_active_dropout(self, node: fx.Node) -> float | None:
        """Return with what probability a step drops in this mode; 0 for one that does nothing, None for others."""
        if node.op == "call_module":
            module = self.module(node)
            if type(module) is nn.Identity:
                return 0.0
            return (module.p if self.training else 0.0) if type(module) is nn.Dropout else None
        if node.target is functional.dropout:
            p = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
            training = node.args[2] if len(node.args) > 2 else node.kwargs.get("training", True)
            return float(p) if training and isinstance(p, int | float) else 0.0
        return None

    def expect_read(self, node: fx.Node) -> None:
        """Raise NoPattern if a step runs code that may do something else for other values, shapes or dtypes.

        What somebody's activation computes is found by calling it, which tells only of what it is called on.
        """
        if not is_elementwise(node, self.block.get_submodule):
            raise NoPattern(f"{self.described(node)} stands between, and is {_NOT_LISTED}")
        if node.op == "call_module":
            for module in self.module(node).modules():
                if not type(module).__module__.startswith("torch.nn."):
                    self._expect_read(module, str(node.target))
        elif node.op == "call_function" and (
            isinstance(node.target, torch.jit.ScriptFunction)
            or (node.target is not unpacked and module_of(node.target).partition(".")[0] not in _WITHOUT_BRANCHES)
        ):
            raise NoPattern(f"{self.described(node)} is a function that is not read")

    def _expect_read(self, module: nn.Module, name: str) -> None:
        function = method_of(module, "forward")
        if function is None:
            raise NoPattern(f"{name} has no forward that can be read")
        inlined = [each for each in module.modules() if not type(each).__module__.startswith("torch.nn.")]
        codes = [(type(each), found) for each in inlined if (found := method_of(each, "forward")) is not None]
        around = surroundings_of(module, codes)
        called = with_required_only(function, arguments_of(function)[0])
        try:
            traced = graph_of(module, called, training=self.training, inlined=inlined, around=around)
        except NoPattern as mismatch:
            raise NoPattern(f"{name}: {mismatch}") from None
        if traced.dtype is not None:
            raise NoPattern(f"{name}: its forward asks for dtypes")
        for node in traced.graph.nodes:
            if not is_elementwise(node, module.get_submodule):
                raise NoPattern(f"{name}: {node.name} is {_NOT_LISTED}")

    def is_layer_called_by_name(self, node: fx.Node) -> bool:
        """Return whether a node calls a linear layer in another way than on one value by its place."""
        return node.op == "call_module" and is_linear(self.module(node)) and bool(node.kwargs)

    def is_layer_call(self, node: fx.Node) -> bool:
        """Return whether a node calls a linear layer on one value."""
        return (
            node.op == "call_module"
            and is_linear(self.module(node))
            and len(node.args) == 1
            and isinstance(node.args[0], fx.Node)
            and not node.kwargs
        )

    def function(self, between: Sequence[fx.Node], sources: list[fx.Node], result: Any) -> Callable[..., Tensor]:
        """Return the steps `between` as a function of what `sources` give, up to `result`."""

        def computed(*values: Tensor) -> Tensor:
            known: dict[fx.Node, Any] = dict(zip(sources, values, strict=True))
            for node in between:
                args, kwargs = fx.node.map_arg((node.args, node.kwargs), known.__getitem__)
                if node.op == "call_module":
                    known[node] = self.module(node)(*args, **kwargs)
                elif node.op == "call_method":
                    known[node] = getattr(args[0], str(node.target))(*args[1:], **kwargs)
                else:
                    target: Any = node.target
                    known[node] = target(*args, **kwargs)
            outcome: Tensor = known[result]
            return outcome

        return computed

    @contextmanager
    def mode_of(self, between: Sequence[fx.Node]) -> Iterator[None]:
        """Put the modules that `between` calls into the mode, and the random numbers back.

        Raises: NoPattern, where calling them would leave traces, or what they read cannot be watched.
        """
        roots = [self.module(node) for node in between if node.op == "call_module"]
        modules = [module for root in roots for module in root.modules()]
        arounds = surroundings_of_modules(roots)
        before = [module.training for module in modules]
        state = torch.get_rng_state()
        try:
            for module in modules:
                module.__dict__["training"] = self.training
            with leaving_no_trace([container for around in arounds for container in around.containers]):
                yield
        finally:
            torch.set_rng_state(state)
            for module, mode in zip(modules, before, strict=True):
                module.__dict__["training"] = mode

    def module(self, node: fx.Node) -> Any:
        """Return the module that a node calls."""
        return self.block.get_submodule(str(node.target))

    def sizes(self, node: fx.Node) -> tuple[int, int]:
        """Return how many values a layer gives and takes."""
        weight = self.module(node).weight
        if weight.dim() != 2:
            raise NoPattern(f"{node.target}.weight is no matrix: its values are elsewhere, as of a sharded model's")
        n_given, n_taken = weight.shape[::-1] if is_transposed(self.module(node)) else weight.shape
        return n_given, n_taken

    def described(self, node: fx.Node) -> str:
        """Return what a node calls, in words."""
        if node.op == "call_module":
            return f"{node.target} ({type(self.module(node)).__name__})"
        return str(getattr(node.target, "__name__", node.target))
