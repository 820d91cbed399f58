"""Latency of a call as a bar of parts that sum to it, beside host, device and floor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboard.figures.drawing import MARGIN, PLAIN, TITLE
from dashboard.figures.notes import escaped, wrapped
from dashboard.looks import RULE_COLOUR
from results.judgement.latency_parts import Part
from results.units import percent, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.latency_parts import LatencyPart

# No colour of a provider's, since a part is none; dark text is readable on each.
PART_COLOURS = {
    Part.FLOOR: "#8fa7b3",
    Part.PRODUCTS: "#b8c9a4",
    Part.OPERATORS: "#dccb95",
    Part.ALL_OPERATORS: "#b8c9a4",
    Part.OUTSIDE: "#e0b3ab",
    Part.WAITING: "#e0b3ab",
    Part.IDLE: "#e0b3ab",
    Part.REST: "#cfd2d6",
}
SINGLE_COLOUR = "#c3c8ee"  # of bars that are no part: host, device
INK = "#20242a"
BAR_HEIGHT, FRAME_HEIGHT = 40, 78
LEAST_LABELLED = 0.06  # share of the axis: narrower bars are named in the key and by hovering
MOST_WITHIN = 5
MOST_TICKS = 4  # each bar says its time, and on a narrow page half is left for them


@dataclass(frozen=True, kw_only=True)
class TimeBar:
    """Bar of one call. parts: seconds that sum to `time_s`; of a bar without any, `time_s` alone is drawn."""

    label: str
    time_s: float
    parts: tuple[LatencyPart, ...] = ()
    part_names: tuple[str, ...] = ()
    note: str = ""
    is_floor: bool = False


def height_of_times(bars: Sequence[TimeBar]) -> int:
    """Return the height of the figure in pixels."""
    return FRAME_HEIGHT + BAR_HEIGHT * max(len(bars), 1)


def key_of_times(bars: Sequence[TimeBar]) -> dict[str, str]:
    """Return the colour of each part that is drawn, by its name."""
    drawn = (part for bar in bars for part in zip(bar.part_names, bar.parts, strict=True))
    return {name: PART_COLOURS[each.part] for name, each in drawn if each.time_s > 0}


def figure_of_times(bars: Sequence[TimeBar]) -> go.Figure:
    """Draw the bars from the top; where the parts are more than the latency, what overlaps is hatched beyond it."""
    figure = go.Figure(layout=_layout(bars))
    longest_s = max((_end_s(bar) for bar in bars), default=0.0) or 1.0
    for bar in bars:
        figure.add_traces(_of_parts(bar, longest_s) if bar.parts else [_single(bar)])
    return figure


def _end_s(bar: TimeBar) -> float:
    return max(bar.time_s, sum(each.time_s for each in bar.parts if each.time_s > 0))


def _single(bar: TimeBar) -> go.Bar:
    return go.Bar(
        name=bar.label, orientation="h", y=[bar.label], x=[bar.time_s], text=[si(bar.time_s, "s")],
        textposition="auto", cliponaxis=False, insidetextfont={"color": INK}, textangle=0, constraintext="none",
        marker={"color": PART_COLOURS[Part.FLOOR] if bar.is_floor else SINGLE_COLOUR},
        hovertext=[f"<b>{escaped(bar.label)}</b>  {si(bar.time_s, 's')}<br>{wrapped(bar.note)}"],
        hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _of_parts(bar: TimeBar, longest_s: float) -> list[go.Bar | go.Scatter]:
    traces: list[go.Bar | go.Scatter] = []
    start_s = 0.0
    for each, name in zip(bar.parts, bar.part_names, strict=True):
        if each.time_s <= 0:
            continue
        share = each.time_s / bar.time_s if bar.time_s else 0.0
        is_labelled = each.time_s / longest_s >= LEAST_LABELLED
        traces.append(
            go.Bar(
                name=name, orientation="h", y=[bar.label], x=[each.time_s], base=[start_s],
                text=[f"{si(each.time_s, 's')} · {percent(share)}" if is_labelled else ""],
                textposition="inside", insidetextanchor="middle", insidetextfont={"color": INK}, textangle=0,
                marker={
                    "color": PART_COLOURS[each.part], "line": {"width": 1, "color": "rgba(255,255,255,0.8)"},
                    "pattern": {"shape": "/" if each.part is Part.REST else "", "solidity": 0.15, "fgcolor": "#a3a9b0",
                                "fillmode": "overlay"},
                },
                hovertext=[_note(each, name, share)], hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
            )
        )  # fmt: skip
        start_s += each.time_s
    if start_s > bar.time_s * (1 + 1e-6):
        traces.append(_end_of(bar, over_s=start_s - bar.time_s))
    return traces


def _end_of(bar: TimeBar, *, over_s: float) -> go.Scatter:
    """Mark where the latency ends of a bar whose parts are more than it."""
    why = "the parts beyond it overlap: they are of profiled calls, which took longer than those that were timed"
    note = f"<b>{escaped(bar.label)}</b> ends here: {si(bar.time_s, 's')}<br>{si(over_s, 's')} too much: {wrapped(why)}"
    return go.Scatter(
        name="end of the latency", x=[bar.time_s], y=[bar.label], mode="markers", showlegend=False,
        marker={"symbol": "line-ns", "size": 34, "line": {"width": 3, "color": "#5f666d"}},
        hovertext=[note], hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip


def _note(each: LatencyPart, name: str, share: float) -> str:
    lines = [f"<b>{escaped(name)}</b>  {si(each.time_s, 's')}, {percent(share)} of the latency"]
    lines += [f"{wrapped(inner, width=56)}  {si(time_s, 's')}" for inner, time_s in each.within[:MOST_WITHIN]]
    n_more = len(each.within) - MOST_WITHIN
    return "<br>".join([*lines, *([f"{n_more} more"] if n_more > 0 else [])])


def _layout(bars: Sequence[TimeBar]) -> dict[str, object]:
    return {
        **PLAIN,
        "margin": {**MARGIN, "r": 64},
        "barmode": "overlay",
        "uniformtext": {"minsize": 11, "mode": "hide"},
        "bargap": 0.3,
        "xaxis": {
            "rangemode": "tozero", "gridcolor": RULE_COLOUR, "zeroline": False, "ticksuffix": "s", "tickformat": "~s",
            "title": {**TITLE, "text": "Time of one call (shorter is better)"}, "fixedrange": True,
            "tickangle": 0, "nticks": MOST_TICKS,
        },
        "yaxis": {
            "type": "category", "categoryorder": "array", "categoryarray": [bar.label for bar in bars][::-1],
            "automargin": True, "ticks": "", "ticklabelstandoff": 6, "showgrid": False, "fixedrange": True,
        },
    }  # fmt: skip
