"""Stand-ins for tensors, which a block's code is run on to see what it does.

They answer as a plain tensor would, or refuse: what a stand-in cannot answer truly would be built into the graph.
"""

from __future__ import annotations

import operator
import sys
import threading
from abc import ABCMeta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import fx, nn

from fused_mlp.models.reading.arguments import holds_constants, is_kept_by_others, plain, why_not_written
from fused_mlp.models.reading.contents import module_of
from fused_mlp.models.reading.registers import dtype_of
from fused_mlp.models.reading.unpacking import number_unpacked, operation_at, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

_TORCH = str(Path(torch.__file__).parent)
_WITH_OWN_GRADIENT = (f"{_TORCH}/autograd/function.py", f"{_TORCH}/utils/checkpoint.py")
_TENSOR_MODULES = ("activation", "dropout", "linear", "normalization")
_VALUES = {"T", "H", "mT", "mH", "data", "device", "dtype", "imag", "ndim", "real", "shape"}
"""Attributes of tensors that are no methods, and never None: what is one of two objects is compared by `is`."""
_ASKING_FOR_KINDS = {isinstance, getattr, hasattr}
_ASKED_BY_AN_ABC = ABCMeta.__instancecheck__.__code__
_READING_KINDS = {"LOAD_ATTR", "LOAD_METHOD", "MATCH_CLASS"}
_OPERATORS = {"BINARY_OP", "BINARY_SUBSCR", "COMPARE_OP", "CONTAINS_OP", "UNARY_INVERT", "UNARY_NEGATIVE"}


class NoPattern(Exception):
    """Block that computes something else; the message says what. Caught in fusion, never seen by a caller."""


