"""Page *Throughput*: curves over batch and over commits, and which provider to run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request
from werkzeug.exceptions import NotFound

from dashboard.looks import look_of
from dashboard.pages import Page, csv_response, kept_in_url, project_props
from dashboard.pages.throughput_cards import (
    HIDDEN,
    batch_card,
    batch_props,
    beside_props,
    commits_card,
    commits_figure,
    id_of,
)
from dashboard.quantities import measured_quantities
from dashboard.selectors import (
    SWITCH_LABELS,
    colour_props,
    commit_props,
    labelled_select,
    provider_props,
    quantity_props,
    select_props,
)
from dashboard.sweep_axes import AXES, text_of
from dashboard.tables.chosen_point import chosen_point_lines
from dashboard.tables.export import csv_of_points
from dashboard.tables.winners import absences_list, winners_table
from dashboard.views.projects import PROJECT, PROJECT_AXIS, query_in_project
from dashboard.views.throughput.answer import NO_PROVIDER, answer_from
from dashboard.views.throughput.choice import query_from_choice, query_from_values
from dashboard.views.throughput.chosen_point import chosen_point_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.throughput.notes import ALWAYS_SHOWN, facts, note_of_commits, note_of_winners, rankings_by_batch
from dashboard.views.url import LATEST
from dashboard.widgets import alert, at_end, card, labelled_stroke, stroke
from results.queries import point_choices, projects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash
    from dash.development.base_component import Component
    from werkzeug.wrappers import Response

    from dashboard.quantities import Quantity
    from dashboard.views.throughput.answer import Answer
    from dashboard.views.throughput.drawing import ThroughputDrawing
    from results.rows import PointRow
    from results.store import Store


def layout() -> Component:
    """Build the page before anything is chosen; the first callback fills it."""
    axes = [labelled_select(axis.label, component_id=id_of(axis.name)) for axis in SELECTED if axis.name != "batch"]
    return html.Div(
        [
            dcc.Location(id=id_of("url"), refresh="callback-nav"),
            dcc.Store(id=id_of("shown")),
            html.Div([*axes, at_end(labelled_select("Colour by", component_id=id_of("colour")),
                                    labelled_select("Metric", component_id=id_of("quantity")))],
                     className="bar"),
            html.Div([dmc.ChipGroup([], id=id_of("providers"), multiple=True, value=[]),
                      html.Span(id=id_of("facts"), className="facts"),
                      html.Div(id=id_of("keys"), className="keys")],
                     className="bar legend"),
            html.Div(id=id_of("problems"), className="problems"),
            html.Section(id=id_of("answer"), className="card"),
            html.Div([batch_card(), commits_card()], className="charts", id=id_of("charts")),
            card([html.H2("Which one to run at each batch"), html.Span(id=id_of("winners-note"), className="dimmed")],
                 html.Div(id=id_of("winners"), className="verdict")),
            html.Div(card([html.H2("The chosen point")], html.Div(id=id_of("point"))), id=id_of("point-card")),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Connect the page's URL, selectors and figures: a change of any redraws the page; its points are a CSV, too."""

    def throughput_csv() -> Response:
        if not any(row.has_sweep for row in projects(store)):
            raise NotFound("no sweep point is stored")
        drawing = throughput_drawing_of(store, query=request.query_string.decode("latin-1"))
        return csv_response(csv_of_points(points_of(drawing)), name="throughput")

    app.server.add_url_rule(f"{PAGE.path}.csv", view_func=throughput_csv)

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(
        search: str | None, picked: dict[str, Any], clicked: dict[str, Any], shown: dict[str, Any] | None
    ) -> dict[str, Any]:
        query = asked_query(search, picked=picked, clicked=clicked, shown=shown, triggered=ctx.triggered_id)
        with kept_in_url(id_of("url"), query=query, search=search):
            if ctx.triggered_id == id_of(PROJECT):
                query = query_in_project(query, points=point_choices(store))
            return page_props(throughput_drawing_of(store, query=query), is_from_url=query == search)

    @app.callback(
        Output(id_of("commits-graph"), "figure", allow_duplicate=True),
        Output(id_of("commits-note"), "children", allow_duplicate=True),
        Input(id_of("shown"), "data"),
        prevent_initial_call=True,
    )
    def mark(shown: dict[str, Any] | None) -> tuple[Any, Any]:
        """Draw again with change points, once all histories are judged: the curves need not wait for that."""
        if shown is None or shown["marked"] == YES:
            raise PreventUpdate
        drawing = throughput_drawing_of(store, query=shown["query"], waits=True)
        if not drawing.commits_chart.change_points:
            return no_update, note_of_commits(drawing)
        return commits_figure(drawing), note_of_commits(drawing)


