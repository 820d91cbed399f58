"""Page *Regressions*: what got slower and since when, what deserves a look first, and what is known of its cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from dashboard.figures.drawing import figure_from_chart
from dashboard.pages import ANY_PROJECT, Page, csv_response, kept_in_url
from dashboard.pages.acknowledging import decision_form, refusal_of, register_decisions
from dashboard.pages.notices import judging_note
from dashboard.selectors import labelled_select, select_props
from dashboard.tables.export import csv_of_findings
from dashboard.tables.finding_card import finding_facts
from dashboard.tables.findings import findings_table
from dashboard.tables.winner_flips import flips_table
from dashboard.views.feed import atom_from
from dashboard.views.regressions_choice import LABELS, query_from_regressions_choice
from dashboard.views.regressions_drawing import regressions_drawing_of
from dashboard.views.url import ALL
from dashboard.widgets import OnEnter, alert, at_end, by_keyboard, card, empty_graph, picture_buttons, unbroken
from results.queries import projects

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dash import Dash
    from dash.development.base_component import Component

    from dashboard.views.regressions_drawing import RegressionsDrawing
    from results.store import Store

SELECTS = {"project": "Project", "machine": "Machine", "turn": "Direction", "state": "State", "class": "Cause"}
ANY = {"project": ANY_PROJECT, "machine": "any machine"}
DECISIONS_KEY = "FUSEBENCH_DECISIONS"  # of the server's configuration: the file to write to


def layout() -> Component:
    """Build the page before anything is judged; the first callback fills it."""
    selects = [labelled_select(label, component_id=_id(name)) for name, label in SELECTS.items()]
    contains = dmc.TextInput(
        id=_id("contains"), label="Contains", placeholder="any benchmark …", size="xs", debounce=400, value="",
        className="axis",
    )  # fmt: skip
    graph = empty_graph(_id("graph"), height="300px")
    curve = by_keyboard(graph, label="Values over commits", on_enter=OnEnter.NOTHING)
    feed = html.A("Atom feed", id=_id("feed"), href=f"{PAGE.path}.xml", className="link")
    csv = html.A("CSV", id=_id("csv"), href=f"{PAGE.path}.csv", download="", title="Save the findings as CSV")
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            html.Div([*selects, contains], className="bar"),
            html.Div(id=_id("problems"), className="problems"),
            html.Section(
                [
                    html.H1("Judging all histories …", id=_id("answer"), className="answer uncertain"),
                    html.Div(judging_note(), id=_id("lists"), className="keys"),
                ],
                className="card",
            ),
            html.Div(
                [
                    html.Div(
                        card([html.H2(id=_id("title")), html.Span(id=_id("badges"))],
                             html.Div(id=_id("facts"), className="note"),
                             html.Div([curve, picture_buttons()], id=_id("curve")),
                             html.Div(id=_id("decision"))),
                        id=_id("chosen"), style=HIDDEN,
                    ),
                    card([html.H2("Findings, what deserves a look first on top"),
                          html.Span("size × certainty × breadth", className="dimmed"),
                          at_end(feed, html.Div(csv, className="saving"))],
                         html.Div(id=_id("findings"))),
                ],
                className="pair stays",
            ),
            html.Div(id=_id("flips")),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Connect the page; its list is a CSV and an Atom feed, too, and a decision about a finding is taken."""
    file: Path | None = app.server.config.get(DECISIONS_KEY)
    register_decisions(app, store, file=file)

    def drawn() -> RegressionsDrawing:
        if not projects(store):
            raise NotFound("nothing is stored")
        return regressions_drawing_of(store, query=request.query_string.decode("latin-1"))

    def regressions_csv() -> Response:
        return csv_response(csv_of_findings(drawn().found), name="regressions")

    def regressions_feed() -> Response:
        drawing = drawn()
        query = query_from_regressions_choice(drawing.choice)
        feed = atom_from(drawing.found, base=request.host_url, query=query, names_project=drawing.names_project)
        return Response(feed, mimetype="application/atom+xml")

    app.server.add_url_rule(f"{PAGE.path}.csv", view_func=regressions_csv)
    app.server.add_url_rule(f"{PAGE.path}.xml", view_func=regressions_feed)

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(search: str | None, picked: dict[str, Any], shown: str | None) -> dict[str, Any]:
        query = asked_query(search, picked=picked, shown=shown, triggered=ctx.triggered_id)
        with kept_in_url(_id("url"), query=query, search=search):
            drawing = regressions_drawing_of(store, query=query)
            return page_props(drawing, is_from_url=query == search, refusal=refusal_of(file))


