"""The implementations that are compared: each builds a callable from the eager module, or says why it cannot."""

from __future__ import annotations

import importlib
import os
import runpy
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.axes import Contender, Weights
from benchmarks.ruler.plugins import ENTRY_POINT_GROUP, MODULE_VARIABLE, names_in_module

if TYPE_CHECKING:
    from benchmarks.ruler.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Built:
    """A provider ready to be called with x. detail: what it says it runs, or None."""

    function: Callable[[torch.Tensor], torch.Tensor]
    detail: str | None = None
    prepare_time_s: float | None = None
    compile_time_s: float | None = None


@dataclass(frozen=True)
class Unavailable:
    """A provider that cannot run here, and why, in words."""

    reason: str


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


def build_fused(load: Workload) -> Built | Unavailable:
    """The installed fused_mlp's operation on the eager module's own weights."""
    shape = load.shape
    try:
        fused_mlp = importlib.import_module("fused_mlp")
    except ImportError as error:
        return Unavailable(f"fused_mlp is not installed here ({error})")
    operation = getattr(fused_mlp, shape.operation.value, None)
    if operation is None:
        return Unavailable(f"the fused_mlp of this commit has no {shape.operation}")
    # An old commit may not have these questions; then the first call tells.
    if hasattr(fused_mlp, "why_unavailable") and (
        reason := fused_mlp.why_unavailable(shape.operation.value, device=load.x.device)
    ):
        return Unavailable(reason)
    weights, activation = load.module.weights(), shape.activation
    return Built(function=lambda x: operation(x, *weights, activation=activation))


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


Answer = Built | Unavailable | str | Callable[[torch.Tensor], torch.Tensor]
Builder = Callable[["Workload"], Answer]

PROVIDERS: dict[str, Builder] = {
    "eager": build_eager,
    "compiled": build_compiled,
    "compiled-dynamic": build_compiled_dynamic,
    "fused": build_fused,
}
# Whose first call compiles, and must end with exactly one graph.
COMPILED = frozenset({"compiled"})


def build(contender: Contender, load: Workload) -> Built | Unavailable:
    """The contender's implementation of the workload, or why there is none.

    A provider from outside answers with a callable, x → y, or with a string that says why it is unavailable.
    """
    builder = PROVIDERS.get(contender.provider) or _foreign_builder(contender.provider)
    if builder is None:
        return Unavailable(f"no provider is called {contender.provider!r}; there are {', '.join(PROVIDERS)}")
    if contender.weights is Weights.PACKED:
        return Unavailable(f"{contender.provider} has no packed layout of weights")
    answer = builder(load)
    if isinstance(answer, str):
        return Unavailable(answer)
    return answer if isinstance(answer, Built | Unavailable) else Built(function=answer)


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
