"""Are ceilings and floors what they say? Ceilings measured twice and under load, and the floors of the quick axes."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.ruler.checks.planted import BUSY, running
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.roofline import MOST_PERCENT_OF_FLOOR, Ceilings
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import CeilingsRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.plan.points import DeviceKind
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.sweep_plan import Recorded

MOST_APART = 0.05
LEAST_KINDS = 2
STEEP = 1.2


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """A ceiling measured twice, in processes of their own; both in the unit of its name.

    is_between_levels: it is the bandwidth of data that fits into one level in part, which part is a matter of luck.
    """

    quantity: str
    first: float
    second: float
    is_between_levels: bool = False

    @property
    def apart(self) -> float:
        """Difference of both, as a part of the larger."""
        return abs(self.first - self.second) / max(self.first, self.second)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Ceilings that were refused, with the reason."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class FloorRow:
    """A point against its floor. percent: of floor speed, None without a floor."""

    point: str
    latency_s: float
    percent: float | None
    bound: str | None
    detail: str | None


def ceilings_now(settings: Settings, *, device: DeviceKind, n_busy: int = 0) -> Ceilings | Refusal:
    """Measure the machine's ceilings in a new process, while `n_busy` others do nothing but work.

    Those share its processors, one for each thread that is measured: a scheduler may else give them all the others, and
    nothing would be disturbed.
    """
    n_shared = settings.threads if n_busy else None
    with (
        _on_processors(n_shared),
        WorkerProcess(device=device, threads=settings.threads, point_limit_s=settings.point_limit_s) as worker,
    ):
        worker.start()
        with running((BUSY,) * n_busy):
            answer = worker.ask_ceilings(CeilingsRequest())
    found = next((message for message in answer.messages if message["event"] == "ceilings"), None)
    if found is None:
        return Refusal(reason="the worker died" if answer.death is None else f"the worker died: {answer.death.reason}")
    if found["ceilings"] is None:
        return Refusal(reason=found["refused"])
    return value_from_json(Ceilings, found["ceilings"])


@contextmanager
def _on_processors(n: int | None) -> Iterator[None]:
    """Let what is started meanwhile run on `n` of this process's processors alone, or on all."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:n])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def repeated(first: Ceilings, second: Ceilings) -> list[Repeated]:
    """Return every ceiling as both measurements have it."""
    one, other = dict(_quantities(first)), dict(_quantities(second))
    between = {_bandwidth_name(size) for size in sizes_between_levels(first)}
    return [
        Repeated(quantity=name, first=one[name], second=other[name], is_between_levels=name in between)
        for name in one
        if name in other
    ]


def sizes_between_levels(found: Ceilings) -> list[int]:
    """Return the sizes at which the curve of bandwidth falls steeply on either side."""
    sizes = sorted(map(int, found.bandwidth_bytes_per_s))
    rates = [found.bytes_per_s(size) for size in sizes]
    triples = zip(sizes[1:], rates, rates[1:], rates[2:], strict=False)
    return [size for size, before, at, after in triples if before > STEEP * at and at > STEEP * after]


def summary_of_repeats(found: Sequence[Repeated]) -> tuple[str, bool]:
    """Return in one line how far two measurements lie apart, and whether that is little enough."""
    of_levels = [each for each in found if not each.is_between_levels]
    worst = max(of_levels, key=lambda each: each.apart)
    is_passed = worst.apart <= MOST_APART
    words = f"two measurements lie at most {worst.apart:.1%} apart ({worst.quantity}), {MOST_APART:.0%} are allowed"
    if n_between := len(found) - len(of_levels):
        words += f"; {n_between} between two levels of the caches do not count"
    return f"{'pass' if is_passed else 'FAIL'}: {words}", is_passed


def summary_of_load(found: Ceilings | Refusal) -> tuple[str, bool]:
    """Return in one line whether ceilings were refused under load."""
    if isinstance(found, Refusal):
        return f"pass: under load they are refused: {found.reason}", True
    return "FAIL: under load they were measured all the same", False


def floor_rows(settings: Settings) -> Iterator[FloorRow]:
    """Measure the quick axes and yield every point that is ok, beside its floor."""
    for operation in QUICK.operations:
        yield from rows_of(measure(settings, axes=QUICK, operation=operation), operation)


def rows_of(recorded: Recorded, operation: str) -> Iterator[FloorRow]:
    """Yield the recorded points of `operation` that are ok."""
    for key, line in recorded.timings.items():
        shape, contender = key
        latency_s = line.outcome.latency_s
        if shape.operation != operation or line.outcome.state is not State.OK or latency_s is None:
            continue
        profile = recorded.profiles.get(key)
        yield FloorRow(
            point=f"{contender} at {shape.operation}, batch {shape.batch}, hidden {shape.hidden}",
            latency_s=latency_s,
            percent=line.floor_s / latency_s * 100 if line.floor_s else None,
            bound=profile.bound if profile else None,
            detail=profile.bound_detail if profile else None,
        )


def summary_of_floors(found: Sequence[FloorRow]) -> tuple[str, bool]:
    """Return in one line whether floors are floors and bounds tell points apart."""
    unknown = sum(row.percent is None or row.bound is None for row in found)
    beaten = sum((row.percent or 0.0) > MOST_PERCENT_OF_FLOOR for row in found)
    bounds = Counter(row.bound for row in found if row.bound is not None)
    is_passed = bool(found) and not unknown and not beaten and len(bounds) >= LEAST_KINDS
    kinds = ", ".join(f"{n} {bound}" for bound, n in bounds.most_common()) or "none"
    words = f"of {len(found)} points {beaten} beat their floor by more than a tenth; bounds: {kinds}"
    if unknown:
        words += f"; {unknown} have no floor or no bound (were ceilings refused?)"
    return f"{'pass' if is_passed else 'FAIL'}: {words}", is_passed


def _bandwidth_name(size: int) -> str:
    return f"bandwidth of {size / 2**10:,.0f} KiB, GB/s"


def _quantities(found: Ceilings) -> Iterator[tuple[str, float]]:
    for dtype, rate in found.matmul_flop_per_s.items():
        yield f"{dtype} product, GFLOP/s", rate * 1e-9
    for size in sorted(map(int, found.bandwidth_bytes_per_s)):
        yield _bandwidth_name(size), found.bytes_per_s(size) * 1e-9
    yield "copy, GB/s", found.copy_bytes_per_s * 1e-9
    yield "dispatch, µs", found.dispatch_s * 1e6
    if found.launch_s is not None:
        yield "launch, µs", found.launch_s * 1e6
