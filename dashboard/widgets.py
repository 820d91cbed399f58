"""Small components that pages and tables share: graph buttons, problem boxes, strokes of a curve's look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.looks import look_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from dashboard.looks import Look

GRAPH_CONFIG: dcc.Graph.Config = {
    "displaylogo": False,
    "responsive": True,
    # Named one by one: plotly's own set has a button that sends the figure to its company.
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
}


def alert(problems: Sequence[str]) -> list[Component]:
    """Build one box with a line per problem; nothing if there is none."""
    lines = [html.Div(problem) for problem in problems]
    return [dmc.Alert(lines, color="yellow", variant="light", p="xs")] if lines else []


def stroke(look: Look) -> Component:
    """Build a short stroke in the look's colour and dash, as on the charts."""
    return html.Span(className=f"swatch {look.dash}", style={"color": look.colour})


def labelled_stroke(look: Look, label: str) -> Component:
    """Build a stroke with the curve's name behind it."""
    return html.Span([stroke(look), label], className="provider")


def contender_label(contender: str) -> Component:
    """Build the contender's name with its stroke."""
    return labelled_stroke(look_of(contender), contender)


def card(title: Sequence[Component], *children: Component) -> Component:
    """Build a card: a title line above its content."""
    return html.Section([html.Div(list(title), className="title"), *children], className="card")


def at_end(*children: Component) -> Component:
    """Build the right-aligned end of a line."""
    return html.Div(list(children), className="at-end")