class StandInTracer(fx.Tracer):
    """Leaves children whole unless they are named; parameters and dtypes are what they are, not stand-ins.

    Attributes:
        objections: what was refused, also where the code that was run caught the exception.
        is_asked_for_dtypes: whether the code asked a stand-in for its dtype, and so holds for this one only.
        asked: tensors that were asked for something but their values, and what for, by these two.
    """

    traced_func_name = "_traced"

    def __init__(self, inlined: Iterable[nn.Module]) -> None:
        super().__init__()
        self.inlined = {id(module) for module in inlined}
        self.objections: list[str] = []
        self.is_asked_for_dtypes = False
        self.asked: dict[tuple[int, str], tuple[torch.Tensor, str]] = {}
        self._running_in_c: list[tuple[FrameType, Any]] = []
        self._modes = _modes()
        self._thread = threading.get_ident()

    def refuse(self, reason: str) -> NoReturn:
        """Raise NoPattern, and remember it."""
        self.objections.append(reason)
        raise NoPattern(reason)

    def follow_c(self, frame: FrameType, event: str, function: Any) -> None:
        """Remember which function of C a frame has called, until it returns; events are a profiler's."""
        if event == "c_call":
            self._running_in_c.append((frame, function))
        elif event in ("c_return", "c_exception") and self._running_in_c:
            self._running_in_c.pop()

    def running_in_c(self, frame: FrameType) -> Any:
        """Return the function of C that a frame has called and that runs now; None for none."""
        caller, function = self._running_in_c[-1] if self._running_in_c else (None, None)
        return function if caller is frame else None

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Return whether a child is left whole."""
        del module_qualified_name
        return id(m) not in self.inlined

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Add a call of a child; calls in other threads, which torch.fx catches as well, are none of ours."""
        if threading.get_ident() != self._thread:
            return forward(*args, **kwargs)
        return super().call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, fx.Proxy]) -> Any:
        """Return the attribute itself."""
        del attr, parameter_proxy_cache
        return attr_val

    def create_node(self, kind: str, target: Any, args: Any, kwargs: Any, *others: Any, **named: Any) -> fx.Node:
        """Add a step to the graph. Raises: NoPattern where the graph would not say how it is computed."""
        if is_kept_by_others(kind, target) and any(map(holds_constants, (*args, *kwargs.values()))):
            self.refuse("its forward hands on a list or dictionary of its own, of which a graph makes another")
        if _modes() != self._modes:
            self.refuse("its forward switches gradients, autocast or inference mode on its way")
        if _is_within(_WITH_OWN_GRADIENT):
            self.refuse("its forward calls an autograd function or a checkpoint")
        return super().create_node(kind, target, args, kwargs, *others, **named)

    def create_arg(self, a: Any) -> Any:
        """Return an argument as a graph has it. Raises: NoPattern for a tensor that has not one name in the block."""
        if isinstance(a, fx.Proxy):
            return a.node
        if isinstance(a, torch.Tensor):
            known = (
                *self.root.named_parameters(remove_duplicate=False),
                *self.root.named_buffers(remove_duplicate=False),
            )
            names = [name for name, tensor in known if tensor is a]
            if not names:
                self.refuse("its forward makes tensors of its own")
            if len(names) > 1:
                self.refuse(f"its forward uses a tensor of several names: {', '.join(names)}")
        if reason := why_not_written(plain(a)):
            self.refuse(f"its forward {reason}")
        return super().create_arg(plain(a))

    def proxy(self, node: fx.Node) -> fx.Proxy:
        """Return a step's stand-in, which knows as much as is known of the step's result."""
        if node.op == "placeholder":
            asked, self._dtype = dict(self.asked), dtype_of(self.root)  # which may run code of the parameters' classes
            self.asked = asked
            return _StandIn(node, self, is_tensor=True, dtype=self._dtype)
        if node.op == "call_module":
            module = self.root.get_submodule(str(node.target))
            keeps_dtype = type(module) is nn.Linear or not any(True for _ in module.parameters())
            home, _, kind = type(module).__module__.rpartition(".")
            is_tensor = home == "torch.nn.modules" and kind in _TENSOR_MODULES
            return _StandIn(node, self, is_tensor=is_tensor, dtype=self._dtype if keeps_dtype else None)
        return _StandIn(node, self, is_tensor=False, dtype=None)

    def to_bool(self, obj: fx.Proxy) -> bool:
        """Refuse to say which branch is taken."""
        del obj
        self.refuse("its forward cannot be traced: it branches on a tensor's shape or values")

    def iter(self, obj: fx.Proxy) -> Any:
        """Refuse to say how many items there are."""
        del obj
        self.refuse("its forward cannot be traced: it goes over a tensor or its shape")


class _Asked(fx.Proxy):
    """Stand-in that says nothing of itself: what it is written as, or found by, would be built into the graph."""

    tracer: StandInTracer

    def __hash__(self) -> int:
        self._expect_torch("looks something up by")
        return id(self)

    def __repr__(self) -> str:
        self._expect_torch("writes down")
        return super().__repr__()

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, given: str) -> str:
        return format(repr(self), given)

    def _expect_torch(self, what: str) -> None:
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - who asks
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        if frame is None or not frame.f_code.co_filename.startswith(_TORCH):
            self.tracer.refuse(f"its forward {what} {self.node}")

    def _expect_read_out(self, k: str, frame: FrameType) -> None:
        """Refuse to answer hasattr or getattr, for which a value that is not there is an answer, too."""
        is_plain = self.tracer.running_in_c(frame) is None and operation_at(frame) in ("LOAD_ATTR", "LOAD_METHOD")
        if not is_plain and not frame.f_code.co_filename.startswith(_TORCH):
            self.tracer.refuse(f"its forward asks whether {self.node} has {k}")

    def __iter__(self) -> Any:
        frame = sys._getframe(1)  # noqa: SLF001 - who goes over it
        if self.tracer.running_in_c(frame) is None and (number := number_unpacked(frame)) is not None:
            items: Any = self.tracer.create_proxy("call_function", unpacked, (self, number), {})
            return (items[index] for index in range(number))
        return self.tracer.iter(self)

    def _attribute_of_tensor(self, k: str) -> Any:
        if not callable(getattr(torch.Tensor, k, None)) and k not in _VALUES:
            self.tracer.refuse(f"its forward looks for an attribute {k} of {self.node}")
        return _Attribute(self, k)


