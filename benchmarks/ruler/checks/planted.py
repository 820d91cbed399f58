"""Planted disturbances: do flags follow the harm? Measured quiet and disturbed in turn, flagged against biased."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.checks.conclusion import concluded
from benchmarks.ruler.checks.scratch import scratch_speed
from benchmarks.ruler.plan.points import CachePolicy, Contender, DeviceKind, Operation, Pass, Shape
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.worker.outcomes import outcomes_of_group
from benchmarks.ruler.worker.parent_death import end_with_parent
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.machine_speed import MachineSpeed

MUST_FLAG, MUST_BE_SILENT = 0.05, 0.02
_MOST_UNREST = 0.05
# So often a disturbance is planted anew while the quiet times around it prove nothing.
_MOST_TRIES = 6
_BUDGET_S = 0.4
_SETTLING_S = 0.3
_CONTENDERS = (Contender(provider="eager"), Contender(provider="fused"))
BUSY = "while True: pass"
_READING = "a = bytearray(1 << 26); b = bytearray(1 << 26)\nwhile True: a[:] = b"
_BURSTS = """
import time
while True:
    end = time.perf_counter() + {on}
    while time.perf_counter() < end: pass
    time.sleep({off})
"""
# Fits into one core's caches; reads and writes memory.
_SHAPES = ((16, 256), (2048, 1024))


@dataclass(frozen=True, kw_only=True)
class Plant:
    """Disturbance to plant: Python programs that run meanwhile, or a clock that the ruler is told ran slower.

    told_speed: the machine's best is stated so much better than it is; the bias is then what a clock that slow gives.
    """

    name: str
    programs: tuple[str, ...] = ()
    told_speed: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a planted disturbance did.

    bias: the worst contender's, as a part of its quiet time; None if not known. unrest: how far its quiet times before
    and after lie apart, by which the bias may be wrong. was_quiet: nothing was flagged before and after.
    """

    plant: str
    shape: str
    threads: int
    bias: float | None
    unrest: float
    flag: str | None
    was_quiet: bool = True

    @property
    def is_unknown(self) -> bool:
        """Whether the machine was not quiet by itself, which decides nothing about the flag."""
        return self.bias is None or self.unrest > _MOST_UNREST or not self.was_quiet

    def verdict(self) -> str:
        """Return in one word whether the flag follows the harm; between the limits either is right."""
        if self.bias is None or self.is_unknown:
            return "unknown"
        if self.bias - self.unrest > MUST_FLAG and self.flag is None:
            return "MISSED"
        if self.bias + self.unrest < MUST_BE_SILENT and self.flag is not None:
            return "FALSE"
        return "right"


class Measured(NamedTuple):
    """Seconds of a call by contender, and what the ruler says disturbed them."""

    seconds: Mapping[Contender, float]
    flag: str | None


def plants(n_cpus: int) -> tuple[Plant, ...]:
    """Return the disturbances to plant on a machine with `n_cpus` processors."""
    bursts = _BURSTS.format(on=0.1, off=0.1)
    return (
        Plant(name="nothing"),
        Plant(name="a neighbour on one core", programs=(BUSY,)),
        Plant(name="a neighbour on every core", programs=(BUSY,) * n_cpus),
        Plant(name="a reader of memory on one core", programs=(_READING,)),
        Plant(name="a reader of memory on every core", programs=(_READING,) * n_cpus),
        Plant(name="bursts of 0.1 s, half of the time", programs=(bursts,) * n_cpus),
        Plant(name="bursts of 1 s, a third of the time", programs=(_BURSTS.format(on=1.0, off=2.0),) * n_cpus),
        Plant(name="a clock at 71 % (told)", told_speed=0.71),
        Plant(name="a clock at 98 % (told)", told_speed=0.98),
    )


def rows(settings: Settings, *, n_cpus: int | None = None) -> Iterator[Row]:
    """Plant each disturbance at each shape, with one thread and with all; quiet before and after."""
    n_cpus = n_cpus or len(os.sched_getaffinity(0))
    for threads in sorted({1, n_cpus}):
        speed = scratch_speed(replace(settings, threads=threads), device=DeviceKind.CPU)
        with WorkerProcess(device=DeviceKind.CPU, threads=threads, point_limit_s=settings.point_limit_s) as worker:
            worker.start()
            speed.learn_from(worker)
            for batch, hidden in _SHAPES:
                yield from _rows_of(worker, _shape(batch, hidden), speed, threads, plants(n_cpus))


