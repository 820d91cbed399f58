"""Drawing of change points: a dashed line where a new level begins, its size above the curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dashboard.figures.notes import escaped
from dashboard.widgets import NEUTRAL, TONE_COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.figures.chart import Chart, Position

MOST_TEXTS = 8  # more would stand in each other's way; the lines are all drawn
LEAST_APART = 0.06  # of the axis: room for the sign, the digits and the unit
LETTERS = 7  # that fit into it
LINE_HEIGHT = 16  # pixels
MARGIN = 6  # pixels above the texts


def place_in_layout(place: Position, frame: Chart) -> Position:
    """Return a position as a line or a text of the layout has it: a name that plotly takes for a number by its rank.

    On an axis of names it takes a number for a rank, and some short hashes have digits alone. frame: chart of the axes.
    """
    try:
        is_number = isinstance(place, str) and math.isfinite(float(place))
    except ValueError:
        is_number = False
    ranks = [i for i, (at, _) in enumerate(frame.positions) if at == place] if is_number else []
    return ranks[0] if ranks else place


def with_change_points(layout: Mapping[str, Any], chart: Chart, *, frame: Chart | None = None) -> dict[str, Any]:
    """Return a figure's layout with the chart's change points; only where there is room is its size above one.

    frame: chart whose axes are drawn, where it is another.
    """
    places = {place for place, _ in chart.positions}
    points = [point for point in chart.change_points if point.at in places]
    index = {place: i for i, (place, _) in enumerate(chart.positions)}
    lines = [line for point in points for line in point.text.split("\n")]
    room = LEAST_APART * max([LETTERS, *map(len, lines)]) / LETTERS
    has_text = _places_of_texts([point.at for point in points], index, room=room * len(index))
    shapes, annotations = list(layout.get("shapes", ())), list(layout.get("annotations", ()))
    for point in points:
        colour, at = TONE_COLOURS.get(point.kind, NEUTRAL), place_in_layout(point.at, frame or chart)
        shapes.append(
            {
                "type": "line",
                "x0": at,
                "x1": at,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "layer": "below",
                "line": {"color": colour, "width": 1.5, "dash": "dash"},
                "name": f"change point {point.text}",
            }
        )
        if point.at in has_text:
            annotations.append(
                {
                    "x": at,
                    "y": 1,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "xanchor": _anchor(index[point.at] / len(index), room / 2),
                    "text": escaped(point.text).replace("\n", "<br>"),
                    "hovertext": point.note,
                    "showarrow": False,
                    "font": {"size": 12, "color": colour},
                }
            )
    if not points:
        return dict(layout)
    n_lines = max(point.text.count("\n") + 1 for point in points)
    margin = {**layout.get("margin", {}), "t": MARGIN + LINE_HEIGHT * n_lines}
    return {**layout, "margin": margin, "shapes": shapes, "annotations": annotations}


def _places_of_texts(places: Sequence[Position], index: Mapping[Position, int], *, room: float) -> set[Position]:
    """Return where there is room for a text, the newest first; two are at least `room` commits apart."""
    found: list[Position] = []
    for place in reversed(places):
        if not found or index[found[-1]] - index[place] >= room:
            found.append(place)
    return set(found[:MOST_TEXTS])


def _anchor(share: float, room: float) -> str:
    """Return which end of a text of twice the `room` stands at `share` of the axis, so that it stays inside."""
    return "left" if share < room else "right" if share > 1 - room else "center"
