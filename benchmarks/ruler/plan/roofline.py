"""Roofline of a machine: the least time of a call, and what bounds it. Pure."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import DeviceKind, Shape


class Bound(StrEnum):
    """Largest part of a call's time."""

    OVERHEAD = "overhead"
    MEMORY = "memory"
    COMPUTE = "compute"


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """Ceilings of a machine: the best it did at each thing alone.

    matmul_flop_per_s: large square product, by dtype. copy_bytes_per_s: read plus written, far beyond the caches.
    vector_instruction_per_s: half the float32 product's rate (without tensor cores), lanes included.
    dispatch_s: one smallest operator, called from Python. launch_s: one empty kernel in a row of them (CUDA).
    """

    device: str
    measured_at: str
    matmul_flop_per_s: Mapping[str, float]
    copy_bytes_per_s: float
    vector_instruction_per_s: float
    dispatch_s: float
    launch_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Floor:
    """Least time of one call, in seconds, by what it is spent on."""

    compute_s: float
    memory_s: float
    launch_s: float

    @property
    def total_s(self) -> float:
        """Larger of arithmetic and traffic, which overlap, plus one launch."""
        return max(self.compute_s, self.memory_s) + self.launch_s


def floor(shape: Shape, ceilings: Ceilings, *, device: DeviceKind) -> Floor | None:
    """Return the roofline floor of one call; None where no ceiling of that dtype was measured.

    On a CPU the activation's instructions use the units of the product and are added; on a GPU they run beside
    the tensor cores, so the larger counts. Source: Williams, Waterman, Patterson, *Roofline* (2009).
    """
    peak = ceilings.matmul_flop_per_s.get(shape.dtype)
    if peak is None:
        return None
    product_s = work.flop(shape) / peak
    vector_s = work.vector_instructions(shape) / ceilings.vector_instruction_per_s
    compute_s = product_s + vector_s if device is DeviceKind.CPU else max(product_s, vector_s)
    memory_s = work.min_bytes(shape) / ceilings.copy_bytes_per_s
    return Floor(compute_s=compute_s, memory_s=memory_s, launch_s=ceilings.launch_s or 0.0)


def bound_on_cpu(least: Floor, *, latency_s: float, operator_count: float, dispatch_s: float) -> Bound:
    """Return `overhead` if dispatching the operators takes at least half the latency, else the larger floor."""
    if dispatch_s * operator_count >= latency_s / 2:
        return Bound.OVERHEAD
    return _larger(least)


def bound_on_cuda(least: Floor, *, host_time_s: float, device_time_s: float) -> Bound:
    """Return `overhead` if the host enqueues for at least as long as the device computes, else the larger floor."""
    if host_time_s >= device_time_s:
        return Bound.OVERHEAD
    return _larger(least)


def _larger(least: Floor) -> Bound:
    return Bound.MEMORY if least.memory_s >= least.compute_s else Bound.COMPUTE
