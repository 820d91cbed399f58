"""Roofline of a machine: the least time of a call, and what bounds it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Shape

_MOST_PARTS = 3
_LEAST_IN_MS = 999.5
"""µs that are written as 1 ms: those that rounding makes 1,000 of."""
MOST_PERCENT_OF_FLOOR = 110.0
"""Beyond it a floor is not one: no call is faster than its machine, so a ceiling was measured too low."""
MEMORY_SWINGS = "memory_swings"
"""Condition of ceilings: what copying memory took in the median over the least, of rounds that nothing disturbed."""
SWINGING = 1.25
"""From here on memory swings; that of a machine of one's own takes a few percent more than its least in most rounds."""
SLOW_ROUNDS = "slow_rounds"
"""Condition of ceilings: of how many slow rounds they are the best, on a machine that was slow throughout; else 0."""

MACHINE_SPEED = "machine_speed"
"""Condition: the speed, 1 at the machine's best, that a quarter of the measurement did not reach."""
SPEED_OF_PRODUCTS = "speed_of_products"
"""Condition of ceilings: the same of what products use, the cores and their vector units; not in older files."""


class Bound(StrEnum):
    """Largest part of a call's time."""

    OVERHEAD = "overhead"
    MEMORY = "memory"
    COMPUTE = "compute"


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """Ceilings of a machine: the best it did at each thing alone.

    matmul_flop_per_s: square products, by dtype. copy_bytes_per_s: read plus written, far beyond the caches.
    bandwidth_bytes_per_s: bytes moved over and over, by the size of the data they lie in (bytes, as text); empty in
    files of format 1. vector_instruction_per_s: half the float32 product's rate (without tensor cores), lanes included.
    dispatch_s: one smallest operator, called from Python. launch_s: one empty kernel in a row of them (CUDA).
    conditions: software and device they were measured with. Raises: ValueError for what is no positive number.
    """

    device: str
    measured_at: str
    matmul_flop_per_s: Mapping[str, float]
    copy_bytes_per_s: float
    vector_instruction_per_s: float
    dispatch_s: float
    launch_s: float | None = None
    bandwidth_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    conditions: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        datetime.fromisoformat(self.measured_at)
        rates = {
            **{f"matmul_flop_per_s.{name}": rate for name, rate in self.matmul_flop_per_s.items()},
            **{f"bandwidth_bytes_per_s.{size}": rate for size, rate in self.bandwidth_bytes_per_s.items()},
            "copy_bytes_per_s": self.copy_bytes_per_s,
            "vector_instruction_per_s": self.vector_instruction_per_s,
            "dispatch_s": self.dispatch_s,
            **({} if self.launch_s is None else {"launch_s": self.launch_s}),
        }
        for name, rate in rates.items():
            if not 0 < rate < math.inf:
                raise ValueError(f"{name} is {rate!r}, and no ceiling")
        for size in self.bandwidth_bytes_per_s:
            if not size.isascii() or not size.isdigit() or str(int(size)) != size:
                raise ValueError(f"{size!r} is no size of data")

    @property
    def slow_rounds(self) -> int:
        """Of how many rounds they are the best, where the machine was slow throughout; 0 where it was not."""
        rounds = self.conditions.get(SLOW_ROUNDS)
        return rounds if isinstance(rounds, int) else 0

    @property
    def speed(self) -> float:
        """Speed of the machine while they were measured, in ]0, 1], 1 at its best or where that is not known."""
        return self._speed(MACHINE_SPEED)

    @property
    def speed_of_products(self) -> float:
        """Speed at which products were measured, in ]0, 1]; 1 on a GPU, whose products a slow host does not slow.

        Slow memory does not slow them; in files that do not tell them apart it counts.
        """
        if self.launch_s is not None:
            return 1.0
        return self._speed(SPEED_OF_PRODUCTS if SPEED_OF_PRODUCTS in self.conditions else MACHINE_SPEED)

    def _speed(self, name: str) -> float:
        speed = self.conditions.get(name)
        return speed if self.slow_rounds and isinstance(speed, float) and 0 < speed < 1 else 1.0

    def bytes_per_s(self, working_set_bytes: int) -> float:
        """Return the bandwidth of data of that size, used over and over: that of the level it lives in.

        Between two measured sizes the smaller one's counts, and more data is never faster than less: what is measured
        is too slow rather than too fast, and a floor has to be one.
        """
        if not self.bandwidth_bytes_per_s:
            return self.copy_bytes_per_s
        sizes = sorted(int(size) for size in self.bandwidth_bytes_per_s)
        nearest = max((size for size in sizes if size <= working_set_bytes), default=sizes[0])
        return max(self.bandwidth_bytes_per_s[str(size)] for size in sizes if size >= nearest)

    def bytes_per_s_of_memory(self) -> float:
        """Return the bandwidth of data that lies in no cache."""
        if not self.bandwidth_bytes_per_s:
            return self.copy_bytes_per_s
        return self.bandwidth_bytes_per_s[max(self.bandwidth_bytes_per_s, key=int)]


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

    The data of a warm point lives in the smallest level that holds its least traffic, a cold one's in memory.
    On a CPU the activation's instructions use the units of the product and are added; on a GPU they run beside
    the tensor cores, so the larger counts. Source: Williams, Waterman, Patterson, *Roofline* (2009).
    """
    peak = ceilings.matmul_flop_per_s.get(shape.dtype)
    if peak is None:
        return None
    product_s = work.flop(shape) / peak
    vector_s = work.vector_instructions(shape) / ceilings.vector_instruction_per_s
    compute_s = product_s + vector_s if device is DeviceKind.CPU else max(product_s, vector_s)
    n_bytes = work.min_bytes(shape)
    is_cold = shape.cache is CachePolicy.COLD
    memory_s = n_bytes / (ceilings.bytes_per_s_of_memory() if is_cold else ceilings.bytes_per_s(n_bytes))
    return Floor(compute_s=compute_s, memory_s=memory_s, launch_s=ceilings.launch_s or 0.0)


def is_beaten(floor_s: float | None, latency_s: float | None) -> bool:
    """Return whether a call is so much faster than its floor that the floor is not one."""
    if not floor_s or not latency_s:
        return False
    return floor_s / latency_s * 100 > MOST_PERCENT_OF_FLOOR


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What bounds a call, and the evidence in words. overhead_s: host time outside computing operators (CPU)."""

    bound: Bound
    detail: str
    overhead_s: float | None = None


