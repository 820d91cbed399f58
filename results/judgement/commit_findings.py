"""Findings between two commits: the verdicts of each surface as one; pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from results.files.records import State
from results.judgement.comparison.relevant_changes import size_of
from results.judgement.findings import Finding, FindingClass, FindingState, Turn
from results.judgement.outcomes import Change, Outcome
from results.judgement.sides import surface_of
from results.metrics import Direction, Precision
from results.units import change_range_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.judgement.findings import Surface
    from results.judgement.outcomes import Judgement, SurfaceVerdict, Verdict

_OF_OUTCOME = {
    Outcome.FAILED: Turn.FAILED,
    Outcome.REGRESSION: Turn.SLOWER,
    Outcome.CHANGED: Turn.CHANGED,
    Outcome.IMPROVEMENT: Turn.FASTER,
    Outcome.FIXED: Turn.FIXED,
}
_OF_STATES = frozenset({Turn.FAILED, Turn.FIXED})


def findings_of(judgement: Judgement) -> list[Finding]:
    """Return one finding for each surface and direction of certain changes; the worst first, known ones last.

    A surface of which only all points together are certain is one, too, without points of its own. Verdicts `undecided`
    and `unchanged` are none. What commits measured side by side show is confirmed, and exact metrics and states are;
    what one comparison of stored runs shows of a time is suspected.
    """
    of_surface: dict[tuple[Surface, Turn, bool], list[Verdict]] = {}
    n_points: dict[Surface, int] = {}
    for verdict in judgement.verdicts:
        surface = surface_of(verdict.head)
        n_points[surface] = n_points.get(surface, 0) + 1
        if (turn := _turn(verdict)) is not None:
            of_surface.setdefault((surface, turn, verdict.known is not None), []).append(verdict)
    found = [
        _finding(judgement, surface, turn, verdicts, n_points=n_points[surface])
        for (surface, turn, _), verdicts in of_surface.items()
    ]
    found += [_finding_together(judgement, one) for one in judgement.together(*_OF_OUTCOME, Outcome.KNOWN)]
    return sorted(found, key=_rank)


def together_in_words(verdict: SurfaceVerdict) -> str:
    """Return the evidence of a surface that only its points together are certain of."""
    evidence, n = verdict.evidence, len(verdict.rows)
    interval = change_range_in_words(*evidence.interval, ratio=evidence.ratio)
    points = f"all {n:,}" if n == verdict.n_points else f"{n:,} of {verdict.n_points:,}"
    words = f"{points} points together: {interval}, by {evidence.n_rounds} rounds"
    return words if verdict.known is None else f"{words}; {verdict.known.reason}"


def undecided_of(judgement: Judgement) -> list[Finding]:
    """Return one finding for each surface with undecided series; the largest change first, suspected all of them."""
    of_surface: dict[Surface, list[Verdict]] = {}
    for verdict in judgement.with_outcome(Outcome.UNDECIDED):
        of_surface.setdefault(surface_of(verdict.head), []).append(verdict)
    n_points = Counter(surface_of(verdict.head) for verdict in judgement.verdicts)
    return [
        replace(
            _finding(judgement, surface, Turn.CHANGED, verdicts, n_points=n_points[surface]),
            state=FindingState.SUSPECTED,
            class_=None,
        )
        for surface, verdicts in of_surface.items()
    ]


def _rank(finding: Finding) -> tuple[bool, int, float, int]:
    is_known = finding.state is FindingState.ACKNOWLEDGED
    return is_known, list(Turn).index(finding.turn), -size_of(finding.ratio), -len(finding.points)


def _turn(verdict: Verdict) -> Turn | None:
    if verdict.outcome is not Outcome.KNOWN:
        return _OF_OUTCOME.get(verdict.outcome)
    if verdict.head.state != State.OK:
        return Turn.FAILED
    return Turn.CHANGED if verdict.metric.direction is Direction.UNKNOWN else Turn.SLOWER


def _finding(
    judgement: Judgement, surface: Surface, turn: Turn, verdicts: Iterable[Verdict], *, n_points: int
) -> Finding:
    ordered = sorted(verdicts, key=lambda verdict: -size_of(verdict.ratio))
    first = ordered[0]
    is_counted = turn in _OF_STATES or first.metric.precision is Precision.EXACT
    state = FindingState.CONFIRMED if judgement.is_paired or is_counted else FindingState.SUSPECTED
    return Finding(
        surface=surface,
        points=tuple(verdict.head.parameters for verdict in ordered),
        n_points=n_points,
        last_good=judgement.base_commit,
        first_bad=judgement.head_commit,
        n_unmeasured=None,
        ratio=None if turn in _OF_STATES else first.ratio,
        interval=first.interval,
        floor=first.floor,
        turn=turn,
        state=FindingState.ACKNOWLEDGED if first.known else state,
        class_=_class(judgement),
        why=first.why,
        is_gone=first.head.state == Change.GONE,
    )


def _finding_together(judgement: Judgement, verdict: SurfaceVerdict) -> Finding:
    is_known = verdict.outcome is Outcome.KNOWN
    return Finding(
        surface=surface_of(verdict.rows[0]),
        points=(),
        n_points=verdict.n_points,
        last_good=judgement.base_commit,
        first_bad=judgement.head_commit,
        n_unmeasured=None,
        ratio=verdict.evidence.ratio,
        interval=verdict.evidence.interval,
        floor=verdict.evidence.floor,
        turn=Turn.SLOWER if is_known else _OF_OUTCOME[verdict.outcome],
        state=FindingState.ACKNOWLEDGED if is_known else FindingState.CONFIRMED,
        class_=_class(judgement),
        why=together_in_words(verdict),
    )


def _class(judgement: Judgement) -> FindingClass | None:
    """Return what is left as the cause where both were measured in the same minutes: of one commit, the stack."""
    if not judgement.is_paired:
        return None
    return FindingClass.STACK if judgement.base_commit == judgement.head_commit else FindingClass.CODE
