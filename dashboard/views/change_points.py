"""Findings as change points of the curves they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.chart import ChangePoint
from dashboard.figures.notes import escaped, wrapped
from dashboard.finding_words import change_of, kind_of, since_of, title_of
from results.judgement.findings import EVERYTHING, FindingState, Turn
from results.units import change_interval_in_words, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dashboard.figures.chart import Position
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding
    from results.rows import SeriesRow

LOOKING = "looking for change points…"  # until the histories are judged, which the curves do not wait for
WORDS = {Turn.SLOWER: "worse", Turn.FASTER: "better", Turn.CHANGED: "changed"}


def size_of(finding: Finding, series: Sequence[SeriesRow]) -> str:
    """Write the size where it is that of a curve that is drawn: known is the worst point's only."""
    return change_of(finding) if is_at_worst(finding, series) else WORDS[finding.turn]


def change_points_of(
    found: Iterable[RankedFinding],
    *,
    series: Sequence[SeriesRow],
    positions: Mapping[str, Position],
    text_of: Callable[[Finding, Sequence[SeriesRow]], str] = size_of,
) -> tuple[ChangePoint, ...]:
    """Return the change points of some series, of one benchmark and metric, in the order of the positions.

    positions: of each commit, in order. Where several findings begin at one commit, the heaviest has its size there,
    as `text_of` writes it.
    """
    points: dict[str, ChangePoint] = {}
    for one in found:
        finding = one.finding
        is_ours = finding.state is not FindingState.WITHDRAWN and is_about(finding, series)
        if is_ours and finding.first_bad in positions and finding.first_bad not in points:
            points[finding.first_bad] = ChangePoint(
                at=positions[finding.first_bad],
                text=text_of(finding, series),
                kind=kind_of(finding),
                note=_note(one),
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


def is_at_worst(finding: Finding, series: Iterable[SeriesRow]) -> bool:
    """Return whether the point whose size is known is among the series; of everything at once there is no point."""
    return not finding.points or any(one.parameters == finding.points[0] for one in series)


def _note(found: RankedFinding) -> str:
    """Write the hover card: the change with its interval, how certain it is, and since when."""
    finding = found.finding
    interval = ""
    if finding.interval is not None:
        low, high = change_interval_in_words(*finding.interval, ratio=finding.ratio)
        interval = f" [{low}, {high}]"
    change = f"{change_of(finding)}{interval} at the worst of {counted(max(len(finding.points), 1), 'point')}"
    return "<br>".join([
        f"<b>{escaped(title_of(finding))}</b>",
        change,
        f"{finding.state}: {wrapped(finding.why)}",
        f"{finding.first_bad[:10]} · {wrapped(since_of(found))}",
    ])  # fmt: skip
