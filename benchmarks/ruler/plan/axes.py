"""Which points a sweep visits: axes → sweep points → groups. Pure; imports nothing heavy."""

from __future__ import annotations

import itertools
import os
import tomllib
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidAxes
from benchmarks.ruler.plan.plugins import foreign_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BASELINE = "eager"
DIM_BY_DEFAULT = "hidden/4"
NO_ACTIVATION = "none"


class Operation(StrEnum):
    """What is computed. linear: dim → hidden; mlp and gated_mlp: dim → hidden → dim."""

    LINEAR = "linear"
    MLP = "mlp"
    GATED_MLP = "gated_mlp"


class Pass(StrEnum):
    """What of it is timed."""

    FORWARD = "forward"
    FORWARD_BACKWARD = "forward_backward"


class CachePolicy(StrEnum):
    """Whether weights and inputs may be in the cache when a call starts."""

    WARM = "warm"
    COLD = "cold"


class Weights(StrEnum):
    """Whether the provider sees the weights as nn.Linear keeps them, or in a layout of its own."""

    PLAIN = "plain"
    PACKED = "packed"


class DeviceKind(StrEnum):
    """Where the operation runs."""

    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True, kw_only=True, order=True)
class Shape:
    """What all providers of a group have in common. batch counts rows; activation is None for a bare linear."""

    operation: Operation
    pass_: Pass
    dtype: str
    activation: str | None
    batch: int
    hidden: int
    dim: int
    cache: CachePolicy

    def label(self) -> str:
        """Short and unique within a sweep, for people."""
        activation = f" {self.activation}" if self.activation else ""
        pass_ = " forward+backward" if self.pass_ is Pass.FORWARD_BACKWARD else ""
        cold = " cold" if self.cache is CachePolicy.COLD else ""
        sizes = f"batch {self.batch}, dim {self.dim}, hidden {self.hidden}"
        return f"{self.operation}{activation} {self.dtype}{pass_}{cold}, {sizes}"


@dataclass(frozen=True, kw_only=True, order=True)
class Contender:
    """A provider and the layout of weights it is given; written `fused` or `fused:packed`."""

    provider: str
    weights: Weights = Weights.PLAIN

    def __str__(self) -> str:
        return self.provider if self.weights is Weights.PLAIN else f"{self.provider}:{self.weights}"


def contender_from_name(name: str) -> Contender:
    """`fused` → plain weights, `fused:packed` → packed. Raises: InvalidAxes for another layout."""
    provider, _, layout = name.partition(":")
    choices = ", ".join(Weights)
    try:
        return Contender(provider=provider, weights=Weights(layout or Weights.PLAIN))
    except ValueError:
        raise InvalidAxes(f"provider {name!r}: {layout!r} is no layout of weights; choose from {choices}") from None


@dataclass(frozen=True, kw_only=True)
class Group:
    """All contenders at one shape: they are measured together, in alternating rounds, and kept or lost together."""

    shape: Shape
    contenders: tuple[Contender, ...]


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The values a sweep visits on each axis; the product of them all, per operation, and the products of `also`."""

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
    also: tuple[Axes, ...] = ()

    def parts(self) -> tuple[Axes, ...]:
        """These axes alone, and those to be visited also, for what is no product of all values."""
        return replace(self, also=()), *itertools.chain.from_iterable(part.parts() for part in self.also)

    def all_dtypes(self) -> tuple[str, ...]:
        """Every dtype any device measures, so that asv's parameters are the same on every machine."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(self.dtypes.values())))


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
        *("fused:packed", "fused-onednn:packed", "fused-pure", "packed-eager:packed", "addmm-activation"),
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
    # One dtype for all devices: asv starts a process for each combination of values, measured or not.
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


