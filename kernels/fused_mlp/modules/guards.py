"""What must still be as it was when a block was fused, so that a fused call computes what its modules would.

A child replaced (LoRA, quantisation), a hook, a forward of an instance's own, a parametrization, another probability
of a dropout: after any of these the block's own code runs.
"""

from __future__ import annotations

import copy
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from fused_mlp.ops.validation import SUPPORTED_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_OF_EVERY_MODULE = tuple(vars(nn.Module()))
_ATOMS = (bool, int, float, complex, str, bytes, type(None))
_LINEAR_FILE = torch.nn.modules.linear.__file__
_MOST_VALUES = 100
"""Of a container that is compared at each call."""


def why_not_plain(modules: Iterable[tuple[str, nn.Module]]) -> str | None:
    """Return what a call of the modules does that a fused call would skip, in words; None if nothing."""
    for name, module in modules:
        if any(module.__dict__.get(hooks) for hooks in _HOOKS):
            return f"{name} has hooks, which a fused call would not run"
        if "forward" in module.__dict__:
            return f"{name} has a forward of its own, set on the instance"
        if hasattr(module, "parametrizations"):
            return f"{name} is parametrized"
    return None


def is_linear(module: nn.Module | None) -> bool:
    """Return whether this is exactly nn.Linear, or transformers' Conv1D: a subclass may compute anything.

    So may nn.Linear itself, where another library has put its own forward into it.
    """
    return (type(module) is nn.Linear and nn.Linear.forward.__code__.co_filename == _LINEAR_FILE) or is_transposed(
        module
    )


def is_transposed(module: nn.Module | None) -> bool:
    """Return whether this is transformers' Conv1D: a linear layer with the weight as [in, out]."""
    home = sys.modules.get("transformers.pytorch_utils")
    return home is not None and type(module) is getattr(home, "Conv1D", None)


def why_not_parameters(layers: Iterable[tuple[str, nn.Module]]) -> str | None:
    """Return which of the layers' parameters the kernels do not take, in words; None if they take all."""
    dtypes, devices = set(), set()
    for path, layer in layers:
        for name, parameter in layer.named_parameters(recurse=False):
            if type(parameter) is not nn.Parameter or parameter.layout is not torch.strided or parameter.is_quantized:
                kind = type(parameter).__name__ if type(parameter) is not nn.Parameter else str(parameter.layout)
                return f"{path}.{name} is a {kind.removeprefix('torch.')}, which the kernels do not take"
            if parameter.dtype not in SUPPORTED_DTYPES:
                dtype = str(parameter.dtype).removeprefix("torch.")
                return f"{path}.{name} is {dtype}, which the kernels do not take"
            dtypes.add(parameter.dtype)
            devices.add(parameter.device)
        if layer._parameters.get("weight") is None:  # noqa: SLF001 - nn.Module's register
            return f"{path} has no weight of its own"
    return "its layers have different dtypes or devices" if len(dtypes) > 1 or len(devices) > 1 else None


def why_no_layers(module: nn.Module) -> str | None:
    """Return what a module has in place of linear layers that can be read, in words; None if nothing like it."""
    for name, child in () if isinstance(module, nn.MultiheadAttention) else module.named_children():
        if type(child) is nn.Linear and not is_linear(child):
            return f"{name} is an nn.Linear with a forward that is not torch's"
        if isinstance(child, nn.Linear) and not is_linear(child):
            return f"{name} is a {type(child).__name__}, a subclass of nn.Linear, which may compute anything"
    for name, parameter in module.named_parameters(recurse=False):
        if parameter.dim() == 3:
            return f"{name} is a parameter of 3 dimensions, as of stacked experts: not a linear layer"
    return None


def why_hooked_globally() -> str | None:
    """Return that torch runs hooks on every module, which a fused call would skip; None if it does not."""
    return "torch.nn.modules.module has global hooks" if any(_global_hooks()) else None


