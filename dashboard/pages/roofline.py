"""Page *Roofline*: how near each provider comes to what the machine can do, by commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request
from werkzeug.exceptions import NotFound

from dashboard.addresses import point_profile_address, throughput_address
from dashboard.figures.roofline import HEIGHT, roofline_figure
from dashboard.looks import look_of
from dashboard.pages import Page, csv_response, kept_in_url, project_props
from dashboard.roofs import key_of
from dashboard.selectors import commit_props, labelled_select, provider_props, select_props
from dashboard.sweep_axes import text_of
from dashboard.tables.export import csv_of_rows
from dashboard.tables.grids import connect_grids, grid, grid_slot
from dashboard.tables.rooflines import CSV_COLUMNS, columns_of, csv_rows, roofline_rows
from dashboard.views.projects import PROJECT, PROJECT_AXIS, query_in_project
from dashboard.views.roofline import (
    ROOF_AXES,
    answer_of_roofline,
    details_of_roofline,
    note_of_roofline,
    query_of,
    roofline_view_of,
)
from dashboard.views.throughput.notes import fact
from dashboard.views.url import LATEST
from dashboard.widgets import OnEnter, alert, by_keyboard, card, empty_graph, picture_buttons, stroke
from results.queries import point_choices, projects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash
    from dash.development.base_component import Component
    from werkzeug.wrappers import Response

    from dashboard.roofs import Placed
    from dashboard.views.roofline import RooflineView
    from results.store import Store

ALWAYS_SHOWN = {"operation", "machine"}
SELECTED = (PROJECT_AXIS, *ROOF_AXES)


def layout() -> Component:
    """Build the page before anything is chosen; the first callback fills it."""
    selects = [labelled_select(axis.label, component_id=_id(axis.name)) for axis in SELECTED]
    commit = labelled_select("Commit", component_id=_id("commit"), is_wide=True, is_searchable=True)
    points = empty_graph(_id("graph"), height=f"{HEIGHT}px")
    graph = by_keyboard(points, label="Roofline", on_enter=OnEnter.CHOOSES)
    picked = html.P("A click on a point leads to its profile.", id=_id("picked"), className="detail")
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            html.Div([*selects, commit], className="bar"),
            html.Div([dmc.ChipGroup([], id=_id("providers"), multiple=True, value=[]),
                      html.Span(id=_id("facts"), className="facts")], className="bar legend"),
            html.Div(id=_id("problems"), className="problems"),
            html.Section(id=_id("answer"), className="card"),
            html.Div([
                card([html.H2("Roofline"), html.Span("larger marks are larger batches", className="dimmed")],
                     html.Div(id=_id("note"), className="note"), graph, picked, picture_buttons(csv_id=_id("csv"))),
                card([html.H2("Points"), html.Span(id=_id("points-note"), className="dimmed")],
                     grid_slot(_id("points"), label="Points and their roofs")),
            ], id=_id("found"), className="page"),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Connect the page's URL, selectors and figure: a change of any redraws the page; its points are a CSV, too."""

    def roofline_csv() -> Response:
        if not any(row.has_sweep for row in projects(store)):
            raise NotFound("no sweep point is stored")
        view = roofline_view_of(store, query=request.query_string.decode("latin-1"))
        return csv_response(csv_of_rows(csv_rows(view.points), CSV_COLUMNS), name="roofline")

    app.server.add_url_rule(f"{PAGE.path}.csv", view_func=roofline_csv)
    connect_grids(app, [_id("points")])

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(search: str | None, picked: dict[str, Any], shown: dict[str, Any] | None) -> dict[str, Any]:
        query = asked_query(search, picked=picked, shown=shown, triggered=ctx.triggered_id)
        with kept_in_url(_id("url"), query=query, search=search):
            if ctx.triggered_id == _id(PROJECT):
                query = query_in_project(query, points=point_choices(store))
            return page_props(roofline_view_of(store, query=query), is_from_url=query == search)

    @app.callback(
        Output(_id("picked"), "children"),
        Input(_id("graph"), "clickData"),
        State(_id("shown"), "data"),
        prevent_initial_call=True,
    )
    def name_point(click: dict[str, Any] | None, shown: dict[str, Any] | None) -> list[Component | str]:
        view = roofline_view_of(store, query=shown["query"] if shown else "")
        key = click["points"][0].get("customdata") if click else None
        found = next((one for one in view.points if key_of(one) == key), None)
        if found is None:
            raise PreventUpdate
        return links_of(found)


