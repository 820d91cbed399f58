"""Drawing of change points: a dashed line where a new level begins, its size above the curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.notes import escaped
from dashboard.widgets import NEUTRAL, TONE_COLOURS

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dashboard.figures.chart import Chart

MOST_TEXTS = 8  # more would stand in each other's way; the lines are all drawn
MARGIN = 22  # pixels above the curves, for the texts


def mark_change_points(figure: go.Figure, chart: Chart) -> None:
    """Add the chart's change points to its figure; where there are many, only the last ones have their size beside."""
    places = {place for place, _ in chart.positions}
    points = [point for point in chart.change_points if point.at in places]
    for number, point in enumerate(reversed(points)):
        colour = TONE_COLOURS.get(point.kind, NEUTRAL)
        figure.add_shape(
            type="line", x0=point.at, x1=point.at, y0=0, y1=1, yref="paper", layer="below",
            line={"color": colour, "width": 1.5, "dash": "dash"}, name=f"change point {point.text}",
        )  # fmt: skip
        if number < MOST_TEXTS:
            figure.add_annotation(
                x=point.at, y=1, yref="paper", yanchor="bottom", text=escaped(point.text), showarrow=False,
                hovertext=point.note, font={"size": 12, "color": colour}, xanchor="center",
            )  # fmt: skip
    if points:
        figure.update_layout(margin={"t": MARGIN})
