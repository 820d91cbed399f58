"""Ratios of points against their value at the first side, as a scatter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboard.figures.drawing import FONT, TITLE
from dashboard.figures.notes import escaped, wrapped
from dashboard.looks import CHOSEN_COLOUR, RULE_COLOUR, look_of_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.quantities import Ordinate

MOST_POINTS = 5000  # of a figure


@dataclass(frozen=True, kw_only=True)
class RatioMark:
    """Point of the scatter: its value at the first side, and its ratio at another. note: its hover card."""

    value: float
    ratio: float
    note: str
    is_significant: bool


@dataclass(frozen=True, kw_only=True)
class RatioSide:
    """Marks of one side, and its name."""

    name: str
    marks: tuple[RatioMark, ...]


def thinned(sides: Sequence[RatioSide], *, most: int = MOST_POINTS) -> tuple[tuple[RatioSide, ...], int]:
    """Return the sides with `most` marks together, and how many were left out: of those without a certain change."""
    n = sum(len(side.marks) for side in sides)
    if n <= most:
        return tuple(sides), 0
    share = most // len(sides)
    kept = []
    for side in sides:
        certain = [mark for mark in side.marks if mark.is_significant][:share]
        others = [mark for mark in side.marks if not mark.is_significant]
        room = share - len(certain)
        stride = max(-(-len(others) // room), 1) if room else len(others) + 1
        kept.append(RatioSide(name=side.name, marks=(*certain, *(others[::stride] if room else ()))))
    return tuple(kept), n - sum(len(side.marks) for side in kept)


def scatter_of_ratios(sides: Sequence[RatioSide], *, ordinate: Ordinate, base: str, are_providers: bool) -> go.Figure:
    """Draw one trace per side over logarithmic axes; what changed beyond the noise is filled."""
    figure = go.Figure(layout=_layout(ordinate, base=base))
    for number, side in enumerate(sides):
        look = look_of_side(side.name, number, is_provider=are_providers)
        figure.add_trace(
            go.Scatter(
                name=side.name, mode="markers",
                x=[mark.value for mark in side.marks], y=[mark.ratio for mark in side.marks],
                marker={
                    "size": 7, "color": look.colour,
                    "symbol": [look.symbol + ("" if mark.is_significant else "-open") for mark in side.marks],
                },
                hovertext=[mark.note for mark in side.marks], hovertemplate="%{hovertext}<extra></extra>",
            )
        )  # fmt: skip
    figure.add_shape(type="line", x0=0, x1=1, xref="paper", y0=1, y1=1, layer="below",
                     line={"color": CHOSEN_COLOUR, "width": 1})  # fmt: skip
    return figure


def note_of_mark(name: str, *, side: str, words: str) -> str:
    """Write the hover card of a point."""
    return "<br>".join([f"<b>{escaped(words)}</b>", wrapped(name), wrapped(side)])


def _layout(ordinate: Ordinate, *, base: str) -> dict[str, object]:
    rule = {"gridcolor": RULE_COLOUR, "zeroline": False, "linecolor": RULE_COLOUR, "automargin": True}
    return {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 14, "t": 8, "b": 44},
        "font": {"family": FONT, "size": 12},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "font": {"family": FONT, "size": 12}},
        "showlegend": False,
        "xaxis": {
            **rule, "type": "log", "ticksuffix": ordinate.suffix, "dtick": 1, "ticks": "outside", "showgrid": False,
            **({"tickformat": "~s"} if ordinate.has_prefix else {}),
            "title": {**TITLE, "text": escaped(f"{ordinate.title} at {base}")},
        },
        "yaxis": {
            **rule, "type": "log", "tickformat": ".3~g", "ticksuffix": "\N{MULTIPLICATION SIGN}", "dtick": "D2",
            "title": {**TITLE, "text": f"Ratio to the first side{f' ({ordinate.better})' if ordinate.better else ''}"},
        },
    }  # fmt: skip