def asked_query(
    search: str | None, *, picked: Mapping[str, str | None], shown: str | None, triggered: str | None
) -> str:
    """Return the query to draw: the URL's own when it changed, else that of the selectors, of no finding.

    Raises: PreventUpdate if that is shown already, as after each update of the URL by this callback.
    """
    if search is None or (shown is not None and triggered == _id("url") and search == shown):
        raise PreventUpdate
    if shown is None or triggered in {None, _id("url")}:
        return search
    # Another project has other machines.
    left_out = {"machine"} if triggered == _id("project") else set()
    query = urlencode([(name, value) for name, value in picked.items() if value and name not in left_out])
    return f"?{query}"


def page_props(drawing: RegressionsDrawing, *, is_from_url: bool, refusal: str | None) -> dict[str, Any]:
    """Convert the drawing into properties of the page's components, in the shape of OUTPUTS."""
    choice, chosen = drawing.choice, drawing.chosen
    query = query_from_regressions_choice(choice)
    title, badges, facts = (
        finding_facts(
            chosen,
            explanation=drawing.explanation,
            taken_back=drawing.taken_back,
            left_out=drawing.left_out,
            names_project=drawing.names_project,
        )
        if chosen
        else ("", [], [])
    )
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": query,
        "selects": {
            **{
                name: _with_labels(
                    select_props(drawing.options[name], getattr(choice, name), is_always_shown=False), {ALL: ANY[name]}
                )
                for name in ANY
            },
            "turn": {"data": _options("turn"), "value": choice.turn.value, "style": {}},
            "state": {"data": _options("state"), "value": choice.state.value, "style": {}},
            "class": {"data": _options("class"), "value": choice.class_.value, "style": {}},
        },
        "contains": choice.contains,
        "problems": alert(drawing.problems),
        "answer": unbroken(f"{drawing.answer}."),
        "lists": [
            dcc.Link(
                f"{n:,} {label}", href=f"{PAGE.path}{of_list}", className="link here" if of_list == query else "link"
            )
            for label, of_list, n in drawing.lists
            if n
        ],
        "chosen": {} if chosen else HIDDEN,
        "title": title,
        "badges": badges,
        "facts": facts,
        "curve": {} if drawing.chart else HIDDEN,
        "figure": figure_from_chart(
            drawing.chart, scale=drawing.scale, chosen=None, keeps_zoom_of=chosen.uid if chosen else ""
        )
        if drawing.chart
        else {},
        "decision": decision_form(
            chosen, refusal=refusal, taken_back=drawing.taken_back, is_project_chosen=choice.project != ALL
        )
        if chosen
        else [],
        "findings": findings_table(
            drawing.found,
            link_to=lambda uid: f"{PAGE.path}{_with_finding(query, uid)}",
            chosen=chosen.uid if chosen else None,
            names_project=drawing.names_project,
        ),
        "flips": flips_table(drawing.flips),
        "feed": f"{PAGE.path}.xml{query}",
        "csv": f"{PAGE.path}.csv{query}",
    }


def _id(name: str) -> str:
    return f"regressions-{name}"


def _options(name: str) -> list[dict[str, str]]:
    return [{"value": value, "label": label} for value, label in LABELS[name].items()]


def _with_labels(props: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    # With one name beside "any" there is nothing to choose.
    style = {} if len(props["data"]) > 2 else HIDDEN
    return {**props, "data": [{"value": one, "label": labels.get(one, one)} for one in props["data"]], "style": style}


def _with_finding(query: str, uid: str) -> str:
    pairs = [pair for pair in parse_qsl(query.removeprefix("?")) if pair[0] != "finding"]
    return "?" + urlencode([*pairs, ("finding", uid)])


HIDDEN = {"display": "none"}
INPUTS = {
    "search": Input(_id("url"), "search"),
    "picked": {name: Input(_id(name), "value") for name in (*SELECTS, "contains")},
}
STATE = {"shown": State(_id("shown"), "data")}
OUTPUTS = {
    "search": Output(_id("url"), "search"),
    "shown": Output(_id("shown"), "data"),
    "selects": {name: {prop: Output(_id(name), prop) for prop in ("data", "value", "style")} for name in SELECTS},
    "contains": Output(_id("contains"), "value"),
    "problems": Output(_id("problems"), "children"),
    "answer": Output(_id("answer"), "children"),
    "lists": Output(_id("lists"), "children"),
    "chosen": Output(_id("chosen"), "style"),
    "title": Output(_id("title"), "children"),
    "badges": Output(_id("badges"), "children"),
    "facts": Output(_id("facts"), "children"),
    "curve": Output(_id("curve"), "style"),
    "figure": Output(_id("graph"), "figure"),
    "decision": Output(_id("decision"), "children"),
    "findings": Output(_id("findings"), "children"),
    "flips": Output(_id("flips"), "children"),
    "feed": Output(_id("feed"), "href"),
    "csv": Output(_id("csv"), "href"),
}
PAGE = Page(
    path="/regressions",
    name="Regressions",
    layout=layout,
    register=register,
    needs_sweep=False,
    takes=("project", "machine"),
    takes_any_project=True,
    offers_all_projects=True,
)
