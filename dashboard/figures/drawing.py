"""Drawing of a `Chart` by plotly: lines with bands, absences below them, axes with units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from dashboard.figures.axes import MOST_RATIO, SMALL_RATIO, above_zero, decade_ticks
from dashboard.figures.change_points import place_in_layout, with_change_points
from dashboard.figures.chart import Across
from dashboard.figures.notes import escaped
from dashboard.looks import CHOSEN_COLOUR, RULE_COLOUR
from dashboard.scales import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.figures.chart import Absence, Chart, Curve, Position
    from dashboard.quantities import Ordinate

Figure: TypeAlias = dict[str, Any]
"""Data and layout as plotly.js takes them."""

STATE_SYMBOLS = {
    "unavailable": "line-ew-open",
    "out_of_memory": "square-open",
    "wrong": "x-open",
    "crashed": "x",
    "timed_out": "hourglass-open",
    "failed": "x",
    "skipped": "line-ew-open",
}
TITLE: dict[str, object] = {"font": {"size": 12}, "standoff": 8}
EMPTY_TEXT = "nothing measured here for this choice"
NO_NUMBER_TEXT = "measured without a value; hover over the marks below for the reason"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
MARGIN = {"l": 56, "r": 14, "t": 8, "b": 44}
# What every figure's layout begins with.
PLAIN: dict[str, object] = {
    "template": "none",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "margin": MARGIN,
    "font": {"family": FONT, "size": 12},
    "hovermode": "closest",
    "hoverlabel": {"align": "left", "font": {"family": FONT, "size": 12}},
    "showlegend": False,
}
MOST_MARKERS, FEW_MARKERS = 120, 40  # of a curve, and of one in a small chart
MARKER_SIZE = 7
MOST_COMMITS, FEW_COMMITS = 5, 3  # labels of two lines, and of them in a small chart
MOST_PLACED = 60  # commits whose labels are placed, the newest first; more are thinned by plotly
MOST_NAMED = 12  # rows of marks of what has no number; names of more would overlap
LONGEST_IN_SMALL = 14  # beside those of a small chart, whose title of the axis they would run across
LONGEST_NAME = 24  # beside the marks of what has no number; longer ones would push the curves aside


def figure_from_chart(
    chart: Chart, *, scale: Scale, chosen: str | None, keeps_zoom_of: str, frame: Chart | None = None
) -> Figure:
    """Draw the chart, as plotly.js takes it.

    A line marks the key `chosen`; zoom survives while `keeps_zoom_of` stays the same.
    frame: chart whose axes are drawn, where several share them.
    """
    if scale is Scale.LOG:
        chart, frame = above_zero(chart), frame and above_zero(frame)
    most = MOST_MARKERS if frame is None else FEW_MARKERS
    level = chart.interval_level
    traces = [trace for curve in chart.curves for trace in _traces_of_curve(curve, level=level, most_markers=most)]
    shapes: list[dict[str, object]] = []
    annotations: list[dict[str, object]] = []
    chosen_at = next((place for place, key in chart.positions if key == chosen), None)
    if chosen_at is not None and len(chart.positions) > 1:
        at = place_in_layout(chosen_at, frame or chart)
        shapes.append({
            "type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
            "line": {"color": CHOSEN_COLOUR, "width": 1, "dash": "dot"},
        })  # fmt: skip
    if not chart.curves:
        annotations.append({
            "text": NO_NUMBER_TEXT if chart.absences else EMPTY_TEXT,
            "x": 0.5, "y": 0.6, "xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": 13},
        })  # fmt: skip
    if (reference := chart.ordinate.reference) is not None and chart.curves:
        shapes.append({
            "type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": reference, "y1": reference, "layer": "below",
            "line": {"color": CHOSEN_COLOUR, "width": 1},
        })  # fmt: skip
    axes = _layout(chart, scale=scale, frame=frame or chart)
    layout = {"uirevision": keeps_zoom_of, **axes, "shapes": shapes, "annotations": annotations}
    # A go.Figure checks each value and copies all of them twice, which took most of the time of a page; tests make one
    # of every kind of figure.
    return {
        "data": [*traces, *_traces_of_absences(chart.absences)],
        "layout": with_change_points(layout, chart, frame=frame),
    }


def _traces_of_curve(curve: Curve, *, level: float, most_markers: int) -> list[dict[str, object]]:
    """Draw the confidence band, one closed outline per piece, below the line with its marks.

    Of more marks than `most_markers` only those are drawn that no line leads to.
    """
    look = curve.look
    band_x: list[Position | None] = []
    band_y: list[float | None] = []
    for piece in curve.pieces:
        ends = [(mark.at, mark.reading.low, mark.reading.high) for mark in piece if mark.reading.has_interval]
        if len(ends) > 1:
            band_x += [at for at, _, _ in ends] + [at for at, _, _ in reversed(ends)] + [None]
            band_y += [high for _, _, high in ends] + [low for _, low, _ in reversed(ends)] + [None]
    marks = [mark for piece in curve.pieces for mark in (*piece, None)][:-1]
    has_disturbed = any(mark is not None and mark.is_disturbed for mark in marks)
    has_all = len(marks) <= most_markers
    alone = {id(piece[0]) for piece in curve.pieces if len(piece) == 1}
    sizes = [MARKER_SIZE if id(mark) in alone else 0 for mark in marks] if alone and not has_all else MARKER_SIZE
    band: dict[str, object] = {
        "type": "scatter", "name": f"{curve.name}, {100 * level:g} % interval",
        "x": band_x, "y": band_y, "mode": "lines", "fill": "toself", "line": {"width": 0},
        "fillcolor": look.faded(0.18), "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip
    line: dict[str, object] = {
        "type": "scatter",
        "name": curve.name,
        "x": [mark and mark.at for mark in marks],
        "y": [mark and mark.reading.value for mark in marks],
        "mode": "lines+markers" if has_all or alone else "lines",
        "connectgaps": False,
        "line": {"color": look.colour, "width": 2, "dash": look.dash},
        "marker": {
            "size": sizes,
            # One symbol for all, where it can be, is drawn and sent much faster than one for each.
            "symbol": [look.symbol + ("-open" if mark and mark.is_disturbed else "") for mark in marks]
            if has_disturbed
            else look.symbol,
            "color": look.colour,
        },
        **_error_bars(curve),
        "customdata": [mark and mark.key for mark in marks],
        "hovertext": [mark and mark.note for mark in marks],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
    }
    return [band, line] if band_x else [line]


def _error_bars(curve: Curve) -> dict[str, object]:
    """Return error bars for isolated marks, where a band has no width; nothing if there are none."""
    above: list[float] = []
    below: list[float] = []
    for piece in curve.pieces:
        for mark in piece:
            low, value, high = mark.reading.low, mark.reading.value, mark.reading.high
            is_alone = len(piece) == 1 and low is not None and high is not None
            above.append(high - value if is_alone and high is not None else 0.0)
            below.append(value - low if is_alone and low is not None else 0.0)
        above.append(0.0)
        below.append(0.0)
    if not any(above) and not any(below):
        return {}
    bars = {
        "type": "data", "symmetric": False, "array": above[:-1], "arrayminus": below[:-1], "visible": True,
        "color": curve.look.faded(0.6), "thickness": 1.5, "width": 4,
    }  # fmt: skip
    return {"error_y": bars}


def _traces_of_absences(absences: Sequence[Absence]) -> list[dict[str, object]]:
    """Draw a row of marks under the curves for each name: measured there without a value."""
    traces: list[dict[str, object]] = []
    for name in sorted({absence.name for absence in absences}):
        own = [absence for absence in absences if absence.name == name]
        traces.append({
            "type": "scatter", "name": f"{name}, not measured", "mode": "markers", "yaxis": "y2",
            "x": [absence.at for absence in own], "y": [name for _ in own],
            "marker": {
                "size": 7, "color": own[0].look.colour,
                "symbol": [STATE_SYMBOLS.get(absence.state, "x-open") for absence in own],
                "line": {"width": 1.5, "color": own[0].look.colour},
            },
            "customdata": [absence.key for absence in own], "hovertext": [absence.note for absence in own],
            "hovertemplate": "%{hovertext}<extra></extra>", "showlegend": False,
        })  # fmt: skip
    return traces


def _layout(chart: Chart, *, scale: Scale, frame: Chart) -> dict[str, object]:
    absent = sorted({absence.name for absence in chart.absences})
    n_absent = len(absent)
    strip = min(0.4, 0.055 * n_absent)
    rule = {"gridcolor": RULE_COLOUR, "zeroline": False, "linecolor": RULE_COLOUR, "automargin": True}
    return {
        **PLAIN,
        "dragmode": "zoom",
        "xaxis": {
            **rule, **_x_axis(frame, is_shared=frame is not chart),
            "anchor": "y2" if n_absent else "y", "showgrid": False, "ticks": "outside",
        },
        "yaxis": {
            **rule, **_y_axis(frame, scale=scale, most_ratio=SMALL_RATIO if frame is not chart else MOST_RATIO),
            "domain": [strip + 0.05, 1] if n_absent else [0, 1],
            "title": {**TITLE, "text": escaped(_title(chart.ordinate))},
        },
        "yaxis2": {
            "domain": [0, max(strip, 0.01)], "type": "category", "showgrid": False, "zeroline": False,
            "visible": bool(n_absent), "fixedrange": True, "automargin": True, "tickfont": {"size": 11},
            "categoryorder": "category descending", "ticks": "",
            **_names_of_absent(chart, absent, longest=LONGEST_IN_SMALL if frame is not chart else LONGEST_NAME),
        },
    }  # fmt: skip


def _names_of_absent(chart: Chart, absent: Sequence[str], *, longest: int) -> dict[str, object]:
    """Return what names the rows of missing values: one for all of a chart of one line, and where they have no room.

    longest: name; a small chart has no room to cut longer ones to.
    """
    has_room = len(absent) <= MOST_NAMED and (longest == LONGEST_NAME or max(map(len, absent), default=0) <= longest)
    if absent and (not has_room or len({*absent, *(curve.name for curve in chart.curves)}) == 1):
        return {"tickvals": [absent[len(absent) // 2]], "ticktext": ["no value"]}
    return {"tickvals": absent, "ticktext": [escaped(_shortened(name)) for name in absent]}


def _shortened(name: str) -> str:
    """Cut a long name to its end, where parameters differ most."""
    return name if len(name) <= LONGEST_NAME else f"… {name[2 - LONGEST_NAME :]}"


def _title(ordinate: Ordinate) -> str:
    return f"{ordinate.title} ({ordinate.better})" if ordinate.better else ordinate.title


def _x_axis(chart: Chart, *, is_shared: bool) -> dict[str, object]:
    """Return the x axis; one that small charts share holds what another of them has, with fewer labels."""
    if chart.across is Across.COMMITS:
        # A category axis thins its own labels, also while zooming.
        names = [place for place, _ in chart.positions]
        return {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names,
            **_commit_ticks(len(names), most=FEW_COMMITS if is_shared else MOST_COMMITS),
            # Where it begins further to the left, plotly counts the labels from the first commit and not to the newest.
            **({"range": [-0.5, len(names) - 0.5]} if names else {}),
            "labelalias": dict(chart.labels),
            "autotickangles": [0, 90],
            "tickfont": {"size": 11},
            "title": {**TITLE, "text": "Commit, oldest first"},
        }
    if chart.across is Across.DATES:
        return {"type": "date", "title": {**TITLE, "text": "Commit date"}}
    batches = [place for place, _ in chart.positions if isinstance(place, int)]
    return {
        "type": "log", "title": {**TITLE, "text": "Batch, rows"}, "tickmode": "array",
        "tickvals": batches, "ticktext": [str(batch) for batch in batches],
        # At an angle between, plotly leaves out labels that have room upright.
        "autotickangles": [0, 90],
        "range": [math.log10(min(batches)) - 0.1, math.log10(max(batches)) + 0.1] if batches else None,
    }  # fmt: skip


def _commit_ticks(n_commits: int, *, most: int) -> dict[str, object]:
    """Return where commits have labels: at the newest, and evenly before it, so many at most."""
    if not 0 < n_commits <= MOST_PLACED:
        return {"nticks": most}
    step = math.ceil(n_commits / most)
    return {"tickmode": "linear", "tick0": (n_commits - 1) % step, "dtick": step}


def _y_axis(chart: Chart, *, scale: Scale, most_ratio: float) -> dict[str, object]:
    """Return the y axis, labelled with SI prefixes; a fitted one spans at least a fifth of its values, above noise.

    most_ratio: of the ends of a logarithmic one that has labels between its decades.
    """
    readings = [mark.reading for curve in chart.curves for mark in curve.marks]
    lows = [reading.value if reading.low is None else reading.low for reading in readings]
    highs = [reading.value if reading.high is None else reading.high for reading in readings]
    axis = decade_ticks(0, chart.ordinate)
    if not readings:
        return {**axis, "showticklabels": False, "showgrid": False, "range": [0, 1]}
    low, high = min(lows), max(highs)
    if scale is Scale.LOG and chart.is_positive:
        decades = math.log10(high) - math.log10(low)  # a quotient of the two may be beyond all numbers
        pad = max(0.06 * decades, 0.04)
        ticks = decade_ticks(decades, chart.ordinate, most_ratio=most_ratio)
        return {**ticks, "type": "log", "range": [math.log10(low) - pad, math.log10(high) + pad]}
    if scale is Scale.ZERO:
        return {**axis, "range": [min(1.06 * low, 0), max(1.06 * high, 0) if low or high else 1]}
    least = 0.2 * (low + high) / 2
    pad = max(0.08 * (high - low), (least - (high - low)) / 2)
    return {**axis, "range": [low - pad, high + pad]}