def asked_query(
    search: str | None,
    *,
    picked: Mapping[str, Any],
    clicked: Mapping[str, Any],
    shown: Mapping[str, Any] | None,
    triggered: str | None,
) -> str:
    """Return the query to draw: the URL's own when it changed, else that of the selectors and clicks.

    Raises: PreventUpdate if that is shown already, as after each update of the URL by this callback.
    """
    if search is None or (shown is not None and triggered == id_of("url") and search == shown["query"]):
        raise PreventUpdate
    if shown is None or triggered in {None, id_of("url")}:
        return search
    # An axis with a single option was not chosen; with other options its default applies.
    values = {name: picked[name] for name in picked if name not in {"providers", "commits", *shown["settled"]}}
    # The colour that nobody chose follows the number of commits.
    if values["colour"] == shown["colour"]:
        del values["colour"]
    for name in ("batch", "commit"):
        if triggered == id_of(GRAPHS[name]) and clicked[name]:
            values[name] = _clicked_key(clicked[name]) or picked[name]
    return query_from_values(values, commits=picked["commits"], providers=picked["providers"], known=shown["providers"])


def page_props(drawing: ThroughputDrawing, *, is_from_url: bool) -> dict[str, Any]:
    """Convert the drawing into properties of the page's components, in the shape of OUTPUTS."""
    view, choice, query = drawing.view, drawing.view.choice, query_from_choice(drawing.view.choice)
    measured, point = measured_quantities(drawing.by_batch), chosen_point_of(drawing)
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": {
            "query": query,
            "providers": view.providers,
            "settled": [axis.name for axis in SELECTED if len(view.options[axis.name]) == 1],
            "colour": drawing.colouring.by if choice.colour is None else choice.default_colour,
            "marked": YES if drawing.is_marked else "no",
        },
        "axes": {
            axis.name: select_props(
                [text_of(option) for option in view.options[axis.name]],
                text_of(getattr(choice, axis.column)),
                is_always_shown=axis.name in ALWAYS_SHOWN,
            )
            for axis in AXES
        },
        "project": project_props(choice.project, view.options[PROJECT]),
        "commit": commit_props(drawing.commits, chosen=choice.commit, latest=LATEST),
        "commits": beside_props(drawing),
        "providers": provider_props(
            view.providers,
            chosen=[name for name in view.providers if choice.shows(name)],
            by=drawing.colouring.by,
        ),
        "colour": colour_props(view.colours, chosen=drawing.colouring.by),
        "keys": [labelled_stroke(look, label) for look, label in drawing.colouring.legend()],
        "multiples_switch": {} if len(view.options["hidden"]) > 1 else HIDDEN,
        "quantity": quantity_props(measured, chosen=choice.quantity),
        "switches": {name: getattr(choice, name) for name in SWITCH_LABELS},
        "facts": facts(view),
        "answer": answer_lines(_answer(drawing)),
        "problems": alert([*view.problems, *_problems_of_quantity(choice.quantity, measured)]),
        "commits_note": note_of_commits(drawing),
        **batch_props(drawing),
        "commits_figure": commits_figure(drawing),
        # A single commit has no course; what it measured is in the other chart.
        "charts": "charts wide" if drawing.panels else "charts",
        "commits_card": {} if len({row.commit for row in drawing.by_commit}) > 1 else HIDDEN,
        "csv": [f"{PAGE.path}.csv{query}"] * 2,
        "point": [] if point is None else chosen_point_lines(**asdict(point)),
        "point_card": HIDDEN if point is None else {},
        "winners_note": note_of_winners(drawing.by_batch),
        "winners": [winners_table(rankings_by_batch(drawing.by_batch)), absences_list(drawing.by_batch)],
    }


def _problems_of_quantity(quantity: Quantity, measured: Sequence[Quantity]) -> list[str]:
    if quantity in measured or not measured:
        return []
    name = f"{quantity.label[:1].upper()}{quantity.label[1:]}"
    return [f"{name} was not measured with the rest of this choice; Metric lists what was."]


