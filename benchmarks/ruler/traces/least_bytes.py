"""The least bytes a call of an operator must move: each input that it reads once, each output that it writes once.

Counted by shapes and dtypes alone: what a cache saves or a poor kernel adds is no part of it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from benchmarks.ruler.traces.inputs import Inputs, Tensor, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Rule = Callable[[Inputs], int]

NO_RULE = "no rule says what it must move"
NO_INPUTS = "its inputs were not recorded"
GENERATED = "inductor's kernel was not recorded with its arguments"
KEEPS = "how much it keeps for its backward is not recorded"
_BY_INDUCTOR = ("cpp_fused_", "triton_")


@dataclass(frozen=True, kw_only=True)
class LeastBytes:
    """Least bytes of one call, or the reason why they are not known."""

    n_bytes: int | None
    reason: str | None = None


class _Unknown(Exception):
    """Raised by a rule for inputs that it knows nothing of; the message is the reason."""


def least_bytes(name: str, inputs: Inputs | None) -> LeastBytes:
    """Return the least bytes that a call of the operator `name` must move."""
    is_generated = any(part in name for part in _BY_INDUCTOR)
    if is_generated and (inputs is None or not any(inputs.tensors)):
        return LeastBytes(n_bytes=None, reason=GENERATED)
    rule = _generated if is_generated else _RULES.get(name)
    if rule is None:
        return LeastBytes(n_bytes=None, reason=KEEPS if name.endswith("_keeping") else NO_RULE)
    if inputs is None:
        return LeastBytes(n_bytes=None, reason=NO_INPUTS)
    if inputs.strange is not None:
        return LeastBytes(n_bytes=None, reason=f"the dtype of an input of type {inputs.strange} is not known")
    try:
        return LeastBytes(n_bytes=rule(inputs))
    except _Unknown as unknown:
        return LeastBytes(n_bytes=None, reason=str(unknown))


def _at(inputs: Inputs, *positions: int) -> list[Tensor]:
    """Return the tensors at `positions`. Raises: _Unknown if one is none."""
    found = [inputs.tensors[i] if i < len(inputs.tensors) else None for i in positions]
    if any(tensor is None for tensor in found):
        raise _Unknown(NO_INPUTS)
    return [tensor for tensor in found if tensor is not None]


def _read(tensors: Iterable[Tensor | None]) -> int:
    return sum(tensor.n_bytes for tensor in tensors if tensor is not None)


def _written(like: Tensor, *sizes: int) -> int:
    return prod(sizes) * like.item_bytes


def _generated(inputs: Inputs) -> int:
    """Count a kernel of inductor's, which is given what it writes as well: every buffer once."""
    return _read(inputs.tensors)


def _product(left: int) -> Rule:
    """Count a product of the matrices, or batches of them, at `left` and after it, and what is added to it before.

    What stands behind them may be where the result goes, as of the variants with `out`.
    """

    def rule(inputs: Inputs) -> int:
        a, b = _at(inputs, left, left + 1)
        if len(a.sizes) not in {2, 3} or len(a.sizes) != len(b.sizes):
            raise _Unknown(NO_RULE)
        return _read(inputs.tensors[: left + 2]) + _written(a, *a.sizes[:-1], b.sizes[-1])

    return rule


def _linear(*weights: int) -> Rule:
    """Count a chain of layers whose weights, one row for each output, stand at `weights`; x is the first input."""

    def rule(inputs: Inputs) -> int:
        x, *layers = _at(inputs, 0, *weights)
        if any(len(weight.sizes) != 2 for weight in layers):
            raise _Unknown(NO_RULE)
        return _read(inputs.tensors) + _written(x, *x.sizes[:-1], layers[-1].sizes[0])

    return rule


def _mkl_linear(inputs: Inputs) -> int:
    """Count mkl::_mkl_linear: x, the weight in MKL's form, which counts as the weight itself, that weight, the bias."""
    x, weight = _at(inputs, 0, 2)
    bias = inputs.tensors[3] if len(inputs.tensors) > 3 else None
    read = x.n_bytes + weight.n_bytes + (bias.n_bytes if bias else 0)
    return read + _written(x, *x.sizes[:-1], weight.sizes[0])


