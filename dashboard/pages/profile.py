"""Page *Profile*: what one call does inside, and how it differs from another provider's or commit's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request, send_file
from werkzeug.exceptions import NotFound

from dashboard.looks import look_of
from dashboard.pages import Page, csv_response, kept_in_url, project_props
from dashboard.pages.profile_cards import GRIDS, SELECTED, SELECTS, layout, page_id
from dashboard.pages.profile_properties import content_props
from dashboard.selectors import commit_props, select_props
from dashboard.sweep_axes import AXES, text_of
from dashboard.tables.export import csv_of_rows
from dashboard.tables.grids import connect_grids
from dashboard.tables.profiles import DIFFERENCE_COLUMNS, difference_rows, kernel_rows, operator_rows, runtime_rows
from dashboard.views.profiles.choice import NOBODY, SAME, query_from_profile_choice
from dashboard.views.profiles.difference import change_of_latency, explained_in_words
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.profiles.words import answer_of_call, details_of_call
from dashboard.views.projects import PROJECT, query_in_project
from dashboard.views.throughput.notes import fact
from dashboard.views.url import LATEST
from dashboard.widgets import alert, stroke
from results.queries import point_choices, projects, trace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash import Dash
    from dash.development.base_component import Component
    from werkzeug.wrappers import Response

    from dashboard.views.profiles.drawing import ProfileDrawing
    from results.store import Store

ALWAYS_SHOWN = {"operation", "machine", "hidden", "batch"}
PICKED = (*(axis.name for axis in SELECTED), *SELECTS, "side")


def register(app: Dash, store: Store) -> None:
    """Connect the page's URL, selectors and content; its tables and its trace are files, too."""

    def drawing_of_request() -> ProfileDrawing:
        if not any(row.has_sweep for row in projects(store)):
            raise NotFound("no sweep point is stored")
        return profile_drawing_of(store, query=request.query_string.decode("latin-1"))

    def table_csv(table: str) -> Response:
        rows, columns = _table(drawing_of_request(), table)
        return csv_response(csv_of_rows(rows, columns), name=f"profile-{table}")

    def trace() -> Response:
        call = drawing_of_request().call
        path = None if call is None else trace_of(store, point=call.point)
        if call is None or path is None or not path.is_file():
            raise NotFound("no trace of this point is kept")
        response: Response = send_file(path, as_attachment=True, download_name=path.name, max_age=0)
        return response

    app.server.add_url_rule(f"{PAGE.path}-<any(operators,kernels,runtime,difference):table>.csv", view_func=table_csv)
    app.server.add_url_rule(f"{PAGE.path}-trace", view_func=trace)

    connect_grids(app, [page_id(name) for name in (*GRIDS, "difference")])

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(search: str | None, picked: dict[str, Any], shown: dict[str, Any] | None) -> dict[str, Any]:
        query = asked_query(search, picked=picked, shown=shown, triggered=ctx.triggered_id)
        with kept_in_url(page_id("url"), query=query, search=search):
            if ctx.triggered_id == page_id(PROJECT):
                query = query_in_project(query, points=point_choices(store))
            return page_props(profile_drawing_of(store, query=query), is_from_url=query == search)


def asked_query(
    search: str | None, *, picked: Mapping[str, Any], shown: Mapping[str, Any] | None, triggered: str | None
) -> str:
    """Return the query to draw: the URL's own when it changed, else that of the selectors.

    Raises: PreventUpdate if that is shown already, as after each update of the URL by this callback.
    """
    if search is None or (shown is not None and triggered == page_id("url") and search == shown["query"]):
        raise PreventUpdate
    if shown is None or triggered in {None, page_id("url")}:
        return search
    # An axis with a single option was not chosen; with other options its default applies.
    values = {name: value for name, value in picked.items() if name not in shown["settled"] and value is not None}
    if triggered == page_id("against") and values.get("against") == NOBODY:
        values["base"] = SAME
    if values.get("against") == NOBODY and values.get("base") == SAME:
        del values["against"], values["base"]
    return "?" + urlencode(values, safe=",:")


def page_props(drawing: ProfileDrawing, *, is_from_url: bool) -> dict[str, Any]:
    """Convert the drawing into properties of the page's components, in the shape of OUTPUTS."""
    view, choice, call = drawing.view, drawing.view.choice, drawing.call
    query = query_from_profile_choice(choice)
    settled = [axis.name for axis in SELECTED if len(view.options[axis.name]) == 1]
    provider = call.point.contender if call else view.providers[0]
    against = choice.against or (provider if choice.base else NOBODY)
    nobody = [{"value": NOBODY, "label": "nothing"}]
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": {"query": query, "settled": settled},
        "axes": {
            axis.name: select_props(
                [text_of(option) for option in view.options[axis.name]],
                text_of(getattr(choice, axis.column)),
                is_always_shown=axis.name in ALWAYS_SHOWN,
            )
            for axis in AXES
        },
        "project": project_props(choice.project, view.options[PROJECT]),
        "selects": {
            "provider": {"data": list(view.providers), "value": provider},
            "commit": commit_props(drawing.commits, chosen=choice.commit, latest=LATEST),
            "against": {"data": [*nobody, *({"value": name, "label": name} for name in view.providers)],
                        "value": against},
            "base": commit_props(drawing.commits, chosen=choice.base, latest=SAME, label="the same commit"),
        },
        "side": str(choice.side),
        "facts": " · ".join(
            fact(name, text_of(getattr(choice, axis.column)))
            for axis in AXES if (name := axis.name) in settled and name not in ALWAYS_SHOWN
        ),
        "problems": alert(drawing.problems),
        "answer": _answer(drawing),
        **content_props(drawing, query=query),
    }  # fmt: skip


