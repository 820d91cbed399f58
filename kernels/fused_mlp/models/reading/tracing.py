"""A method of a block as a graph: what it does with the block's children, which are left whole.

Tracing runs the method with stand-ins for tensors. It runs on a shallow copy of the block, in the mode asked for, so
that nothing a method stores reaches the block; what cannot be seen in a graph (stored attributes, tensors made on
the way, a branch on a tensor's shape or values) is a reason against it.
"""

from __future__ import annotations

import pickle
import random
import sys
from collections import deque
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from fused_mlp.models.reading.called_code import watching_calls
from fused_mlp.models.reading.methods import codes_in
from fused_mlp.models.reading.registers import asked_of_tensor, dtype_of
from fused_mlp.models.reading.stand_ins import NoPattern, StandInTracer
from fused_mlp.models.reading.surrounding_values import of_answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FunctionType

    from fused_mlp.models.reading.surrounding_values import Place
    from fused_mlp.models.reading.surroundings import Surroundings


@dataclass(frozen=True, kw_only=True)
class Traced:
    """Graph of a method, for what it holds.

    Attributes:
        dtype: the one of its arguments; None where the method does not ask.
        answers: what parameters and buffers said of themselves.
    """

    graph: fx.Graph
    dtype: torch.dtype | None
    answers: tuple[Place, ...]


def graph_of(
    block: nn.Module,
    function: FunctionType,
    *,
    training: bool,
    inlined: Sequence[nn.Module] = (),
    around: Surroundings,
) -> Traced:
    """Return what `function(block, …)` does in a mode, whatever of torch's modes is on.

    Args:
        block: whose method it is.
        function: the method.
        training: the mode.
        inlined: children that are not left whole.
        around: what was read of the function, and with it.

    Raises: NoPattern, where it cannot be said from a graph.
    """
    found = []
    for surrounded in (torch.enable_grad, torch.no_grad, _autocast, torch.inference_mode, torch.enable_grad):
        with surrounded():
            found.append(_traced(block, function, training=training, inlined=inlined, around=around))
    if len({_text(traced.graph) for traced in found}) > 1:
        raise NoPattern("its forward differs from call to call, or with gradients, autocast or inference mode")
    return found[0]


@contextmanager
def _autocast() -> Iterator[None]:
    with ExitStack() as undone:
        for device in ("cpu", "cuda"):
            # torch.autocast refuses a device that is not there.
            undone.callback(torch.set_autocast_enabled, device, torch.is_autocast_enabled(device))
            torch.set_autocast_enabled(device, True)  # noqa: FBT003 - torch's signature
        yield


def _traced(
    block: nn.Module,
    function: FunctionType,
    *,
    training: bool,
    inlined: Sequence[nn.Module],
    around: Surroundings,
) -> Traced:
    copy = _shallow_copy(block, function)
    modules = [copy, *list(block.modules())[1:]]
    before = [module.training for module in modules]
    tracer = StandInTracer(inlined)
    known = [code for each in (function, *around.functions) for code in codes_in(each)]
    try:
        for module in modules:
            module.__dict__["training"] = training
        kept = _state_of(copy)
        watching = watching_calls(tracer, function.__code__, known)
        with leaving_no_trace(around.containers), NothingComputed(tracer), watching:
            graph = tracer.trace(copy)
    except NoPattern:
        raise
    except Exception as error:
        # A tracer that meets control flow raises whatever the block's code makes of a proxy.
        message = str(error).strip().splitlines()
        detail = f": {message[0]}" if message else ""
        raise NoPattern(f"its forward cannot be traced ({type(error).__name__}{detail})") from error
    finally:
        for module, mode in zip(modules[1:], before[1:], strict=True):
            module.__dict__["training"] = mode
    if tracer.objections:
        # Raised in the forward, which caught it.
        raise NoPattern(tracer.objections[0])
    if _state_of(copy) != kept:
        raise NoPattern("its forward keeps values in a container or attribute")
    answers = tuple(of_answers(block, tracer.asked.values()))
    return Traced(graph=graph, dtype=dtype_of(block) if tracer.is_asked_for_dtypes else None, answers=answers)