def _answer(drawing: ThroughputDrawing) -> Answer:
    choice = drawing.view.choice
    if choice.providers == ():
        return NO_PROVIDER
    return answer_from(
        drawing.by_batch, batch=choice.batch, over_commits=drawing.up_to_answer, is_older=drawing.is_older
    )


def answer_lines(answer: Answer) -> list[Component]:
    """Build the answer in large letters, marked in the colours of whom it names, and its details below."""
    marks = [stroke(look_of(name)) for name in answer.contenders]
    kind = "answer" if answer.is_certain else "answer uncertain"
    return [
        html.H1([*marks, f"{answer.sentence}."], className=kind),
        *(html.P(detail, className="detail") for detail in answer.details),
    ]


def points_of(drawing: ThroughputDrawing) -> list[PointRow]:
    """Return the points of all charts, each once."""
    panels = (row for rows in drawing.panels.values() for row in rows)
    return list(dict.fromkeys([*drawing.by_batch, *drawing.beside, *panels, *drawing.by_commit]))


YES = "yes"
# Graphs in which a click chooses a batch or a commit.
GRAPHS = {"batch": "batch-graph", "commit": "commits-graph"}
SELECTED = (PROJECT_AXIS, *AXES)
PICKED = (*(axis.name for axis in SELECTED), "commit", "commits", "providers", "colour", "quantity", *SWITCH_LABELS)
INPUTS = {
    "search": Input(id_of("url"), "search"),
    "picked": {name: Input(id_of(name), "value") for name in PICKED},
    "clicked": {name: Input(id_of(graph), "clickData") for name, graph in GRAPHS.items()},
}
STATE = {"shown": State(id_of("shown"), "data")}
OUTPUTS = {
    "search": Output(id_of("url"), "search"),
    "shown": Output(id_of("shown"), "data"),
    "axes": {axis.name: {name: Output(id_of(axis.name), name) for name in ("data", "value", "style")} for axis in AXES},
    "project": {name: Output(id_of(PROJECT), name) for name in ("data", "value", "style")},
    "commit": {name: Output(id_of("commit"), name) for name in ("data", "value")},
    "commits": {name: Output(id_of("commits"), name) for name in ("data", "value", "style", "placeholder")},
    "colour": {name: Output(id_of("colour"), name) for name in ("data", "value", "style")},
    "keys": Output(id_of("keys"), "children"),
    "multiples_switch": Output(id_of("multiples-switch"), "style"),
    "panels": Output(id_of("panels"), "children"),
    "charts": Output(id_of("charts"), "className"),
    "providers": {name: Output(id_of("providers"), name) for name in ("children", "value")},
    "quantity": {name: Output(id_of("quantity"), name) for name in ("data", "value")},
    "switches": {name: Output(id_of(name), "value") for name in SWITCH_LABELS},
    "facts": Output(id_of("facts"), "children"),
    "answer": Output(id_of("answer"), "children"),
    "problems": Output(id_of("problems"), "children"),
    "batch_note": Output(id_of("batch-note"), "children"),
    "commits_note": Output(id_of("commits-note"), "children"),
    "batch_figure": Output(id_of("batch-graph"), "figure"),
    "batch_style": Output(id_of("batch-graph"), "style"),
    "batch_scales": Output(id_of("batch-scales"), "style"),
    "commits_card": Output(id_of("commits-card"), "style"),
    "commits_figure": Output(id_of("commits-graph"), "figure"),
    "csv": [Output(id_of(f"{name}-card-csv"), "href") for name in ("batch", "commits")],
    "point": Output(id_of("point"), "children"),
    "point_card": Output(id_of("point-card"), "style"),
    "winners_note": Output(id_of("winners-note"), "children"),
    "winners": Output(id_of("winners"), "children"),
}


def _clicked_key(click: Mapping[str, Any]) -> str | None:
    """Return the `Mark.key` of the clicked point."""
    key = click["points"][0].get("customdata")
    return None if key is None else str(key)[:12]


PAGE = Page(
    path="/throughput",
    name="Throughput",
    layout=layout,
    register=register,
    takes=(*(axis.name for axis in AXES), PROJECT, "commit", "providers"),
)
