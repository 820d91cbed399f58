"""Page *Throughput*: curves over batch and over commits, and which provider to run."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request
from werkzeug.exceptions import NotFound

from dashboard.figures.bars import bars_from_chart, height_of_bars
from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.throughput import chart_over_batch, chart_over_commits
from dashboard.looks import look_of
from dashboard.pages import Page, csv_response
from dashboard.quantities import measured_quantities
from dashboard.selectors import (
    SWITCH_LABELS,
    card_select,
    commit_props,
    labelled_select,
    provider_props,
    quantity_props,
    select_props,
    switch,
)
from dashboard.sweep_axes import AXES, text_of
from dashboard.tables.chosen_point import chosen_point_lines
from dashboard.tables.export import csv_of_points
from dashboard.tables.winners import absences_list, winners_table
from dashboard.views.throughput.answer import answer_from
from dashboard.views.throughput.choice import query_from_choice, query_from_values
from dashboard.views.throughput.chosen_point import chosen_point_of
from dashboard.views.throughput.drawing import (
    ALWAYS_SHOWN,
    facts,
    note_of_commit,
    note_of_commits,
    note_of_winners,
    rankings_by_batch,
    shown_by_commit,
    throughput_drawing_of,
)
from dashboard.views.url import LATEST
from dashboard.widgets import GRAPH_CONFIG, alert, at_end, card, picture_buttons, stroke
from results.queries import projects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go
    from dash import Dash
    from dash.development.base_component import Component
    from werkzeug.wrappers import Response

    from dashboard.quantities import Quantity
    from dashboard.views.throughput.answer import Answer
    from dashboard.views.throughput.choice import ThroughputChoice
    from dashboard.views.throughput.drawing import ThroughputDrawing
    from results.store import Store


def layout() -> Component:
    """Build the page before anything is chosen; the first callback fills it."""
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            html.Div([labelled_select(axis.label, component_id=_id(axis.name)) for axis in AXES if axis.name != "batch"]
                     + [at_end(labelled_select("Metric", component_id=_id("quantity")))],
                     className="bar"),
            html.Div([dmc.ChipGroup([], id=_id("providers"), multiple=True, value=[]),
                      html.Span(id=_id("facts"), className="facts")],
                     className="bar legend"),
            html.Div(id=_id("problems"), className="problems"),
            html.Section(id=_id("answer"), className="card"),
            html.Div([_batch_card(), _commits_card()], className="charts"),
            card([html.H2("Which one to run at each batch"), html.Span(id=_id("winners-note"), className="dimmed")],
                 html.Div(id=_id("winners"), className="verdict")),
            html.Div(card([html.H2("The chosen point")], html.Div(id=_id("point"))), id=_id("point-card")),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Connect the page's URL, selectors and figures: a change of any redraws the page; its points are a CSV, too."""

    def throughput_csv() -> Response:
        if not any(row.has_sweep for row in projects(store)):
            raise NotFound("no sweep point is stored")
        drawing = throughput_drawing_of(store, query=request.query_string.decode("latin-1"))
        return csv_response(csv_of_points([*drawing.by_batch, *drawing.by_commit]), name="throughput")

    app.server.add_url_rule(f"{PAGE.path}.csv", view_func=throughput_csv)

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(
        search: str | None, picked: dict[str, Any], clicked: dict[str, Any], shown: dict[str, Any] | None
    ) -> dict[str, Any]:
        query = asked_query(search, picked=picked, clicked=clicked, shown=shown, triggered=ctx.triggered_id)
        return page_props(throughput_drawing_of(store, query=query), is_from_url=query == search)


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
    if search is None or (shown is not None and triggered == _id("url") and search == shown["query"]):
        raise PreventUpdate
    if shown is None or triggered in {None, _id("url")}:
        return search
    # An axis with a single option was not chosen; with other options its default applies.
    values = {name: picked[name] for name in picked if name not in {"providers", *shown["settled"]}}
    for name in ("batch", "commit"):
        if triggered == _id(GRAPHS[name]) and clicked[name]:
            values[name] = _clicked_key(clicked[name]) or picked[name]
    return query_from_values(values, providers=picked["providers"], known=shown["providers"])


