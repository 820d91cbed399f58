"""Reduction of a chart that would be slow to draw: fewer traces, fewer points, and what was left out in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dashboard.quantities import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.figures.chart import Chart, Curve, Mark

MOST_TRACES = 50  # of a figure
MOST_POINTS = 5000


def reduced(chart: Chart, *, most_traces: int = MOST_TRACES, most_points: int = MOST_POINTS) -> tuple[Chart, list[str]]:
    """Return a chart of so many traces and points at most, and what was left out.

    First go the intervals, then the marks of what has no value, then curves from the end; of a curve with too many
    points each stretch keeps its first, last, least and greatest.
    """
    notes: list[str] = []
    n_absent = len({absence.name for absence in chart.absences})
    n_bands = sum(any(mark.reading.has_interval for mark in curve.marks) for curve in chart.curves)
    n_points = sum(len(curve.marks) for curve in chart.curves)
    if n_bands and (len(chart.curves) + n_bands + n_absent > most_traces or 3 * n_points > most_points):
        chart = replace(chart, curves=tuple(map(_without_intervals, chart.curves)))
        notes.append("intervals are left out")
    if n_absent and len(chart.curves) + n_absent > most_traces:
        chart = replace(chart, absences=())
        notes.append("what has no value is not marked")
    if len(chart.curves) > most_traces:
        notes.append(f"{len(chart.curves) - most_traces} lines are not drawn")
        chart = replace(chart, curves=chart.curves[:most_traces])
    n_points = sum(len(curve.marks) for curve in chart.curves)
    if n_points > most_points:
        share = most_points // len(chart.curves)
        chart = replace(chart, curves=tuple(_thinned(curve, share) for curve in chart.curves))
        n_kept = sum(len(curve.marks) for curve in chart.curves)
        notes.append(f"{n_kept:,} of {n_points:,} points are drawn, the extremes among them")
    return chart, notes


def _without_intervals(curve: Curve) -> Curve:
    pieces = (
        tuple(mark._replace(reading=Reading(value=mark.reading.value)) for mark in piece) for piece in curve.pieces
    )
    return replace(curve, pieces=tuple(pieces))


def _thinned(curve: Curve, most: int) -> Curve:
    """Return the curve with `most` marks at most, shared among its pieces by their length; short ones go whole."""
    n = len(curve.marks)
    if n <= most:
        return curve
    pieces = (_extremes(piece, max(most * len(piece) // n, 1)) for piece in curve.pieces)
    kept: list[tuple[Mark, ...]] = []
    room = most
    for piece in pieces:
        kept.append(piece[:room])
        room -= len(kept[-1])
    return replace(curve, pieces=tuple(piece for piece in kept if piece))


def _extremes(piece: Sequence[Mark], most: int) -> tuple[Mark, ...]:
    """Return the first, last, least and greatest mark of each of so many stretches that `most` remain."""
    if len(piece) <= most:
        return tuple(piece)
    if most < 4:
        return tuple(piece[:: -(-len(piece) // most)])
    size = -(-len(piece) // (most // 4))
    chosen: list[int] = []
    for start in range(0, len(piece), size):
        stretch = range(start, min(start + size, len(piece)))
        values = {i: piece[i].reading.value for i in stretch}
        chosen += {stretch[0], stretch[-1], min(values, key=lambda i: values[i]), max(values, key=lambda i: values[i])}
    return tuple(piece[i] for i in sorted(chosen))
