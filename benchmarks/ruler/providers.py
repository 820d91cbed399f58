"""The implementations that are compared: each builds a callable from the eager module, or says why it cannot."""

from __future__ import annotations

import os
import runpy
import shutil
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from benchmarks.ruler.axes import Contender, Weights
from benchmarks.ruler.built import Built, Unavailable
from benchmarks.ruler.fused_providers import build_fused
from benchmarks.ruler.plugins import ENTRY_POINT_GROUP, MODULE_VARIABLE, names_in_module
from benchmarks.ruler.workload import ACTIVATIONS, GatedMlp

if TYPE_CHECKING:
    from benchmarks.ruler.workload import Workload


class CompileFailed(Exception):
    """`compiled` did not end with exactly one graph, so its time would not be that of compiled code."""


def build_eager(load: Workload) -> Built:
    """PyTorch's own operators, one by one: the baseline."""
    return Built(function=load.module)


def build_compiled(load: Workload) -> Built | Unavailable:
    """torch.compile of the eager module, one graph or an error; never a silent fall back to eager."""
    if load.x.device.type == "cpu" and (reason := _missing_compiler()):
        return Unavailable(reason)
    return Built(function=torch.compile(load.module, fullgraph=True, dynamic=False))


def build_compiled_dynamic(load: Workload) -> Built | Unavailable:
    """torch.compile with a dynamic batch: the price of one graph for all batches; detail counts the graphs made.

    Besides the batch that is timed, half of it and twice it are called.
    """
    if load.x.device.type == "cpu" and (reason := _missing_compiler()):
        return Unavailable(reason)
    function = torch.compile(load.module, fullgraph=True, dynamic=True)
    batches = [load.shape.batch, max(2, load.shape.batch // 2), 2 * load.shape.batch]
    start = time.perf_counter()
    function(load.x)
    compile_time_s = time.perf_counter() - start
    for batch in batches[1:]:
        function(torch.randn(batch, load.shape.dim, dtype=load.x.dtype, device=load.x.device))
    detail = f"{graphs_compiled()} graph(s) for batches {', '.join(map(str, batches))}"
    return Built(function=function, detail=detail, compile_time_s=compile_time_s)


def build_max_autotune(load: Workload) -> Built | Unavailable:
    """torch.compile that tries its own kernels for the products too, without CUDA graphs."""
    if load.x.device.type == "cpu" and (reason := _missing_compiler()):
        return Unavailable(reason)
    compiled = torch.compile(load.module, fullgraph=True, dynamic=False, mode="max-autotune-no-cudagraphs")
    return Built(function=compiled)


def build_packed_eager(load: Workload) -> Built | Unavailable:
    """Eager, gate and up as one product of the two weights laid one over the other."""
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
    """The activation in the product's epilogue, by torch._addmm_activation; cuBLASLt's gelu is the tanh one."""
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


Answer = Built | Unavailable | str | Callable[[torch.Tensor], torch.Tensor]
Builder = Callable[["Workload"], Answer]

PROVIDERS: dict[str, Builder] = {
    "eager": build_eager,
    "compiled": build_compiled,
    "compiled-dynamic": build_compiled_dynamic,
    "compiled-max-autotune": build_max_autotune,
    "fused": partial(build_fused, weights=Weights.PLAIN),
    "fused-pure": partial(build_fused, weights=Weights.PLAIN, implementation="pure"),
    "addmm-activation": build_addmm_activation,
}
PACKED_PROVIDERS: dict[str, Builder] = {
    "fused": partial(build_fused, weights=Weights.PACKED),
    "fused-cpp": partial(build_fused, weights=Weights.PACKED, implementation="cpp"),
    "fused-onednn": partial(build_fused, weights=Weights.PACKED, implementation="onednn"),
    "packed-eager": build_packed_eager,
}
# Whose first call compiles, and must end with exactly one graph.
COMPILED = frozenset({"compiled", "compiled-max-autotune"})


def build(contender: Contender, load: Workload) -> Built | Unavailable:
    """The contender's implementation of the workload, or why there is none.

    A provider from outside answers with a callable, x → y, or with a string that says why it is unavailable.
    """
    packed = contender.weights is Weights.PACKED
    ours = PACKED_PROVIDERS if packed else PROVIDERS
    builder = ours.get(contender.provider) or _foreign_builder(contender.provider)
    if builder is None:
        return Unavailable(_why_unknown(contender))
    answer = builder(load)
    if isinstance(answer, str):
        return Unavailable(answer)
    return answer if isinstance(answer, Built | Unavailable) else Built(function=answer)


def _why_unknown(contender: Contender) -> str:
    name = contender.provider
    if contender.weights is Weights.PACKED and name in PROVIDERS:
        return f"{name} has no packed layout of weights"
    if contender.weights is Weights.PLAIN and name in PACKED_PROVIDERS:
        return f"{name} works on packed weights only: measure {name}:{Weights.PACKED}"
    return f"no provider is called {name!r}; there are {', '.join(dict.fromkeys((*PROVIDERS, *PACKED_PROVIDERS)))}"


def _foreign_builder(name: str) -> Builder | None:
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        builder: Builder = point.load()
        return builder
    path = os.environ.get(MODULE_VARIABLE)
    if path and name in names_in_module(Path(path)):
        builders: dict[str, Builder] = runpy.run_path(path)["PROVIDERS"]
        return builders[name]
    return None


def require_one_graph() -> None:
    """Raise CompileFailed unless dynamo compiled exactly one graph since its counters were cleared."""
    graphs = graphs_compiled()
    if graphs != 1:
        raise CompileFailed(f"torch.compile made {graphs} graphs where one is needed; nothing was timed")


def graphs_compiled() -> int:
    """How many graphs dynamo has compiled since its counters were cleared."""
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    return int(counters["stats"]["unique_graphs"])


def clear_counters() -> None:
    """Forget what dynamo and inductor have counted."""
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    counters.clear()


def found_cold_cache() -> bool:
    """Whether a graph had to be compiled, since the counters were cleared, because no cache on disk held it."""
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    inductor = counters["inductor"]
    return bool(inductor["fxgraph_cache_miss"] or inductor["fxgraph_cache_bypass"])


def _missing_compiler() -> str | None:
    from torch._inductor import config  # noqa: PLC0415 - importing inductor takes a second

    candidates = config.cpp.cxx if isinstance(config.cpp.cxx, tuple | list) else (config.cpp.cxx,)
    if any(name and shutil.which(name) for name in candidates):
        return None
    return "needs a C++ compiler (g++ or clang++) on PATH; none was found"
