"""What rotating inputs costs: each provider's call on one input against its call on inputs that change, in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded
from benchmarks.ruler.measure.allocator import set_allocator
from benchmarks.ruler.measure.clock import CpuClock, CudaClock
from benchmarks.ruler.measure.disturbances import Demand, MachineWatch
from benchmarks.ruler.measure.policy import Policy, calls_per_sample, warm_up, warming_calls
from benchmarks.ruler.measure.probe import Probe, usual_best_s
from benchmarks.ruler.measure.statistics import MedianInterval, median_interval
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import CachePolicy, Contender, DeviceKind, Operation, Pass, Shape
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.providers import registry
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.record.provenance import expected_device
from benchmarks.ruler.referee.rotation import Rotation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.measure.clock import Clock
    from benchmarks.ruler.measure.kept_chunks import Watch
    from benchmarks.ruler.plan.settings import Settings

MOST_COST = 0.02
_PROVIDERS = ("eager", "fused")
_PAIRS = 101
# A point that was disturbed is measured again so often at most.
_TRIES = 3
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
    """Cost of rotation at one point.

    fixed_s: seconds per call on one input; ratio: with rotation over without; disturbed: what disturbed the machine.
    """

    shape: Shape
    provider: str
    fixed_s: float
    ratio: MedianInterval
    disturbed: str | None = None

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
    probe = Probe()
    best_s = {str(part): seconds for part, seconds in usual_best_s(probe).items()}
    for shape in SHAPES:
        for provider in _PROVIDERS:
            for _ in range(_TRIES):
                demand = Demand(
                    threads=settings.threads, data_bytes=work.min_bytes(shape), is_on_host=kind is DeviceKind.CPU
                )
                watch = MachineWatch(demand, probe=probe, best_s=best_s)
                row = _row(shape, provider, device=device, clock=clock, watch=watch)
                if row is None or row.disturbed is None:
                    break
            if row is not None:
                yield row


def summary_of_costs(rows: Sequence[CostRow]) -> Conclusion:
    """Conclude whether rotation costs less than the limit, where nothing disturbed the machine."""
    counted = [row for row in rows if row.disturbed is None]
    words, holds = "rotation was measured nowhere", True
    if counted:
        middle = median_interval([row.ratio.median - 1 for row in counted]).median
        worst = max(counted, key=lambda row: row.ratio.median)
        n_bad = sum(row.is_too_much() for row in counted)
        holds = middle < MOST_COST and n_bad == 0
        words = (
            f"rotation costs {percent(middle, digits=1)} in the middle of {len(counted)} points (limit "
            f"{percent(MOST_COST)}), at most {percent(worst.ratio.median - 1, digits=1)} ({worst.provider}, "
            f"{worst.shape.label()}); beyond doubt above it: {n_bad}"
        )
    return concluded(
        words, holds=holds, n_counted=len(counted), not_counted={DISTURBED: len(rows) - len(counted)}, is_share=True
    )


def _row(shape: Shape, provider: str, *, device: torch.device, clock: Clock, watch: Watch) -> CostRow | None:
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
        watch.start()
        for pair in range(_PAIRS):
            for rotates in (False, True) if pair % 2 else (True, False):
                call = rotating if rotates else fixed
                rotation.prepare(n_calls)
                for _ in range(n_warming):
                    call()
                rotation.start()
                times[rotates].append(clock.timed(call, calls=n_calls).seconds / n_calls)
                rotation.rest()
        lasted_s = {str(rotates): [n_calls * each for each in of_way] for rotates, of_way in times.items()}
        disturbed = watch.disturbance(lasted_s)
    ratios = [with_s / without_s for with_s, without_s in zip(times[True], times[False], strict=True)]
    return CostRow(
        shape=shape,
        provider=provider,
        fixed_s=median_interval(times[False]).median,
        ratio=median_interval(ratios),
        disturbed=disturbed,
    )
