"""Providers that run the installed fused_mlp: as modules, and as a function on hoisted parameters."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from benchmarks.ruler.plan.points import Operation, Weights
from benchmarks.ruler.providers.built import Built, Unavailable
from benchmarks.ruler.providers.captured import Captured, why_no_cuda_graphs
from benchmarks.ruler.providers.workload import Linear, Mlp

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.providers.workload import EagerModule, Workload

_MODULES = {
    Operation.LINEAR: "FusedLinear",
    Operation.MLP: "FusedMLP",
    Operation.GATED_MLP: "FusedGatedMLP",
}


class _Calling(nn.Module):
    """Module that hands its parameters to a function at each call, as one does who writes `function` into a model."""

    def __init__(self, function: Callable[..., torch.Tensor], eager: EagerModule, **options: object) -> None:
        super().__init__()
        self._function = function
        self.eager = eager
        self._options = options

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the function of x and the parameters."""
        return self._function(x, *self.eager.weights(), **self._options)


def build_fused(load: Workload, *, weights: Weights, implementation: str | None = None) -> Built | Unavailable:
    """Build the installed fused_mlp as a module on the eager module's parameters, or on packed copies of them.

    Without an `implementation`, fused_mlp chooses; the detail says what. Named, its function is called with it from a
    module of ours, which fetches its parameters as any module does.
    """
    fused_mlp = _installed(load, implementation)
    if isinstance(fused_mlp, Unavailable):
        return fused_mlp
    if weights is Weights.PACKED:
        return _packed(fused_mlp, load, implementation)
    if implementation is None and hasattr(fused_mlp, _MODULES[load.shape.operation]):
        return Built(function=_module(fused_mlp, load), detail=_choice(fused_mlp, load, packed=False))
    options: dict[str, object] = {"activation": load.shape.activation}
    if implementation is not None:
        options["implementation"] = implementation
    function = _Calling(getattr(fused_mlp, load.shape.operation), load.module, **options)
    detail = _choice(fused_mlp, load, packed=False) if implementation is None else None
    return Built(function=function, detail=detail)


def build_fused_hoisted(load: Workload) -> Built | Unavailable:
    """Build `fused` as a function whose parameters were fetched once, before any call; no module is called."""
    fused_mlp = _installed(load, None)
    if isinstance(fused_mlp, Unavailable):
        return fused_mlp
    operation: Callable[..., torch.Tensor] = getattr(fused_mlp, load.shape.operation)
    tensors, activation = load.module.weights(), load.shape.activation
    detail = _choice(fused_mlp, load, packed=False)
    return Built(function=lambda x: operation(x, *tensors, activation=activation), detail=detail)


def build_fused_captured(load: Workload) -> Built | Unavailable:
    """Capture `fused` in a CUDA graph, comparable with `compiled-cudagraphs`. Forward only."""
    if load.grad_output is not None:
        return Unavailable("captured, only a forward is measured")
    if reason := why_no_cuda_graphs(load.x.device):
        return Unavailable(reason)
    built = build_fused(load, weights=Weights.PLAIN)
    if isinstance(built, Unavailable):
        return built
    return Built(function=Captured(built.function, load.x), detail=built.detail)


def unsupported_reason(error: Exception) -> str | None:
    """Return fused_mlp's reason for having no kernel for this call; None for any other error."""
    ours = type(error).__module__.split(".")[0] == "fused_mlp" and type(error).__name__ == "Unavailable"
    return str(error) if ours else None


def _installed(load: Workload, implementation: str | None) -> Any | Unavailable:  # noqa: ANN401 - the module of any commit
    try:
        fused_mlp = importlib.import_module("fused_mlp")
    except ImportError as error:
        return Unavailable(f"fused_mlp is not installed here ({error})")
    reason = _why_unavailable(fused_mlp, load, implementation)
    return Unavailable(reason) if reason else fused_mlp


def _packed(fused_mlp: Any, load: Workload, implementation: str | None) -> Built | Unavailable:  # noqa: ANN401 - see above
    if load.grad_output is not None:
        return Unavailable("packed copies of weights are for inference; a gradient cannot reach what they copy")
    if not hasattr(fused_mlp, _MODULES[load.shape.operation]):
        return Unavailable("the fused_mlp of this commit packs no weights")
    fused = _module(fused_mlp, load)
    wanted = {"implementation": implementation} if implementation else {}
    report = fused.prepare(**wanted, **_known(fused.prepare, rows=load.shape.batch))
    detail = _choice(fused_mlp, load, packed=True) if implementation is None else None
    return Built(function=fused, detail=detail, prepare_time_s=report.seconds)


def _module(fused_mlp: Any, load: Workload) -> Any:  # noqa: ANN401 - see above
    """Return fused_mlp's module of the operation, whose parameters are the eager module's own."""
    kind, module = getattr(fused_mlp, _MODULES[load.shape.operation]), load.module
    if isinstance(module, Linear):
        return kind.from_linear(module, activation=module.activation)
    layers = (module.up, module.down) if isinstance(module, Mlp) else (module.gate, module.up, module.down)
    return kind.from_linears(*layers, activation=module.activation)


def _why_unavailable(fused_mlp: Any, load: Workload, implementation: str | None) -> str | None:  # noqa: ANN401 - see above
    operation = load.shape.operation.value
    if not hasattr(fused_mlp, operation):
        return f"the fused_mlp of this commit has no {operation}"
    if implementation is not None and not hasattr(fused_mlp, "Implementation"):
        return "the fused_mlp of this commit has one implementation only"
    if implementation is not None and implementation not in set(fused_mlp.Implementation):
        return f"the fused_mlp of this commit has no implementation called {implementation}"
    # An old commit may not have these questions; then the first call tells.
    reason: str | None = None
    named = {"implementation": implementation} if implementation else {}
    if hasattr(fused_mlp, "why_unavailable"):
        reason = fused_mlp.why_unavailable(operation, device=load.x.device, **named)
    if reason is None and implementation is not None and hasattr(fused_mlp, "why_not_for_shape"):
        asked = _known(fused_mlp.why_not_for_shape, activation=load.shape.activation or "none")
        reason = fused_mlp.why_not_for_shape(operation, implementation=implementation, **_sizes(load), **asked)
    return reason


def _sizes(load: Workload) -> dict[str, Any]:
    shape, device = load.shape, load.x.device
    major, minor = torch.cuda.get_device_capability(device) if device.type == "cuda" else (0, 0)
    return {
        "rows": shape.batch,
        "dim": shape.dim,
        "hidden": shape.hidden,
        "n_out": shape.hidden if shape.operation is Operation.LINEAR else shape.dim,
        "dtype": load.x.dtype,
        "capability": 10 * major + minor,
    }


def _known(function: Callable[..., Any], **arguments: object) -> dict[str, object]:
    """Keep the `arguments` that this commit's function accepts."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in parameters}


def _choice(fused_mlp: Any, load: Workload, *, packed: bool) -> str | None:  # noqa: ANN401 - see above
    if not hasattr(fused_mlp, "choice_for"):
        return None
    shape = load.shape
    choice = fused_mlp.choice_for(
        shape.operation.value,
        rows=shape.batch,
        dim=shape.dim,
        hidden=shape.hidden,
        device=load.x.device,
        packed=packed,
        **_known(fused_mlp.choice_for, dtype=load.x.dtype, activation=shape.activation or "none"),
    )
    shared = f", shared by {choice.shared_by}" if choice.shared_by else ""
    found = f", {choice.found}" if hasattr(choice, "found") else ""
    return f"{choice.implementation}, {choice.weights} weights{shared}{found}"
