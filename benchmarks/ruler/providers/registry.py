"""Registry of providers: each builds a callable from the eager module, or gives the reason why it cannot."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from benchmarks.ruler.plan.plugins import ENTRY_POINT_GROUP, names_in_module
from benchmarks.ruler.plan.points import Contender, Weights
from benchmarks.ruler.providers.built import Built, Unavailable
from benchmarks.ruler.providers.compiled import (
    build_compiled,
    build_compiled_cudagraphs,
    build_compiled_dynamic,
    build_frozen,
    build_max_autotune,
    build_max_autotune_no_cudagraphs,
    build_max_autotune_tma,
)
from benchmarks.ruler.providers.compiler_settings import made_when_loaded
from benchmarks.ruler.providers.fused import build_fused, build_fused_captured, build_fused_hoisted
from benchmarks.ruler.providers.peers import (
    build_addmm_activation,
    build_liger,
    build_liger_mlp,
    build_onnxruntime,
    build_packed_eager,
)

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.providers.workload import Workload


def build_eager(load: Workload) -> Built:
    """Build the baseline: PyTorch's own operators, one by one."""
    return Built(function=load.module)


Answer = Built | Unavailable | str | Callable[[torch.Tensor], torch.Tensor]
Builder = Callable[["Workload"], Answer]

# What each is expected to launch is declared in expectation/declarations.py, under the same names.
PROVIDERS: dict[str, Builder] = {
    "eager": build_eager,
    "compiled": build_compiled,
    "compiled-dynamic": build_compiled_dynamic,
    "compiled-cudagraphs": build_compiled_cudagraphs,
    "compiled-max-autotune": build_max_autotune,
    "compiled-max-autotune-no-cudagraphs": build_max_autotune_no_cudagraphs,
    "compiled-max-autotune-tma": build_max_autotune_tma,
    "fused": partial(build_fused, weights=Weights.PLAIN),
    "fused-hoisted": build_fused_hoisted,
    "fused-captured": build_fused_captured,
    "fused-pure": partial(build_fused, weights=Weights.PLAIN, implementation="pure"),
    "fused-pointwise": partial(build_fused, weights=Weights.PLAIN, implementation="pointwise"),
    "fused-epilogue": partial(build_fused, weights=Weights.PLAIN, implementation="epilogue"),
    "fused-cublaslt": partial(build_fused, weights=Weights.PLAIN, implementation="cublaslt"),
    "fused-single": partial(build_fused, weights=Weights.PLAIN, implementation="single"),
    "fused-cuda": partial(build_fused, weights=Weights.PLAIN, implementation="cuda"),
    "addmm-activation": build_addmm_activation,
    "liger": build_liger,
    "liger-mlp": build_liger_mlp,
}
PACKED_PROVIDERS: dict[str, Builder] = {
    "fused": partial(build_fused, weights=Weights.PACKED),
    "fused-cpp": partial(build_fused, weights=Weights.PACKED, implementation="cpp"),
    "fused-onednn": partial(build_fused, weights=Weights.PACKED, implementation="onednn"),
    "packed-eager": build_packed_eager,
    "compiled-frozen": build_frozen,
    "onnxruntime": build_onnxruntime,
}
# Which compile while they are built or at their first call, and must end with exactly one graph.
COMPILED = frozenset(
    {
        *("compiled", "compiled-cudagraphs"),
        *("compiled-max-autotune", "compiled-max-autotune-no-cudagraphs", "compiled-max-autotune-tma"),
        "compiled-frozen",
    }
)
# Whose compilation takes seconds: they find inductor's cache on disk filled when they are built to be measured.
COMPILED_AHEAD = COMPILED | {"compiled-dynamic"}
# Who replays a CUDA graph, on the memory that it was captured with.
CAPTURED = frozenset({"compiled-cudagraphs", "compiled-max-autotune", "fused-captured"})
# Of a provider from outside: it is spared what calling a module and fetching its parameters costs all others.
_NO_MODULE = "a function, not a module's call as the others"


def build(contender: Contender, load: Workload, *, module: Path | None = None) -> Built | Unavailable:
    """Build the contender's implementation of the workload, or return the reason why there is none.

    module: file with more providers. A provider from outside answers with a callable, x → y, or with a string that says
    why it is unavailable. Raises: TypeError where it answers with anything else, and whatever it raises.
    """
    packed = contender.weights is Weights.PACKED
    ours = PACKED_PROVIDERS if packed else PROVIDERS
    builder = ours.get(contender.provider) or _foreign_builder(contender.provider, module)
    if builder is None:
        return Unavailable(_why_unknown(contender))
    # What a file of somebody's answers is whatever it is.
    answer: Any = builder(load)
    if isinstance(answer, str):
        return Unavailable(answer)
    if isinstance(answer, Built | Unavailable):
        return answer
    if not callable(answer):
        what = "nothing (None)" if answer is None else f"{type(answer).__name__}, which cannot be called"
        raise TypeError(
            f"what is registered as {contender.provider!r} returned {what}; return a function or module, x → y, or a "
            "string that says why it is unavailable"
        )
    return Built(function=answer, detail=None if isinstance(answer, nn.Module) else _NO_MODULE)


def _why_unknown(contender: Contender) -> str:
    name = contender.provider
    if contender.weights is Weights.PACKED and name in PROVIDERS:
        return f"{name} has no packed layout of weights"
    if contender.weights is Weights.PLAIN and name in PACKED_PROVIDERS:
        return f"{name} works on packed weights only: measure {name}:{Weights.PACKED}"
    return f"no provider is called {name!r}; there are {', '.join(dict.fromkeys((*PROVIDERS, *PACKED_PROVIDERS)))}"


def _foreign_builder(name: str, module: Path | None) -> Builder | None:
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        with made_when_loaded(point.module.partition(".")[0]):
            builder: Builder = point.load()
        return builder
    if module and name in names_in_module(module):
        # What lies beside it can be imported, and hides nothing that has such a name.
        if (folder := str(module.resolve().parent)) not in sys.path:
            sys.path.append(folder)
        with made_when_loaded(str(module)):
            builders: dict[str, Builder] = runpy.run_path(str(module))["PROVIDERS"]
        return builders[name]
    return None
