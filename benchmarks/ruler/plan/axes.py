"""Axes of a sweep: the values of each, and the groups of points they make. Pure; imports nothing heavy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.points import (
    BASELINE,
    CachePolicy,
    Contender,
    DeviceKind,
    Group,
    Operation,
    Pass,
    Shape,
    contender_from_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DIM_BY_DEFAULT = "hidden/4"
NO_ACTIVATION = "none"


@dataclass(frozen=True, kw_only=True)
class Axes:
    """Values of each axis: their product, per operation, and the products of `also`.

    budget_s: seconds of each point's samples over all visits. visits: how often each group is visited.
    """

    name: str
    operations: tuple[str, ...] = tuple(Operation)
    providers: tuple[str, ...] = (BASELINE, "compiled", "fused")
    passes: tuple[str, ...] = (Pass.FORWARD,)
    dtypes: Mapping[str, tuple[str, ...]]
    activations: Mapping[str, tuple[str, ...]]
    batches: tuple[int, ...]
    hiddens: tuple[int, ...]
    dims: tuple[int | str, ...] = (DIM_BY_DEFAULT,)
    caches: tuple[str, ...] = (CachePolicy.WARM,)
    budget_s: float = 0.5
    visits: int = 3
    also: tuple[Axes, ...] = ()

    def parts(self) -> tuple[Axes, ...]:
        """Return these axes alone, then those of `also`: together they visit what is no single product."""
        return replace(self, also=()), *itertools.chain.from_iterable(part.parts() for part in self.also)


DTYPES: Mapping[str, tuple[str, ...]] = {DeviceKind.CPU: ("float32",), DeviceKind.CUDA: ("bfloat16",)}
QUICK = Axes(
    name="quick",
    dtypes=DTYPES,
    activations={
        Operation.LINEAR: (NO_ACTIVATION,),
        Operation.MLP: ("gelu",),
        Operation.GATED_MLP: ("silu",),
    },
    batches=(16, 256),
    hiddens=(256, 1024),
)
FULL = replace(
    QUICK,
    name="full",
    providers=(
        *QUICK.providers,
        *("compiled-dynamic", "compiled-max-autotune-no-cudagraphs"),
        *(
            "fused-hoisted",
            "fused:packed",
            "fused-onednn:packed",
            "fused-pure",
            "packed-eager:packed",
            "addmm-activation",
        ),
    ),
    passes=tuple(Pass),
    batches=(1, 4, 16, 64, 256, 1024, 4096),
    hiddens=(256, 1024, 4096),
    budget_s=1.0,
)
_RIVALS = ("compiled", "compiled-cudagraphs", "compiled-max-autotune-no-cudagraphs", "liger", "addmm-activation")
_LEVELS = ("fused-pointwise", "fused-epilogue", "fused-single")
# Where the table of `fused` against its rivals is taken; see docs/gpu-campaign.md.
CAMPAIGN_QUICK = replace(
    QUICK,
    name="campaign-quick",
    operations=(Operation.MLP, Operation.GATED_MLP),
    providers=(BASELINE, *_RIVALS, "fused", "fused:packed", "fused-captured", *_LEVELS),
    batches=(16,),
    hiddens=(256,),
    budget_s=0.2,
)
_CAMPAIGN = replace(
    CAMPAIGN_QUICK,
    dtypes=dict.fromkeys(DeviceKind, ("bfloat16",)),
    batches=(1, 4, 16, 64, 256, 1024, 4096, 16384),
)
_GATED = replace(_CAMPAIGN, operations=(Operation.GATED_MLP,))
CAMPAIGN = replace(
    _CAMPAIGN,
    name="campaign",
    operations=(Operation.MLP,),
    hiddens=(256, 512, 1024, 3072, 4096),
    budget_s=0.4,
    also=(
        replace(_GATED, name="campaign: gated, dim 2048", hiddens=(5632,), dims=(2048,)),
        replace(_GATED, name="campaign: gated, dim 4096", hiddens=(11008, 14336), dims=(4096,)),
        replace(
            _CAMPAIGN,
            name="campaign: near the floor",
            operations=(Operation.MLP,),
            activations={**QUICK.activations, Operation.MLP: ("relu",)},
            batches=(65536,),
            hiddens=(256, 512),
        ),
    ),
)
NAMED_AXES = {axes.name: axes for axes in (QUICK, FULL, CAMPAIGN_QUICK, CAMPAIGN)}


def resolve_dim(dim: int | str, *, hidden: int) -> int:
    """Return the width an axis value stands for: itself, or a quarter of `hidden` (at least 1)."""
    return max(1, hidden // 4) if dim == DIM_BY_DEFAULT else int(dim)


def groups(axes: Axes, *, operation: str, device: DeviceKind) -> tuple[Group, ...]:
    """Return every group of `operation` on `device`, smallest shapes first.

    A shape of several parts of the axes has the contenders of the first.
    """
    contenders: dict[Shape, tuple[Contender, ...]] = {}
    for part in axes.parts():
        named = tuple(contender_from_name(name) for name in part.providers)
        for shape in _shapes(part, operation=operation, device=device):
            contenders.setdefault(shape, named)
    ordered = sorted(contenders, key=lambda shape: (shape.pass_, shape.hidden * shape.dim, shape.batch, repr(shape)))
    return tuple(Group(shape=shape, contenders=contenders[shape]) for shape in ordered)


def _shapes(axes: Axes, *, operation: str, device: DeviceKind) -> Iterator[Shape]:
    if operation not in axes.operations:
        return
    for pass_, dtype, activation, batch, hidden, dim, cache in itertools.product(
        axes.passes,
        axes.dtypes.get(device, ()),
        axes.activations[operation],
        axes.batches,
        axes.hiddens,
        axes.dims,
        axes.caches,
    ):
        yield Shape(
            operation=Operation(operation),
            pass_=Pass(pass_),
            dtype=dtype,
            activation=None if activation == NO_ACTIVATION else activation,
            batch=batch,
            hidden=hidden,
            dim=resolve_dim(dim, hidden=hidden),
            cache=CachePolicy(cache),
        )
