"""Findings as change points of the curves they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.chart import ChangePoint
from dashboard.figures.notes import wrapped
from dashboard.finding_words import EVERYTHING, change_of, kind_of
from results.judgement.findings import FindingState, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dashboard.figures.chart import Position
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding
    from results.rows import SeriesRow

WORDS = {Turn.SLOWER: "worse", Turn.FASTER: "better", Turn.CHANGED: "changed"}


def change_points_of(
    found: Iterable[RankedFinding], *, series: Sequence[SeriesRow], positions: Mapping[str, Position]
) -> tuple[ChangePoint, ...]:
    """Return the change points of some series, of one place, benchmark and metric, in the order of the positions.

    positions: of each commit, in order. Where several findings begin at one commit, the heaviest has its size there.
    """
    points: dict[str, ChangePoint] = {}
    for one in found:
        finding = one.finding
        is_ours = finding.state is not FindingState.WITHDRAWN and is_about(finding, series)
        if is_ours and finding.first_bad in positions and finding.first_bad not in points:
            points[finding.first_bad] = ChangePoint(
                at=positions[finding.first_bad],
                text=_text_of(finding, series),
                kind=kind_of(finding),
                note=f"{change_of(finding)} at the worst of its points, {finding.state}: {wrapped(finding.why)}",
            )
    return tuple(points[commit] for commit in positions if commit in points)


def is_about(finding: Finding, series: Iterable[SeriesRow]) -> bool:
    """Return whether a finding is about any of the series, or about everything where they were measured."""
    surface = finding.surface
    return any(
        (one.project, one.machine, one.environment) == (surface.project, surface.machine, surface.environment)
        and (
            finding.benchmark == EVERYTHING
            or ((one.benchmark, one.metric) == (finding.benchmark, finding.metric) and one.parameters in finding.points)
        )
        for one in series
    )


def _text_of(finding: Finding, series: Sequence[SeriesRow]) -> str:
    """Write the size where it is that of a curve that is drawn: known is the worst point's only."""
    if not finding.points or any(one.parameters == finding.points[0] for one in series):
        return change_of(finding)
    return WORDS[finding.turn]
