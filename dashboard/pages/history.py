"""The page *History*: any benchmark of any project over commits, and what one commit changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.looks import look_at
from dashboard.pages import Page
from dashboard.selectors import card_select, labelled_select, option_of_commit, stroke, switch
from dashboard.tables.changes import changes_table
from dashboard.views.filters import LATEST
from dashboard.views.history_choice import CASCADE, MOST_LINES, query_from_history_choice
from dashboard.views.history_drawing import drawing_of, judged_commit, note, note_of_changes
from dashboard.widgets import GRAPH_CONFIG, alert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash import Dash
    from dash.development.base_component import Component

    from dashboard.views.history_choice import HistoryView
    from dashboard.views.history_drawing import Drawing
    from results.store import Store

LABELS = {
    "project": "Project",
    "benchmark": "Benchmark",
    "metric": "Metric",
    "machine": "Machine",
    "environment": "Environment",
}
ALWAYS_SHOWN = {"project", "benchmark"}
# A choice further up ends what was chosen below it, but for where it was measured.
KEPT_BY = {"project": ("project",), "benchmark": ("project", "benchmark", "machine", "environment")}


def layout() -> Component:
    """The page before anything is chosen; the first callback fills it."""
    selects = [
        labelled_select(LABELS[name], component_id=_id(name), is_wide=name == "benchmark", is_searchable=True)
        for name in CASCADE
    ]
    lines = dmc.MultiSelect(
        id=_id("lines"), label="Parameters", data=[], value=[], searchable=True, limit=200, maxValues=MOST_LINES,
        hidePickedOptions=True, clearable=True, size="xs", className="axis whole", nothingFoundMessage="none like that",
        placeholder="add a line",
    )  # fmt: skip
    commit = card_select(component_id=_id("commit"), label="Commit", is_wide=True)
    switches = [switch("spacing", component_id=_id("spacing")), switch("batch_scale", component_id=_id("scale"))]
    graph = dcc.Graph(id=_id("graph"), config=GRAPH_CONFIG, style={"height": "420px"})
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            html.Div([*selects, lines], className="bar"),
            html.Div(id=_id("problems"), className="problems"),
            html.Section(
                [
                    html.Div([html.H2("Over commits"), html.Span(id=_id("note"), className="dimmed"),
                              html.Div(switches, className="at-end")], className="title"),
                    html.Div(id=_id("legend"), className="keys"),
                    graph,
                ],
                className="card",
            ),
            html.Section(
                [
                    html.Div([html.H2("What a commit changed"), commit,
                              html.Span(id=_id("changes-note"), className="dimmed")], className="title"),
                    html.Div(id=_id("changes")),
                ],
                className="card",
            ),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Join the page's URL, selectors and figure: any of them changed draws the view they now ask for."""

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(
        search: str | None, picked: dict[str, Any], clicked: dict[str, Any] | None, shown: dict[str, Any] | None
    ) -> dict[str, Any]:
        query = asked_query(search, picked=picked, clicked=clicked, shown=shown, triggered=ctx.triggered_id)
        return page_props(drawing_of(store, query=query), is_from_url=query == search)


def asked_query(
    search: str | None,
    *,
    picked: Mapping[str, Any],
    clicked: Mapping[str, Any] | None,
    shown: Mapping[str, Any] | None,
    triggered: str | None,
) -> str:
    """The query to draw: the URL's own when it changed, else what the selectors and the click ask for.

    Raises: PreventUpdate when that is on the screen already, as after every change of the URL by ourselves.
    """
    if search is None or (shown is not None and triggered == _id("url") and search == shown["query"]):
        raise PreventUpdate
    if shown is None or triggered in {None, _id("url")}:
        return search
    changed = str(triggered).removeprefix(_id(""))
    kept = KEPT_BY.get(changed, CASCADE)
    pairs = [(name, picked[name]) for name in kept if picked[name] is not None]
    pairs += [("spacing", picked["spacing"]), ("scale", picked["scale"])]
    if kept is CASCADE:
        pairs += [("line", name) for name in picked["lines"]] or [("line", "")]
        key = clicked["points"][0].get("customdata") if changed == "graph" and clicked else None
        pairs.append(("commit", str(key)[:12] if key else picked["commit"] or LATEST))
    return "?" + urlencode(pairs)


def page_props(drawing: Drawing, *, is_from_url: bool) -> dict[str, Any]:
    """The drawing as properties of the page's components, in the shape of OUTPUTS."""
    view, choice = drawing.view, drawing.view.choice
    query = query_from_history_choice(choice)
    options = [{"value": LATEST, "label": "latest measured"}, *map(option_of_commit, reversed(drawing.commits))]
    has_lines = len(view.lines) > 1
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": {"query": query},
        "selects": {name: _select_props(view, name) for name in CASCADE},
        "lines": {
            "data": [{"value": line.name, "label": line.label} for line in view.lines],
            "value": list(choice.lines),
            "style": {} if has_lines else {"display": "none"},
        },
        "spacing": choice.spacing,
        "scale": choice.scale,
        "commit": {"data": options, "value": choice.commit[:12] if choice.commit else LATEST},
        "problems": alert(view.problems),
        "note": note(drawing),
        "legend": [
            html.Span([stroke(look_at(i)), line.label], className="provider")
            for i, line in enumerate(view.chosen_lines)
            if has_lines
        ],
        "figure": figure_from_chart(
            drawing.chart,
            scale=choice.scale,
            chosen=judged_commit(drawing),
            keeps_zoom_of=query_from_history_choice(replace(choice, commit=None, lines=())),
        ),
        "changes_note": note_of_changes(drawing),
        "changes": _changes(drawing),
    }


def _id(name: str) -> str:
    return f"history-{name}"


PICKED = (*CASCADE, "lines", "spacing", "scale", "commit")
INPUTS = {
    "search": Input(_id("url"), "search"),
    "picked": {name: Input(_id(name), "value") for name in PICKED},
    "clicked": Input(_id("graph"), "clickData"),
}
STATE = {"shown": State(_id("shown"), "data")}
OUTPUTS = {
    "search": Output(_id("url"), "search"),
    "shown": Output(_id("shown"), "data"),
    "selects": {name: {prop: Output(_id(name), prop) for prop in ("data", "value", "style")} for name in CASCADE},
    "lines": {prop: Output(_id("lines"), prop) for prop in ("data", "value", "style")},
    "spacing": Output(_id("spacing"), "value"),
    "scale": Output(_id("scale"), "value"),
    "commit": {prop: Output(_id("commit"), prop) for prop in ("data", "value")},
    "problems": Output(_id("problems"), "children"),
    "note": Output(_id("note"), "children"),
    "legend": Output(_id("legend"), "children"),
    "figure": Output(_id("graph"), "figure"),
    "changes_note": Output(_id("changes-note"), "children"),
    "changes": Output(_id("changes"), "children"),
}


def _changes(drawing: Drawing) -> list[Component]:
    if drawing.judgement is None:
        return []
    labels = {line.name: line.label for line in drawing.view.lines}
    return changes_table(drawing.judgement, scaling=drawing.scaling, labels=labels)


def _select_props(view: HistoryView, name: str) -> dict[str, Any]:
    """What a selector shows; with a single value there is nothing to select and it hides."""
    options = view.options[name]
    is_needed = len(options) > 1 or name in ALWAYS_SHOWN
    return {
        "data": list(options),
        "value": getattr(view.choice, name),
        "style": {} if is_needed else {"display": "none"},
    }


PAGE = Page(path="/history", name="History", layout=layout, register=register, needs_sweep=False)
