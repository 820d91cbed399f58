"""What a stretch of code between two layers computes, found by calling it: which activation, with or without a gate.

A function of the allow-list is known by identity. Any other is called on float64 values from ±1e-11 to ±1e30 and at
the infinities, in several orders and shapes, and its derivative is compared too: a clipped activation, one that mixes
elements and one with a gradient of its own are none of ours. So is one that differs at zero, which padded rows give
without a bias, or at NaN.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from fused_mlp.activations import Activation, activate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    Function = Callable[..., Tensor]
    Asked = Callable[[tuple[int, ...], int], tuple[Tensor, ...]]

_CLOSE = tuple(2.0**-power for power in range(4, 40))
"""Sizes below the steps near zero: a threshold of 0.01 in place of ReLU's zero is seen between these alone."""
_FAR = (7.0, 8.0, 10.0, 13.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e6, 1e10, 1e30)
# The two GELUs differ by up to 5e-4; formulas of the same one by rounding.
_TOLERANCE = 1e-9

_FUNCTIONS: dict[Any, Activation] = {
    functional.relu: Activation.RELU,
    torch.relu: Activation.RELU,
    functional.silu: Activation.SILU,
}
_METHODS = {"relu": Activation.RELU}
_GELU = torch._C._nn.gelu  # noqa: SLF001 - which functional.gelu is, unless somebody put another there
_GELUS = {"none": Activation.GELU, "tanh": Activation.GELU_TANH}


def activation_by_identity(target: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Activation | None:
    """Return the activation that a function, a method's name or a module of torch is known to be; None if not.

    arguments, options: what it is called with beside the value.
    """
    options = {name: value for name, value in options.items() if name != "inplace"}
    if isinstance(target, nn.Module):
        return _of_module(target) if not arguments and not options else None
    if isinstance(target, str):
        return _METHODS.get(target) if not arguments and not options else None
    if target is _GELU and not arguments and set(options) <= {"approximate"}:
        return _GELUS.get(options.get("approximate", "none"))
    try:
        return _FUNCTIONS.get(target) if not arguments and not options else None
    except TypeError:  # unhashable: nothing of torch
        return None


def activation_of(function: Function, *, width: int) -> Activation | None:
    """Return the activation that `function` computes on [..., width]; None if none of ours."""
    asked = _asked_once(width)
    for activation in Activation:
        if _agree(function, lambda z, name=activation.value: activate(z, name), asked):
            return activation
    return None


def gate_of(function: Function, *, width: int) -> tuple[Activation, bool] | None:
    """Return (activation, whether the first argument is the gate) if `function(a, b)` is act(gate)·other."""
    asked = _asked_once(width, width)
    for activation, is_first in product(Activation, (True, False)):
        if _agree(function, _gated(activation, is_first=is_first), asked):
            return activation, is_first
    return None


def merged_gate_of(function: Function, *, width: int) -> tuple[Activation, bool] | None:
    """Return (activation, whether the gate comes first) if `function` is act(gate)·other on two halves of `width`."""
    if width % 2:
        return None
    asked = _asked_once(width)
    for activation, is_first in product(Activation, (True, False)):
        gated = _gated(activation, is_first=is_first)
        if _agree(function, lambda z, gated=gated: gated(*z.chunk(2, dim=-1)), asked):
            return activation, is_first
    return None


def is_identity(function: Function, *, width: int) -> bool:
    """Return whether `function` gives its argument back, as an idle dropout does."""
    return _agree(function, lambda z: z, _asked_once(width))


def _of_module(module: nn.Module) -> Activation | None:
    if type(module).forward.__code__.co_filename != nn.modules.activation.__file__:
        # Put into torch's class by somebody else: it is called to see what it computes.
        return None
    if functional.gelu is not _GELU or not {functional.relu, functional.silu} <= {*_FUNCTIONS}:
        # The same, as these are what its forward calls.
        return None
    if type(module) is nn.ReLU:
        return Activation.RELU
    if type(module) is nn.SiLU:
        return Activation.SILU
    if type(module) is nn.GELU:
        return _GELUS.get(module.approximate)
    return None


def _gated(activation: Activation, *, is_first: bool) -> Function:
    def gated(a: Tensor, b: Tensor) -> Tensor:
        gate, other = (a, b) if is_first else (b, a)
        return activate(gate, activation.value) * other

    return gated


def _asked_once(*widths: int) -> Asked:
    """Return a function that gives points to ask at, one tensor for each width, and makes each of them once."""

    @cache
    def points_of(leading: tuple[int, ...], seed: int) -> tuple[Tensor, ...]:
        return tuple(_points(leading, width, seed + index) for index, width in enumerate(widths))

    return points_of


def _agree(function: Function, ours: Function, asked: Asked) -> bool:
    """Return whether both give the same values and derivatives, wherever we ask."""
    try:
        at = ((2,), 0), ((1, 3), 7)
        widths = tuple(points.shape[-1] for points in asked(*at[0]))
        return all(_agree_at(function, ours, asked(*each)) for each in at) and _agree_beyond_numbers(
            function, ours, widths
        )
    except Exception:  # noqa: BLE001 - whatever a stranger's function raises, it is not one of ours
        return False


def _agree_at(function: Function, ours: Function, points: Sequence[Tensor]) -> bool:
    theirs_at, ours_at = ([point.clone().requires_grad_() for point in points] for _ in range(2))
    with torch.enable_grad():
        theirs, expected = function(*(point * 1 for point in theirs_at)), ours(*ours_at)
    if not isinstance(theirs, torch.Tensor) or theirs.shape != expected.shape or not theirs.requires_grad:
        return False
    for grad in (True, False):
        # Some code asks whether a gradient is wanted.
        with torch.set_grad_enabled(grad):
            without = function(*(point.clone() for point in points))
        if not torch.allclose(without, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
            return False
    if not torch.allclose(theirs, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
        return False
    weights = torch.linspace(0.5, 1.5, expected.numel(), dtype=torch.float64).view(expected.shape)
    pairs = zip(torch.autograd.grad(theirs, theirs_at, weights), torch.autograd.grad(expected, ours_at, weights))  # noqa: B905 - of equal length
    return all(torch.allclose(a, b, rtol=1e-7, atol=1e-7) for a, b in pairs)


def _agree_beyond_numbers(function: Function, ours: Function, widths: tuple[int, ...]) -> bool:
    with torch.no_grad():
        for value in (math.nan, math.inf, -math.inf) if len(widths) == 1 else (math.nan,):
            points = [torch.full((1, width), value, dtype=torch.float64) for width in widths]
            theirs, expected = function(*(point.clone() for point in points)), ours(*points)
            # inf · 0 is a matter of the formula; a number where ours has none or infinity is a clip.
            same = (theirs == expected) | theirs.isnan()
            if value < 0:
                same |= expected.isnan() & (theirs == 0)
            if not same.all() or (value > 0 and theirs.isnan().any() and not expected.isnan().any()):
                return False
    return True


def _points(leading: tuple[int, ...], width: int, seed: int) -> Tensor:
    """Return values of every size and zero, shuffled, as [..., rows, width]."""
    near = torch.arange(-61, 62, dtype=torch.float64) / 10
    others = torch.tensor([*_CLOSE, *_FAR], dtype=torch.float64)
    values = torch.cat([near, others, -others])
    n_rows = max(1, -(-values.numel() // width))
    n_values = math.prod(leading) * n_rows * width
    order = torch.randperm(n_values, generator=torch.Generator().manual_seed(seed))
    return values.repeat(-(-n_values // values.numel()))[:n_values][order].view(*leading, n_rows, width)
