"""Axes of a sweep: the values of each, and the groups of points they make. Pure; imports nothing heavy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass, replace
from enum import StrEnum
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
    from collections.abc import Iterator, Sequence

DIM_BY_DEFAULT = "hidden/4"
LARGEST_SIZE = 2**31 - 1
"""Largest batch or width: what a journal and the store hold as a whole number, and more than any machine."""


class Order(StrEnum):
    """Order in which groups are visited: the smallest weights first, or the fewest rows, whatever the operation."""

    WEIGHTS = "weights"
    ROWS = "rows"


NO_ACTIVATION = "none"


@dataclass(frozen=True, kw_only=True)
class Axes:
    """Values of each axis: their product, per operation, and the products of `also`.

    budget_s: seconds of each point's samples over all visits. visits: how often each group is visited. model: the
    preset whose blocks these are, which asv knows by the model's name; None for widths of one's own.
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
    order: Order = Order.WEIGHTS
    model: str | None = None
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
_FULL = replace(
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
        *("compiled-frozen:packed", "onnxruntime:packed"),
    ),
    passes=tuple(Pass),
    batches=(1, 4, 16, 64, 256, 1024, 4096),
    hiddens=(256, 1024, 4096),
    budget_s=1.0,
)
# The tanh form of gelu is what GPT-2 and GeGLU blocks have; elsewhere it costs what the exact one does, or less.
_TANH: Mapping[str, tuple[str, ...]] = {Operation.MLP: ("gelu_tanh",), Operation.GATED_MLP: ("gelu_tanh",)}
FULL = replace(
    _FULL,
    also=(
        replace(
            _FULL,
            name="full: tanh",
            operations=(Operation.MLP, Operation.GATED_MLP),
            activations=_TANH,
            batches=(16, 1024),
            hiddens=(1024,),
        ),
    ),
)
# Few shapes, at each of many commits: where calls cost most, where products do, where weights fill no cache.
_OURS = ("fused", "fused:packed")
_HISTORY = replace(QUICK, providers=(BASELINE, "compiled", *_OURS), passes=tuple(Pass))
HISTORY = replace(
    _HISTORY,
    name="history",
    batches=(16,),
    hiddens=(256, 4096),
    also=(replace(_HISTORY, name="history: many rows", passes=(Pass.FORWARD,), batches=(256,), hiddens=(1024,)),),
)
# Where ours meet every rival that a CPU has, in the shapes of `python -m benchmarks.ruler.fused_table`.
_MET = replace(
    QUICK,
    operations=(Operation.MLP, Operation.GATED_MLP),
    providers=(
        *(BASELINE, "compiled", "compiled-frozen:packed", "onnxruntime:packed", "packed-eager:packed"),
        *("addmm-activation", "fused-onednn:packed", *_OURS),
    ),
    batches=(1, 8, 64, 512),
)
RIVALS = replace(
    _MET,
    name="rivals",
    dims=(64, 256),
    hiddens=(256,),
    also=(
        replace(_MET, name="rivals: wider", dims=(256, 1024), hiddens=(1024,)),
        replace(_MET, name="rivals: widest", dims=(1024,), hiddens=(4096,)),
    ),
)


def resolve_dim(dim: int | str, *, hidden: int) -> int:
    """Return the width an axis value stands for: itself, or a quarter of `hidden` (at least 1)."""
    return max(1, hidden // 4) if dim == DIM_BY_DEFAULT else int(dim)


def all_groups(axes: Axes, *, operations: Sequence[str], device: DeviceKind) -> tuple[Group, ...]:
    """Return every group of `operations` on `device` in the order of a sweep: operation by operation, or by rows."""
    found = tuple(group for name in operations for group in groups(axes, operation=name, device=device))
    return found if axes.order is Order.WEIGHTS else tuple(sorted(found, key=lambda group: _by_rows(group.shape)))


def _by_rows(shape: Shape) -> tuple[object, ...]:
    return shape.pass_, shape.batch, shape.hidden * shape.dim, repr(shape)


def groups(axes: Axes, *, operation: str, device: DeviceKind) -> tuple[Group, ...]:
    """Return every group of `operation` on `device`, smallest shapes first.

    A shape of several parts of the axes has the contenders of the first.
    """
    contenders: dict[Shape, tuple[Contender, ...]] = {}
    for part in axes.parts():
        named = tuple(dict.fromkeys(map(contender_from_name, part.providers)))
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