def _answer(drawing: ProfileDrawing) -> list[Component]:
    """Build the answer in large letters: of a comparison how the time changed, else what it goes to; details below."""
    call, base, difference = drawing.call, drawing.base, drawing.difference
    if call is None:
        return [html.H1("Nothing was measured here with this choice.", className="answer uncertain")]
    row = call.point
    sentence, details = answer_of_call(call), details_of_call(call)
    rows = [row]
    if base is not None and difference is not None:
        details = [*explained_in_words(drawing.explanation, difference), f"{sentence}.", *details]
        sentence = change_of_latency(difference, base=base.point, head=row)
        rows.append(base.point)
    date = "no date" if row.commit_date is None else f"{row.commit_date:%Y-%m-%d %H:%M}"
    subject = f" · {row.commit_subject}" if row.commit_subject else ""
    is_sure = all(each.state == "ok" and not each.disturbed for each in rows)
    return [
        html.H1(
            [stroke(look_of(row.contender)), f"{sentence}."], className="answer" if is_sure else "answer uncertain"
        ),
        *(html.P(detail, className="detail") for detail in details),
        *_profiled(drawing),
        html.P(f"{row.commit[:10]} · {date}{subject}", className="detail commit-shown"),
    ]


def _profiled(drawing: ProfileDrawing) -> list[Component]:
    """Build links to the batches with a profile, where the call has none."""
    links: list[Component | str] = []
    for batch in drawing.profiled:
        query = query_from_profile_choice(replace(drawing.view.choice, batch=batch))
        links += [", " if links else "", dcc.Link(f"{batch:,}", href=f"{PAGE.path}{query}", className="link")]
    return [html.P(["Profiled with the rest of this choice: batch ", *links], className="detail")] if links else []


def _table(drawing: ProfileDrawing, table: str) -> tuple[list[dict[str, object]], list[str]]:
    """Return the rows of a table and its columns. Raises: NotFound where there is none."""
    profile = None if drawing.call is None else drawing.call.profile
    if table == "difference":
        if drawing.difference is None:
            raise NotFound("the URL asks for no comparison, or there is nothing to compare")
        return difference_rows(drawing.difference), [column.field for column in DIFFERENCE_COLUMNS]
    if profile is None:
        raise NotFound("there is no profile of this point")
    rows = {
        "operators": operator_rows(profile.operators),
        "kernels": kernel_rows(profile.kernels),
        "runtime": runtime_rows(profile.runtime_calls or ()),
    }[table]
    return rows, [column.field for column in GRIDS[table][1]]


INPUTS = {
    "search": Input(page_id("url"), "search"),
    "picked": {name: Input(page_id(name), "value") for name in PICKED},
}
STATE = {"shown": State(page_id("shown"), "data")}
GRAPHS = ("times", "flames", "timeline")
OUTPUTS = {
    "search": Output(page_id("url"), "search"),
    "shown": Output(page_id("shown"), "data"),
    "axes": {axis.name: {prop: Output(page_id(axis.name), prop) for prop in ("data", "value", "style")}
             for axis in AXES},
    "project": {prop: Output(page_id(PROJECT), prop) for prop in ("data", "value", "style")},
    "selects": {name: {prop: Output(page_id(name), prop) for prop in ("data", "value")} for name in SELECTS},
    "side": Output(page_id("side"), "value"),
    "side_style": Output(page_id("side-box"), "style"),
    "facts": Output(page_id("facts"), "children"),
    "problems": Output(page_id("problems"), "children"),
    "answer": Output(page_id("answer"), "children"),
    "content_style": Output(page_id("content"), "style"),
    "times_key": Output(page_id("times-key"), "children"),
    "graphs": {
        name: {"figure": Output(page_id(f"{name}-graph"), "figure"), "style": Output(page_id(f"{name}-graph"), "style"),
               "box": Output(page_id(f"{name}-box"), "style"), "note": Output(page_id(f"{name}-note"), "children")}
        for name in GRAPHS
    },
    "expected": Output(page_id("expected"), "children"),
    "missing": Output(page_id("missing"), "children"),
    "grids": {
        name: {"table": Output(page_id(f"{name}-table"), "data"), "box": Output(page_id(f"{name}-box"), "style"),
               "note": Output(page_id(f"{name}-note"), "children"), "csv": Output(page_id(f"{name}-csv"), "href")}
        for name in GRIDS
    },
    "difference": {
        "box": Output(page_id("difference-box"), "style"), "names": Output(page_id("difference-names"), "children"),
        "note": Output(page_id("difference-note"), "children"),
        "figure": Output(page_id("difference-graph"), "figure"), "style": Output(page_id("difference-graph"), "style"),
        "table": Output(page_id("difference-table"), "data"),
        "csv": Output(page_id("difference-csv"), "href"),
    },
    "trace": {"href": Output(page_id("trace"), "href"), "style": Output(page_id("perfetto"), "style")},
}  # fmt: skip


PAGE = Page(
    path="/profile",
    name="Profile",
    layout=layout,
    register=register,
    takes=(*(axis.name for axis in AXES), PROJECT, "provider", "commit"),
)
