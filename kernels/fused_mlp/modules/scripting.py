"""Modules for torch.jit.script: the same op on the same parameters, in TorchScript's subset of Python.

TorchScript is deprecated in torch 2.13 and still works. The parameters of a scripted module are called as below,
not as in the eager twin; a process that loads a saved one imports fused_mlp first, for its ops.
"""

from __future__ import annotations

import torch
from torch import nn


class ScriptableLinear(nn.Module):
    """FusedLinear, for torch.jit.script."""

    def __init__(self, activation: str, recompute: str, weight: nn.Parameter, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.weight = weight
        self.register_parameter("bias", bias)
        self.activation = activation
        self.recompute = recompute

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute FusedLinear's forward."""
        out: torch.Tensor = torch.ops.fused_mlp.linear(x, self.weight, self.bias, self.activation, None, self.recompute)
        return out


class ScriptableMLP(nn.Module):
    """FusedMLP, for torch.jit.script."""

    def __init__(
        self,
        activation: str,
        recompute: str,
        w1: nn.Parameter,
        b1: nn.Parameter | None,
        w2: nn.Parameter,
        b2: nn.Parameter | None,
    ) -> None:
        super().__init__()
        for name, parameter in (("weight1", w1), ("bias1", b1), ("weight2", w2), ("bias2", b2)):
            self.register_parameter(name, parameter)
        self.activation = activation
        self.recompute = recompute

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute FusedMLP's forward."""
        out: torch.Tensor = torch.ops.fused_mlp.mlp(
            x, self.weight1, self.bias1, self.weight2, self.bias2, self.activation, None, self.recompute
        )
        return out


class ScriptableGatedMLP(nn.Module):
    """FusedGatedMLP, for torch.jit.script."""

    def __init__(
        self, activation: str, recompute: str, gate: nn.Parameter, up: nn.Parameter, down: nn.Parameter
    ) -> None:
        super().__init__()
        for name, parameter in (("gate", gate), ("up", up), ("down", down)):
            self.register_parameter(name, parameter)
        self.activation = activation
        self.recompute = recompute

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute FusedGatedMLP's forward."""
        out: torch.Tensor = torch.ops.fused_mlp.gated_mlp(
            x, self.gate, self.up, self.down, self.activation, None, self.recompute
        )
        return out
