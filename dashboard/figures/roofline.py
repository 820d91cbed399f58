"""Roofline: what each point reached over its arithmetic intensity, below the ceilings of the level its data live in."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboard.figures.axes import PREFIXED_LABELS
from dashboard.figures.drawing import EMPTY_TEXT, PLAIN, TITLE
from dashboard.figures.notes import commit_lines, escaped, wrapped
from dashboard.looks import RULE_COLOUR, look_of
from dashboard.roofs import key_of, slopes_of
from results.units import percent, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.roofs import Placed, Slope

HEIGHT = 520
ROOF_COLOUR = "rgba(128,128,128,0.75)"
SMALLEST_MARK, LARGEST_MARK = 6, 15
# Where along the part of a slope that is seen its name stands, and how much slower the next named one is.
FIRST_NAME, LAST_NAME, NAMED_FROM = 0.45, 1.0, 1.4
MOST_DECADES = 2.2  # with labels at 1, 2 and 5; longer axes have them at 1 and 3, and the longest at decades
MOST_OF_TWO = 5


def roofline_figure(points: Sequence[Placed], *, peak: float | None, dtype: str, keeps_zoom_of: str) -> go.Figure:
    """Draw the points by provider, larger marks for larger batches, and the roofs that are known.

    peak: FLOP/s of the best product of that dtype; None where it was not measured.
    """
    figure = go.Figure(layout={"uirevision": keeps_zoom_of, **_layout(points, peak=peak)})
    if not points:
        figure.add_annotation(
            text=EMPTY_TEXT, x=0.5, y=0.6, xref="paper", yref="paper", showarrow=False, font={"size": 13}
        )
        return figure
    (left, right), (low, high) = _ends(points, peak=peak)
    slopes = slopes_of(points)
    named = _named(slopes)
    for slope in slopes:
        at = (
            FIRST_NAME + (LAST_NAME - FIRST_NAME) * (1 + named.index(slope)) / (1 + len(named))
            if slope in named
            else None
        )
        # Below the lowest there is room for a name that would run into the one above.
        is_below = at is None and slope is slopes[-1]
        at = (FIRST_NAME + LAST_NAME) / 2 if is_below else at
        figure.add_trace(_slope_trace(slope, x=(left, right), y=(low, high), peak=peak, at=at, is_named_below=is_below))
    if peak:
        ridge = min([peak / slope.bytes_per_s for slope in slopes], default=left)
        figure.add_trace(_peak_trace(peak, dtype=dtype, left=ridge, right=right))
    batches = [one.row.batch for one in points]
    for name in dict.fromkeys(one.row.contender for one in points):
        own = [one for one in points if one.row.contender == name]
        figure.add_trace(_points_trace(name, own, batches=(min(batches), max(batches))))
    return figure


def _slope_trace(  # noqa: PLR0913 - a line, and where its name stands
    slope: Slope,
    *,
    x: tuple[float, float],
    y: tuple[float, float],
    peak: float | None,
    at: float | None,
    is_named_below: bool,
) -> go.Scatter:
    rate = slope.bytes_per_s
    end = x[1] if peak is None else min(x[1], peak / rate)
    seen = log10(max(x[0], y[0] / rate)), log10(min(end, y[1] / rate))
    label_at = 10 ** (seen[0] + (at or 0.5) * (seen[1] - seen[0]))
    places = [x[0], label_at, end]
    return go.Scatter(
        name=slope.label, x=places, y=[place * rate for place in places], mode="lines+text",
        line={"color": ROOF_COLOUR, "width": 1.5}, text=["", escaped(slope.short_label) if at else "", ""],
        textposition="bottom right" if is_named_below else "top left", textfont={"size": 11},
        hovertemplate=f"{escaped(slope.label)}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _named(slopes: Sequence[Slope]) -> list[Slope]:
    """Return the slopes far enough from each other that their names do not overlap; all are named by hovering."""
    found: list[Slope] = []
    for slope in slopes:
        if not found or found[-1].bytes_per_s / slope.bytes_per_s >= NAMED_FROM:
            found.append(slope)
    return found


def _peak_trace(peak: float, *, dtype: str, left: float, right: float) -> go.Scatter:
    label = f"products in {dtype}: {si(peak, 'FLOP/s')}"
    return go.Scatter(
        name=label, x=[left, right], y=[peak, peak], mode="lines+text", line={"color": ROOF_COLOUR, "width": 2.5},
        text=["", escaped(label)], textposition="top left", textfont={"size": 11},
        hovertemplate=f"{escaped(label)}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _points_trace(name: str, points: Sequence[Placed], *, batches: tuple[int, int]) -> go.Scatter:
    look = look_of(name)
    span = log10(batches[1] / batches[0]) or 1.0
    sizes = [
        SMALLEST_MARK + (LARGEST_MARK - SMALLEST_MARK) * log10(one.row.batch / batches[0]) / span for one in points
    ]
    return go.Scatter(
        name=name, x=[one.flop_per_byte for one in points], y=[one.flop_per_s for one in points], mode="markers",
        marker={
            "color": look.colour, "size": sizes, "opacity": 0.9,
            "symbol": [look.symbol + ("-open" if one.row.disturbed else "") for one in points],
        },
        customdata=[key_of(one) for one in points],
        hovertext=[_note(one) for one in points], hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _note(one: Placed) -> str:
    row = one.row
    lines = [
        f"<b>{escaped(row.contender)}</b>  {si(one.flop_per_s, 'FLOP/s')} at {si(one.flop_per_byte, 'FLOP/byte')}",
        f"batch {row.batch}, hidden {row.hidden}, model dim {row.dim}"
        + ("" if row.latency_s is None else f" · {si(row.latency_s, 's')}"),
    ]
    if one.share is not None:
        lines.append(f"{percent(one.share)} of what its roof allows: {escaped(one.roof_in_words)}")
    elif one.is_beyond:
        lines.append(f"{escaped(one.roof_in_words)}: it is above its roof")
    if row.disturbed:
        lines.append(f"disturbed: {wrapped(row.disturbed)}")
    return "<br>".join([*lines, *commit_lines(row.commit, row.commit_date, row.commit_subject)])


def _ends(points: Sequence[Placed], *, peak: float | None) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both axes: around all points, the best product, and where its roof begins."""
    ridges = [peak / slope.bytes_per_s for slope in slopes_of(points)] if peak else []
    across = [*(one.flop_per_byte for one in points), *ridges]
    up = [*(one.flop_per_s for one in points), *([peak] if peak else [])]
    return (min(across) / 4, max(across) * 3), (min(up) / 2.5, max(up) * 1.8)


