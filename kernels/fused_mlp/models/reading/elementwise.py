"""Steps of torch's that treat each element alike, in its own dtype, whatever the shape: what activations are made of.

An activation is found by calling it on a few rows. What cuts rows off, drops a dimension or casts would be none there
and something else in a model, so only steps that are listed here may stand between layers, or behind one.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from torch import fx, nn

from fused_mlp.models.reading.unpacking import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATORS = {
    *("abs", "add", "eq", "ge", "gt", "iadd", "imul", "isub", "itruediv", "ipow", "le", "lt", "mul", "ne", "neg"),
    *("pos", "pow", "sub", "truediv"),
}
_FUNCTIONS = {
    *("absolute", "clamp", "clamp_max", "clamp_min", "clip", "clone", "contiguous", "div", "divide", "erf", "erfc"),
    *("exp", "exp2", "expit", "expm1", "heaviside", "isinf", "isnan", "lerp", "log", "log1p", "log2", "logical_and"),
    *("logical_not", "logical_or", "masked_fill", "maximum", "minimum", "multiply", "nan_to_num", "negative"),
    *("ones_like", "reciprocal", "rsqrt", "rsub", "sigmoid", "sign", "special_erf", "special_expit", "sqrt", "square"),
    *("subtract", "tanh", "true_divide", "where", "zeros_like", "full_like", "addcmul", "addcdiv", "cosh", "sinh"),
    *("celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu"),
    *("relu6", "selu", "silu", "softplus", "softsign", "tanhshrink", "threshold", "hardshrink", "softshrink"),
    *("dropout",),
}
_HALVING = {"chunk", "split", "tensor_split"}
STEPS = frozenset(
    name + end for name in (*_FUNCTIONS, *_HALVING, "linear", "mul", "add", "sub", "pow") for end in ("", "_")
)
"""Names of what a fused call may stand for: steps, halves and products."""
_OPTIONS_OF_OTHERS = {"device", "dtype", "generator", "layout", "memory_format", "out", "pin_memory"}
_MODULES = {f"torch.nn.modules.{name}" for name in ("activation", "container", "dropout")}


def is_elementwise(node: fx.Node, module_at: Callable[[str], nn.Module]) -> bool:
    """Return whether a step treats each element alike, or cuts gate from up; `module_at` finds a child by its path."""
    if node.op == "call_module":
        return all(is_elementwise_module(each) for each in module_at(str(node.target)).modules())
    if node.op not in ("call_function", "call_method"):
        return True
    if any(node.kwargs.get(name) is not None for name in _OPTIONS_OF_OTHERS):
        return False
    name = _name(node)
    if name in _HALVING:
        return _is_along_the_last(node)
    if node.target is unpacked:
        return _is_cut(node.args[0])
    return _is_of_a_half(node) if node.target is operator.getitem else name.strip("_") in _FUNCTIONS | _OPERATORS


def is_elementwise_module(module: nn.Module) -> bool:
    """Return whether a module is somebody's own, which is read, or one of torch's that treats each element alike."""
    kind = type(module)
    return not kind.__module__.startswith("torch.nn.") or kind is nn.Identity or kind.__module__ in _MODULES


def _is_along_the_last(node: fx.Node) -> bool:
    dimension: Any = node.kwargs.get("dim", node.args[2] if len(node.args) > 2 else 0)
    return bool(dimension == -1)


def _is_of_a_half(node: fx.Node) -> bool:
    """Return whether an index takes one of the parts of a tensor that was cut, or a slice of the last dimension."""
    taken: Any = node.args[0]
    index: Any = node.args[1]
    if isinstance(index, int):
        return _is_cut(taken.args[0] if isinstance(taken, fx.Node) and taken.target is unpacked else taken)
    match index:
        case (first, slice()):
            return first is ...
    return False


def _is_cut(value: Any) -> bool:
    return isinstance(value, fx.Node) and _name(value) in _HALVING


def _name(node: fx.Node) -> str:
    return str(node.target if node.op == "call_method" else getattr(node.target, "__name__", ""))
