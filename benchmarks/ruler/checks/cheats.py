"""Is the referee right? Cheating providers have to be found out in a real sweep, and honest ones must not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.ruler.checks.conclusion import concluded
from benchmarks.ruler.checks.scratch import scratch_settings
from benchmarks.ruler.plan.axes import FULL, QUICK
from benchmarks.ruler.plan.plugins import names_in_module
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, Operation, Pass
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.plan.units import signed_percent
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.settings import Settings

CHEATS = ROOT / "tests" / "benchmarks" / "cheating_providers.py"
LEAVES_CALLS_OUT = frozenset({"honest-at-the-end"})
"""Cheats that leave calls of a sample out: where a call lasts a whole sample, as one may beside others, none is."""


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


class Question(StrEnum):
    """Question about the referee: is every cheat found out, is an honest provider accused, what does rotation cost?"""

    CHEATS = "cheats"
    HONEST = "honest"
    ROTATION = "rotation"


def reported(say: Callable[[str], None], *, questions: Sequence[Question] = tuple(Question)) -> list[Conclusion]:
    """Measure and say what answers the questions; return their conclusions."""
    answer_of = {Question.CHEATS: _of_cheats, Question.HONEST: _of_honest, Question.ROTATION: _of_rotation}
    conclusions = []
    for question in questions:
        with scratch_settings() as settings:
            conclusions.append(answer_of[question](settings, say))
    return conclusions


def _of_cheats(settings: Settings, say: Callable[[str], None]) -> Conclusion:
    found = list(cheating_rows(settings))
    for row in found:
        say(f"{row.provider:26} {row.state:7} {row.reason or ''}")
    return summary_of_cheats(found)


def _of_honest(settings: Settings, say: Callable[[str], None]) -> Conclusion:  # noqa: ARG001 - the summary names all
    return summary_of_honest(list(honest_rows(settings)))


def _of_rotation(settings: Settings, say: Callable[[str], None]) -> Conclusion:
    from benchmarks.ruler.checks import rotation_cost  # noqa: PLC0415 - torch, which other checks import in workers only

    say(f"{'rotation at':58} {'provider':9} {'µs':>8}   cost")
    found = []
    for cost in rotation_cost.cost_rows(settings):
        found.append(cost)
        low, middle, high = (value - 1 for value in (cost.ratio.low, cost.ratio.median, cost.ratio.high))
        interval = f"{signed_percent(low)} … {signed_percent(high)}"
        took = f"{cost.fixed_s * 1e6:8.1f} {signed_percent(middle):>7} ({interval})"
        say(f"{cost.shape.label():58} {cost.provider:9} {took}{'  disturbed' if cost.disturbed else ''}")
    return rotation_cost.summary_of_costs(found)


def cheating_rows(settings: Settings) -> Iterator[Judged]:
    """Measure every cheating provider beside eager, which must stay unharmed: all in one group, and at short calls."""
    # They are written for one thread of a processor.
    settings = replace(settings, provider_module=CHEATS, device=DeviceKind.CPU, threads=1)
    names = names_in_module(CHEATS)
    of_long_calls = tuple(name for name in names if name not in LEAVES_CALLS_OUT)
    of_short_calls = tuple(name for name in names if name in LEAVES_CALLS_OUT)
    for providers, batch, hidden in ((of_long_calls, 64, 256), (of_short_calls, 16, 64)):
        axes = replace(QUICK, name="cheats", providers=(BASELINE, *providers), batches=(batch,), hiddens=(hidden,))
        yield from _judged(settings, replace(axes, visits=1), Operation.MLP)


def honest_rows(settings: Settings) -> Iterator[Judged]:
    """Measure every provider there is, forward and backward, of every operation."""
    providers = dict.fromkeys((*FULL.providers, "fused-cpp:packed"))
    axes = replace(QUICK, name="honest", providers=tuple(providers), passes=tuple(Pass), batches=(64,), hiddens=(256,))
    for operation in Operation:
        yield from _judged(settings, replace(axes, visits=2), operation)


def summary_of_cheats(rows: Sequence[Judged]) -> Conclusion:
    """Conclude whether every cheat was found out, and eager unharmed."""
    cheats = [row for row in rows if row.provider != BASELINE]
    missed = [row.provider for row in cheats if not row.is_right(cheats=True)]
    harmed = [row.point for row in rows if row.provider == BASELINE and row.state is not State.OK]
    words = f"{len(cheats) - len(missed)} of {len(cheats)} cheats found out"
    words += f"; missed: {', '.join(missed)}" if missed else ""
    words += "; eager was harmed" if harmed else ""
    return concluded(words, holds=not missed and not harmed, n_counted=len(cheats), not_counted={})


def summary_of_honest(rows: Sequence[Judged]) -> Conclusion:
    """Conclude whether no honest point was called wrong, of those that have a time."""
    accused = [f"{row.provider} at {row.point}: {row.reason}" for row in rows if not row.is_right(cheats=False)]
    n_all = sum(row.state is State.OK for row in rows) + len(accused)
    words = "; ".join([f"{len(accused)} of {n_all} honest points called wrong", *accused])
    return concluded(words, holds=not accused, n_counted=n_all, not_counted={})


def _judged(settings: Settings, axes: Axes, operation: Operation) -> Iterator[Judged]:
    recorded = measure(settings, axes=axes, operation=operation, tasks=(Task.TIME,))
    for (shape, contender), line in recorded.timings.items():
        if shape.operation == operation and shape.batch in axes.batches:
            yield Judged(
                point=shape.label(), provider=str(contender), state=line.outcome.state, reason=line.outcome.reason
            )
