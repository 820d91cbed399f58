"""Latency of a point in parts that sum to it: floor, operators above it, what is outside them, and the rest; pure.

What is timed and what is profiled are different calls, so the parts of the profile need not fill the latency: the rest
is a part of its own, and below zero where they overlap or the profile ran slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from results.files.records import State
from results.kernel_names import PRODUCT, SPLIT_K_SUM, decoded
from results.product_libraries import is_product
from results.units import figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.files.stacks import FoldedStack
    from results.rows import PointRow, ProfileRow

MOST_OVER_LATENCY = 5.0
"""Profiled over timed: a profiler may double a short call, and beyond this others took the processor in its midst."""
PYTHON = "Python and the rest of the host"
_LAUNCHES = frozenset({PRODUCT, SPLIT_K_SUM})
Within = tuple[tuple[str, float], ...]
_Working = list[tuple["Part", float, "Mapping[str, float]"]]


class Part(StrEnum):
    """Part of a latency."""

    FLOOR = "floor"
    PRODUCTS = "products"
    OPERATORS = "other operators"
    ALL_OPERATORS = "operators"
    OUTSIDE = "outside operators"
    WAITING = "the device waits for the host"
    IDLE = "the device is idle"
    REST = "rest"


@dataclass(frozen=True, kw_only=True)
class LatencyPart:
    """One part: seconds, below zero for the rest alone. within: what it consists of, seconds, the largest first."""

    part: Part
    time_s: float
    within: Within = ()


@dataclass(frozen=True, kw_only=True)
class LatencyParts:
    """Parts that sum to `latency_s`; without any, or without a floor, `reason` says why."""

    latency_s: float | None
    parts: tuple[LatencyPart, ...] = ()
    reason: str | None = None

    @property
    def has_floor(self) -> bool:
        """Whether the floor is one of them, so that the operators' parts are what they take above it."""
        return any(each.part is Part.FLOOR for each in self.parts)

    @property
    def largest(self) -> LatencyPart | None:
        """The part that most of the latency goes to; None without parts."""
        return max(self.parts, key=lambda each: each.time_s, default=None)


def parts_of(point: PointRow, profile: ProfileRow | None = None, stacks: Sequence[FoldedStack] = ()) -> LatencyParts:
    """Split the latency of `point` by its profile.

    stacks: folded, of the host; without them products and other operators are one part, and what is outside operators
    is not told apart. The floor is taken from the products first, then from the other operators.

    On a CPU: operators as profiled, and outside of them `overhead_s`. On CUDA: kernels as profiled, and the device
    waits for the host as long as the latency exceeds the time that the device was measured to take; it is idle for as
    long where the host is ahead of it.
    """
    if point.state != State.OK or point.latency_s is None:
        return LatencyParts(latency_s=None, reason=f"it was not measured: {point.state}")
    if point.device_time_s is not None:
        return _on_cuda(point, profile)
    return _on_cpu(point, profile, stacks)


def _on_cpu(point: PointRow, profile: ProfileRow | None, stacks: Sequence[FoldedStack]) -> LatencyParts:
    working_s, latency_s = point.operator_time_s, point.latency_s or 0.0
    if working_s is None:
        return LatencyParts(latency_s=latency_s, reason="its operators' time is not known, as of a point not profiled")
    computing = frozenset(row.name for row in profile.operators if row.is_compute) if profile else frozenset()
    inside, outside = _by_operator(stacks, computing)
    outside_s = point.overhead_s
    if outside_s is None:  # older rulers did not tell it: what has a name, and no more than is left
        outside_s = min(sum(outside.values()), max(0.0, latency_s - working_s))
    profiled_s = sum(inside.values())
    # `working_s` is of the fastest profiled call, the stacks of all: of calls so disturbed the shares are others.
    is_alike = 0 < profiled_s <= MOST_OVER_LATENCY * working_s
    scale = working_s / profiled_s if is_alike else 0.0
    products = {name: time_s * scale for name, time_s in inside.items() if is_product(name)}
    others = {name: time_s * scale for name, time_s in inside.items() if not is_product(name)}
    working: _Working = [(Part.ALL_OPERATORS, working_s, {})]
    if scale:
        working = [(Part.PRODUCTS, sum(products.values()), products), (Part.OPERATORS, sum(others.values()), others)]
    host = LatencyPart(part=Part.OUTSIDE, time_s=outside_s, within=_within_host(outside, outside_s))
    return _summed(point, working, host)


