"""Drawing of change points: a dashed line where a new level begins, its size above the curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.notes import escaped
from dashboard.widgets import NEUTRAL, TONE_COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from dashboard.figures.chart import Chart, Position

MOST_TEXTS = 8  # more would stand in each other's way; the lines are all drawn
LEAST_APART = 0.06  # of the axis
MARGIN = 22  # pixels above the curves, for the texts


def mark_change_points(figure: go.Figure, chart: Chart) -> None:
    """Add the chart's change points to its figure; only where there is room is its size above it."""
    places = {place for place, _ in chart.positions}
    points = [point for point in chart.change_points if point.at in places]
    index = {place: i for i, (place, _) in enumerate(chart.positions)}
    has_text = _places_of_texts([point.at for point in points], index)
    for point in points:
        colour = TONE_COLOURS.get(point.kind, NEUTRAL)
        figure.add_shape(
            type="line", x0=point.at, x1=point.at, y0=0, y1=1, yref="paper", layer="below",
            line={"color": colour, "width": 1.5, "dash": "dash"}, name=f"change point {point.text}",
        )  # fmt: skip
        if point.at in has_text:
            figure.add_annotation(
                x=point.at, y=1, yref="paper", yanchor="bottom", text=escaped(point.text), showarrow=False,
                hovertext=point.note, font={"size": 12, "color": colour}, xanchor="center",
            )  # fmt: skip
    if points:
        figure.update_layout(margin={"t": MARGIN})


def _places_of_texts(places: Sequence[Position], index: Mapping[Position, int]) -> set[Position]:
    """Return where there is room for a text, the newest first; two are at least LEAST_APART of the axis apart."""
    room = LEAST_APART * len(index)
    found: list[Position] = []
    for place in reversed(places):
        if not found or index[found[-1]] - index[place] >= room:
            found.append(place)
    return set(found[:MOST_TEXTS])
