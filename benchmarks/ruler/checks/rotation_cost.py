"""What rotating inputs costs: each provider's call on one input against its call on inputs that change, in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.allocator import set_allocator
from benchmarks.ruler.measure.clock import CpuClock, CudaClock
from benchmarks.ruler.measure.statistics import MedianInterval, median_interval
from benchmarks.ruler.measure.timing import Policy, calls_per_sample, warm_up, warming_calls
from benchmarks.ruler.plan.points import CachePolicy, Contender, DeviceKind, Operation, Pass, Shape
from benchmarks.ruler.providers import registry
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.record.provenance import expected_device
from benchmarks.ruler.referee.rotation import Rotation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.measure.clock import Clock
    from benchmarks.ruler.plan.settings import Settings

MOST_COST = 0.02
_PROVIDERS = ("eager", "fused")
_PAIRS = 101
_FIRST = Shape(
    operation=Operation.LINEAR,
    pass_=Pass.FORWARD,
    dtype="float32",
    activation=None,
    batch=1,
    hidden=256,
    dim=64,
    cache=CachePolicy.WARM,
)
_MLP = replace(_FIRST, operation=Operation.MLP, activation="gelu")
SHAPES = (
    *(replace(_FIRST, batch=batch, hidden=hidden, dim=hidden // 4) for batch, hidden in ((1, 256), (64, 256))),
    *(
        replace(_MLP, batch=batch, hidden=hidden, dim=hidden // 4)
        for batch, hidden in ((1, 256), (16, 256), (256, 256), (16, 1024), (1024, 1024))
    ),
    replace(_MLP, pass_=Pass.FORWARD_BACKWARD, batch=16),
)


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """Cost of rotation at one point. fixed_s: seconds per call on one input; ratio: with rotation over without."""

    shape: Shape
    provider: str
    fixed_s: float
    ratio: MedianInterval

    def is_too_much(self) -> bool:
        """Return whether the cost is above the limit beyond doubt."""
        return self.ratio.low - 1 > MOST_COST


def cost_rows(settings: Settings) -> Iterator[CostRow]:
    """Measure all points in this process, as a worker would."""
    kind = expected_device(settings)
    set_allocator(settings.allocator)
    torch.set_num_threads(settings.threads)
    device = torch.device(kind.value)
    clock: Clock = CudaClock() if kind is DeviceKind.CUDA else CpuClock()
    for shape in SHAPES:
        for provider in _PROVIDERS:
            row = _row(shape, provider, device=device, clock=clock)
            if row is not None:
                yield row


def summary_of_costs(rows: Sequence[CostRow]) -> tuple[str, bool]:
    """Return in words whether rotation costs less than the limit, and whether it does."""
    if not rows:
        return "FAIL: rotation was measured nowhere", False
    middle = median_interval([row.ratio.median - 1 for row in rows]).median
    worst = max(rows, key=lambda row: row.ratio.median)
    n_bad = sum(row.is_too_much() for row in rows)
    is_passed = middle < MOST_COST and n_bad == 0
    words = (
        f"rotation costs {middle:.1%} in the middle of {len(rows)} points (limit {MOST_COST:.0%}), at most "
        f"{worst.ratio.median - 1:.1%} ({worst.provider}, {worst.shape.label()}); beyond doubt above it: {n_bad}"
    )
    return f"{'pass' if is_passed else 'FAIL'}: {words}", is_passed


def _row(shape: Shape, provider: str, *, device: torch.device, clock: Clock) -> CostRow | None:
    load = workload(shape, device=device)
    rotation = Rotation(load)
    with torch.inference_mode(mode=shape.pass_ is Pass.FORWARD):
        built = registry.build(Contender(provider=provider), load)
        if isinstance(built, Unavailable):
            return None
        fixed, rotating = one_call(load, built.function), rotation.call(built.function)
        policy = Policy()
        per_call_s = warm_up(fixed, clock=clock, policy=policy)
        warm_up(rotating, clock=clock, policy=policy)
        n_calls, n_warming = calls_per_sample(per_call_s, policy=policy), warming_calls(per_call_s, policy=policy)
        times: dict[bool, list[float]] = {False: [], True: []}
        for pair in range(_PAIRS):
            for rotates in (False, True) if pair % 2 else (True, False):
                call = rotating if rotates else fixed
                rotation.prepare(n_calls)
                for _ in range(n_warming):
                    call()
                rotation.start()
                times[rotates].append(clock.timed(call, calls=n_calls).seconds / n_calls)
                rotation.rest()
    ratios = [with_s / without_s for with_s, without_s in zip(times[True], times[False], strict=True)]
    return CostRow(
        shape=shape,
        provider=provider,
        fixed_s=median_interval(times[False]).median,
        ratio=median_interval(ratios),
    )
