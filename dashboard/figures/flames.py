"""Flame graph of folded stacks, drawn as an icicle of bars: the outermost frame above, each width a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboard.figures.drawing import MARGIN, PLAIN, TITLE
from dashboard.figures.latency import INK
from dashboard.figures.notes import escaped, wrapped
from dashboard.looks import RULE_COLOUR
from results.units import percent, si

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from results.queries import FoldedStack

MOST_FRAMES = 1200
ROW_HEIGHT, FRAME_HEIGHT = 28, 56
COMPUTING, CALLING, AROUND = "#b8c9a4", "#dfe3e8", "#e0b3ab"
KEY = {COMPUTING: "computes", AROUND: "takes time itself, computes nothing", CALLING: "calls the frames below it"}


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Frame of a flame graph. path: from the outermost frame to this one; time_s with what it calls, self_s without.

    start_s: where it is drawn, inside of its caller, the longest first; no moment of the call.
    """

    path: tuple[str, ...]
    start_s: float
    time_s: float
    self_s: float


def frames_of(stacks: Sequence[FoldedStack]) -> tuple[Frame, ...]:
    """Add the stacks up: a frame for each distinct beginning, each inside of its caller; outermost first, then by time.

    Of too many frames those of least time are left out.
    """
    total: dict[tuple[str, ...], float] = {}
    own: dict[tuple[str, ...], float] = {}
    for stack in stacks:
        own[stack.frames] = own.get(stack.frames, 0.0) + stack.time_s
        for depth in range(1, len(stack.frames) + 1):
            path = stack.frames[:depth]
            total[path] = total.get(path, 0.0) + stack.time_s
    longest = sorted(total, key=lambda path: (-total[path], len(path)))[:MOST_FRAMES]
    free_from: dict[tuple[str, ...], float] = {(): 0.0}
    found = []
    for path in sorted(longest, key=lambda path: (len(path), -total[path], path)):
        start_s = free_from[path[:-1]]
        free_from[path[:-1]] += total[path]
        free_from[path] = start_s
        found.append(Frame(path=path, start_s=start_s, time_s=total[path], self_s=own.get(path, 0.0)))
    return tuple(found)


def height_of_flames(stacks: Sequence[FoldedStack]) -> int:
    """Return the height of the figure in pixels."""
    return FRAME_HEIGHT + ROW_HEIGHT * (1 + max((len(stack.frames) for stack in stacks), default=0))


def figure_of_flames(
    stacks: Sequence[FoldedStack], *, side: str, computing: Collection[str], words: Mapping[str, str]
) -> go.Figure:
    """Draw the stacks of one side of a call, the outermost frame above; each width is a time.

    computing: names of operators that compute, and of kernels. words: what kernels' names say, by the name.
    """
    whole_s = sum(stack.time_s for stack in stacks)
    root = Frame(path=(f"one call on the {side}",), start_s=0.0, time_s=whole_s, self_s=0.0)
    frames = [(0, root, CALLING), *((len(one.path), one, _colour(one, computing)) for one in frames_of(stacks))]
    return go.Figure(
        layout=_layout(height_of_flames(stacks), whole_s),
        data=go.Bar(
            name=f"{side} stacks", orientation="h", y=[depth for depth, _, _ in frames],
            base=[one.start_s for _, one, _ in frames], x=[one.time_s for _, one, _ in frames], width=1,
            text=[escaped(words.get(one.path[-1], one.path[-1])) for _, one, _ in frames],
            textposition="inside", insidetextanchor="start",
            insidetextfont={"color": INK}, textangle=0,
            marker={"color": [colour for _, _, colour in frames],
                    "line": {"width": 1.5, "color": "rgba(255,255,255,0.9)"}},
            hovertext=[_note(one, whole_s, words.get(one.path[-1])) for _, one, _ in frames],
            hovertemplate="%{hovertext}<extra></extra>", showlegend=False,
        ),
    )  # fmt: skip


def _note(frame: Frame, whole_s: float, words: str | None) -> str:
    own = f"{si(frame.self_s, 's')} by itself" if frame.self_s else "none by itself"
    share = percent(frame.time_s / whole_s) if whole_s else ""
    name = [f"<b>{wrapped(words)}</b>", wrapped(frame.path[-1])] if words else [f"<b>{wrapped(frame.path[-1])}</b>"]
    lines = [*name, f"{si(frame.time_s, 's')}, {share} of the call, {own}"]
    return "<br>".join([*lines, *([f"below {wrapped(' › '.join(frame.path[:-1]))}"] if len(frame.path) > 1 else [])])


def _colour(frame: Frame, computing: Collection[str]) -> str:
    if frame.path[-1] in computing:
        return COMPUTING
    return AROUND if frame.self_s >= frame.time_s / 2 else CALLING


def _layout(height: int, whole_s: float) -> dict[str, object]:
    n_rows = (height - FRAME_HEIGHT) // ROW_HEIGHT
    return {
        **PLAIN,
        "margin": {**MARGIN, "l": 4, "r": 4, "t": 4},
        "barmode": "overlay",
        "dragmode": "zoom",
        "uniformtext": {"minsize": 11, "mode": "hide"},
        "xaxis": {
            "range": [0, whole_s or 1], "gridcolor": RULE_COLOUR, "zeroline": False, "tickformat": "~s",
            "ticksuffix": "s", "tickangle": 0, "title": {**TITLE, "text": "Time in one call, the largest first"},
        },
        "yaxis": {"range": [n_rows - 0.5, -0.5], "visible": False, "fixedrange": True},
    }  # fmt: skip