def _layout(points: Sequence[Placed], *, peak: float | None) -> dict[str, object]:
    rule = {"gridcolor": RULE_COLOUR, "zeroline": False, "linecolor": RULE_COLOUR, "automargin": True, "type": "log",
            "tickformat": "~s", "tickfont": {"size": 11}}  # fmt: skip
    x_range = y_range = None
    if points:
        x_range, y_range = ([log10(end) for end in ends] for ends in _ends(points, peak=peak))
    return {
        **PLAIN,
        "dragmode": "zoom",
        "xaxis": {**rule, "range": x_range, **_across(x_range), "ticks": "outside",
                  "title": {**TITLE, "text": "Arithmetic intensity, FLOP/byte"}},
        "yaxis": {**rule, "range": y_range, "dtick": _step(y_range), "labelalias": _with_unit(),
                  "title": {**TITLE, "text": "Work rate (higher is better)"}},
    }  # fmt: skip


def _across(ends: list[float] | None) -> dict[str, object]:
    """Return the labels of the axis across: few enough for a narrow page."""
    if ends is None:
        return {}
    decades = ends[1] - ends[0]
    digits = (1, 2, 5) if decades <= MOST_DECADES else (1, 3) if decades <= MOST_OF_TWO else (1,)
    values = [digit * 10.0**power for power in range(floor(ends[0]), ceil(ends[1])) for digit in digits]
    return {"tickmode": "array", "tickvals": values, "ticktext": [_short(value) for value in values], "tickangle": 0}


def _short(value: float) -> str:
    return f"{value:g}" if value < 1000 else f"{value / 1000:g}k"


def _step(ends: list[float] | None) -> object:
    """Return labels at 1, 2 and 5 of each decade of a short axis, and at decades of a long one."""
    return "D2" if ends is not None and ends[1] - ends[0] < 4 else 1


def _with_unit() -> dict[str, str]:
    """Return the labels with their unit, which plotly leaves out between decades."""
    return {label: f"{label}FLOP/s" for label in PREFIXED_LABELS}
