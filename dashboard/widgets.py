"""What every page has: its graphs' buttons, and the box that says what was wrong with the URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

GRAPH_CONFIG: dcc.Graph.Config = {
    "displaylogo": False,
    "responsive": True,
    # Named one by one: plotly's own set has a button that sends the figure to its company.
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
}


def alert(problems: Sequence[str]) -> list[Component]:
    """One box with a line per problem; nothing if there is none."""
    lines = [html.Div(problem) for problem in problems]
    return [dmc.Alert(lines, color="yellow", variant="light", p="xs")] if lines else []