def asked_query(
    search: str | None, *, picked: Mapping[str, Any], shown: Mapping[str, Any] | None, triggered: str | None
) -> str:
    """Return the query to draw: the URL's own when it changed, else that of the selectors.

    Raises: PreventUpdate if that is shown already, as after each update of the URL by this callback.
    """
    if search is None or (shown is not None and triggered == _id("url") and search == shown["query"]):
        raise PreventUpdate
    if shown is None or triggered in {None, _id("url")}:
        return search
    values = {axis.name: picked[axis.name] for axis in SELECTED if axis.name not in shown["settled"]}
    commit = None if picked["commit"] in {None, LATEST} else picked["commit"]
    return query_of(values, commit=commit, providers=picked["providers"], known=shown["providers"])


def page_props(view: RooflineView, *, is_from_url: bool) -> dict[str, Any]:
    """Convert the view into properties of the page's components, in the shape of OUTPUTS."""
    settled = [axis.name for axis in SELECTED if len(view.options[axis.name]) == 1]
    rows = roofline_rows(view.points)
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else view.query,
        "shown": {"query": view.query, "providers": list(view.providers), "settled": settled},
        "axes": {
            axis.name: select_props(
                [text_of(option) for option in view.options[axis.name]],
                text_of(view.chosen[axis.name]),
                is_always_shown=axis.name in ALWAYS_SHOWN,
            )
            for axis in ROOF_AXES
        },
        "project": project_props(view.project, view.options[PROJECT]),
        "commit": commit_props(view.commits, chosen=view.commit, latest=LATEST),
        "providers": provider_props(view.providers, chosen=view.shown),
        "facts": " · ".join(_facts(view, settled)),
        "problems": alert(view.problems),
        "answer": _answer(view),
        "found": {} if view.points else HIDDEN,
        "note": note_of_roofline(view),
        "figure": roofline_figure(view.points, peak=view.peak, dtype=view.dtype, keeps_zoom_of=_zoom_key(view)),
        "csv": f"{PAGE.path}.csv{view.query}",
        "points_note": f"{len(rows)}, {'the nearest to its roof' if view.peak else 'the highest rate'} first",
        "points": grid(columns_of(view.points), rows, grid_id=_id("points")) if rows else None,
    }


def _facts(view: RooflineView, settled: Sequence[str]) -> list[str]:
    return [fact(name, text_of(view.chosen[name])) for name in settled if name not in {PROJECT, *ALWAYS_SHOWN}]


def links_of(one: Placed) -> list[Component | str]:
    """Build the links that lead on from a point."""
    row = one.row
    where = f"{row.contender}, batch {row.batch}, hidden {row.hidden}"
    return [
        f"{where}: ",
        dcc.Link("its profile", href=point_profile_address(row)),
        " · ",
        dcc.Link("its throughput over batch", href=throughput_address(row)),
    ]


def _answer(view: RooflineView) -> list[Component]:
    nearest = max((one for one in view.points if one.share), key=lambda one: one.share or 0.0, default=None)
    mark = [stroke(look_of(nearest.row.contender))] if nearest else []
    kind = "answer" if nearest and not nearest.row.disturbed else "answer uncertain"
    return [
        html.H1([*mark, f"{answer_of_roofline(view)}."], className=kind),
        *(html.P(detail, className="detail") for detail in details_of_roofline(view)),
    ]


def _zoom_key(view: RooflineView) -> str:
    """Return the key that keeps the zoom through changes of commit and providers."""
    return ",".join([view.project.name, *map(text_of, view.chosen.values())])


def _id(name: str) -> str:
    return f"roofline-{name}"


HIDDEN = {"display": "none"}
PICKED = (*(axis.name for axis in SELECTED), "commit", "providers")
INPUTS = {
    "search": Input(_id("url"), "search"),
    "picked": {name: Input(_id(name), "value") for name in PICKED},
}
STATE = {"shown": State(_id("shown"), "data")}
OUTPUTS = {
    "search": Output(_id("url"), "search"),
    "shown": Output(_id("shown"), "data"),
    "axes": {axis.name: {prop: Output(_id(axis.name), prop) for prop in ("data", "value", "style")}
             for axis in ROOF_AXES},
    "project": {prop: Output(_id(PROJECT), prop) for prop in ("data", "value", "style")},
    "commit": {prop: Output(_id("commit"), prop) for prop in ("data", "value")},
    "providers": {prop: Output(_id("providers"), prop) for prop in ("children", "value")},
    "facts": Output(_id("facts"), "children"),
    "problems": Output(_id("problems"), "children"),
    "answer": Output(_id("answer"), "children"),
    "found": Output(_id("found"), "style"),
    "note": Output(_id("note"), "children"),
    "figure": Output(_id("graph"), "figure"),
    "csv": Output(_id("csv"), "href"),
    "points_note": Output(_id("points-note"), "children"),
    "points": Output(_id("points-table"), "data"),
}  # fmt: skip

PAGE = Page(
    path="/roofline",
    name="Roofline",
    layout=layout,
    register=register,
    takes=(*(axis.name for axis in ROOF_AXES), PROJECT, "commit", "providers"),
)
