"""Page *Explore*: any benchmark of any project over commits, and what one commit changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request
from werkzeug.exceptions import NotFound

from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.history import looks_of
from dashboard.lines import parameter_choices, parameter_names_of
from dashboard.pages import Page, csv_response
from dashboard.selectors import card_select, commit_props, labelled_select, select_props, switch
from dashboard.tables.changes import changes_table
from dashboard.tables.export import csv_of_histories
from dashboard.tables.name_tree import name_tree
from dashboard.views.explore_choice import CASCADE, MOST_LINES, OF_POINT, explore_view_of, query_from_explore_choice
from dashboard.views.explore_drawing import (
    answer_of_changes,
    explore_drawing_of,
    judged_commit,
    note_of_changes,
    note_of_lines,
)
from dashboard.views.url import LATEST
from dashboard.widgets import GRAPH_CONFIG, alert, at_end, card, labelled_stroke, picture_buttons
from results.queries import benchmark_names, history_of, projects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go
    from dash import Dash
    from dash.development.base_component import Component
    from werkzeug.wrappers import Response

    from dashboard.views.explore_drawing import ExploreDrawing
    from results.store import Store

LABELS = {
    "project": "Project",
    "benchmark": "Benchmark",
    "metric": "Metric",
    "machine": "Machine",
    "environment": "Environment",
}
YES = "yes"
PARAMETERS = tuple(f"parameter-{number}" for number in range(6))  # a benchmark with more has the rest among its lines
ALWAYS_SHOWN = {"project", "benchmark"}
# A change further up resets what was chosen below it; a change of benchmark keeps machine and environment.
KEPT_BY = {"project": ("project",), "benchmark": ("project", "benchmark", "machine", "environment")}


def layout() -> Component:
    """Build the page before anything is chosen; the first callback fills it."""
    selects = [
        labelled_select(LABELS[name], component_id=_id(name), is_wide=name == "benchmark", is_searchable=True)
        for name in CASCADE
    ]
    lines = dmc.MultiSelect(
        id=_id("lines"), label="Lines", data=[], value=[], searchable=True, limit=200, maxValues=MOST_LINES,
        hidePickedOptions=True, clearable=True, size="xs", className="axis whole", nothingFoundMessage="no match",
        placeholder="add a line",
    )  # fmt: skip
    more = [
        labelled_select("Colour by", component_id=_id("colour")),
        labelled_select("Relative to", component_id=_id("relative"), is_searchable=True),
    ]
    parameters = [
        dmc.MultiSelect(
            id=_id(name), label="", data=[], value=[], searchable=True, limit=200, hidePickedOptions=True, size="xs",
            clearable=True, className="axis sides", nothingFoundMessage="no match", style={"display": "none"},
        )
        for name in PARAMETERS
    ]  # fmt: skip
    commit = card_select(component_id=_id("commit"), label="Commit", is_wide=True)
    switches = [switch("spacing", component_id=_id("spacing")), switch("batch_scale", component_id=_id("scale"))]
    graph = dcc.Graph(id=_id("graph"), config=GRAPH_CONFIG, style={"height": "420px"})
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            html.Div([*selects, *more, *parameters, lines], className="bar"),
            html.Div(id=_id("problems"), className="problems"),
            html.Details([html.Summary("All benchmarks by name"), html.Div(id=_id("tree"))], className="names"),
            html.Section(html.H1(id=_id("answer"), className="answer uncertain"), className="card"),
            card([html.H2("Over commits"), html.Span(id=_id("note"), className="dimmed"), at_end(*switches)],
                 html.Div(id=_id("legend"), className="keys"), graph, picture_buttons(csv_id=_id("csv"))),
            card([html.H2("What a commit changed"), commit, html.Span(id=_id("changes-note"), className="dimmed")],
                 html.Div(id=_id("changes"))),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Connect the page's URL, selectors and figure: a change of any redraws the page."""

    def explore_csv() -> Response:
        if not projects(store):
            raise NotFound("nothing is stored")
        view = explore_view_of(store, query=request.query_string.decode("latin-1"))
        wanted = [row.series_id for line in view.chosen_lines for row in line.series]
        return csv_response(csv_of_histories(history_of(store, series_ids=wanted)), name="explore")

    app.server.add_url_rule(f"{PAGE.path}.csv", view_func=explore_csv)

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(
        search: str | None, picked: dict[str, Any], clicked: dict[str, Any] | None, shown: dict[str, Any] | None
    ) -> dict[str, Any]:
        query = asked_query(search, picked=picked, clicked=clicked, shown=shown, triggered=ctx.triggered_id)
        return page_props(explore_drawing_of(store, query=query), is_from_url=query == search)

    @app.callback(Output(_id("tree"), "children"), Input(_id("project"), "value"), Input(_id("benchmark"), "value"))
    def list_names(project: str | None, benchmark: str | None) -> Component:
        if not project or not benchmark:
            raise PreventUpdate
        return name_tree(benchmark_names(store, project=project), chosen=benchmark, kept={"project": project})

    @app.callback(
        Output(_id("graph"), "figure", allow_duplicate=True),
        Output(_id("note"), "children", allow_duplicate=True),
        Input(_id("shown"), "data"),
        prevent_initial_call=True,
    )
    def mark(shown: dict[str, Any] | None) -> tuple[Any, Any]:
        """Draw again with change points, once all histories are judged: the curves need not wait for that."""
        if shown is None or shown["marked"] == YES:
            raise PreventUpdate
        drawing = explore_drawing_of(store, query=shown["query"], waits=True)
        if not drawing.chart.change_points:
            raise PreventUpdate
        return figure_of(drawing), note_of_lines(drawing)


