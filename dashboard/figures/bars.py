"""Drawing of a `Chart` of one batch or two: a bar per contender, the best first, each with its interval and value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboard.figures.drawing import EMPTY_TEXT, MARGIN, PLAIN, TITLE
from dashboard.figures.notes import escaped
from dashboard.looks import CHOSEN_COLOUR, RULE_COLOUR
from dashboard.quantities import LOWER

if TYPE_CHECKING:
    from dashboard.figures.chart import Absence, Chart, Mark, Position

BUTTONS_HEIGHT = 26  # of plotly's buttons, which would lie on the first bar
BAR_HEIGHT, FRAME_HEIGHT = 34, 66 + BUTTONS_HEIGHT


def height_of_bars(chart: Chart) -> int:
    """Return the height of the figure in pixels."""
    return FRAME_HEIGHT + BAR_HEIGHT * max(len(_bars(chart)), 2)


def bars_from_chart(chart: Chart) -> go.Figure:
    """Draw the chart as horizontal bars from zero; what has no value keeps its line, with its state."""
    labels = {bar: _label(chart, bar) for bar in _bars(chart)}
    figure = go.Figure(layout=_layout(chart, list(labels.values())))
    for curve in chart.curves:
        marks = curve.marks
        figure.add_trace(
            go.Bar(
                name=curve.name, orientation="h",
                x=[mark.reading.value for mark in marks],
                y=[labels[curve.name, mark.at] for mark in marks],
                error_x=_error_bars(marks),
                marker={"color": curve.look.colour},
                text=[mark.text for mark in marks], textposition="inside", insidetextanchor="start",
                customdata=[mark.key for mark in marks], hovertext=[mark.note for mark in marks],
                hovertemplate="%{hovertext}<extra></extra>", textfont={"size": 13, "color": curve.look.ink},
            )
        )  # fmt: skip
    figure.add_traces([_trace_of_absence(absence, labels[absence.name, absence.at]) for absence in chart.absences])
    if not labels:
        figure.add_annotation(text=EMPTY_TEXT, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    if (reference := chart.ordinate.reference) is not None and chart.curves:
        figure.add_shape(
            type="line", x0=reference, x1=reference, y0=0, y1=1, yref="paper",
            line={"color": CHOSEN_COLOUR, "width": 1},
        )  # fmt: skip
    return figure


def _bars(chart: Chart) -> list[tuple[str, Position]]:
    """Return (name, position) of each bar from the top: by position, there the best first, then what has no value."""
    found = [(curve.name, mark) for curve in chart.curves for mark in curve.marks]
    sign = 1 if chart.ordinate.better == LOWER else -1
    bars: list[tuple[str, Position]] = []
    for position, _ in chart.positions:
        here = sorted(
            ((name, mark) for name, mark in found if mark.at == position), key=lambda each: sign * each[1].reading.value
        )
        bars += [(name, position) for name, _ in here]
        bars += [(absence.name, position) for absence in chart.absences if absence.at == position]
    return bars


def _label(chart: Chart, bar: tuple[str, Position]) -> str:
    name, position = bar
    rows = f" · {position} {'row' if position == 1 else 'rows'}" if len(chart.positions) > 1 else ""
    return f"{escaped(name)}{rows}"


def _error_bars(marks: tuple[Mark, ...]) -> dict[str, object]:
    ends = [(mark.reading.low, mark.reading.value, mark.reading.high) for mark in marks]
    return {
        "type": "data", "symmetric": False,
        "array": [0.0 if high is None else high - value for _, value, high in ends],
        "arrayminus": [0.0 if low is None else value - low for low, value, _ in ends],
        "color": CHOSEN_COLOUR, "thickness": 1.5, "width": 5,
    }  # fmt: skip


def _trace_of_absence(absence: Absence, label: str) -> go.Bar:
    return go.Bar(
        name=f"{absence.name}, not measured", orientation="h", x=[0], y=[label],
        text=[absence.state.replace("_", " ")], textposition="outside", customdata=[absence.key],
        hovertext=[absence.note], hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip


def _layout(chart: Chart, labels: list[str]) -> dict[str, object]:
    ordinate = chart.ordinate
    better = f" ({ordinate.better})" if ordinate.better else ""
    return {
        **PLAIN,
        "margin": {**MARGIN, "t": BUTTONS_HEIGHT},
        "barmode": "overlay",
        "bargap": 0.25,
        "xaxis": {
            # Without any value plotly would label an axis from 0 to 1.
            "showticklabels": bool(chart.curves), "showgrid": bool(chart.curves),
            "rangemode": "tozero", "gridcolor": RULE_COLOUR, "zeroline": False, "ticksuffix": ordinate.suffix,
            "tickformat": ordinate.tick_format,
            "title": {**TITLE, "text": escaped(f"{ordinate.title}{better}")}, "fixedrange": True,
        },
        "yaxis": {
            "type": "category", "categoryorder": "array", "categoryarray": labels[::-1], "automargin": True,
            "ticks": "", "ticklabelstandoff": 6, "showgrid": False, "fixedrange": True,
        },
    }  # fmt: skip