def outside_operators_s(latency_s: float, operator_time_s: float, profiled_call_s: float | None) -> float:
    """Return how much of a latency passes outside computing operators: no larger a part than in the profiled call."""
    overhead_s = max(0.0, latency_s - operator_time_s)
    if not profiled_call_s:
        return overhead_s
    return min(overhead_s, latency_s * max(0.0, 1 - operator_time_s / profiled_call_s))


def bound_on_cpu(  # noqa: PLR0913 - each is a quantity of its own
    least: Floor,
    *,
    latency_s: float,
    operator_time_s: float,
    profiled_call_s: float | None,
    operator_count: float,
    dispatch_s: float,
    overhead_parts: Mapping[str, float] | None = None,
) -> Finding:
    """Return `overhead` if half the latency or more passes outside computing operators, else the largest least time.

    Least times are those of arithmetic, traffic and dispatch: operators so small that dispatching them takes longer
    than their work are bound by overhead, too. The profile was taken at another moment than the latency: what is
    outside operators is no larger a part of the latency than of the profiled call. overhead_parts: the
    seconds of a profiled call that the host spends elsewhere, by name; where they are more than that, each is shortened
    alike.
    """
    overhead_s = outside_operators_s(latency_s, operator_time_s, profiled_call_s)
    outside = f"{_of(overhead_s, latency_s)} outside computing operators"
    if overhead_s >= latency_s / 2:
        where = _where(overhead_parts or {}, overhead_s, latency_s=latency_s)
        return Finding(bound=Bound.OVERHEAD, detail=f"{outside}{where}", overhead_s=overhead_s)
    dispatching_s = dispatch_s * operator_count
    if dispatching_s >= max(least.compute_s, least.memory_s):
        of_operators = f"{operator_count:g} operator{'' if operator_count == 1 else 's'}"
        detail = (
            f"to dispatch {of_operators} takes {_time(dispatching_s)} at least, their work {_work(least)}; {outside}"
        )
        return Finding(bound=Bound.OVERHEAD, detail=detail, overhead_s=overhead_s)
    return Finding(bound=_larger(least), detail=f"{_work(least)} at least; {outside}", overhead_s=overhead_s)


def bound_on_cuda(least: Floor, *, host_time_s: float, device_time_s: float) -> Finding:
    """Return `overhead` if the host enqueues for at least as long as the device computes, else the larger floor."""
    detail = f"the host enqueues for {_time(host_time_s)}, the device works for {_time(device_time_s)}"
    if host_time_s >= device_time_s:
        return Finding(bound=Bound.OVERHEAD, detail=detail)
    return Finding(bound=_larger(least), detail=f"{_work(least)} at least; {detail}")


def _where(parts: Mapping[str, float], overhead_s: float, *, latency_s: float) -> str:
    """Write the largest parts of the overhead: `: guards 24, cache look-up 6`, with units unless all is in µs."""
    profiled_s = sum(parts.values())
    if profiled_s <= 0:
        return ""
    scale = min(1.0, overhead_s / profiled_s)
    largest = sorted(parts, key=parts.__getitem__, reverse=True)[:_MOST_PARTS]
    write = _time if _is_in_ms(latency_s) else _us
    return ": " + ", ".join(f"{name} {write(parts[name] * scale)}" for name in largest if parts[name] > 0)


def _larger(least: Floor) -> Bound:
    return Bound.MEMORY if least.memory_s >= least.compute_s else Bound.COMPUTE


def _work(least: Floor) -> str:
    return f"{_time(least.compute_s)} of arithmetic, {_time(least.memory_s)} of traffic"


def _of(part_s: float, whole_s: float) -> str:
    part = _us(part_s) if not _is_in_ms(whole_s) else _time(part_s)
    return f"{part} of {_time(whole_s)}"


def _is_in_ms(seconds: float) -> bool:
    return seconds * 1e6 >= _LEAST_IN_MS


def _time(seconds: float) -> str:
    """Write a time in µs, or from 1,000 of them on in ms."""
    if not _is_in_ms(seconds):
        return f"{_us(seconds)} µs"
    milliseconds = seconds * 1e3
    return f"{milliseconds:,.0f} ms" if milliseconds >= 99.95 else f"{milliseconds:.3g} ms"


def _us(seconds: float) -> str:
    microseconds = seconds * 1e6
    # From 99.5 on two digits would be written as 1e+02.
    return f"{microseconds:.0f}" if microseconds >= 99.5 else f"{microseconds:.2g}"
