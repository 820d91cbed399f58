"""Providers made by torch.compile from the eager module, verified by its counters."""

from __future__ import annotations

import shutil
import time
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from benchmarks.ruler.providers.built import Built, Unavailable
from benchmarks.ruler.providers.captured import CALLS_UNTIL_REPLAYED, why_no_cuda_graphs

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.ruler.providers.workload import Workload


# Without max_autotune inductor's own C++ products are no candidates.
_FROZEN: dict[str, str | int | bool | Callable[..., object]] = {"freezing": True, "max_autotune": True}


class CompileFailed(Exception):
    """Raised when what was compiled is not what the provider's name promises."""


class _Throwaway(nn.Module):
    """Module that nobody measures: a product and something pointwise, as in those that are."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute anything."""
        return functional.gelu(self.linear(x)) * 3.25


@cache
def compile_throwaway(device: torch.device, *, trains: bool) -> None:
    """Compile and call a module that nobody measures, once per process, past inductor's cache of graphs.

    What a process pays at its first compilation (imports, inductor's patterns; on a new machine the compiler's
    precompiled header) would else be charged to whoever is compiled first. trains: compile a backward, too.
    """
    if device.type == "cpu" and missing_compiler():
        return  # then nobody is compiled
    from torch._functorch import config as functorch_config  # noqa: PLC0415 - importing it takes a second
    from torch._inductor import config as inductor_config  # noqa: PLC0415 - the same

    module = _Throwaway().to(device).requires_grad_(trains)
    x = torch.randn(8, 8, device=device)
    patched = inductor_config.patch(fx_graph_cache=False), functorch_config.patch(enable_autograd_cache=False)
    with patched[0], patched[1]:
        out = torch.compile(module, fullgraph=True, dynamic=False)(x)
        if trains:
            out.sum().backward()


def build_compiled(load: Workload) -> Built | Unavailable:
    """Compile the eager module into exactly one graph, or fail; never fall back to eager silently."""
    return _compiled(load, mode=None)


def build_compiled_cudagraphs(load: Workload) -> Built | Unavailable:
    """Compile in mode `reduce-overhead`: the same kernels, launched as one CUDA graph."""
    if reason := why_no_cuda_graphs(load.x.device):
        return Unavailable(reason)
    return _compiled(load, mode="reduce-overhead", captured=True)


def build_max_autotune(load: Workload) -> Built | Unavailable:
    """Compile in mode `max-autotune`: products are autotuned too; on CUDA, launched as one CUDA graph."""
    return _compiled(load, mode="max-autotune", captured=load.x.device.type == "cuda")


def build_max_autotune_no_cudagraphs(load: Workload) -> Built | Unavailable:
    """Compile in mode `max-autotune-no-cudagraphs`: the kernels of `max-autotune`, launched one by one."""
    return _compiled(load, mode="max-autotune-no-cudagraphs")


def build_max_autotune_tma(load: Workload) -> Built | Unavailable:
    """Compile as `max-autotune-no-cudagraphs` and with inductor's persistent TMA products, which it leaves out."""
    if load.x.device.type != "cuda":
        return Unavailable(f"TMA is a GPU's way to load tiles; this runs on {load.x.device.type}")
    import torch._inductor as inductor  # noqa: PLC0415 - importing it takes a second

    options = inductor.list_mode_options("max-autotune-no-cudagraphs")
    options |= {"triton.enable_persistent_tma_matmul": True}
    return Built(function=torch.compile(load.module, fullgraph=True, dynamic=False, options=options))


def build_compiled_dynamic(load: Workload) -> Built | Unavailable:
    """Compile with a dynamic batch, one graph for all batches; detail counts the graphs made.

    Besides the batch that is timed, half of it and twice it are called.
    """
    if load.x.device.type == "cpu" and (reason := missing_compiler()):
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