def axes_from_environment(environ: Mapping[str, str] = os.environ) -> Axes:
    """The axes that FUSEBENCH_AXES names: `quick` (the default), `full` or a TOML file; with providers from outside.

    Raises: InvalidAxes, naming the file and the key; InvalidProviderModule.
    """
    name = environ.get("FUSEBENCH_AXES", QUICK.name)
    if name in NAMED_AXES:
        return _with_foreign_providers(NAMED_AXES[name], environ)
    if name.endswith(".toml"):
        return _with_foreign_providers(axes_from_toml(Path(name)), environ)
    raise InvalidAxes(f"no axes are called {name!r}; choose from {', '.join(NAMED_AXES)}, or name a .toml file")


def _with_foreign_providers(axes: Axes, environ: Mapping[str, str]) -> Axes:
    foreign = foreign_names(environ)
    also = tuple(_with_foreign_providers(part, environ) for part in axes.also)
    return replace(axes, providers=tuple(dict.fromkeys((*axes.providers, *foreign))), also=also)


def axes_from_toml(path: Path) -> Axes:
    """Axes from a TOML file with the keys of Axes; what it leaves out is as in `quick`.

    Raises: InvalidAxes, naming the file and the key.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidAxes(f"{path}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidAxes(f"{path}: {error}") from error
    known = {field.name for field in fields(Axes)} - {"name", "also"}
    unknown = sorted(set(content) - known)
    if unknown:
        raise InvalidAxes(f"{path}: unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}")
    values: dict[str, object] = {key: _axis_values(path, key, value) for key, value in content.items()}
    axes = replace(QUICK, name=str(path), **values)  # type: ignore[arg-type] # checked just above
    _require_choices(path, "operations", axes.operations, tuple(Operation))
    _require_choices(path, "passes", axes.passes, tuple(Pass))
    _require_choices(path, "caches", axes.caches, tuple(CachePolicy))
    for dim in axes.dims:
        if not isinstance(dim, int) and dim != DIM_BY_DEFAULT:
            raise InvalidAxes(f"{path}: dims holds {dim!r}; a dim is a whole number or {DIM_BY_DEFAULT!r}")
    return axes


def _axis_values(path: Path, key: str, value: object) -> object:
    if key == "budget_s":
        if isinstance(value, int | float) and value > 0:
            return float(value)
        raise InvalidAxes(f"{path}: budget_s is {value!r}; it is a number of seconds above 0")
    if key in {"dtypes", "activations"}:
        if not isinstance(value, dict):
            raise InvalidAxes(f"{path}: {key} is a table of lists, such as {key}.cpu = [...]")
        default: Mapping[str, tuple[str, ...]] = getattr(QUICK, key)
        return {
            **default,
            **{inner: _listed(path, f"{key}.{inner}", item, str) for inner, item in value.items()},
        }
    if key in {"batches", "hiddens"}:
        return _listed(path, key, value, int)
    if key == "dims":
        return _listed(path, key, value, (int, str))
    return _listed(path, key, value, str)


def _listed(path: Path, key: str, value: object, kind: type | tuple[type, ...]) -> tuple[object, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, kind) for item in value):
        name = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise InvalidAxes(f"{path}: {key} is {value!r}; it is a list of at least one {name}")
    for item in value:
        if isinstance(item, int) and item < 1:
            raise InvalidAxes(f"{path}: {key} holds {item}; sizes start at 1")
    return tuple(value)


def _require_choices(path: Path, key: str, values: Sequence[str], choices: Sequence[str]) -> None:
    for value in values:
        if value not in choices:
            raise InvalidAxes(f"{path}: {key} holds {value!r}; choose from {', '.join(choices)}")


def resolve_dim(dim: int | str, *, hidden: int) -> int:
    """The width that an axis value means: itself, or a quarter of `hidden` (at least 1)."""
    return max(1, hidden // 4) if dim == DIM_BY_DEFAULT else int(dim)


def groups(axes: Axes, *, operation: str, device: DeviceKind) -> tuple[Group, ...]:
    """Every group of `operation` that `axes` hold for a device, smallest shapes first.

    A shape that several parts of the axes hold has the contenders of the first.
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
