"""Ratios of points against their value at the first side, as a scatter."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dashboard.figures.axes import decade_ticks, decades_of_labels
from dashboard.figures.drawing import PLAIN, TITLE
from dashboard.figures.notes import escaped, wrapped
from dashboard.looks import CHOSEN_COLOUR, RULE_COLOUR, look_of_side
from results.units import TIMES, change_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.figures.drawing import Figure
    from dashboard.quantities import Ordinate

MOST_POINTS = 2500  # of a figure, whose notes make up most of a page
MOST_TICKS = 12
FINE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0)
LEAST = (0.98, 1.02)  # that the axis holds
BETWEEN = 1e2  # ratio of the ends of the axis of values up to which it has labels between its decades
COARSE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class RatioMark(NamedTuple):
    """Point of the scatter: its value at the first side, and its ratio at another. name, word: on its hover card.

    A tuple, because there are thousands, of which most are left out.
    """

    value: float
    ratio: float
    name: str
    word: str
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
    shares: dict[int, int] = {}
    # What a small side leaves of its share is the others'.
    for index in sorted(range(len(sides)), key=lambda each: len(sides[each].marks)):
        room = (most - sum(shares.values())) // (len(sides) - len(shares))
        shares[index] = min(room, len(sides[index].marks))
    kept = tuple(replace(side, marks=_some(side.marks, shares[index])) for index, side in enumerate(sides))
    return kept, n - sum(shares.values())


def _some(marks: Sequence[RatioMark], n: int) -> tuple[RatioMark, ...]:
    """Return `n` of them: the largest certain changes, then of the others half the largest and half evenly."""
    ordered = sorted(marks, key=_size, reverse=True)
    certain = [mark for mark in ordered if mark.is_significant][:n]
    others = [mark for mark in ordered if not mark.is_significant]
    room = min(n - len(certain), len(others))
    n_largest = room // 2
    rest, n_evenly = others[n_largest:], room - n_largest
    return (*certain, *others[:n_largest], *(rest[i * len(rest) // n_evenly] for i in range(n_evenly)))


def _size(mark: RatioMark) -> float:
    return abs(math.log(mark.ratio)) if mark.ratio > 0 else math.inf


def scatter_of_ratios(sides: Sequence[RatioSide], *, ordinate: Ordinate, base: str, are_providers: bool) -> Figure:
    """Draw one trace per side over logarithmic axes, as plotly.js takes it; what changed beyond the noise is filled."""
    traces = []
    for number, side in enumerate(sides):
        look = look_of_side(side.name, number, is_provider=are_providers)
        symbols = (f"{look.symbol}-open", look.symbol)
        traces.append(
            {
                "type": "scatter", "name": side.name, "mode": "markers",
                # As arrays, which are written at once.
                "x": np.array([mark.value for mark in side.marks]), "y": np.array([mark.ratio for mark in side.marks]),
                "marker": {
                    "size": 7, "color": look.colour, "symbol": [symbols[mark.is_significant] for mark in side.marks],
                },
                "hovertext": [_note(mark, side=side.name) for mark in side.marks],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )  # fmt: skip
    marks = [mark for side in sides for mark in side.marks]
    layout = _layout(ordinate, base=base, ratios=[one.ratio for one in marks], values=[one.value for one in marks])
    rule = {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": 1, "y1": 1, "layer": "below",
            "line": {"color": CHOSEN_COLOUR, "width": 1}}  # fmt: skip
    return {"data": traces, "layout": {**layout, "shapes": [rule]}}


def _note(mark: RatioMark, *, side: str) -> str:
    """Write the hover card of a point."""
    words = escaped(f"{change_in_words(mark.ratio)} {mark.word}")
    return "<br>".join([f"<b>{words}</b>", wrapped(mark.name), wrapped(side)])


def _ticks(ratios: Sequence[float]) -> dict[str, object]:
    """Return labels at round ratios, fine ones where all lie near to 1; plotly's own beyond the labelled range.

    The axis ends where the labels do: left alone it spans two decades around a single ratio.
    """
    known = [ratio for ratio in ratios if 0 < ratio < math.inf]
    low, high = min([*known, LEAST[0]]) / 1.05, max([*known, LEAST[1]]) * 1.05
    shown = [tick for tick in FINE if low <= tick <= high]
    if len(shown) > MOST_TICKS or low < FINE[0] or high > FINE[-1]:
        shown = [tick for tick in COARSE if low <= tick <= high]
    if low < COARSE[0] or high > COARSE[-1]:
        return {"tickformat": "~g", "ticksuffix": TIMES, "dtick": decades_of_labels(_decades(ratios))}
    margin = 0.03 * math.log10(high / low)
    return {
        "tickmode": "array", "tickvals": shown, "ticktext": [f"{tick:g}{TIMES}" for tick in shown],
        "range": [math.log10(low) - margin, math.log10(high) + margin],
    }  # fmt: skip


def _decades(values: Sequence[float]) -> float:
    known = [math.log10(value) for value in values if 0 < value < math.inf]
    return max(known) - min(known) if known else 0.0


def _layout(ordinate: Ordinate, *, base: str, ratios: Sequence[float], values: Sequence[float]) -> dict[str, object]:
    rule = {"gridcolor": RULE_COLOUR, "zeroline": False, "linecolor": RULE_COLOUR, "automargin": True}
    return {
        **PLAIN,
        "xaxis": {
            **rule, "type": "log", **decade_ticks(_decades(values), ordinate, most_ratio=BETWEEN), "ticks": "outside",
            "showgrid": False,
            "title": {**TITLE, "text": escaped(f"{ordinate.title} at {base}")},
        },
        "yaxis": {
            **rule, "type": "log", **_ticks(ratios),
            "title": {**TITLE, "text": f"Ratio to the first side{f' ({ordinate.better})' if ordinate.better else ''}"},
        },
    }  # fmt: skip