def asked_query(
    search: str | None,
    *,
    picked: Mapping[str, Any],
    clicked: Mapping[str, Any] | None,
    shown: Mapping[str, Any] | None,
    triggered: str | None,
) -> str:
    """Return the query to draw: the URL's own when it changed, else that of the selectors and the click.

    Raises: PreventUpdate if that is shown already, as after each update of the URL by this callback.
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
        pairs += [(name, picked[name]) for name in ("colour", "relative") if picked[name]]
        # Parameters choose lines; lines that were chosen one by one need no parameters.
        if changed != "lines":
            pairs += [("where", one) for name in PARAMETERS for one in picked[name] or ()]
        if changed not in PARAMETERS:
            pairs += [("line", name) for name in picked["lines"]] or [("line", "")]
        key = clicked["points"][0].get("customdata") if changed == "graph" and clicked else None
        pairs.append(("commit", str(key)[:12] if key else picked["commit"] or LATEST))
    return "?" + urlencode(pairs)


def page_props(drawing: ExploreDrawing, *, is_from_url: bool) -> dict[str, Any]:
    """Convert the drawing into properties of the page's components, in the shape of OUTPUTS."""
    view, choice = drawing.view, drawing.view.choice
    query = query_from_explore_choice(choice)
    has_lines = len(view.lines) > 1
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": {"query": query, "marked": YES if drawing.is_marked else "no"},
        "selects": {
            name: select_props(view.options[name], getattr(choice, name), is_always_shown=name in ALWAYS_SHOWN)
            for name in CASCADE
        },
        "parameters": _parameter_props(drawing),
        "lines": {
            "data": [{"value": line.name, "label": line.label} for line in view.lines],
            "value": list(choice.lines),
            "style": {} if has_lines else {"display": "none"},
        },
        "colour": _with_first("one by one", parameter_names_of(view.lines), choice.colour),
        "relative": _base_props(drawing),
        "spacing": choice.spacing,
        "scale": choice.scale,
        "commit": commit_props(drawing.commits, chosen=choice.commit, latest=LATEST),
        "problems": alert(view.problems),
        "note": note_of_lines(drawing),
        "legend": [
            labelled_stroke(look, line.label)
            for look, line in zip(looks_of(view.chosen_lines, colour=choice.colour), view.chosen_lines, strict=True)
            if has_lines
        ],
        "figure": figure_of(drawing),
        "csv": f"{PAGE.path}.csv{query}",
        "answer": f"{answer_of_changes(drawing)}.",
        "changes_note": note_of_changes(drawing),
        "changes": _changes(drawing),
    }


