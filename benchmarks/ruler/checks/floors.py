"""Are ceilings and floors what they say? Ceilings measured twice and under load, and the floors of the quick axes."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.ruler.checks.conclusion import DISTURBED, LEAST_COUNTED, Conclusion, Kind, concluded
from benchmarks.ruler.checks.planted import BUSY, running
from benchmarks.ruler.checks.scratch import scratch_speed
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.roofline import MEMORY_SWINGS, MOST_PERCENT_OF_FLOOR, SWINGING, Ceilings
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import speed_of_slow
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
_COPY = "copy, GB/s"
_SWUNG = "memory was now fast and now slow"


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """A ceiling measured twice, in processes of their own; both in the unit of its name.

    is_between_levels: it is the bandwidth of data that fits into one level in part, which part is a matter of luck; or
    of about as much as a last-level cache holds that others use, too.
    has_swung: it is memory's, which took much longer in half of the rounds than at best, with nothing to be seen that
    disturbed it.
    """

    quantity: str
    first: float
    second: float
    is_between_levels: bool = False
    has_swung: bool = False

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
    """A point against its floor. percent: of floor speed, None without a floor; disturbed: what disturbed it."""

    point: str
    latency_s: float
    percent: float | None
    bound: str | None
    detail: str | None
    disturbed: str | None = None


def ceilings_now(settings: Settings, *, device: DeviceKind, n_busy: int = 0) -> Ceilings | Refusal:
    """Measure the machine's ceilings in a new process, while `n_busy` others do nothing but work.

    Those share its processors, one for each thread that is measured: a scheduler may else give them all the others, and
    nothing would be disturbed. The machine is held against the best that is known of it, and no file is written.
    Raises: JournalError.
    """
    speed = scratch_speed(settings, device=device)
    n_shared = settings.threads if n_busy else None
    with (
        _on_processors(n_shared),
        WorkerProcess(device=device, threads=settings.threads, point_limit_s=settings.point_limit_s) as worker,
    ):
        worker.start()
        speed.learn_from(worker)
        with running((BUSY,) * n_busy):
            answer = worker.ask_ceilings(CeilingsRequest(best_probe_s=speed.best_s))
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


def repeated(first: Ceilings, second: Ceilings, *, shared_cache_bytes: int | None = None) -> list[Repeated]:
    """Return every ceiling as both measurements have it.

    shared_cache_bytes: size of a last-level cache that others use, too, as a virtual machine's neighbours do.
    """
    one, other = dict(_quantities(first)), dict(_quantities(second))
    in_part = {*sizes_between_levels(first), *_sizes_about(shared_cache_bytes, first)}
    between = {_bandwidth_name(size) for size in in_part}
    swings = (found.conditions.get(MEMORY_SWINGS) for found in (first, second))
    has_swung = any(isinstance(each, float) and each >= SWINGING for each in swings)
    of_memory = {_COPY, *(_bandwidth_name(size) for size in sizes_in_memory(first))} if has_swung else set()
    return [
        Repeated(
            quantity=name,
            first=one[name],
            second=other[name],
            is_between_levels=name in between,
            has_swung=name in of_memory,
        )
        for name in one
        if name in other
    ]


def sizes_in_memory(found: Ceilings) -> list[int]:
    """Return the sizes at the end of the curve of bandwidth, from where it falls no more: no cache holds them."""
    sizes = sorted(map(int, found.bandwidth_bytes_per_s))
    slowest = min((found.bytes_per_s(size) for size in sizes), default=0.0)
    return [size for size in sizes if found.bytes_per_s(size) <= STEEP * slowest]


def sizes_between_levels(found: Ceilings) -> list[int]:
    """Return the sizes at which the curve of bandwidth falls steeply on either side."""
    sizes = sorted(map(int, found.bandwidth_bytes_per_s))
    rates = [found.bytes_per_s(size) for size in sizes]
    triples = zip(sizes[1:], rates, rates[1:], rates[2:], strict=False)
    return [size for size, before, at, after in triples if before > STEEP * at and at > STEEP * after]


def _sizes_about(cache_bytes: int | None, found: Ceilings) -> list[int]:
    """Return the sizes of which a cache holds from half to twice as much: what others leave of it decides."""
    if cache_bytes is None:
        return []
    return [size for size in map(int, found.bandwidth_bytes_per_s) if cache_bytes / 2 <= size <= 2 * cache_bytes]


def summary_of_repeats(found: Sequence[Repeated], *, was_slow: bool = False) -> Conclusion:
    """Conclude from how far two measurements lie apart whether that is little enough.

    was_slow: the machine was, throughout: how far they lie apart then is told, and not judged.
    """
    counted = [each for each in found if not each.is_between_levels and not each.has_swung]
    worst = max(counted, key=lambda each: each.apart, default=None)
    words = f"two measurements lie at most {percent(MOST_APART)} apart"
    if worst is not None:
        words = (
            f"two measurements lie at most {percent(worst.apart, digits=1)} apart ({worst.quantity}), "
            f"{percent(MOST_APART)} are allowed"
        )
    if n_between := sum(each.is_between_levels for each in found):
        words += f"; {n_between} between two levels of the caches, or about a shared one's size, do not count"
    n_swung = sum(each.has_swung and not each.is_between_levels for each in found)
    if was_slow:
        return concluded(words, holds=True, n_counted=0, not_counted={"the machine was slow throughout": len(found)})
    holds = worst is not None and worst.apart <= MOST_APART
    return concluded(words, holds=holds, n_counted=len(counted), not_counted={_SWUNG: n_swung})


def summary_of_load(found: Ceilings | Refusal, *, is_quiet: bool) -> Conclusion:
    """Conclude from what was `found` under load whether ceilings are refused then.

    is_quiet: the machine gave ceilings before; one that refuses them anyway shows nothing.
    """
    if not isinstance(found, Refusal):
        return Conclusion(kind=Kind.FAIL, words="under load ceilings were measured all the same")
    words = f"under load they are refused: {found.reason}"
    return concluded(words, holds=True, n_counted=int(is_quiet), not_counted={DISTURBED: int(not is_quiet)})


def summary_of_refusal(refused: Refusal) -> Conclusion:
    """Conclude from ceilings that were `refused` while nothing was planted that two cannot be compared."""
    words = f"the machine gave no ceilings: {refused.reason}"
    return concluded(words, holds=True, n_counted=0, not_counted={DISTURBED: 1})


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
            disturbed=line.outcome.disturbed,
        )


def summary_of_floors(found: Sequence[FloorRow]) -> Conclusion:
    """Conclude whether floors are floors and bounds tell points apart.

    A point that beats its floor counts however disturbed it was, as that only made it slower. One that does not counts
    undisturbed, or where the machine was merely slow and it would not at the machine's best either: its bound is a part
    of its time, which slowness leaves. Where no point has a floor, the ceilings were refused.
    """
    has_ceilings = any(row.percent is not None for row in found)
    judged = [row for row in found if _is_judged(row)] if has_ceilings else []
    unknown = sum(row.percent is None or row.bound is None for row in judged)
    beaten = sum(_is_beaten(row) for row in found)
    bounds = Counter(row.bound for row in judged if row.bound is not None)
    kinds = ", ".join(f"{n} {bound}" for bound, n in bounds.most_common()) or "none"
    words = f"of {len(found)} points {beaten} beat their floor by more than a tenth; bounds: {kinds}"
    if unknown:
        words += f"; {unknown} have no floor or no bound"
    # What few points have in common says nothing of the others.
    is_told_apart = len(bounds) >= LEAST_KINDS or len(judged) < LEAST_COUNTED * len(found)
    n_beaten_besides = sum(_is_beaten(row) and not _is_judged(row) for row in found)
    n_disturbed = len(found) - len(judged) - n_beaten_besides if has_ceilings else 0
    return concluded(
        words,
        holds=not beaten and not unknown and is_told_apart,
        n_counted=len(judged) + n_beaten_besides,
        not_counted={DISTURBED: n_disturbed, "ceilings were refused": 0 if has_ceilings else len(found)},
    )


def _is_beaten(row: FloorRow) -> bool:
    return (row.percent or 0.0) > MOST_PERCENT_OF_FLOOR


def _is_judged(row: FloorRow) -> bool:
    """Return whether what the machine did leaves it open neither what bounds the point nor that its floor holds."""
    speed = speed_of_slow(row.disturbed)
    if speed is None:
        return False
    return row.disturbed is None or (row.percent or 0.0) <= speed * MOST_PERCENT_OF_FLOOR


def _bandwidth_name(size: int) -> str:
    return f"bandwidth of {size / 2**10:,.0f} KiB, GB/s"


def _quantities(found: Ceilings) -> Iterator[tuple[str, float]]:
    for dtype, rate in found.matmul_flop_per_s.items():
        yield f"{dtype} product, GFLOP/s", rate * 1e-9
    for size in sorted(map(int, found.bandwidth_bytes_per_s)):
        yield _bandwidth_name(size), found.bytes_per_s(size) * 1e-9
    yield _COPY, found.copy_bytes_per_s * 1e-9
    yield "dispatch, µs", found.dispatch_s * 1e6
    if found.launch_s is not None:
        yield "launch, µs", found.launch_s * 1e6
