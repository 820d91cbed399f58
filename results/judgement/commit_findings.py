"""Findings between two commits: the verdicts of each surface as one; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.judgement.findings import Finding, FindingClass, FindingState, Surface, Turn
from results.judgement.outcomes import Change, Outcome
from results.judgement.sides import surface_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.judgement.outcomes import Judgement, Verdict

_TOLD = {
    Change.SLOWER: Turn.SLOWER,
    Change.FASTER: Turn.FASTER,
    Change.CHANGED: Turn.CHANGED,
}
_OF_OUTCOME = {Outcome.REGRESSION: Turn.SLOWER, Outcome.IMPROVEMENT: Turn.FASTER}


def findings_of(judgement: Judgement, *, is_confirmed: bool = False) -> list[Finding]:
    """Return one finding for each surface and direction of certain changes, the worst first.

    A change of state, or a series that is gone, is no change of level, and none of them. is_confirmed: whether both
    commits were measured side by side; what one comparison of stored runs shows is suspected.
    """
    of_surface: dict[tuple[Surface, Turn], list[Verdict]] = {}
    n_points: dict[Surface, int] = {}
    for verdict in judgement.verdicts:
        surface = _surface(verdict)
        n_points[surface] = n_points.get(surface, 0) + 1
        if (turn := _turn(verdict)) is not None and verdict.ratio is not None:
            of_surface.setdefault((surface, turn), []).append(verdict)
    found = [
        _finding(judgement, surface, turn, verdicts, n_points=n_points[surface], is_confirmed=is_confirmed)
        for (surface, turn), verdicts in of_surface.items()
    ]
    return sorted(found, key=lambda finding: (list(Turn).index(finding.turn), -_size(finding.ratio)))


def _turn(verdict: Verdict) -> Turn | None:
    if verdict.change is Change.EXACT_CHANGE:
        return _OF_OUTCOME.get(verdict.outcome, Turn.CHANGED)
    if verdict.change is Change.KNOWN and verdict.head.state == "ok":
        return Turn.SLOWER
    return _TOLD.get(verdict.change)


def _finding(  # noqa: PLR0913 - the parts of a finding
    judgement: Judgement,
    surface: Surface,
    turn: Turn,
    verdicts: Iterable[Verdict],
    *,
    n_points: int,
    is_confirmed: bool,
) -> Finding:
    ordered = sorted(verdicts, key=lambda verdict: -_size(verdict.ratio))
    first = ordered[0]
    is_known = all(verdict.known is not None for verdict in ordered)
    is_exact = first.change is Change.EXACT_CHANGE
    state = FindingState.CONFIRMED if is_confirmed or is_exact else FindingState.SUSPECTED
    return Finding(
        surface=surface,
        points=tuple(verdict.head.parameters for verdict in ordered),
        n_points=n_points,
        last_good=judgement.base_commit,
        first_bad=judgement.head_commit,
        n_unmeasured=None,
        ratio=first.ratio or 1.0,
        interval=first.evidence.interval if first.evidence else None,
        floor=first.evidence.floor if first.evidence else None,
        turn=turn,
        state=FindingState.ACKNOWLEDGED if is_known else state,
        class_=FindingClass.CODE if is_confirmed else None,
        why=first.why,
    )


def _surface(verdict: Verdict) -> Surface:
    row = verdict.head
    return Surface(
        project=row.project,
        machine=row.machine,
        environment=row.environment,
        benchmark=row.benchmark,
        metric=row.metric,
        shared=surface_parameters(row),
    )


def _size(ratio: float | None) -> float:
    return abs(math.log(ratio)) if ratio is not None and ratio > 0 else math.inf