def _pointwise(n_inputs: int) -> Rule:
    """Count a function of each element: its first `n_inputs` read, one output of their common shape written."""

    def rule(inputs: Inputs) -> int:
        tensors = [tensor for tensor in inputs.tensors[:n_inputs] if tensor is not None]
        if not tensors:
            raise _Unknown(NO_INPUTS)
        # A tensor without dimensions decides nothing of the output's dtype.
        shaped = [tensor for tensor in tensors if tensor.sizes] or tensors
        widest = max(shaped, key=lambda tensor: tensor.item_bytes)
        return _read(tensors) + _written(widest, *_common_sizes(tensors))

    return rule


def _common_sizes(tensors: list[Tensor]) -> list[int]:
    """Return the sizes after broadcasting: aligned at the last, 1 giving way."""
    n_dimensions = max(len(tensor.sizes) for tensor in tensors)
    padded = [(1,) * (n_dimensions - len(tensor.sizes)) + tensor.sizes for tensor in tensors]
    return [next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True)]


def _in_place(inputs: Inputs) -> int:
    """Count a function of each element written over the first input."""
    (target,) = _at(inputs, 0)
    return _read(inputs.tensors[:2]) + target.n_bytes


def _copy(inputs: Inputs) -> int:
    """Count aten::copy_(target, source): the one written, the other read."""
    target, source = _at(inputs, 0, 1)
    return target.n_bytes + source.n_bytes


def _fill(inputs: Inputs) -> int:
    (target,) = _at(inputs, 0)
    return target.n_bytes


def _sum(inputs: Inputs) -> int:
    """Count a sum over the dimensions that the second input names; over all without it, or if it names none."""
    (x,) = _at(inputs, 0)
    if len(inputs.tensors) < 3 or inputs.values[1:2] == ("[]",):
        return x.n_bytes + x.item_bytes
    named = whole_numbers(inputs.values[1]) if len(inputs.values) > 1 and x.sizes else ()
    summed = {dimension % len(x.sizes) for dimension in named}
    if not summed:
        raise _Unknown("over which dimensions it sums is not recorded")
    return x.n_bytes + _written(x, *(size for i, size in enumerate(x.sizes) if i not in summed))


_OF_ONE = """
    gelu silu sigmoid tanh relu hardswish hardtanh leaky_relu elu softplus mish neg exp erf abs sqrt rsqrt clone
""".split()  # noqa: SIM905 - a list of words
_OF_TWO = """
    add sub mul div maximum minimum gelu_backward silu_backward sigmoid_backward tanh_backward threshold_backward
""".split()  # noqa: SIM905 - a list of words
_IN_PLACE = "gelu_ silu_ sigmoid_ tanh_ relu_ add_ sub_ mul_ div_".split()  # noqa: SIM905 - a list of words
_RULES: dict[str, Rule] = {
    **{f"aten::{name}": _pointwise(1) for name in _OF_ONE},
    **{f"aten::{name}": _pointwise(2) for name in _OF_TWO},
    **{f"aten::{name}": _in_place for name in _IN_PLACE},
    "aten::mm": _product(0),
    "aten::bmm": _product(0),
    "aten::addmm": _product(1),
    "aten::_addmm_activation": _product(1),
    "aten::linear": _linear(1),
    "mkldnn::_linear_pointwise": _linear(1),
    "mkl::_mkl_linear": _mkl_linear,
    "aten::copy_": _copy,
    "aten::fill_": _fill,
    "aten::zero_": _fill,
    "aten::sum": _sum,
    "fused_mlp::linear": _linear(1),
    "fused_mlp::linear_onednn": _linear(1),
    "fused_mlp::mlp": _linear(1, 3),
    "fused_mlp::mlp_onednn": _linear(1, 3),
    "fused_mlp::gated_mlp": _linear(1, 2, 3),
    "fused_mlp::gated_mlp_onednn": _linear(1, 2, 3),
}
