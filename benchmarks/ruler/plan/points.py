"""Sweep points: operation, shape, contender. Pure; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from benchmarks.ruler.errors import InvalidAxes

BASELINE = "eager"


class Operation(StrEnum):
    """Computation under test. linear: dim → hidden; mlp and gated_mlp: dim → hidden → dim."""

    LINEAR = "linear"
    MLP = "mlp"
    GATED_MLP = "gated_mlp"


class Pass(StrEnum):
    """Passes of an operation that can be timed."""

    FORWARD = "forward"
    FORWARD_BACKWARD = "forward_backward"


class CachePolicy(StrEnum):
    """State of the caches when a call starts: WARM may hold weights and inputs, COLD does not."""

    WARM = "warm"
    COLD = "cold"


class Weights(StrEnum):
    """Layout of the weights: PLAIN as nn.Linear keeps them, PACKED in the provider's own."""

    PLAIN = "plain"
    PACKED = "packed"


class DeviceKind(StrEnum):
    """Kind of device that runs the operation."""

    CPU = "cpu"
    CUDA = "cuda"


class Allocator(StrEnum):
    """State of the measuring process's allocator.

    RETAINING: freed memory stays with the process, and later calls use it again, as in one that has run for long.
    RETURNING: tensors from 128 KiB on are mapped anew at each allocation, as in one that has just started.
    """

    RETAINING = "retaining"
    RETURNING = "returning"


@dataclass(frozen=True, kw_only=True, order=True)
class Shape:
    """Values of all axes but the provider. batch counts rows; activation is None for a bare linear."""

    operation: Operation
    pass_: Pass
    dtype: str
    activation: str | None
    batch: int
    hidden: int
    dim: int
    cache: CachePolicy

    def label(self) -> str:
        """Return a short name for people, unique within a sweep."""
        activation = f" {self.activation}" if self.activation else ""
        pass_ = " forward+backward" if self.pass_ is Pass.FORWARD_BACKWARD else ""
        cold = " cold" if self.cache is CachePolicy.COLD else ""
        sizes = f"batch {self.batch}, dim {self.dim}, hidden {self.hidden}"
        return f"{self.operation}{activation} {self.dtype}{pass_}{cold}, {sizes}"


@dataclass(frozen=True, kw_only=True, order=True)
class Contender:
    """Provider and the layout of weights it is given; written `fused` or `fused:packed`."""

    provider: str
    weights: Weights = Weights.PLAIN

    def __str__(self) -> str:
        return self.provider if self.weights is Weights.PLAIN else f"{self.provider}:{self.weights}"


def contender_from_name(name: str) -> Contender:
    """Parse `fused` (plain weights) or `fused:packed`. Raises: InvalidAxes for another layout."""
    provider, _, layout = name.partition(":")
    choices = ", ".join(Weights)
    try:
        return Contender(provider=provider, weights=Weights(layout or Weights.PLAIN))
    except ValueError:
        raise InvalidAxes(f"provider {name!r}: {layout!r} is not a layout of weights; choose from {choices}") from None


@dataclass(frozen=True, kw_only=True)
class Group:
    """All contenders at one shape: measured together in alternating rounds, recorded together."""

    shape: Shape
    contenders: tuple[Contender, ...]