def figure_of(drawing: ExploreDrawing) -> go.Figure:
    """Draw the curves with their change points."""
    choice = drawing.view.choice
    return figure_from_chart(
        drawing.chart,
        scale=choice.scale,
        chosen=judged_commit(drawing),
        keeps_zoom_of=query_from_explore_choice(replace(choice, commit=None, lines=())),
    )


def _parameter_props(drawing: ExploreDrawing) -> list[dict[str, Any]]:
    """Return the properties of the parameters' selectors; those that are not needed are hidden."""
    view = drawing.view
    found: list[dict[str, Any]] = [
        {
            "label": name,
            "data": [{"value": one, "label": one.partition("=")[2]} for one in values],
            "value": (chosen := [one for one in view.choice.where if one in values]),
            "placeholder": "" if chosen else "any",
            "style": {},
        }
        for name, values in list(parameter_choices(view.lines).items())[: len(PARAMETERS)]
    ]
    empty = {"label": "", "data": [], "value": [], "placeholder": "", "style": {"display": "none"}}
    return [*found, *([empty] * (len(PARAMETERS) - len(found)))]


def _with_first(label: str, values: Sequence[str], chosen: str | None) -> dict[str, Any]:
    """Return the properties of a selector whose first option chooses nothing; hidden without another."""
    data = [{"value": "", "label": label}, *({"value": value, "label": value} for value in values)]
    return {"data": data, "value": chosen or "", "style": {} if values else {"display": "none"}}


def _base_props(drawing: ExploreDrawing) -> dict[str, Any]:
    options = commit_props(drawing.commits, chosen=None, latest=LATEST)["data"][1:]
    data = [{"value": "", "label": "nothing"}, *options]
    return {"data": data, "value": drawing.view.choice.relative or "", "style": {}}


def _id(name: str) -> str:
    return f"explore-{name}"


PICKED = (*CASCADE, *PARAMETERS, "lines", "colour", "relative", "spacing", "scale", "commit")
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
    "parameters": [
        {prop: Output(_id(name), prop) for prop in ("label", "data", "value", "placeholder", "style")}
        for name in PARAMETERS
    ],
    "lines": {prop: Output(_id("lines"), prop) for prop in ("data", "value", "style")},
    "colour": {prop: Output(_id("colour"), prop) for prop in ("data", "value", "style")},
    "relative": {prop: Output(_id("relative"), prop) for prop in ("data", "value", "style")},
    "spacing": Output(_id("spacing"), "value"),
    "scale": Output(_id("scale"), "value"),
    "commit": {prop: Output(_id("commit"), prop) for prop in ("data", "value")},
    "problems": Output(_id("problems"), "children"),
    "note": Output(_id("note"), "children"),
    "legend": Output(_id("legend"), "children"),
    "figure": Output(_id("graph"), "figure"),
    "csv": Output(_id("csv"), "href"),
    "answer": Output(_id("answer"), "children"),
    "changes_note": Output(_id("changes-note"), "children"),
    "changes": Output(_id("changes"), "children"),
}


def _changes(drawing: ExploreDrawing) -> list[Component]:
    if drawing.judgement is None:
        return []
    labels = {line.name: line.label for line in drawing.view.lines}
    return changes_table(drawing.judgement, metric_format=drawing.metric_format, labels=labels)


PAGE = Page(
    path="/explore", name="Explore", layout=layout, register=register, needs_sweep=False,
    takes=("operation", *CASCADE, *OF_POINT, "commit"),
)  # fmt: skip
