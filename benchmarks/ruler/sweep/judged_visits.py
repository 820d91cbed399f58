"""Visits judged again by a best speed of the machine that was not known when they were made. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.points import BASELINE, Contender
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import slowest_part, slowness
from benchmarks.ruler.sweep.usual_spreads import Usual, usual_of
from benchmarks.ruler.sweep.visits import valued

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.ruler.record.lines import TimingLine
    from benchmarks.ruler.record.outcome import TimingOutcome, Visit
    from benchmarks.ruler.sweep.sweep_plan import Sweep


def rejudged_lines(sweep: Sweep, best_s: Mapping[str, float], *, before: Usual) -> list[TimingLine]:
    """Return the lines of the points that a visit was slow of, as is known by now, with the values that follow.

    best_s: the machine's best seconds of each part of the probe, as a run's later groups may have shown. What was told
    of a visit stays told. before: how far visits lay apart in earlier runs.
    """
    timings = sweep.recorded.timings
    # By what is known now: slow visits tell other intervals than calm ones.
    usual = usual_of((_rejudged(line.outcome, best_s) for line in timings.values()), before=before)
    found: list[TimingLine] = []
    for group in sweep.plan.groups:
        lines = [timings[key] for each in group.contenders if (key := (group.shape, each)) in timings]
        ok = {line.head.contender: line for line in lines if line.outcome.state is State.OK}
        judged = {contender: _rejudged(line.outcome, best_s) for contender, line in ok.items()}
        if all(judged[contender] is line.outcome for contender, line in ok.items()):
            continue
        baseline = judged.get(Contender(provider=BASELINE))
        found += [
            replace(line, outcome=valued(judged[contender], baseline, usual=usual)) for contender, line in ok.items()
        ]
    return found


def _rejudged(outcome: TimingOutcome, best_s: Mapping[str, float]) -> TimingOutcome:
    visits = tuple(_visit(each, best_s) for each in outcome.visits)
    return outcome if visits == outcome.visits else replace(outcome, visits=visits)


def _visit(visit: Visit, best_s: Mapping[str, float]) -> Visit:
    slowest = slowest_part(visit.slow_quarter_s, best_s)
    if (
        visit.disturbed is not None
        or slowest is None
        or (told := slowness(*slowest, is_on_host=visit.device_time_s is None)) is None
    ):
        return visit
    return replace(visit, machine_speed=round(slowest[1], 4), disturbed=told)