class NothingComputed(TorchFunctionMode):
    """Refuses torch's functions on real tensors, whose results would be built into the graph, or lost."""

    def __init__(self, tracer: StandInTracer) -> None:
        super().__init__()
        self._tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        has_stand_in = any(isinstance(each, fx.Proxy) for each in leaves)
        # What is computed under set_grad_enabled is refused.
        is_answered = asked_of_tensor(func) is not None or func is torch._C._set_grad_enabled  # noqa: SLF001 - no public name
        if not has_stand_in and not is_answered:
            name = getattr(getattr(func, "__self__", None), "__name__", None) or getattr(func, "__name__", str(func))
            is_of_tensors = any(isinstance(each, torch.Tensor) for each in leaves)
            what = "tensors that are not made from its argument" if is_of_tensors else "no argument"
            verb = "computes"
            if getattr(func, "__name__", "") == "__get__":  # of a property
                verb = "asks for"
            self._tracer.refuse(f"its forward {verb} {name} of {what}")
        if not has_stand_in and (question := asked_of_tensor(func)):
            self._tracer.asked[id(args[0]), question] = args[0], question
        return func(*args, **kwargs)


def _shallow_copy(block: nn.Module, function: FunctionType) -> nn.Module:
    kind = type(block)
    copy: nn.Module = object.__new__(_traced_class(kind, function))
    copy.__dict__.update(block.__dict__)
    for name in ("_parameters", "_buffers", "_modules"):
        copy.__dict__[name] = dict(block.__dict__[name])
    return copy


def _traced_class(kind: type[nn.Module], function: FunctionType) -> type[nn.Module]:
    body = {StandInTracer.traced_func_name: function, "__module__": kind.__module__}
    return type(kind.__name__, (Unannounced, kind), body)


class Unannounced:
    """Base that keeps a class made here from being announced to its author's base: it may ask things of heirs."""

    def __init_subclass__(cls, **_: Any) -> None:
        """Leave the other bases' out."""


def _state_of(block: nn.Module) -> dict[tuple[str, str], int]:
    """Return which object is where in the block's attributes and registers."""
    held = {("", name): id(value) for name, value in block.__dict__.items()}
    for register in ("_parameters", "_buffers", "_modules"):
        held |= {(register, name): id(value) for name, value in block.__dict__[register].items()}
    return held


@contextmanager
def leaving_no_trace(containers: Sequence[Any]) -> Iterator[None]:
    """Give back what code draws of generators and writes into containers; raise NoPattern if it did."""
    generators, contents = _Generators(), [_items(container) for container in containers]
    try:
        yield
    finally:
        is_drawn = generators.are_drawn_from()
        is_written = [_give_back(each, items) for each, items in zip(containers, contents, strict=True)]
    if is_drawn:
        raise NoPattern("its forward draws random numbers")
    if any(is_written):
        raise NoPattern("its forward keeps values in a container or attribute")


def _items(container: Any) -> list[Any]:
    return list(container.items() if isinstance(container, dict) else container)


def _give_back(container: Any, before: list[Any]) -> bool:
    """Return whether a container has other items than before; give those back."""
    now = _items(container)
    if isinstance(container, dict):
        pairs = [(a, c) for one, other in zip(now, before, strict=False) for a, c in zip(one, other, strict=True)]
    else:
        pairs = list(zip(now, before, strict=False))
    if len(now) == len(before) and all(one is other for one, other in pairs):
        return False
    container.clear()
    (container.extend if isinstance(container, list | deque) else container.update)(before)
    return True


class _Generators:
    """State of the generators that are not torch's, which a forward may draw from."""

    def __init__(self) -> None:
        numpy: Any = sys.modules.get("numpy")
        self._of_numpy = numpy and numpy.random.get_state()
        self._of_python = random.getstate()

    def are_drawn_from(self) -> bool:
        """Return whether a number was drawn since; give the state back."""
        now = _Generators()
        # As bytes: written out, NumPy's hundreds of numbers took a quarter of the time that a model is read in.
        is_drawn = now._of_python != self._of_python or pickle.dumps(now._of_numpy) != pickle.dumps(self._of_numpy)
        if is_drawn:
            random.setstate(self._of_python)
            if self._of_numpy:
                sys.modules["numpy"].random.set_state(self._of_numpy)
        return is_drawn


def _text(graph: fx.Graph) -> str:
    return "\n".join(f"{node.op} {node.name} {node.target} {node.args} {node.kwargs}" for node in graph.nodes)