class _Attribute(_Asked, fx.proxy.Attribute):
    """Stand-in for an attribute of a tensor, or a method until it is called."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        if not sys._getframe(1).f_code.co_filename.startswith(_TORCH):  # noqa: SLF001 - who asks
            self.tracer.refuse(f"its forward asks what kind of value {self.attr} is")
        return _Attribute

    def __getattr__(self, k: str) -> Any:
        if k.startswith("__"):
            self._expect_torch("asks for a special method of")
            raise AttributeError(k)
        self._expect_read_out(k, sys._getframe(1))  # noqa: SLF001 - who asks
        if self.attr not in ("shape", "device"):
            return self._attribute_of_tensor(k)
        if (self.attr, k) == ("device", "index"):  # which may be None
            self.tracer.refuse("its forward asks for the index of a device")
        return _Attribute(self, k)


class _StandIn(_Asked):
    """Stand-in for what a step of a graph gives: a tensor, or unknown. dtype: of the parameters, where it is kept."""

    def __init__(self, node: fx.Node, tracer: StandInTracer, *, is_tensor: bool, dtype: torch.dtype | None) -> None:
        super().__init__(node, tracer)
        self._is_tensor = is_tensor
        self._dtype = dtype

    @property
    def dtype(self) -> Any:
        """Answer with the dtype of the parameters, for which alone the graph then holds."""
        if self._dtype is None:
            self.tracer.refuse(f"its forward asks for the dtype of {self.node}")
        self.tracer.is_asked_for_dtypes = True
        return self._dtype

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        if self._is_asked_by_torch(sys._getframe(1)):  # noqa: SLF001 - who asks
            # Some of torch's C functions take whatever calls itself a tensor, and read memory that is not there.
            return _StandIn
        if not self._is_tensor:
            self.tracer.refuse(f"its forward asks what kind of value {self.node} is")
        return torch.Tensor

    def _is_asked_by_torch(self, frame: FrameType) -> bool:
        """Return whether torch asks what kind of value this is; refuse to answer where it cannot be seen who does."""
        function, code, operation = self.tracer.running_in_c(frame), frame.f_code, operation_at(frame)
        if code.co_filename.startswith(_TORCH) or code is _ASKED_BY_AN_ABC:
            return code is not _ASKED_BY_AN_ABC
        if function in _ASKING_FOR_KINDS or (function is None and operation in _READING_KINDS):
            return False
        if function is None and operation in _OPERATORS:
            return True
        owner = getattr(function, "__self__", None)
        homes = {module_of(each).partition(".")[0] for each in (function, owner, type(owner))}
        if "torch" not in homes:
            self.tracer.refuse(f"its forward asks what kind of value {self.node} is")
        return True

    def __getattr__(self, k: str) -> Any:
        if k.startswith("__"):
            self._expect_torch("asks for a special method of")
            raise AttributeError(k)
        if not self._is_tensor:
            self._expect_read_out(k, sys._getframe(1))  # noqa: SLF001 - who asks
        return self._attribute_of_tensor(k)


def _written(function: Callable[[Any, Any], Any]) -> Callable[[_StandIn, Any], fx.Proxy]:
    # A proxy of torch.fx makes `x += 1` a new value, and the caller's x would stay as it was.
    def method(self: _StandIn, other: Any) -> fx.Proxy:
        return self.tracer.create_proxy("call_function", function, (self, other), {})

    return method


IN_PLACE = {
    name: getattr(operator, name)
    for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "imatmul")
}
for _name, _function in IN_PLACE.items():
    setattr(_StandIn, f"__{_name}__", _written(_function))


def _modes() -> tuple[Any, ...]:
    autocast = [(torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in ("cpu", "cuda")]
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *autocast


def _is_within(files: tuple[str, ...]) -> bool:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - whose functions are running
    while frame is not None:
        if frame.f_code.co_filename in files:
            return True
        frame = frame.f_back
    return False
