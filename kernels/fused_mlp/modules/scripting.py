"""What torch.jit.script compiles of the modules: the same op on the same parameters, in TorchScript's subset of Python.

TorchScript is deprecated in torch 2.13 and still works. A process that loads a saved module imports fused_mlp first,
for its ops. The layers are in the order of their operation's arguments: `__prepare_scriptable__` has looked.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_Forward = TypeVar("_Forward", bound="Callable[..., Any]")


def scripted_as(forward: _Forward, scriptable: Callable[..., Any]) -> _Forward:
    """Return `forward` as a function of its own, of which torch.jit.script compiles the source of `scriptable`."""
    given: Any = forward
    copied: Any = FunctionType(given.__code__, given.__globals__, "forward", given.__defaults__, given.__closure__)
    copied.__doc__ = given.__doc__
    copied.__wrapped__ = scriptable  # inspect.getsource follows it
    return cast("_Forward", copied)


def linear_in_script(self: Any, x: torch.Tensor) -> torch.Tensor:
    """Compute FusedLinear's forward."""
    out: torch.Tensor = torch.ops.fused_mlp.linear(x, self.weight, self.bias, self.activation, None, self.recompute)
    return out


def mlp_in_script(self: Any, x: torch.Tensor) -> torch.Tensor:
    """Compute FusedMLP's forward."""
    weights: list[torch.Tensor] = []
    biases: list[torch.Tensor | None] = []
    for layer in self.children():
        weights.append(layer.weight)
        biases.append(layer.bias)
    out: torch.Tensor = torch.ops.fused_mlp.mlp(
        x, weights[0], biases[0], weights[1], biases[1], self.activation, None, self.recompute
    )
    return out


def gated_mlp_in_script(self: Any, x: torch.Tensor) -> torch.Tensor:
    """Compute FusedGatedMLP's forward."""
    weights: list[torch.Tensor] = []
    for layer in self.children():
        weights.append(layer.weight)  # noqa: PERF401 - TorchScript has no list comprehension over modules
    out: torch.Tensor = torch.ops.fused_mlp.gated_mlp(
        x, weights[0], weights[1], weights[2], self.activation, None, self.recompute
    )
    return out