def page_props(drawing: ThroughputDrawing, *, is_from_url: bool) -> dict[str, Any]:
    """Convert the drawing into properties of the page's components, in the shape of OUTPUTS."""
    view, choice = drawing.view, drawing.view.choice
    query = query_from_choice(choice)
    measured, point = measured_quantities(drawing.by_batch), chosen_point_of(drawing)
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": {
            "query": query,
            "providers": view.providers,
            "settled": [axis.name for axis in AXES if len(view.options[axis.name]) == 1],
        },
        "axes": {
            axis.name: select_props(
                [text_of(option) for option in view.options[axis.name]],
                text_of(getattr(choice, axis.column)),
                is_always_shown=axis.name in ALWAYS_SHOWN,
            )
            for axis in AXES
        },
        "commit": commit_props(drawing.commits, chosen=choice.commit, latest=LATEST),
        "providers": provider_props(view.providers, chosen=[name for name in view.providers if choice.shows(name)]),
        "quantity": quantity_props(measured, chosen=choice.quantity),
        "switches": {name: getattr(choice, name) for name in SWITCH_LABELS},
        "facts": facts(view),
        "answer": answer_lines(answer_from(drawing.by_batch, batch=choice.batch)),
        "problems": alert([*view.problems, *_problems_of_quantity(choice.quantity, measured)]),
        "batch_note": note_of_commit(drawing.by_batch),
        "commits_note": note_of_commits(drawing),
        **_batch_props(drawing),
        "commits_figure": _commits_figure(drawing),
        # A single commit has no course; what it measured is in the other chart.
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


def answer_lines(answer: Answer) -> list[Component]:
    """Build the answer in large letters, marked in the colours of whom it names, and its details below."""
    marks = [stroke(look_of(name)) for name in answer.contenders]
    kind = "answer" if answer.is_certain else "answer uncertain"
    return [
        html.H1([*marks, f"{answer.sentence}."], className=kind),
        *(html.P(detail, className="detail") for detail in answer.details),
    ]


def _id(name: str) -> str:
    return f"throughput-{name}"


HIDDEN = {"display": "none"}
CURVES_HEIGHT = "380px"
# Graphs in which a click chooses a batch or a commit.
GRAPHS = {"batch": "batch-graph", "commit": "commits-graph"}
PICKED = (*(axis.name for axis in AXES), "commit", "providers", "quantity", *SWITCH_LABELS)
INPUTS = {
    "search": Input(_id("url"), "search"),
    "picked": {name: Input(_id(name), "value") for name in PICKED},
    "clicked": {name: Input(_id(graph), "clickData") for name, graph in GRAPHS.items()},
}
STATE = {"shown": State(_id("shown"), "data")}
OUTPUTS = {
    "search": Output(_id("url"), "search"),
    "shown": Output(_id("shown"), "data"),
    "axes": {axis.name: {name: Output(_id(axis.name), name) for name in ("data", "value", "style")} for axis in AXES},
    "commit": {name: Output(_id("commit"), name) for name in ("data", "value")},
    "providers": {name: Output(_id("providers"), name) for name in ("children", "value")},
    "quantity": {name: Output(_id("quantity"), name) for name in ("data", "value")},
    "switches": {name: Output(_id(name), "value") for name in SWITCH_LABELS},
    "facts": Output(_id("facts"), "children"),
    "answer": Output(_id("answer"), "children"),
    "problems": Output(_id("problems"), "children"),
    "batch_note": Output(_id("batch-note"), "children"),
    "commits_note": Output(_id("commits-note"), "children"),
    "batch_figure": Output(_id("batch-graph"), "figure"),
    "batch_style": Output(_id("batch-graph"), "style"),
    "batch_scales": Output(_id("batch-scales"), "style"),
    "commits_card": Output(_id("commits-card"), "style"),
    "commits_figure": Output(_id("commits-graph"), "figure"),
    "csv": [Output(_id(f"{name}-card-csv"), "href") for name in ("batch", "commits")],
    "point": Output(_id("point"), "children"),
    "point_card": Output(_id("point-card"), "style"),
    "winners_note": Output(_id("winners-note"), "children"),
    "winners": Output(_id("winners"), "children"),
}