class Guard:
    """State of a block's modules at the time it was fused.

    Args:
        block: whose code was read.
        containers: modules whose children all count, because code that was read may go over them.
        used: paths below `block` of modules that were read, of which each step counts.
        names: that the code reads, of attributes among them: of the block where there are no containers, of its class
            and of objects that the block holds.
        readers: of the outer names of the code.
        skipped: modules that the fused call does not call.
        modal: modules that may do something else in training: they must be in the block's mode.
    """

    def __init__(
        self,
        *,
        block: nn.Module,
        containers: Iterable[nn.Module],
        used: Iterable[str],
        names: frozenset[str],
        readers: Iterable[Callable[[], tuple[Any, ...]]],
        skipped: Iterable[nn.Module],
        modal: Iterable[nn.Module],
    ) -> None:
        whole, skipped, modal = tuple(containers), tuple(dict.fromkeys(skipped)), tuple(dict.fromkeys(modal))
        self._counts = tuple((each, len(each._modules)) for each in whole)  # noqa: SLF001 - nn.Module's registers are read all over
        steps = {(each, name): child for each in whole for name, child in each._modules.items()}  # noqa: SLF001
        for path in used:
            parent = block
            for name in path.split("."):
                steps[parent, name] = parent._modules[name]  # noqa: SLF001
                parent = parent.get_submodule(name)
        self._steps = tuple((parent, name, child) for (parent, name), child in steps.items())
        self._types = tuple((each, type(each), type(each).forward) for each in skipped)
        self._hooks = tuple(each.__dict__[name] for each in skipped for name in _HOOKS)
        self._values = tuple(
            (each, name, value, _content(value))
            for each in dict.fromkeys((block, *whole, *modal))
            for name, value in each.__dict__.items()
            if name not in _OF_EVERY_MODULE and (whole or each is not block or name in names)
        )
        self._values += tuple(
            (held, name, value, _content(value))
            for _, _, held, _ in self._values
            if _is_plain_object(held)
            for name, value in vars(held).items()
            if name in names
        )
        self._of_class = tuple((name, value) for name, value in _class_values(type(block)).items() if name in names)
        self._class = type(block)
        self._outer = tuple((read, tuple((value, _content(value)) for value in read())) for read in readers)
        self._block = block
        self._modal = modal

    def holds(self, owner: nn.Module) -> bool:
        """Return whether all is as it was, `owner` the block, and the modules skipped are in its mode."""
        if owner is not self._block or any(self._hooks) or any(_global_hooks()):
            return False
        for container, count in self._counts:
            if len(container._modules) != count:  # noqa: SLF001 - as above
                return False
        for container, name, child in self._steps:
            if container._modules.get(name) is not child:  # noqa: SLF001
                return False
        return self._is_each_as_before(owner.training)

    def _is_each_as_before(self, training: bool) -> bool:  # noqa: FBT001 - handed on
        for module, kind, forward in self._types:
            if type(module) is not kind or kind.forward is not forward or "forward" in module.__dict__:
                return False
        for holder, name, value, content in self._values:
            if not _is_same(holder.__dict__.get(name), value, content):
                return False
        for name, value in self._of_class:
            if not _is_same(getattr(self._class, name, None), value, None):
                return False
        for read, before in self._outer:
            for now, (value, content) in zip(read(), before, strict=True):
                if not _is_same(now, value, content):
                    return False
        return all(module.training is training for module in self._modal)


def _is_same(value: Any, before: Any, content: Any) -> bool:
    if content is not None:
        return type(value) is type(before) and bool(value == content)
    return value is before or (type(value) is type(before) and isinstance(value, _ATOMS) and value == before)


def _content(value: Any) -> Any:
    """Return a copy of a container of plain values, whose changes count; None of anything else."""
    if type(value) not in (list, set, dict) or len(value) > _MOST_VALUES:
        return None
    values = value.values() if isinstance(value, dict) else value
    return copy.copy(value) if all(isinstance(each, _ATOMS) for each in values) else None


def _is_plain_object(value: Any) -> bool:
    kinds = (nn.Module, torch.Tensor, type, FunctionType, ModuleType)
    return hasattr(value, "__dict__") and not isinstance(value, kinds)


def _class_values(kind: type[nn.Module]) -> dict[str, Any]:
    """Return the plain values and methods that a class has of itself and its bases, without nn.Module's."""
    own = [base for base in reversed(kind.__mro__) if base not in nn.Module.__mro__]
    values = {name: value for base in own for name, value in base.__dict__.items()}
    return {name: value for name, value in values.items() if isinstance(value, (*_ATOMS, FunctionType))}


def _global_hooks() -> tuple[Any, ...]:
    return (
        torch_module._global_forward_hooks,  # noqa: SLF001 - torch has no public name for them
        torch_module._global_forward_pre_hooks,  # noqa: SLF001
        torch_module._global_backward_hooks,  # noqa: SLF001
        torch_module._global_backward_pre_hooks,  # noqa: SLF001
    )