def _on_cuda(point: PointRow, profile: ProfileRow | None) -> LatencyParts:
    latency_s, device_s = point.latency_s or 0.0, point.device_time_s or 0.0
    part = Part.IDLE if point.is_host_ahead else Part.WAITING
    waiting = LatencyPart(part=part, time_s=max(0.0, latency_s - device_s))
    if profile is None or not profile.kernels:
        return _summed(point, [(Part.ALL_OPERATORS, min(latency_s, device_s), {})], waiting)
    times: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for row in profile.kernels:
        kernel = decoded(row.name)
        of_kind = times[kernel.kind not in _LAUNCHES]
        of_kind[kernel.words] = of_kind.get(kernel.words, 0.0) + (row.device_time_s or 0.0)
    products, others = times
    working: _Working = [
        (Part.PRODUCTS, sum(products.values(), 0.0), products),
        (Part.OPERATORS, sum(others.values(), 0.0), others),
    ]
    return _summed(point, working, waiting)


def _summed(point: PointRow, working: _Working, beside: LatencyPart) -> LatencyParts:
    """Return the floor, what of `working` is above it, what is beside that, and the rest of the latency."""
    latency_s = point.latency_s or 0.0
    worked_s = sum(time_s for _, time_s, _ in working)
    if worked_s > MOST_OVER_LATENCY * latency_s:
        times = f"{figures(worked_s / latency_s)} × as long as" if latency_s else "longer than"
        reason = f"what was profiled took {times} the timed call, so it was disturbed; run --again measures anew"
        return LatencyParts(latency_s=latency_s, reason=reason)
    # A floor within the ceilings' error above the latency is all of it.
    floor_s = None if point.floor_s is None or not point.has_valid_ceiling else min(point.floor_s, latency_s)
    left_s, parts = floor_s or 0.0, []
    for part, time_s, within in working:
        above_s = max(0.0, time_s - left_s)
        left_s -= time_s - above_s
        parts.append(LatencyPart(part=part, time_s=above_s, within=_largest_first(within)))
    if floor_s is not None:
        parts.insert(0, LatencyPart(part=Part.FLOOR, time_s=floor_s))
    parts.append(beside)
    rest_s = latency_s - sum(each.time_s for each in parts)
    parts.append(LatencyPart(part=Part.REST, time_s=rest_s))
    return LatencyParts(latency_s=latency_s, parts=tuple(parts), reason=_why_no_floor(point))


def _why_no_floor(point: PointRow) -> str | None:
    if not point.has_valid_ceiling:
        return "the machine's ceilings are not valid, so no part is its floor"
    return "no ceilings of the machine are known, so no part is its floor" if point.floor_s is None else None


def _by_operator(stacks: Iterable[FoldedStack], computing: frozenset[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the time inside each outermost computing operator, and that of each frame outside of all of them."""
    inside: dict[str, float] = {}
    outside: dict[str, float] = {}
    for stack in stacks:
        operator = next((frame for frame in stack.frames if frame in computing), None)
        found, name = (outside, stack.frames[-1]) if operator is None else (inside, operator)
        found[name] = found.get(name, 0.0) + stack.time_s
    return inside, outside


def _within_host(outside: Mapping[str, float], outside_s: float) -> Within:
    """Return the named events outside operators and, as long as they leave any of the time, Python.

    Profiled, they may take longer than all that is outside operators when it is timed; then they share that.
    """
    named_s = sum(outside.values())
    if not named_s or not outside_s:
        return ()
    scale = min(1.0, outside_s / named_s)
    parts = {name: time_s * scale for name, time_s in outside.items()}
    python_s = outside_s - sum(parts.values())
    return _largest_first(parts | ({PYTHON: python_s} if python_s > 0 and scale == 1.0 else {}))


def _largest_first(times: Mapping[str, float]) -> Within:
    return tuple(sorted(times.items(), key=lambda each: (-each[1], each[0])))
