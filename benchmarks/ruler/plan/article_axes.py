"""Axes of `fusebench article`: one Linear layer and a GeGLU block, at sizes a CPU or a GPU is done with in a minute.

Pure; imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a constant's annotation
from dataclasses import replace

from benchmarks.ruler.plan.axes import NO_ACTIVATION, QUICK, Axes
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, Operation

_CPU = (BASELINE, "compiled", "fused", "liger")
# On a GPU both ways of writing it by hand: one kernel for the activation and the gate, and what fused_mlp chooses.
_CUDA = (BASELINE, "compiled", "fused-pointwise", "fused", "liger")


def _linear(name: str, providers: tuple[str, ...]) -> Axes:
    return replace(
        QUICK,
        name=name,
        operations=(Operation.LINEAR,),
        activations={**QUICK.activations, Operation.LINEAR: (NO_ACTIVATION,)},
        # liger-kernel has no Linear layer.
        providers=tuple(name for name in providers if name != "liger"),
        batches=(1024,),
        dims=(32,),
        hiddens=(64,),
    )


def _geglu(axes: Axes, providers: tuple[str, ...], *, batch: int, dim: int, hidden: int) -> Axes:
    return replace(
        axes,
        name=f"{axes.name}: GeGLU {batch}, {dim}, {hidden}",
        operations=(Operation.GATED_MLP,),
        activations={**QUICK.activations, Operation.GATED_MLP: ("gelu_tanh",)},
        providers=providers,
        batches=(batch,),
        dims=(dim,),
        hiddens=(hidden,),
    )


_ON_CPU, _ON_CUDA = _linear("article", _CPU), _linear("article-cuda", _CUDA)
ARTICLE_AXES: Mapping[DeviceKind, Axes] = {
    DeviceKind.CPU: replace(
        _ON_CPU,
        also=(
            _geglu(_ON_CPU, _CPU, batch=64, dim=64, hidden=256),
            _geglu(_ON_CPU, _CPU, batch=256, dim=768, hidden=3072),
        ),
    ),
    DeviceKind.CUDA: replace(
        _ON_CUDA,
        also=(
            _geglu(_ON_CUDA, _CUDA, batch=16, dim=768, hidden=3072),
            _geglu(_ON_CUDA, _CUDA, batch=8192, dim=768, hidden=3072),
        ),
    ),
}
