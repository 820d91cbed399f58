"""A method of a block as a graph: what it does with the block's children, which are left whole.

Tracing runs the method with stand-ins for tensors. It runs on a shallow copy of the block, in the mode asked for, so
that nothing a method stores reaches the block; what cannot be seen in a graph (stored attributes, tensors made on
the way, a branch on a tensor's shape or values) is a reason against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FunctionType


class NoPattern(Exception):
    """Block that computes something else; the message says what. Caught in fusion, never seen by a caller."""


def graph_of(
    block: nn.Module, function: FunctionType, *, training: bool, inlined: Iterable[nn.Module] = ()
) -> fx.Graph:
    """Return what `function(block, …)` does in a mode, with grad and without. `inlined`: children not left whole.

    Raises: NoPattern, where it cannot be said from a graph.
    """
    inner = tuple(inlined)
    graphs = []
    for grad in (True, False, True):
        with torch.set_grad_enabled(grad):
            graphs.append(_traced(block, function, training=training, inlined=inner))
    if len({_text(graph) for graph in graphs}) > 1:
        raise NoPattern("its forward differs from call to call, or with and without gradients")
    return graphs[0]


def _traced(block: nn.Module, function: FunctionType, *, training: bool, inlined: tuple[nn.Module, ...]) -> fx.Graph:
    copy = _shallow_copy(block, function)
    before = [module.training for module in inlined]
    try:
        for module in (copy, *inlined):
            module.__dict__["training"] = training
        sizes = _sizes(copy)
        graph = _Tracer(inlined).trace(copy)
    except NoPattern:
        raise
    except Exception as error:
        # A tracer that meets control flow raises whatever the block's code makes of a proxy.
        message = str(error).strip().splitlines()
        detail = f": {message[0]}" if message else ""
        raise NoPattern(f"its forward cannot be traced ({type(error).__name__}{detail})") from error
    finally:
        for module, mode in zip(inlined, before, strict=True):
            module.__dict__["training"] = mode
    if _sizes(copy) != sizes:
        _restore(block, sizes)
        raise NoPattern("its forward keeps values in a container")
    return graph


class _Tracer(fx.Tracer):
    """Leaves children whole unless they are named; parameters and dtypes are what they are, not stand-ins."""

    traced_func_name = "_traced"

    def __init__(self, inlined: tuple[nn.Module, ...]) -> None:
        super().__init__()
        self.inlined = {id(module) for module in inlined}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        del module_qualified_name
        return id(m) not in self.inlined

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, fx.Proxy]) -> Any:
        del attr, parameter_proxy_cache
        return attr_val

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, torch.Tensor):
            known = (*self.root.named_parameters(), *self.root.named_buffers())
            if not any(a is tensor for _, tensor in known):
                raise NoPattern("its forward makes tensors of its own")
        return super().create_arg(a)

    def proxy(self, node: fx.Node) -> fx.Proxy:
        if node.op == "placeholder" or (node.op == "call_module" and self._keeps_dtype(str(node.target))):
            return _TypedProxy(node, self, _dtype_of(self.root))
        return super().proxy(node)

    def _keeps_dtype(self, name: str) -> bool:
        module = self.root.get_submodule(name)
        return type(module) is nn.Linear or not any(True for _ in module.parameters())


class _TypedProxy(fx.Proxy):
    """Stand-in for a tensor of the parameters' dtype. A fused call is made for such tensors only."""

    def __init__(self, node: fx.Node, tracer: fx.Tracer, dtype: torch.dtype | None) -> None:
        super().__init__(node, tracer)
        if dtype is not None:
            self.dtype = dtype


def _dtype_of(root: nn.Module) -> torch.dtype | None:
    dtypes = {parameter.dtype for parameter in root.parameters()}
    return dtypes.pop() if len(dtypes) == 1 else None


def _shallow_copy(block: nn.Module, function: FunctionType) -> nn.Module:
    kind = type(block)
    copy: nn.Module = object.__new__(type(kind.__name__, (kind,), {"_traced": function}))
    copy.__dict__.update(block.__dict__)
    for name in ("_parameters", "_buffers", "_modules"):
        copy.__dict__[name] = dict(block.__dict__[name])
    return copy


def _sizes(block: nn.Module) -> dict[str, int]:
    return {name: len(value) for name, value in block.__dict__.items() if isinstance(value, list | dict | set)}


def _restore(block: nn.Module, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        value = block.__dict__.get(name)
        if isinstance(value, list):
            del value[size:]
        elif isinstance(value, dict):
            for key in list(value)[size:]:
                del value[key]


def _text(graph: fx.Graph) -> str:
    return "\n".join(f"{node.op} {node.name} {node.target} {node.args} {node.kwargs}" for node in graph.nodes)
