"""A module's dictionary and registers as attributes: what code may ask of them that is no value of a tensor.

Whether there is a parameter or buffer, and of which kind, decides branches (`if self.gamma is not None`); so does what
a tensor says of itself (`x.to(self.fc.weight.dtype)`). Both change without a trace: `model.gamma = …`, `model.half()`.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling

if TYPE_CHECKING:
    from collections.abc import Iterator

_REGISTERS = ("_parameters", "_buffers")
_PLAIN = (torch.Tensor, nn.Parameter)
_ASKED = {
    "dtype": "dtype",
    "is_floating_point": "dtype",
    "device": "device",
    "is_cuda": "device",
    "is_cpu": "device",
    "shape": "shape",
    "ndim": "shape",
    "size": "shape",
    "dim": "shape",
    "numel": "shape",
    "stride": "stride",
    "layout": "layout",
}
"""What a tensor is asked for while code is read, and what of it is compared at each call."""


class MISSING:
    """Value of an attribute that is not there."""


def let_compilers_look_again(module: nn.Module, name: str) -> None:
    """Let code that is being compiled be compiled again once a module has `name` in its own dictionary.

    That it is not there, torch 2.11 to 2.14 take for given where the dictionary is asked; what an attribute is, they
    look at again. (Going over the dictionary says it to 2.13 alone, and 2.11 cannot.)
    """
    getattr(module, name, None)


class _View:
    """Attributes of a module, found in another way than its own."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = object.__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made


class Own(_View):
    """What a module has in its own dictionary."""

    def __getattr__(self, name: str) -> Any:
        held = self._module.__dict__
        if is_dynamo_compiling():
            let_compilers_look_again(self._module, name)
        return held.get(name, MISSING)


class Registered(_View):
    """Of which kind a module's parameters and buffers are; MISSING for what is neither."""

    def __getattr__(self, name: str) -> Any:
        tensor = _registered(self._module, name)
        if tensor is MISSING or tensor is None or torch.compiler.is_compiling():
            return tensor if tensor is MISSING or tensor is None else torch.Tensor
        return torch.Tensor if type(tensor) in _PLAIN else type(tensor)


class Answered(_View):
    """What one of a module's parameters and buffers says of itself; MISSING where it is none any longer."""

    def __init__(self, module: nn.Module, tensor: str) -> None:
        super().__init__(module)
        self._tensor = tensor

    def __getattr__(self, name: str) -> Any:
        tensor = _registered(self._module, self._tensor)
        if not isinstance(tensor, torch.Tensor):
            return MISSING
        return tensor.stride() if name == "stride" else getattr(tensor, name)


def is_registered(module: nn.Module, name: str) -> bool:
    """Return whether a name is a parameter's or buffer's of a module, which may be None."""
    return _registered(module, name) is not MISSING


def names_of(block: nn.Module, tensor: Any) -> Iterator[tuple[nn.Module, str]]:
    """Yield the modules in `block` that have a tensor as a parameter or buffer, and its name there."""
    for module in block.modules():
        for register in _REGISTERS:
            yield from ((module, name) for name, each in module.__dict__[register].items() if each is tensor)


def asked_of_tensor(func: Any) -> str | None:
    """Return what a function of torch asks a tensor for that is no value of it; None if it does something else."""
    name = getattr(func, "__name__", "")
    return _ASKED.get(func.__self__.__name__ if name == "__get__" else name)


def dtype_of(root: nn.Module) -> torch.dtype | None:
    """Return the dtype of all parameters; None if they have several, or there are none."""
    dtypes = {parameter.dtype for parameter in root.parameters()}
    return dtypes.pop() if len(dtypes) == 1 else None


def _registered(module: nn.Module, name: str) -> Any:
    for register in _REGISTERS:
        held = module.__dict__[register]
        if name in held:
            return held[name]
    return MISSING
