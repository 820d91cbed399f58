"""Linear layers that can be read, and what speaks against a layer: hooks, forwards of its own, other parameters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch
from torch import fx, nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from fused_mlp.ops.validation import SUPPORTED_DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_LINEAR_FILE = torch.nn.modules.linear.__file__
_CALL, _CALL_IMPL = nn.Module.__call__, nn.Module._call_impl  # noqa: SLF001 - what a call of a module runs
_CALLS = ("_call_impl", "_compiled_call_impl")
"""What torch looks for in a module when it is called; `module.compile()` sets the latter."""
_ARE_CALLS_READ = {_CALL.__code__.co_filename, _CALL_IMPL.__code__.co_filename} == {torch_module.__file__}
"""False where another library came first."""
_FX_FILE = fx._symbolic_trace.__file__  # noqa: SLF001 - the module of it


def why_not_plain(modules: Iterable[tuple[str, nn.Module]]) -> str | None:
    """Return what a call of the modules does that a fused call would skip, in words; None if nothing."""
    for name, module in modules:
        if any(module.__dict__.get(hooks) for hooks in _HOOKS):
            return f"{name} has hooks, which a fused call would not run"
        if "forward" in module.__dict__:
            return f"{name} has a forward of its own, set on the instance"
        if any(call in module.__dict__ for call in _CALLS) or type(module)._call_impl is not _CALL_IMPL:  # noqa: SLF001 - what a call runs
            return f"{name} is called in a way of its own"
        if hasattr(module, "parametrizations"):
            return f"{name} is parametrized"
    return None


def is_linear(module: nn.Module | None) -> bool:
    """Return whether this is exactly nn.Linear, or transformers' Conv1D: a subclass may compute anything.

    So may nn.Linear itself, where another library has put its own forward into it.
    """
    return (type(module) is nn.Linear and _is_torch_s_own()) or is_transposed(module)


def _is_torch_s_own() -> bool:
    computed_by: object = torch.nn.functional.linear
    return nn.Linear.forward.__code__.co_filename == _LINEAR_FILE and computed_by is torch._C._nn.linear  # noqa: SLF001 - what it is


def is_transposed(module: nn.Module | None) -> bool:
    """Return whether this is transformers' Conv1D: a linear layer with the weight as [in, out]."""
    home = sys.modules.get("transformers.pytorch_utils")
    return home is not None and type(module) is getattr(home, "Conv1D", None)


def why_not_parameters(layers: Iterable[tuple[str, nn.Module]]) -> str | None:
    """Return which of the layers' parameters the kernels do not take, in words; None if they take all."""
    dtypes, devices = set(), set()
    for path, layer in layers:
        if hidden := sorted({"weight", "bias"} & layer.__dict__.keys()):
            return f"{path}.{hidden[0]} is set on the layer as an attribute, and read before any parameter"
        bias = layer._parameters.get("bias")  # noqa: SLF001 - nn.Module's register
        if bias is not None and bias.dim() != 1:
            return f"{path}.bias has {bias.dim()} dimensions, and the kernels take one"
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
            return f"{path}.weight is no parameter of the layer"
    return "its layers have different dtypes or devices" if len(dtypes) > 1 or len(devices) > 1 else None


def why_no_layers(module: nn.Module) -> str | None:
    """Return what a module has in place of linear layers that can be read, in words; None if nothing like it."""
    for name, child in () if isinstance(module, nn.MultiheadAttention) else module.named_children():
        if type(child) is nn.Linear and not is_linear(child):
            return f"{name} is an nn.Linear with a forward that is not torch's"
        if isinstance(child, nn.Linear) and not is_linear(child):
            return f"{name} is {_kind_of(child)}"
    if type(module).__module__.startswith("torch.nn.") or isinstance(module, nn.Conv1d | nn.ConvTranspose1d):
        return None
    for name, parameter in module.named_parameters(recurse=False):
        # With a single row or matrix it is a token, an embedding of positions or a scale.
        if not is_lazy(parameter) and parameter.dim() == 3 and 1 not in parameter.shape:
            return f"{name} is a parameter of 3 dimensions, as of stacked experts: not a linear layer"
    return None


def _kind_of(layer: nn.Linear) -> str:
    """Return what a layer of a class derived from nn.Linear's is, in words."""
    if parametrize.is_parametrized(layer):
        return "parametrized: what it multiplies by is computed anew at each call"
    if isinstance(layer, nn.LazyLinear):
        return "a LazyLinear, which has no weight before its first call: fuse the model after one"
    return f"a {type(layer).__name__}, a subclass of nn.Linear, which may compute anything"


def why_hooked_globally() -> str | None:
    """Return that torch runs hooks on every module, which a fused call would skip; None if it does not."""
    if not _are_calls_torch_s():
        return "something that is not torch's was put into nn.Module, and computes each call of a module"
    return "torch.nn.modules.module has global hooks" if has_global_hooks() else None


def _are_calls_torch_s() -> bool:
    """Return whether a call of a module is torch's own, or torch.fx's, which reads a model in another thread."""
    kind, call = nn.Module, nn.Module.__call__
    if kind._call_impl is not _CALL_IMPL or not _ARE_CALLS_READ:  # noqa: SLF001 - what a call runs
        return False
    return call is _CALL or getattr(getattr(call, "__code__", None), "co_filename", None) == _FX_FILE


def has_global_hooks() -> bool:
    """Return whether torch runs hooks on every module, or somebody else's code does."""
    return bool(
        not _are_calls_torch_s()
        or torch_module._global_forward_hooks  # noqa: SLF001 - torch has no public name for them
        or torch_module._global_forward_pre_hooks  # noqa: SLF001
        or torch_module._global_backward_hooks  # noqa: SLF001
        or torch_module._global_backward_pre_hooks  # noqa: SLF001
    )
