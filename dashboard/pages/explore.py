"""Page *Explore*: any benchmark of any project over commits, and what one commit changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request
from werkzeug.exceptions import NotFound

from dashboard.pages import Page, csv_response, hand_on, kept_in_url
from dashboard.pages.explore_cards import (
    GRAPH_HEIGHT,
    PARAMETERS,
    base_props,
    changed_by_commit,
    chart_props,
    id_of,
    legend_of,
    parameter_props,
    parameter_select_props,
)
from dashboard.selectors import card_select, commit_props, labelled_select, metric_props, select_props, switch
from dashboard.tables.export import csv_of_histories
from dashboard.tables.name_tree import name_tree
from dashboard.views.explore_choice import CASCADE, MOST_LINES, OF_POINT, explore_view_of, query_from_explore_choice
from dashboard.views.explore_drawing import (
    answer_of_changes,
    explore_drawing_of,
    note_of_changes,
    note_of_lines,
)
from dashboard.views.url import LATEST
from dashboard.widgets import OnEnter, alert, at_end, by_keyboard, card, empty_graph, picture_buttons
from results.queries import benchmark_names, history_of, projects

if TYPE_CHECKING:
    from collections.abc import Mapping

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
ALWAYS_SHOWN = {"benchmark"}
# A change further up resets what was chosen below it; a change of benchmark keeps machine and environment.
KEPT_BY = {"project": ("project",), "benchmark": ("project", "benchmark", "machine", "environment")}


def layout() -> Component:
    """Build the page before anything is chosen; the first callback fills it."""
    selects = [
        labelled_select(LABELS[name], component_id=id_of(name), is_wide=name == "benchmark", is_searchable=True)
        for name in CASCADE
    ]
    lines = dmc.MultiSelect(
        id=id_of("lines"), label="Lines", data=[], value=[], searchable=True, limit=200, maxValues=MOST_LINES,
        hidePickedOptions=True, clearable=True, size="xs", className="axis whole", nothingFoundMessage="no match",
        placeholder="add a line",
    )  # fmt: skip
    more = [
        labelled_select("Colour by", component_id=id_of("colour")),
        labelled_select("Group by", component_id=id_of("group")),
        labelled_select("Relative to", component_id=id_of("relative"), is_searchable=True),
    ]
    parameters = [
        dmc.MultiSelect(
            id=id_of(name), label="", data=[], value=[], searchable=True, limit=200, hidePickedOptions=True, size="xs",
            clearable=True, className="axis sides", nothingFoundMessage="no match", style={"display": "none"},
        )
        for name in PARAMETERS
    ]  # fmt: skip
    commit = card_select(component_id=id_of("commit"), label="Commit", is_wide=True)
    switches = [switch("spacing", component_id=id_of("spacing")), switch("batch_scale", component_id=id_of("scale"))]
    curves = empty_graph(id_of("graph"), height=GRAPH_HEIGHT)
    graph = by_keyboard(curves, label="Chart over commits", on_enter=OnEnter.CHOOSES)
    panels = html.Div(id=id_of("panels"), className="panels wide")
    # Many lines have a legend that scrolls, which a keyboard must reach.
    named = cast("dict[str, Any]", {"aria-label": "Lines drawn"})
    legend = html.Div(id=id_of("legend"), className="keys", tabIndex=0, role="group", **named)
    return html.Div(
        [
            dcc.Location(id=id_of("url"), refresh="callback-nav"),
            dcc.Store(id=id_of("shown")),
            html.Div([*selects, *more, *parameters, lines], className="bar"),
            html.Div(id=id_of("problems"), className="problems"),
            html.Details([html.Summary("All benchmarks by name"), html.Div(id=id_of("tree"))], className="names"),
            html.Section(html.H1(id=id_of("answer"), className="answer uncertain"), className="card"),
            card([html.H2("Over commits"), html.Span(id=id_of("note"), className="dimmed"), at_end(*switches)],
                 legend, graph, panels, picture_buttons(csv_id=id_of("csv"))),
            card([html.H2("What a commit changed"), commit, html.Span(id=id_of("changes-note"), className="dimmed")],
                 html.Div(id=id_of("changes"))),
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
        with kept_in_url(id_of("url"), query=query, search=search):
            drawing = explore_drawing_of(store, query=query)
            hand_on(drawing.view.choice.project, drawing.view.options["project"])
            return page_props(drawing, is_from_url=query == search)

    @app.callback(
        Output(id_of("tree"), "children"), Input(id_of("project"), "value"), Input(id_of("benchmark"), "value")
    )
    def list_names(project: str | None, benchmark: str | None) -> Component:
        if not project or not benchmark:
            raise PreventUpdate
        return name_tree(benchmark_names(store, project=project), chosen=benchmark, kept={"project": project})

    @app.callback(
        Output(id_of("graph"), "figure", allow_duplicate=True),
        Output(id_of("panels"), "children", allow_duplicate=True),
        Output(id_of("note"), "children", allow_duplicate=True),
        Input(id_of("shown"), "data"),
        prevent_initial_call=True,
    )
    def mark(shown: dict[str, Any] | None) -> tuple[Any, Any, Any]:
        """Draw again with change points, once all histories are judged: the curves need not wait for that."""
        if shown is None or shown["marked"] == YES:
            raise PreventUpdate
        drawing = explore_drawing_of(store, query=shown["query"], waits=True)
        if not drawing.chart.change_points:
            return no_update, no_update, note_of_lines(drawing)
        props = chart_props(drawing)
        return props["figure"], props["panels"], note_of_lines(drawing)


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
    if search is None or (shown is not None and triggered == id_of("url") and search == shown["query"]):
        raise PreventUpdate
    if shown is None or triggered in {None, id_of("url")}:
        return search
    changed = str(triggered).removeprefix(id_of(""))
    kept = KEPT_BY.get(changed, CASCADE)
    pairs = [(name, picked[name]) for name in kept if picked[name] is not None]
    pairs += [("spacing", picked["spacing"]), ("scale", picked["scale"])]
    if kept is CASCADE:
        pairs += [(name, picked[name]) for name in ("colour", "group", "relative") if picked[name]]
        # Parameters choose lines; lines that were chosen one by one need no parameters.
        if changed != "lines":
            pairs += [("where", one) for name in PARAMETERS for one in picked[name] or ()]
        # Who sets values of a parameter apart gets a line of each.
        if changed not in {*PARAMETERS, "group"}:
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
            name: (metric_props if name == "metric" else select_props)(
                view.options[name], getattr(choice, name), is_always_shown=name in ALWAYS_SHOWN
            )
            for name in CASCADE
        },
        "parameters": parameter_props(drawing),
        "lines": {
            "data": [{"value": line.name, "label": line.label} for line in view.lines],
            "value": list(choice.lines),
            "style": {} if has_lines else {"display": "none"},
        },
        "colour": parameter_select_props("one by one", drawing, chosen=choice.colour),
        "group": parameter_select_props("nothing", drawing, chosen=choice.group),
        "relative": base_props(drawing),
        "spacing": choice.spacing,
        "scale": choice.scale,
        "commit": commit_props(drawing.commits, chosen=choice.commit, latest=LATEST),
        "problems": alert(view.problems),
        "note": note_of_lines(drawing),
        "legend": legend_of(view.chosen_lines, colour=choice.colour) if has_lines else [],
        **chart_props(drawing),
        "csv": f"{PAGE.path}.csv{query}",
        "answer": f"{answer_of_changes(drawing)}.",
        "changes_note": note_of_changes(drawing),
        "changes": changed_by_commit(drawing),
    }


PICKED = (*CASCADE, *PARAMETERS, "lines", "colour", "group", "relative", "spacing", "scale", "commit")
INPUTS = {
    "search": Input(id_of("url"), "search"),
    "picked": {name: Input(id_of(name), "value") for name in PICKED},
    "clicked": Input(id_of("graph"), "clickData"),
}
STATE = {"shown": State(id_of("shown"), "data")}
OUTPUTS = {
    "search": Output(id_of("url"), "search"),
    "shown": Output(id_of("shown"), "data"),
    "selects": {name: {prop: Output(id_of(name), prop) for prop in ("data", "value", "style")} for name in CASCADE},
    "parameters": [
        {prop: Output(id_of(name), prop) for prop in ("label", "data", "value", "placeholder", "style")}
        for name in PARAMETERS
    ],
    "lines": {prop: Output(id_of("lines"), prop) for prop in ("data", "value", "style")},
    "colour": {prop: Output(id_of("colour"), prop) for prop in ("data", "value", "style")},
    "group": {prop: Output(id_of("group"), prop) for prop in ("data", "value", "style")},
    "relative": {prop: Output(id_of("relative"), prop) for prop in ("data", "value", "style")},
    "spacing": Output(id_of("spacing"), "value"),
    "scale": Output(id_of("scale"), "value"),
    "commit": {prop: Output(id_of("commit"), prop) for prop in ("data", "value")},
    "problems": Output(id_of("problems"), "children"),
    "note": Output(id_of("note"), "children"),
    "legend": Output(id_of("legend"), "children"),
    "figure": Output(id_of("graph"), "figure"),
    "graph_style": Output(id_of("graph"), "style"),
    "panels": Output(id_of("panels"), "children"),
    "csv": Output(id_of("csv"), "href"),
    "answer": Output(id_of("answer"), "children"),
    "changes_note": Output(id_of("changes-note"), "children"),
    "changes": Output(id_of("changes"), "children"),
}


PAGE = Page(
    path="/explore", name="Explore", layout=layout, register=register, needs_sweep=False,
    takes=("operation", *CASCADE, *OF_POINT, "commit"), takes_any_project=True,
)  # fmt: skip
