"""Cards of the page *Profile* before anything is chosen: titles, empty graphs and grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from dashboard.figures.flames import KEY as FLAME_COLOURS
from dashboard.selectors import labelled_select, switch_of
from dashboard.sweep_axes import AXES
from dashboard.tables.grids import grid_slot
from dashboard.tables.profiles import KERNEL_COLUMNS, OPERATOR_COLUMNS, RUNTIME_COLUMNS
from dashboard.views.projects import PROJECT_AXIS
from dashboard.widgets import OnEnter, at_end, by_keyboard, card, empty_graph, picture_buttons
from results.queries import StackKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash.development.base_component import Component

    from dashboard.tables.grids import Column

SELECTED = (PROJECT_AXIS, *AXES)
SELECTS = {"provider": "Provider", "commit": "Commit", "against": "Compare with", "base": "At commit"}
GRIDS: dict[str, tuple[str, tuple[Column, ...]]] = {
    "operators": ("Operators", OPERATOR_COLUMNS),
    "kernels": ("Kernels", KERNEL_COLUMNS),
    "runtime": ("Calls of the runtime", RUNTIME_COLUMNS),
}
TIMES_TITLE = "Where the time goes"
PERFETTO = "https://ui.perfetto.dev"
HOW_TO_OPEN = (
    " and choose Open trace file: it is read in the browser and sent nowhere, and the page works without a network "
    "once it was visited. chrome://tracing in Chromium opens it, too."
)
SIDES = {str(side): str(side) for side in StackKind}
FLAME_KEY = {name: colour for colour, name in FLAME_COLOURS.items()}


def page_id(name: str) -> str:
    """Return the id of the page's component `name`."""
    return f"profile-{name}"


def layout() -> Component:
    """Build the page before anything is chosen; the first callback fills it."""
    axes = [labelled_select(axis.label, component_id=page_id(axis.name)) for axis in SELECTED]
    others = [
        labelled_select(
            label, component_id=page_id(name), is_wide=name in {"commit", "base"},
            is_searchable=name in {"commit", "base"},
        )
        for name, label in SELECTS.items()
    ]  # fmt: skip
    return html.Div(
        [
            dcc.Location(id=page_id("url"), refresh="callback-nav"),
            dcc.Store(id=page_id("shown")),
            html.Div([*axes, html.Span(id=page_id("facts"), className="facts")], className="bar"),
            html.Div(others, className="bar"),
            html.Div(id=page_id("problems"), className="problems"),
            html.Section(id=page_id("answer"), className="card"),
            html.Div(id=page_id("content"), className="page", children=_cards()),
        ],
        className="page",
    )


def _cards() -> list[Component]:
    return [
        html.Div([_difference_card()], id=page_id("difference-box")),
        html.Div([_times_card(), _expected_card()], className="charts wide-first"),
        *(_grid_card(name, title) for name, (title, _) in GRIDS.items()),
        _flames_card(),
        _timeline_card(),
    ]


def _times_card() -> Component:
    return _graph_card([html.H2(TIMES_TITLE)], name="times", label=TIMES_TITLE, key={})


def key_items(colours: Mapping[str, str]) -> list[Component]:
    """Build the key of areas: what each colour is of, by its name."""
    return [
        html.Span([html.Span(className="square", style={"backgroundColor": colour}), name], className="provider")
        for name, colour in colours.items()
    ]


def _expected_card() -> Component:
    note = html.Span("what the provider declares, before it is measured", className="dimmed")
    return html.Div(
        card([html.H2("Expected and seen"), note], html.Div(id=page_id("expected")), html.Div(id=page_id("missing")))
    )


def _difference_card() -> Component:
    title = [html.H2("Difference"), html.Span(id=page_id("difference-names"), className="dimmed")]
    table = grid_slot(page_id("difference"), label="Aligned operators and kernels")
    return card(
        title,
        html.Div(id=page_id("difference-note"), className="note"),
        _graph("difference-graph", label="Difference"),
        picture_buttons(csv_id=page_id("difference-csv")),
        table,
    )


def _grid_card(name: str, title: str) -> Component:
    head = [html.H2(title), html.Span(id=page_id(f"{name}-note"), className="dimmed")]
    csv = html.Div(html.A("CSV", id=page_id(f"{name}-csv"), href="", download="", title="Save the table as CSV"),
                   className="saving")  # fmt: skip
    return html.Div(card(head, grid_slot(page_id(name), label=title), csv), id=page_id(f"{name}-box"))


def _flames_card() -> Component:
    title = [
        html.H2("Flame graph"),
        html.Span("of one call; drag over a stretch to enlarge it, double-click to see all", className="dimmed"),
        at_end(html.Div(switch_of(SIDES, component_id=page_id("side")), id=page_id("side-box"))),
    ]
    return _graph_card(title, name="flames", label="Flame graph", key=FLAME_KEY)


def _timeline_card() -> Component:
    link = html.A("Save the trace", id=page_id("trace"), href="", download="", className="button")
    viewer = html.A("open it in Perfetto", href=PERFETTO, target="_blank", rel="noopener noreferrer")
    perfetto = html.P([link, "then ", viewer, HOW_TO_OPEN], id=page_id("perfetto"), className="detail")
    return html.Div(
        card(
            [html.H2("Timeline")],
            html.Div(id=page_id("timeline-note"), className="note"),
            html.Div([_graph("timeline-graph", label="Timeline"), picture_buttons()], id=page_id("timeline-box")),
            perfetto,
        ),
        id=page_id("timeline-card"),
    )


def _graph_card(title: Sequence[Component], *, name: str, label: str, key: Mapping[str, str]) -> Component:
    note = html.Div(id=page_id(f"{name}-note"), className="note")
    keys = html.Div(key_items(key), id=page_id(f"{name}-key"), className="keys")
    graph = html.Div([keys, _graph(f"{name}-graph", label=label), picture_buttons()], id=page_id(f"{name}-box"))
    return html.Div(card(title, note, graph), id=page_id(f"{name}-card"))


def _graph(name: str, *, label: str) -> Component:
    graph = empty_graph(page_id(name), height="200px")
    return by_keyboard(graph, label=label, on_enter=OnEnter.NOTHING)