def build_frozen(load: Workload) -> Built | Unavailable:
    """Compile with the weights frozen: constants packed ahead, products autotuned between inductor's C++ and oneDNN's.

    Dynamo reads the setting while it traces, before torch.compile's `options` hold, so it is set for all of the first
    call.

    Raises:
        CompileFailed: nothing was frozen, or what was compiled is not one graph.
    """
    if load.x.device.type != "cpu":
        return Unavailable(f"inductor packs frozen weights for a CPU; this runs on {load.x.device.type}")
    if load.grad_output is not None:
        return Unavailable("frozen weights are constants, for inference; a gradient cannot reach them")
    if reason := missing_compiler():
        return Unavailable(reason)
    from torch._inductor import config  # noqa: PLC0415 - importing inductor takes a second
    from torch._inductor.codecache import PyCodeCache  # noqa: PLC0415 - the same

    # The options by themselves freeze nothing, but without them dynamo takes what `compiled` left for this module.
    function = torch.compile(load.module, fullgraph=True, dynamic=False, options=_FROZEN)
    n_known = len(PyCodeCache.modules)
    start = time.perf_counter()
    with torch.inference_mode(), config.patch(_FROZEN):
        function(load.x)
    compile_time_s = time.perf_counter() - start
    generated = [vars(module) for module in PyCodeCache.modules[n_known:]]
    n_frozen = sum(isinstance(value, torch.Tensor) for names in generated for value in names.values())
    return Built(function=function, detail=_frozen_detail(n_frozen), compile_time_s=compile_time_s)


def _frozen_detail(n_frozen: int) -> str:
    """Return what was frozen, in words. Raises: CompileFailed if it is nothing."""
    if not n_frozen:
        raise CompileFailed("inductor froze no weight, so this would be timed as plain torch.compile is")
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    n_cpp = int(counters["inductor"]["cpp_templated_kernel_counter"])
    return f"{n_frozen} tensors frozen, {n_cpp} product(s) by inductor's C++"


def _compiled(load: Workload, *, mode: str | None, captured: bool = False) -> Built | Unavailable:
    if load.x.device.type == "cpu" and (reason := missing_compiler()):
        return Unavailable(reason)
    function = torch.compile(load.module, fullgraph=True, dynamic=False, mode=mode)
    return Built(function=function, settling_calls=CALLS_UNTIL_REPLAYED if captured else 0, captured=captured)


def require_one_graph() -> None:
    """Raise CompileFailed unless dynamo compiled exactly one graph since its counters were cleared."""
    graphs = graphs_compiled()
    if graphs != 1:
        raise CompileFailed(f"torch.compile made {graphs} graphs where one is needed; nothing was timed")


def require_captured() -> None:
    """Raise CompileFailed if inductor skipped a CUDA graph since the counters were cleared; it only logs that."""
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    if skips := int(counters["inductor"]["cudagraph_skips"]):
        raise CompileFailed(
            f"inductor left out {skips} CUDA graph(s), so this would be timed without them; "
            "TORCH_LOGS=cudagraphs says why"
        )


def graphs_compiled() -> int:
    """Return the number of graphs dynamo compiled since its counters were cleared."""
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    return int(counters["stats"]["unique_graphs"])


def clear_counters() -> None:
    """Reset the counters of dynamo and inductor."""
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    counters.clear()


def found_cold_cache() -> bool:
    """Return whether a graph missed the on-disk caches since the counters were cleared."""
    from torch._dynamo.utils import counters  # noqa: PLC0415 - importing dynamo takes a second

    inductor = counters["inductor"]
    return bool(inductor["fxgraph_cache_miss"] or inductor["fxgraph_cache_bypass"])


def missing_compiler() -> str | None:
    """Return why inductor cannot compile for a CPU, or None."""
    from torch._inductor import config  # noqa: PLC0415 - importing inductor takes a second

    candidates = config.cpp.cxx if isinstance(config.cpp.cxx, tuple | list) else (config.cpp.cxx,)
    if any(name and shutil.which(name) for name in candidates):
        return None
    return "needs a C++ compiler (g++ or clang++) on PATH; none was found"
