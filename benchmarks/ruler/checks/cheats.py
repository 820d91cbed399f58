"""Is the referee right? Cheating providers have to be found out in a real sweep, and honest ones must not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.checks.scratch import scratch_settings
from benchmarks.ruler.plan.axes import FULL, QUICK
from benchmarks.ruler.plan.plugins import names_in_module
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, Operation, Pass
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.settings import Settings

CHEATS = ROOT / "tests" / "benchmarks" / "cheating_providers.py"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A point and what became of it."""

    point: str
    provider: str
    state: State
    reason: str | None

    def is_right(self, *, cheats: bool) -> bool:
        """Return whether it was found out if it cheats, and not if it does not."""
        return (self.state is State.WRONG) == cheats


def reported(say: Callable[[str], None]) -> tuple[tuple[str, bool], ...]:
    """Measure and say all: cheats, honest providers, what rotation costs; return the conclusions."""
    from benchmarks.ruler.checks import rotation_cost  # noqa: PLC0415 - torch, which other checks import in workers only

    with scratch_settings() as settings:
        cheating = list(cheating_rows(settings))
    for row in cheating:
        say(f"{row.provider:26} {row.state:7} {row.reason or ''}")
    with scratch_settings() as settings:
        honest = list(honest_rows(settings))
        say(f"{'rotation at':58} {'provider':9} {'µs':>8}   cost")
        costs = []
        for cost in rotation_cost.cost_rows(settings):
            costs.append(cost)
            low, middle, high = (value - 1 for value in (cost.ratio.low, cost.ratio.median, cost.ratio.high))
            took = f"{cost.fixed_s * 1e6:8.1f} {middle:+6.1%} ({low:+.1%} … {high:+.1%})"
            say(f"{cost.shape.label():58} {cost.provider:9} {took}")
    return summary_of_cheats(cheating), summary_of_honest(honest), rotation_cost.summary_of_costs(costs)


def cheating_rows(settings: Settings) -> Iterator[Judged]:
    """Measure every cheating provider beside eager, all in one group; eager must stay unharmed."""
    providers = (BASELINE, *names_in_module(CHEATS))
    axes = replace(QUICK, name="cheats", providers=providers, batches=(64,), hiddens=(256,), visits=1)
    # They are written for one thread of a processor.
    yield from _judged(replace(settings, provider_module=CHEATS, device=DeviceKind.CPU, threads=1), axes, Operation.MLP)


def honest_rows(settings: Settings) -> Iterator[Judged]:
    """Measure every provider there is, forward and backward, of every operation."""
    providers = dict.fromkeys((*FULL.providers, "fused-cpp:packed"))
    axes = replace(QUICK, name="honest", providers=tuple(providers), passes=tuple(Pass), batches=(64,), hiddens=(256,))
    for operation in Operation:
        yield from _judged(settings, replace(axes, visits=2), operation)


def summary_of_cheats(rows: Sequence[Judged]) -> tuple[str, bool]:
    """Return in words how many cheats were found out, and whether all were."""
    cheats = [row for row in rows if row.provider != BASELINE]
    missed = [row.provider for row in cheats if not row.is_right(cheats=True)]
    harmed = [row.point for row in rows if row.provider == BASELINE and row.state is not State.OK]
    is_passed = bool(cheats) and not missed and not harmed
    words = f"{len(cheats) - len(missed)} of {len(cheats)} cheats found out"
    words += f"; missed: {', '.join(missed)}" if missed else ""
    words += "; eager was harmed" if harmed else ""
    return f"{'pass' if is_passed else 'FAIL'}: {words}", is_passed


def summary_of_honest(rows: Sequence[Judged]) -> tuple[str, bool]:
    """Return in words how many honest points were called wrong, and whether none was."""
    accused = [f"{row.provider} at {row.point}: {row.reason}" for row in rows if not row.is_right(cheats=False)]
    n_timed = sum(row.state is State.OK for row in rows)
    is_passed = n_timed > 0 and not accused
    words = f"{len(accused)} of {n_timed + len(accused)} honest points called wrong"
    return "; ".join([f"{'pass' if is_passed else 'FAIL'}: {words}", *accused]), is_passed


def _judged(settings: Settings, axes: Axes, operation: Operation) -> Iterator[Judged]:
    recorded = measure(settings, axes=axes, operation=operation, tasks=(Task.TIME,))
    for (shape, contender), line in recorded.timings.items():
        if shape.operation == operation:
            yield Judged(
                point=shape.label(), provider=str(contender), state=line.outcome.state, reason=line.outcome.reason
            )
