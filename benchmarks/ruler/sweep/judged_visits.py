"""Visits judged again by a best speed of the machine that was not known when they were made. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.points import BASELINE, Contender
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import slowest_part, slowness
from benchmarks.ruler.sweep.usual_spreads import Usual, usual_beside
from benchmarks.ruler.sweep.visits import valued

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.record.lines import TimingLine
    from benchmarks.ruler.record.outcome import TimingOutcome, Visit
    from benchmarks.ruler.sweep.sweep_plan import Sweep


def rejudged_lines(sweep: Sweep, best_s: Mapping[str, float], *, before: Usual) -> list[TimingLine]:
    """Return the lines of the points that a visit was slow of, as is known by now, with the values that follow.

    best_s: the machine's best seconds of each part of the probe, as a run's later groups may have shown. What was told
    of a visit stays told. before: how far visits lay apart in earlier runs.
    """
    timings = sweep.recorded.timings
    judged = {key: _rejudged(line.outcome, best_s) for key, line in timings.items()}
    changed = {key[0] for key, outcome in judged.items() if outcome is not timings[key].outcome}
    # By what is known now: slow visits tell other intervals than calm ones.
    usual = usual_beside(changed, judged, before=before)
    return [
        replace(timings[key], outcome=valued(judged[key], _baseline(judged, group.shape), usual=usual[group.shape]))
        for group in sweep.plan.groups
        if group.shape in changed
        for each in group.contenders
        if (key := (group.shape, each)) in timings and judged[key].state is State.OK
    ]


def _baseline(judged: Mapping[tuple[Shape, Contender], TimingOutcome], shape: Shape) -> TimingOutcome | None:
    found = judged.get((shape, Contender(provider=BASELINE)))
    return found if found is not None and found.state is State.OK else None


def _rejudged(outcome: TimingOutcome, best_s: Mapping[str, float]) -> TimingOutcome:
    """Return `outcome` with its visits judged again, itself where nothing changes; what failed stays as it is."""
    if outcome.state is not State.OK:
        return outcome
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
