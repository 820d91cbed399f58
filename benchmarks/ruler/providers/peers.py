"""Rival providers: third-party libraries, and compositions of PyTorch's own operators."""

from __future__ import annotations

import copy
import importlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from benchmarks.ruler.providers.built import Built, Unavailable
from benchmarks.ruler.providers.workload import ACTIVATIONS, GatedMlp, Mlp

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.providers.workload import EagerModule, Workload


class _PackedEager(nn.Module):
    """Gated MLP whose gate and up are one nn.Linear of the two stacked weights."""

    def __init__(self, eager: GatedMlp) -> None:
        super().__init__()
        with torch.inference_mode(mode=False), torch.no_grad():  # a model's weights are no inference tensors
            both = torch.cat([eager.gate.weight, eager.up.weight]).contiguous()
            n_out, n_in = both.shape
            self.gate_up = nn.Linear(n_in, n_out, bias=False, device="meta")
            self.gate_up.weight = nn.Parameter(both, requires_grad=False)
        self.down = eager.down
        self._activation = ACTIVATIONS[eager.activation]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute what GatedMlp computes."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        out: torch.Tensor = self.down(self._activation(gate) * up)
        return out


def build_packed_eager(load: Workload) -> Built | Unavailable:
    """Build eager with gate and up as one product of the two stacked weights."""
    if not isinstance(load.module, GatedMlp):
        return Unavailable("only a gated MLP has two products of the same input")
    if load.grad_output is not None:
        return Unavailable("the gradient would reach the packed copy, not the weights")
    return Built(function=_PackedEager(load.module))


