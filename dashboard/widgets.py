"""Small components that pages and tables share: graph buttons, problem boxes, strokes of a curve's look."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import quote

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.looks import look_of
from results.units import DIVIDED, TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from dashboard.looks import Look

# What an element of HTML may hold.
Content: TypeAlias = "Component | str | Sequence[Component | str]"
SPARKLINE_WIDTH, SPARKLINE_HEIGHT = 96, 24
NEUTRAL = "#868e96"
# A picture in an img element cannot take the style sheet's colours; these are readable on light and on dark.
TONE_COLOURS = {"bad": "#e03131", "good": "#2f9e44"}
CLEAR = "rgba(0,0,0,0)"
GRAPH_CONFIG: dcc.Graph.Config = {
    "displaylogo": False,
    "responsive": True,
    # Named one by one: of the others, one sends the figure to a company and one saves it without title and legend.
    "modeBarButtons": [["zoom2d", "pan2d", "resetScale2d"]],
}


def empty_graph(component_id: str, *, height: str) -> dcc.Graph:
    """Build a chart before anything is drawn: without the axes that plotly would number from -1 to 6."""
    hidden = {"visible": False}
    layout = {"xaxis": hidden, "yaxis": hidden, "paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR}
    return dcc.Graph(
        id=component_id, figure={"data": [], "layout": layout}, config=GRAPH_CONFIG, style={"height": height}
    )


def alert(problems: Sequence[str]) -> list[Component]:
    """Build one box with a line per problem; nothing if there is none."""
    lines = [html.Div(problem) for problem in problems]
    return [dmc.Alert(lines, color="yellow", variant="light", p="xs")] if lines else []


def unbroken(text: str) -> str:
    """Return large text in which no line ends between a number and its sign: `+2.0 %`, `× 20.5`."""
    held = text.replace(" %", "\N{NO-BREAK SPACE}%")
    for sign in (TIMES, DIVIDED):
        held = held.replace(f"{sign} ", f"{sign}\N{NO-BREAK SPACE}")
    return held


def stroke(look: Look) -> Component:
    """Build a short stroke in the look's colour and dash, as on the charts."""
    return html.Span(className=f"swatch {look.dash}", style={"color": look.colour})


def labelled_stroke(look: Look, label: str) -> Component:
    """Build a stroke with the curve's name behind it."""
    return html.Span([stroke(look), label], className="provider")


def contender_label(contender: str) -> Component:
    """Build the contender's name with its stroke."""
    return labelled_stroke(look_of(contender), contender)


def sparkline(values: Sequence[float], *, kind: str) -> Component:
    """Build a small curve of the finite values, its end a dot in the colour of `kind`: good, bad or neither.

    Of fewer than two its place stays empty.
    """
    values = [value for value in values if math.isfinite(value)]
    if len(values) < 2:
        return html.Span(className="sparkline")
    low, high = min(values), max(values)
    span = max(high - low, 0.05 * abs(high), 1e-300)
    points = [
        (3 + (SPARKLINE_WIDTH - 8) * i / (len(values) - 1), 4 + (SPARKLINE_HEIGHT - 8) * (high - value) / span)
        for i, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    (x, y), colour = points[-1], TONE_COLOURS.get(kind, NEUTRAL)
    svg = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{SPARKLINE_WIDTH}' height='{SPARKLINE_HEIGHT}'>"
        f"<polyline points='{path}' fill='none' stroke='{NEUTRAL}' stroke-width='1.5'/>"
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/></svg>"
    )
    return html.Img(src=f"data:image/svg+xml,{quote(svg)}", className="sparkline", alt="")


def labelled_cells(headings: Sequence[tuple[str, str]], contents: Sequence[Content]) -> list[Component]:
    """Build a row's cells; each keeps its heading, text and class, which a narrow page shows beside the content."""
    return [
        html.Td(content, className=kind, **cast("dict[str, Any]", {"data-label": text}))
        for (text, kind), content in zip(headings, contents, strict=True)
    ]


def picture_buttons(*, csv_id: str | None = None) -> Component:
    """Build the buttons that save a card's chart (assets/pictures.js), and the link to its values as CSV."""
    buttons: list[Component] = [
        html.Button(kind.upper(), type="button", title=f"Save the chart as {kind.upper()}",
                    **cast("dict[str, Any]", {"data-picture": kind}))
        for kind in ("png", "svg")
    ]  # fmt: skip
    if csv_id is not None:
        buttons.append(html.A("CSV", id=csv_id, href="", download="", title="Save the values as CSV"))
    return html.Div(buttons, className="saving")


class OnEnter(StrEnum):
    """What the key Enter does at a chart."""

    NOTHING = ""  # its marks are read one by one
    CHOOSES = "chooses"  # the mark it is at, as a click does
    OPENS = "opens"  # a small chart, as the link in its title does


def by_keyboard(graph: Component, *, label: str, on_enter: OnEnter) -> Component:
    """Build a chart whose marks the keyboard reaches (assets/keyboard.js). label: what the chart shows."""
    told, shown = {
        OnEnter.NOTHING: ("", ""),
        OnEnter.CHOOSES: (", Enter chooses one", ", Enter chooses"),
        OnEnter.OPENS: (", Enter opens it", ", Enter opens"),
    }[on_enter]
    named = {
        "aria-label": f"{label}. Arrow keys go from mark to mark{told}",
        "data-keys": f"← → along, ↑ ↓ to another curve or row{shown}",
    }
    kind = f"by-keyboard {on_enter}".rstrip()
    return html.Div(graph, className=kind, tabIndex=0, role="application", **cast("dict[str, Any]", named))


def command_code(command: str) -> Component:
    """Build a command among other words; a line may end between its words, but not after the hyphen of an option."""
    words = [html.Span(word, className="word") for word in command.split(" ")]
    return html.Code([part for word in words for part in (word, " ")][:-1])


def card(title: Sequence[Component], *children: Component) -> Component:
    """Build a card: a title line above its content."""
    return html.Section([html.Div(list(title), className="title"), *children], className="card")


def at_end(*children: Component) -> Component:
    """Build the right-aligned end of a line."""
    return html.Div(list(children), className="at-end")
