"""Timeline of one profiled call: lanes of the host and the device, and the stretches in which nothing ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboard.figures.drawing import PLAIN, TITLE
from dashboard.figures.latency import INK, SINGLE_COLOUR
from dashboard.figures.notes import escaped, wrapped
from dashboard.looks import RULE_COLOUR
from results.units import percent, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import ActivityRow, IdleRow, TimelineRow

LANE_HEIGHT, FRAME_HEIGHT = 26, 70
GAP_COLOUR = "#e0b3ab"
MOST_DEEP = 14
GAPS = {"device": "device idle", "host": "no operator"}


def height_of_timeline(timeline: TimelineRow) -> int:
    """Return the height of the figure in pixels."""
    return FRAME_HEIGHT + LANE_HEIGHT * len(_lanes(timeline))


def figure_of_timeline(timeline: TimelineRow) -> go.Figure:
    """Draw a bar for each activity, the outermost above, and below each side's the gaps."""
    lanes = _lanes(timeline)
    figure = go.Figure(layout=_layout(lanes, timeline))
    shown = [row for row in timeline.activities if _lane(row) in lanes]
    groups = (
        ("operators", [row for row in shown if not row.is_on_device]),
        ("kernels", [row for row in shown if row.is_on_device]),
    )
    for name, rows in groups:
        if rows:
            figure.add_trace(_bars(rows, name=name, timeline=timeline))
    if timeline.idle:
        figure.add_trace(_gaps(timeline.idle, timeline))
    return figure


def _bars(rows: Sequence[ActivityRow], *, name: str, timeline: TimelineRow) -> go.Bar:
    return go.Bar(
        name=name, orientation="h", y=[_lane(row) for row in rows], base=[row.start_s for row in rows],
        x=[row.duration_s for row in rows], text=[escaped(row.words) for row in rows], textposition="inside",
        insidetextanchor="start", insidetextfont={"color": INK, "size": 11}, textangle=0,
        marker={"color": SINGLE_COLOUR, "line": {"width": 1, "color": "rgba(255,255,255,0.8)"}},
        hovertext=[_note(row, timeline) for row in rows], hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )  # fmt: skip


def _gaps(rows: Sequence[IdleRow], timeline: TimelineRow) -> go.Bar:
    return go.Bar(
        name="gaps", orientation="h", y=[GAPS[timeline.of] for _ in rows], base=[row.start_s for row in rows],
        x=[row.duration_s for row in rows],
        marker={"color": GAP_COLOUR,
                "pattern": {"shape": "/", "solidity": 0.15, "fgcolor": INK, "fillmode": "overlay"}},
        hovertext=[
            f"<b>{GAPS[timeline.of]} for {si(row.duration_s, 's')}</b><br>after {wrapped(row.after)}"
            f"<br>before {wrapped(row.before)}"
            for row in rows
        ],
        hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _note(row: ActivityRow, timeline: TimelineRow) -> str:
    share = f", {percent(row.duration_s / timeline.call_s)} of the call" if timeline.call_s else ""
    name = f"<br>{wrapped(row.name)}" if row.words != row.name else ""
    return (
        f"<b>{wrapped(row.words)}</b>{name}<br>{si(row.duration_s, 's')}{share}"
        f"<br>begins {si(row.start_s, 's')} after the call"
    )


def _lane(row: ActivityRow) -> str:
    return f"{row.lane} › {row.depth + 1}" if row.depth else row.lane


def _lanes(timeline: TimelineRow) -> list[str]:
    """Return the lanes from the top: the host's by depth, the device's, and the gaps' beside the side they are of."""
    host = sorted({(row.lane, row.depth) for row in timeline.activities if not row.is_on_device})
    names = [f"{lane} › {depth + 1}" if depth else lane for lane, depth in host if depth < MOST_DEEP]
    device = sorted({row.lane for row in timeline.activities if row.is_on_device})
    gaps = [GAPS[timeline.of]] if timeline.idle else []
    return [*names, *device, *gaps]


def _layout(lanes: Sequence[str], timeline: TimelineRow) -> dict[str, object]:
    end_s = max([timeline.call_s, *(row.start_s + row.duration_s for row in timeline.activities)])
    return {
        **PLAIN,
        "barmode": "overlay",
        "bargap": 0.12,
        "uniformtext": {"minsize": 10, "mode": "hide"},
        "dragmode": "zoom",
        "xaxis": {
            "range": [0, end_s * 1.01], "gridcolor": RULE_COLOUR, "zeroline": False, "tickformat": "~s",
            "ticksuffix": "s", "tickangle": 0, "title": {**TITLE, "text": "Time since the call began"},
        },
        "yaxis": {
            "type": "category", "categoryorder": "array", "categoryarray": list(lanes)[::-1], "automargin": True,
            "ticks": "", "ticklabelstandoff": 6, "showgrid": False, "fixedrange": True,
        },
    }  # fmt: skip
