"""The page *Throughput*: curves over batch and over commits, and which provider to run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.throughput import chart_over_batch, chart_over_commits
from dashboard.pages import Page
from dashboard.selectors import (
    SWITCH_LABELS,
    axis_props,
    card_select,
    commit_props,
    facts,
    labelled_select,
    provider_props,
    query_from_values,
    switch,
)
from dashboard.tables.winners import absences_list, winners_table
from dashboard.views.filters import AXES, CommitSpacing, query_from_choice, view_from_query
from dashboard.views.winners import winners_by_batch
from dashboard.widgets import GRAPH_CONFIG, alert
from results.queries import commits, latest_points, throughput_by_batch, throughput_by_commit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go
    from dash import Dash
    from dash.development.base_component import Component

    from dashboard.views.filters import Choice, View
    from results.rows import CommitRow, PointFilter, PointRow
    from results.store import Store


def layout() -> Component:
    """The page before anything is chosen; the first callback fills it."""
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            html.Div([labelled_select(axis.label, component_id=_id(axis.name)) for axis in AXES if axis.name != "batch"]
                     + [html.Div(switch("quantity", component_id=_id("quantity")), className="at-end")],
                     className="bar"),
            html.Div([dmc.ChipGroup([], id=_id("providers"), multiple=True, value=[]),
                      html.Span(id=_id("facts"), className="facts")],
                     className="bar legend"),
            html.Div(id=_id("problems"), className="problems"),
            html.Div([_batch_card(), _commits_card()], className="charts"),
            html.Section([html.Div([html.H2("Which one to run"), html.Span(id=_id("winners-note"), className="dimmed")],
                                   className="title"),
                          html.Div(id=_id("winners"), className="verdict")],
                         className="card"),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Join the page's URL, selectors and figures: any of them changed draws the view they now ask for."""

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(
        search: str | None, picked: dict[str, Any], clicked: dict[str, Any], shown: dict[str, Any] | None
    ) -> dict[str, Any]:
        query = asked_query(search, picked=picked, clicked=clicked, shown=shown, triggered=ctx.triggered_id)
        drawing = drawing_of(store, query=query)
        return page_props(drawing, is_from_url=query == search)


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Everything the page shows at once: the view, its commits, and the rows of its three parts."""

    view: View
    commits: tuple[CommitRow, ...]
    by_batch: tuple[PointRow, ...]
    by_commit: tuple[PointRow, ...]


def asked_query(
    search: str | None,
    *,
    picked: Mapping[str, Any],
    clicked: Mapping[str, Any],
    shown: Mapping[str, Any] | None,
    triggered: str | None,
) -> str:
    """The query to draw: the URL's own when it changed, else what the selectors and clicks ask for.

    Raises: PreventUpdate when that is on the screen already, as after every change of the URL by ourselves.
    """
    if search is None or (shown is not None and triggered == _id("url") and search == shown["query"]):
        raise PreventUpdate
    if shown is None or triggered in {None, _id("url")}:
        return search
    # An axis that offered one value was not chosen: where it now offers others, its default is as good.
    values = {name: picked[name] for name in picked if name not in {"providers", *shown["settled"]}}
    for name in ("batch", "commit"):
        if triggered == _id(GRAPHS[name]) and clicked[name]:
            values[name] = _clicked_key(clicked[name]) or picked[name]
    return query_from_values(values, providers=picked["providers"], known=shown["providers"])


# What the curves over commits and their notes tell; every quantity is one of these, or made from it.
DRAWN = ("latency_s", "speedup_vs_eager")


def drawing_of(store: Store, *, query: str) -> Drawing:
    """Ask the store for what `query` shows."""
    stored = [row for row in commits(store) if row.n_points]
    view = view_from_query(query, points=latest_points(store), commits=stored)
    shape = _shape(view.choice)
    point: PointFilter = {**shape, "batch": view.choice.batch}
    by_batch = throughput_by_batch(store, revision=view.choice.commit, **shape)
    by_commit = throughput_by_commit(store, metrics=DRAWN, **point)
    return Drawing(
        view=view,
        commits=tuple(row for row in commits(store, machine=view.choice.machine) if row.n_points),
        by_batch=_shown(by_batch, view.choice),
        by_commit=_shown(by_commit, view.choice),
    )


def page_props(drawing: Drawing, *, is_from_url: bool) -> dict[str, Any]:
    """The drawing as properties of the page's components, in the shape of OUTPUTS."""
    view, choice = drawing.view, drawing.view.choice
    query = query_from_choice(choice)
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": {
            "query": query,
            "providers": view.providers,
            "settled": [axis.name for axis in AXES if len(view.options[axis.name]) == 1],
        },
        "axes": {axis.name: axis_props(view, axis) for axis in AXES},
        "commit": commit_props(view, drawing.commits),
        "providers": provider_props(view),
        "switches": {name: getattr(choice, name) for name in SWITCH_LABELS},
        "facts": facts(view),
        "problems": alert(view.problems),
        "batch_note": _note_of_commit(drawing.by_batch),
        "commits_note": _note_of_commits(drawing),
        "batch_figure": _batch_figure(drawing),
        "commits_figure": _commits_figure(drawing),
        "winners_note": _note_of_winners(drawing.by_batch),
        "winners": [winners_table(winners_by_batch(drawing.by_batch)), absences_list(drawing.by_batch)],
    }


def _id(name: str) -> str:
    return f"throughput-{name}"