def _batch_card() -> Component:
    select = card_select(component_id=_id("commit"), label="Commit", is_wide=True)
    title = [
        html.H2("Over batch"),
        html.Span("at commit"),
        select,
        at_end(html.Div(switch("batch_scale", component_id=_id("batch_scale")), id=_id("batch-scales"))),
    ]
    return _graph_card(title, card_id=_id("batch-card"), note_id=_id("batch-note"), graph_id=_id("batch-graph"))


def _commits_card() -> Component:
    select = card_select(component_id=_id("batch"), label="Batch", is_wide=False)
    switches = [switch(name, component_id=_id(name)) for name in ("spacing", "commits_scale")]
    title = [html.H2("Over commits"), html.Span("at batch"), select, at_end(*switches)]
    return _graph_card(title, card_id=_id("commits-card"), note_id=_id("commits-note"), graph_id=_id("commits-graph"))


def _graph_card(title: Sequence[Component], *, card_id: str, note_id: str, graph_id: str) -> Component:
    graph = dcc.Graph(id=graph_id, config=GRAPH_CONFIG, style={"height": CURVES_HEIGHT})
    saving = picture_buttons(csv_id=f"{card_id}-csv")
    return html.Div(card(title, html.Div(id=note_id, className="note"), graph, saving), id=card_id)


def _clicked_key(click: Mapping[str, Any]) -> str | None:
    """Return the `Mark.key` of the clicked point."""
    key = click["points"][0].get("customdata")
    return None if key is None else str(key)[:12]


def _batch_props(drawing: ThroughputDrawing) -> dict[str, Any]:
    """Return the figure over batch and its size: curves, or bars where there are too few batches for any."""
    choice = drawing.view.choice
    chart = chart_over_batch(drawing.by_batch, quantity=choice.quantity)
    if chart.are_few:
        height = height_of_bars(chart)
        return {
            "batch_figure": bars_from_chart(chart), "batch_style": {"height": f"{height}px"}, "batch_scales": HIDDEN,
        }  # fmt: skip
    figure = figure_from_chart(
        chart, scale=choice.batch_scale, chosen=str(choice.batch), keeps_zoom_of=_zoom_key(choice, "batch")
    )
    return {"batch_figure": figure, "batch_style": {"height": CURVES_HEIGHT}, "batch_scales": {}}


def _commits_figure(drawing: ThroughputDrawing) -> go.Figure:
    choice = drawing.view.choice
    chart = chart_over_commits(shown_by_commit(drawing), quantity=choice.quantity, spacing=choice.spacing)
    chosen = drawing.by_batch[0].commit if drawing.by_batch else choice.commit
    return figure_from_chart(
        chart, scale=choice.commits_scale, chosen=chosen, keeps_zoom_of=_zoom_key(choice, "commits")
    )


def _zoom_key(choice: ThroughputChoice, name: str) -> str:
    """Return the key that keeps the zoom through clicks and changes of providers, and nothing else."""
    moves = (
        replace(choice, providers=None, commit=None) if name == "commits" else replace(choice, providers=None, batch=0)
    )
    return query_from_choice(moves)


PAGE = Page(
    path="/throughput",
    name="Throughput",
    layout=layout,
    register=register,
    takes=(*(axis.name for axis in AXES), "commit", "providers"),
)