class _AddmmActivation(nn.Module):
    """Product with its activation in one operator, and the second product of an MLP."""

    def __init__(self, first: nn.Linear, down: nn.Linear | None, *, use_gelu: bool) -> None:
        super().__init__()
        self.first = first
        self.down = down
        self._use_gelu = use_gelu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute what Linear or Mlp computes."""
        first = self.first
        hidden = torch._addmm_activation(first.bias, x, first.weight.t(), use_gelu=self._use_gelu)  # noqa: SLF001 - its only name
        return hidden if self.down is None else self.down(hidden)


def build_addmm_activation(load: Workload) -> Built | Unavailable:
    """Fuse the activation into the product's epilogue by torch._addmm_activation; cuBLASLt's gelu is the tanh form."""
    module, activation = load.module, load.shape.activation
    gelu = "gelu_tanh" if load.x.device.type == "cuda" else "gelu"
    if isinstance(module, GatedMlp) or activation not in {"relu", gelu}:
        return Unavailable(f"torch._addmm_activation knows relu and {gelu} on {load.x.device.type}, and no gate")
    if load.grad_output is not None:
        return Unavailable("torch._addmm_activation has no gradient")
    first, down = (module.up, module.down) if isinstance(module, Mlp) else (module, None)
    return Built(function=_AddmmActivation(first, down, use_gelu=activation != "relu"))


class _LigerGatedMlp(nn.Module):
    """Gated MLP as liger-kernel's own modules write it: three products, and `multiply` for act(gate) ⊙ up."""

    def __init__(self, eager: GatedMlp, multiply: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.gate, self.up, self.down = eager.gate, eager.up, eager.down
        self._multiply = multiply

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute what GatedMlp computes."""
        out: torch.Tensor = self.down(self._multiply(self.gate(x), self.up(x)))
        return out


def build_liger(load: Workload) -> Built | Unavailable:
    """Build liger-kernel's SwiGLU or GeGLU block: three products and one Triton kernel for act(gate) ⊙ up.

    Its backward writes the gradients over the gate and up it has kept: a second backward of the same forward would
    be wrong. Each call that is timed has a forward of its own.
    """
    functions = {"silu": "LigerSiLUMulFunction", "gelu_tanh": "LigerGELUMulFunction"}
    ops = _liger_ops(load, activations=tuple(functions))
    if isinstance(ops, Unavailable):
        return ops
    multiply = getattr(ops, functions[str(load.shape.activation)]).apply
    assert isinstance(load.module, GatedMlp)  # noqa: S101 - by _liger_ops
    return Built(function=_LigerGatedMlp(load.module, multiply), detail=f"liger_kernel {_version('liger_kernel')}")


class _LigerWholeMlp(nn.Module):
    """Gated MLP by one function of x, which is written for [batch, sequence, dim], and the three weights."""

    def __init__(self, eager: EagerModule, apply: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.eager = eager
        self._compute = apply

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute what GatedMlp computes."""
        return self._compute(x.unsqueeze(0), *self.eager.weights()).squeeze(0)


def build_liger_mlp(load: Workload) -> Built | Unavailable:
    """Build liger-kernel's LigerMLP: gate, up and SwiGLU in one Triton kernel; its first call autotunes for minutes.

    Its backward overwrites what it has kept, as that of `liger`.
    """
    ops = _liger_ops(load, activations=("silu",))
    if isinstance(ops, Unavailable):
        return ops
    if not hasattr(ops, "LigerMLPFunction"):
        return Unavailable(f"liger_kernel {_version('liger_kernel')} has no LigerMLP")
    function = _LigerWholeMlp(load.module, ops.LigerMLPFunction.apply)
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
        return Unavailable(f"liger-kernel is not installed here ({error}); pip install 'fusebench[peers]' adds it")


class _OnnxSession(nn.Module):
    """Session of onnxruntime, its input and output bound where torch keeps them, announced to the profiler."""

    def __init__(self, session: Any, *, out_features: int) -> None:  # noqa: ANN401 - another's class
        super().__init__()
        self._session, self._binding = session, session.io_binding()
        (x,), (y,) = session.get_inputs(), session.get_outputs()
        self._x_name, self._y_name, self._out_features = x.name, y.name, out_features
        self._record = torch._C._profiler._RecordFunctionFast("onnxruntime::run")  # noqa: SLF001 - the cheap one

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute what the exported module computes. x: [rows, dim], float32, contiguous."""
        out = torch.empty(x.shape[0], self._out_features)
        with self._record:
            binding = self._binding
            binding.bind_input(self._x_name, "cpu", 0, np.float32, x.shape, x.data_ptr())
            binding.bind_output(self._y_name, "cpu", 0, np.float32, out.shape, out.data_ptr())
            self._session.run_with_iobinding(binding)
        return out


def build_onnxruntime(load: Workload) -> Built | Unavailable:
    """Export the eager module to ONNX and load it into onnxruntime, which packs the weights, by its CPU provider."""
    if load.x.device.type != "cpu" or load.x.dtype is not torch.float32:
        return Unavailable(f"onnxruntime is measured in float32 on a CPU; this is {load.x.dtype} on {load.x.device}")
    if load.grad_output is not None:
        return Unavailable("a session of onnxruntime is for inference; it has no gradient")
    try:
        onnxruntime = importlib.import_module("onnxruntime")
        importlib.import_module("onnxscript")
    except ImportError as error:
        return Unavailable(f"onnxruntime is not installed here ({error}); pip install 'fusebench[peers]' adds it")
    start = time.perf_counter()
    model = _onnx_model(load)
    exported = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
    # Its threads would otherwise spin on after a call, in its rivals' time.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter()
    if len(session.get_inputs()) != 1:
        return Unavailable("the exported model takes its weights as inputs, so onnxruntime packs nothing")
    return Built(
        function=_OnnxSession(session, out_features=load.module.weights()[-1].shape[0]),
        detail=f"onnxruntime {_version('onnxruntime')}",
        compile_time_s=exported - start,
        prepare_time_s=loaded - exported,
    )


def _onnx_model(load: Workload) -> bytes:
    """Return the eager module as an ONNX model for this batch, its weights inside."""
    with torch.inference_mode(mode=False), torch.no_grad():
        # A copy, because the module is everybody's and the exporter wants it in evaluation.
        module, x = copy.deepcopy(load.module).eval(), torch.zeros_like(load.x)
        program = torch.onnx.export(module, (x,), dynamo=True, verbose=False)
    assert program is not None  # noqa: S101 - it is only where a file is named to write to
    model: bytes = program.model_proto.SerializeToString()
    return model


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - asked once a build

    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