# Which graph a click chooses what in.
GRAPHS = {"batch": "batch-graph", "commit": "commits-graph"}
PICKED = (*(axis.name for axis in AXES), "commit", "providers", *SWITCH_LABELS)
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
    "switches": {name: Output(_id(name), "value") for name in SWITCH_LABELS},
    "facts": Output(_id("facts"), "children"),
    "problems": Output(_id("problems"), "children"),
    "batch_note": Output(_id("batch-note"), "children"),
    "commits_note": Output(_id("commits-note"), "children"),
    "batch_figure": Output(_id("batch-graph"), "figure"),
    "commits_figure": Output(_id("commits-graph"), "figure"),
    "winners_note": Output(_id("winners-note"), "children"),
    "winners": Output(_id("winners"), "children"),
}


def _batch_card() -> Component:
    select = card_select(component_id=_id("commit"), label="Commit", is_wide=True)
    head = [
        html.H2("Over batch"),
        html.Span("at commit"),
        select,
        _at_end(switch("batch_scale", component_id=_id("batch_scale"))),
    ]
    return _card(head, note_id=_id("batch-note"), graph_id=_id("batch-graph"))


def _commits_card() -> Component:
    select = card_select(component_id=_id("batch"), label="Batch", is_wide=False)
    switches = [switch(name, component_id=_id(name)) for name in ("spacing", "commits_scale")]
    head = [html.H2("Over commits"), html.Span("at batch"), select, _at_end(*switches)]
    return _card(head, note_id=_id("commits-note"), graph_id=_id("commits-graph"))


def _at_end(*children: Component) -> Component:
    return html.Div(list(children), className="at-end")


def _card(head: list[Component], *, note_id: str, graph_id: str) -> Component:
    graph = dcc.Graph(id=graph_id, config=GRAPH_CONFIG, style={"height": "380px"})
    return html.Section(
        [html.Div(head, className="title"), html.Div(id=note_id, className="note"), graph], className="card"
    )


def _shape(choice: Choice) -> PointFilter:
    """The chosen axes both curves share, as the store's filter."""
    return {
        "operation": choice.operation, "machine": choice.machine, "environment": choice.environment,
        "pass_": choice.pass_, "dtype": choice.dtype, "activation": choice.activation,
        "hidden": choice.hidden, "dim": choice.dim, "cache": choice.cache, "threads": choice.threads,
    }  # fmt: skip


def _shown(rows: Sequence[PointRow], choice: Choice) -> tuple[PointRow, ...]:
    """The rows of the chosen providers. Here no activation is a choice; to the store's filter it is any."""
    return tuple(row for row in rows if choice.shows(row.contender) and row.activation == choice.activation)


def _clicked_key(click: Mapping[str, Any]) -> str | None:
    """What the clicked point stands for, as `Mark.key`."""
    key = click["points"][0].get("customdata")
    return None if key is None else str(key)[:12]


def _note_of_commit(rows: Sequence[PointRow]) -> str:
    if not rows:
        return "nothing measured here for this choice"
    row = rows[0]
    date = "no date" if row.commit_date is None else f"{row.commit_date:%Y-%m-%d %H:%M}"
    marks = " · open marks: disturbed while measured" if any(row.disturbed for row in rows) else ""
    return f"{row.commit[:10]} · {date} · {row.commit_subject or 'no subject'}{marks}"


def _note_of_winners(rows: Sequence[PointRow]) -> str:
    if not rows:
        return ""
    told = f"the fastest of the providers shown, at commit {rows[0].commit[:10]}"
    n_disturbed = sum(row.disturbed is not None for row in rows)
    if not n_disturbed:
        return told
    return f"{told} · {n_disturbed} of {len(rows)} points were disturbed: measure again (fusebench run --again)"


def _note_of_commits(drawing: Drawing) -> str:
    measured = {row.commit: row.commit_date for row in drawing.by_commit}
    undated = sum(date is None for date in measured.values())
    note = f"{len(measured)} commit{'' if len(measured) == 1 else 's'} measured at this batch"
    if any(row.disturbed for row in drawing.by_commit):
        note += " · open marks: disturbed while measured"
    if undated and drawing.view.choice.spacing is CommitSpacing.DATE:
        return f"{note}, {undated} without a date left out"
    return note


def _batch_figure(drawing: Drawing) -> go.Figure:
    choice = drawing.view.choice
    chart = chart_over_batch(drawing.by_batch, quantity=choice.quantity)
    return figure_from_chart(
        chart, scale=choice.batch_scale, chosen=str(choice.batch), keeps_zoom_of=_zoom_key(choice, "batch")
    )


def _commits_figure(drawing: Drawing) -> go.Figure:
    choice = drawing.view.choice
    chart = chart_over_commits(drawing.by_commit, quantity=choice.quantity, spacing=choice.spacing)
    chosen = drawing.by_batch[0].commit if drawing.by_batch else choice.commit
    return figure_from_chart(
        chart, scale=choice.commits_scale, chosen=chosen, keeps_zoom_of=_zoom_key(choice, "commits")
    )


def _zoom_key(choice: Choice, name: str) -> str:
    """Zoom survives a click and a change of providers, and ends with anything that moves the curve."""
    moves = (
        replace(choice, providers=None, commit=None) if name == "commits" else replace(choice, providers=None, batch=0)
    )
    return query_from_choice(moves)


PAGE = Page(path="/", name="Throughput", layout=layout, register=register)