def summary(found: Sequence[Row]) -> Conclusion:
    """Conclude from the table whether every flag followed the harm, where the machine was quiet by itself."""
    counts = Counter(row.verdict() for row in found)
    words = (
        f"of {len(found)} planted disturbances {counts['right']} flags were right, {counts['MISSED']} missed a bias "
        f"above {percent(MUST_FLAG)}, {counts['FALSE']} were false where it was below {percent(MUST_BE_SILENT)}"
    )
    return concluded(
        words,
        holds=not counts["MISSED"] and not counts["FALSE"],
        n_counted=len(found) - counts["unknown"],
        not_counted={"the machine was not quiet by itself": counts["unknown"]},
    )


def _rows_of(
    worker: WorkerProcess, shape: Shape, speed: MachineSpeed, threads: int, planted: Sequence[Plant]
) -> Iterator[Row]:
    quiet = _measured(worker, shape, speed)
    for plant in planted:
        for _ in range(_MOST_TRIES):
            with running(plant.programs):
                during = _measured(worker, shape, speed, told_speed=plant.told_speed)
            before, quiet = quiet, _measured(worker, shape, speed)
            row = _row(plant, shape, threads, (before, during, quiet))
            if not row.is_unknown:
                break
        yield row


def _row(plant: Plant, shape: Shape, threads: int, measured: tuple[Measured, Measured, Measured]) -> Row:
    before, during, after = measured
    bias, unrest = bias_and_unrest(before.seconds, during.seconds, after.seconds)
    return Row(
        plant=plant.name,
        shape=f"{shape.batch} × {shape.hidden}",
        threads=threads,
        bias=None if bias is None else (1 + bias) / plant.told_speed - 1,
        unrest=unrest,
        flag=during.flag,
        was_quiet=before.flag is None and after.flag is None,
    )


def bias_and_unrest(
    before: Mapping[Contender, float], during: Mapping[Contender, float], after: Mapping[Contender, float]
) -> tuple[float | None, float]:
    """Return how far the disturbed times lie above the quiet ones, and the quiet ones from each other.

    Both as a part of the quiet times' mean, of the contender that is worst; seconds by contender.
    """
    everywhere = before.keys() & during.keys() & after.keys()
    quiet = {each: (before[each] + after[each]) / 2 for each in everywhere}
    unrest = max((abs(before[each] - after[each]) / quiet[each] for each in everywhere), default=0.0)
    return max((during[each] / quiet[each] - 1 for each in everywhere), default=None), unrest


def _measured(worker: WorkerProcess, shape: Shape, speed: MachineSpeed, *, told_speed: float = 1.0) -> Measured:
    """Measure the contenders, where the ruler is told `told_speed` of the machine's best."""
    told = {part: seconds * told_speed for part, seconds in speed.best_s.items()}
    request = Request(task=Task.TIME, shape=shape, contenders=_CONTENDERS, budget_s=_BUDGET_S, best_probe_s=told)
    outcomes, conditions = outcomes_of_group(worker, request)
    speed.see(conditions)
    timed = {each: one for each, one in outcomes.items() if isinstance(one, TimingOutcome) and one.state is State.OK}
    flag = next((one.disturbed for one in timed.values() if one.disturbed), None)
    return Measured({each: one.latency_s or 0.0 for each, one in timed.items()}, flag)


@contextlib.contextmanager
def running(programs: Sequence[str]) -> Iterator[None]:
    """Run the programs meanwhile, each in a process of its own, which ends with this one however that ends."""
    processes = [
        subprocess.Popen([sys.executable, "-S", "-E", "-c", program], preexec_fn=end_with_parent)  # noqa: PLW1509
        for program in programs
    ]
    try:
        if processes:
            time.sleep(_SETTLING_S)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _shape(batch: int, hidden: int) -> Shape:
    return Shape(
        operation=Operation.MLP,
        pass_=Pass.FORWARD,
        dtype="float32",
        activation="gelu",
        batch=batch,
        hidden=hidden,
        dim=hidden // 4,
        cache=CachePolicy.WARM,
    )
