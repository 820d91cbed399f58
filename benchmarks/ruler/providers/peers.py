"""Rival providers: third-party libraries, and compositions of PyTorch's own operators."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from benchmarks.ruler.providers.built import Built, Unavailable
from benchmarks.ruler.providers.workload import ACTIVATIONS, GatedMlp

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.providers.workload import Workload


def build_packed_eager(load: Workload) -> Built | Unavailable:
    """Build eager with gate and up as one product of the two stacked weights."""
    module = load.module
    if not isinstance(module, GatedMlp):
        return Unavailable("only a gated MLP has two products of the same input")
    if load.grad_output is not None:
        return Unavailable("the gradient would reach the packed copy, not the weights")
    both = torch.cat([module.gate.weight, module.up.weight]).contiguous()
    activation, down = ACTIVATIONS[module.activation], module.down.weight

    def function(x: torch.Tensor) -> torch.Tensor:
        gate, up = functional.linear(x, both).chunk(2, dim=-1)
        return functional.linear(activation(gate) * up, down)

    return Built(function=function)


def build_addmm_activation(load: Workload) -> Built | Unavailable:
    """Fuse the activation into the product's epilogue by torch._addmm_activation; cuBLASLt's gelu is the tanh form."""
    module, activation = load.module, load.shape.activation
    gelu = "gelu_tanh" if load.x.device.type == "cuda" else "gelu"
    if isinstance(module, GatedMlp) or activation not in {"relu", gelu}:
        return Unavailable(f"torch._addmm_activation knows relu and {gelu} on {load.x.device.type}, and no gate")
    if load.grad_output is not None:
        return Unavailable("torch._addmm_activation has no gradient")
    first, bias, *rest = module.weights()
    use_gelu, first_t = activation != "relu", first.t()

    def function(x: torch.Tensor) -> torch.Tensor:
        hidden = torch._addmm_activation(bias, x, first_t, use_gelu=use_gelu)  # noqa: SLF001 - its only name
        return functional.linear(hidden, *rest) if rest else hidden

    return Built(function=function)


def build_liger(load: Workload) -> Built | Unavailable:
    """Build liger-kernel's SwiGLU or GeGLU block: three products and one Triton kernel for act(gate) ⊙ up.

    Its backward writes the gradients over the gate and up it has kept: a second backward of the same forward would
    be wrong. Each call that is timed has a forward of its own.
    """
    functions = {"silu": "LigerSiLUMulFunction", "gelu_tanh": "LigerGELUMulFunction"}
    ops = _liger_ops(load, activations=tuple(functions))
    if isinstance(ops, Unavailable):
        return ops
    w_gate, w_up, w_down = load.module.weights()
    multiply: Callable[..., torch.Tensor] = getattr(ops, functions[str(load.shape.activation)]).apply

    def function(x: torch.Tensor) -> torch.Tensor:
        return functional.linear(multiply(functional.linear(x, w_gate), functional.linear(x, w_up)), w_down)

    return Built(function=function, detail=f"liger_kernel {_version('liger_kernel')}")


def build_liger_mlp(load: Workload) -> Built | Unavailable:
    """Build liger-kernel's LigerMLP: gate, up and SwiGLU in one Triton kernel; its first call autotunes for minutes.

    Its backward overwrites what it has kept, as that of `liger`.
    """
    ops = _liger_ops(load, activations=("silu",))
    if isinstance(ops, Unavailable):
        return ops
    if not hasattr(ops, "LigerMLPFunction"):
        return Unavailable(f"liger_kernel {_version('liger_kernel')} has no LigerMLP")
    weights, apply = load.module.weights(), ops.LigerMLPFunction.apply

    def function(x: torch.Tensor) -> torch.Tensor:
        # It is written for [batch, sequence, dim].
        out: torch.Tensor = apply(x.unsqueeze(0), *weights).squeeze(0)
        return out

    return Built(function=function, detail=f"liger_kernel {_version('liger_kernel')}")


def _liger_ops(load: Workload, *, activations: tuple[str, ...]) -> Any | Unavailable:  # noqa: ANN401 - another's module
    if not isinstance(load.module, GatedMlp) or load.shape.activation not in activations:
        known = " and ".join(f"gated_mlp {activation}" for activation in activations)
        return Unavailable(f"liger-kernel computes {known} only")
    if load.x.device.type != "cuda":
        return Unavailable(f"liger-kernel's kernels are Triton's and need a GPU; this runs on {load.x.device.type}")
    try:
        return importlib.import_module("liger_kernel.ops")
    except ImportError as error:
        return Unavailable(f"liger-kernel is not installed here ({error}): pip install 'fusebench[peers]'")


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - asked once a build

    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
