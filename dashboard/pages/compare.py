"""Page *Compare*: commits, providers, machines or environments against the first of them, point by point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import request
from werkzeug.exceptions import NotFound

from dashboard.figures.ratios import RatioMark, RatioSide, scatter_of_ratios, thinned
from dashboard.pages import Page, csv_response, hand_on, kept_in_url
from dashboard.quantities import MetricFormat
from dashboard.selectors import MOST_SUGGESTIONS, NO_MATCH, commit_props, labelled_select, metric_props, select_props
from dashboard.tables.comparison import answer_of, means_table, others_list, ratios_table, short_name
from dashboard.tables.export import csv_of_ratios
from dashboard.tables.ratios import are_unlike_their_values
from dashboard.views.compare_choice import HASH_LENGTH, MOST_SIDES, SIDES, Along, Show, query_from_compare_choice
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.url import LATEST
from dashboard.widgets import OnEnter, alert, by_keyboard, card, empty_graph, picture_buttons, unbroken
from results.queries import projects
from results.store import gc_paused
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dash import Dash
    from dash.development.base_component import Component
    from werkzeug.wrappers import Response

    from dashboard.figures.drawing import Figure
    from dashboard.views.compare_drawing import CompareDrawing
    from results.store import Store

LABELS = {"commit": "Commits", "machine": "Machines", "environment": "Environments", "provider": "Providers"}
ALONG = {"commit": "commits", "provider": "providers", "machine": "machines", "environment": "environments"}
SHOW = {"all": "all points", "significant": "only what changed"}
MOST_OF_TITLE = 40
NOTHING_CHANGED = "None changed beyond the noise."
CAVEAT = (
    "The geometric mean gives every point one weight, whether or not anybody runs it; points that only one side has, "
    "or that failed, are not in it. Points of one cause move together, so it has no interval of its own."
)
MADE_OF_PROCESSES = (
    "changes compare processes, without what moved the whole machine: they need not be the ratio of two stored values"
)


def layout() -> Component:
    """Build the page before anything is chosen; the first callback fills it."""
    multiple = [
        dmc.MultiSelect(
            id=_id(name), label=label, data=[], value=[], searchable=True, limit=MOST_SUGGESTIONS, size="xs",
            maxValues=MOST_SIDES, hidePickedOptions=True, clearable=name == "provider", nothingFoundMessage=NO_MATCH,
            className="axis sides", comboboxProps={"width": "max-content", "position": "bottom-start"},
        )
        for name, label in LABELS.items()
    ]  # fmt: skip
    along = dmc.SegmentedControl(id=_id("along"), size="xs", value="commit",
                                 data=[{"value": value, "label": label} for value, label in ALONG.items()])  # fmt: skip
    show = dmc.SegmentedControl(id=_id("show"), size="xs", value="all",
                                data=[{"value": value, "label": label} for value, label in SHOW.items()])  # fmt: skip
    contains = dmc.TextInput(
        id=_id("contains"), label="Contains", placeholder="any benchmark …", size="xs", debounce=400, value="",
        className="axis",
    )  # fmt: skip
    graph = empty_graph(_id("graph"), height="420px")
    ratios = by_keyboard(graph, label="Ratio of each point to the first side", on_enter=OnEnter.NOTHING)
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            html.Div([labelled_select("Project", component_id=_id("project")), _group("Compare", along), *multiple,
                      labelled_select("Metric", component_id=_id("metric")), contains, _group("Show", show)],
                     className="bar"),
            html.Div(id=_id("problems"), className="problems"),
            html.Section([html.H1("Comparing …", id=_id("answer"), className="answer uncertain"),
                          html.Div(id=_id("means"))], className="card"),
            html.Div([
                card([html.H2("Ratio of each point to the first side"), html.Span(id=_id("note"), className="note")],
                     html.Div(ratios, id=_id("chart")), picture_buttons(csv_id=_id("csv"))),
                card([html.H2("Points, the largest change first")], html.Div(id=_id("rows"))),
            ], id=_id("found"), className="pair stays"),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Connect the page's URL, selectors and figure; all its ratios are a CSV, too."""

    def compare_csv() -> Response:
        if not projects(store):
            raise NotFound("nothing is stored")
        drawing = compare_drawing_of(store, query=request.query_string.decode("latin-1"))
        commits = drawing.choice.commit if drawing.choice.along is Along.COMMIT else ()
        text = csv_of_ratios(drawing.rows, drawing.names, shared=drawing.shared, commits=commits)
        return csv_response(text, name="compare")

    app.server.add_url_rule(f"{PAGE.path}.csv", view_func=compare_csv)

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show(search: str | None, picked: dict[str, Any], shown: str | None) -> dict[str, Any]:
        query = asked_query(search, picked=picked, shown=shown, triggered=ctx.triggered_id)
        with kept_in_url(_id("url"), query=query, search=search), gc_paused():
            drawing = compare_drawing_of(store, query=query)
            hand_on(drawing.choice.project, drawing.options.projects)
            return page_props(drawing, is_from_url=query == search)


def asked_query(search: str | None, *, picked: Mapping[str, Any], shown: str | None, triggered: str | None) -> str:
    """Return the query to draw: the URL's own when it changed, else that of the selectors.

    Raises: PreventUpdate if that is shown already, as after each update of the URL by this callback.
    """
    if search is None or (shown is not None and triggered == _id("url") and search == shown):
        raise PreventUpdate
    if shown is None or triggered in {None, _id("url")}:
        return search
    pairs = [("project", picked["project"]), ("along", picked["along"])]
    # Another project has other commits, places and metrics.
    if triggered != _id("project"):
        pairs += [(name, value) for name in SIDES for value in picked[name] or ()]
        pairs += [("metric", picked["metric"])]
    pairs += [(name, picked[name]) for name in ("contains", "show")]
    return "?" + urlencode([(name, value) for name, value in pairs if value])


def page_props(drawing: CompareDrawing, *, is_from_url: bool) -> dict[str, Any]:
    """Convert the drawing into properties of the page's components, in the shape of OUTPUTS."""
    choice, options = drawing.choice, drawing.options
    query = query_from_compare_choice(choice)
    are_providers = choice.along is Along.PROVIDER
    commits = commit_props(options.commits, chosen=None, latest=LATEST)["data"][1:]
    figure, n_left_out = _figure(drawing)
    means = means_table(drawing.names, drawing.means, drawing.conditions, are_providers=are_providers)
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else query,
        "shown": query,
        "project": select_props(options.projects, choice.project, is_always_shown=False),
        "along": {"value": choice.along.value, "data": _measured_axes(drawing)},
        "sides": {
            "commit": {
                "data": commits,
                "value": [commit[:HASH_LENGTH] for commit in choice.commit],
                "style": {},
                "placeholder": "",
            },
            "machine": _side("machine", options.machines, choice.machine, along=choice.along),
            "environment": _side("environment", options.environments, choice.environment, along=choice.along),
            "provider": _side("provider", drawing.providers, choice.provider, along=choice.along),
        },
        "metric": metric_props(drawing.metrics, choice.metric, is_always_shown=False),
        "contains": choice.contains,
        "show_value": choice.show.value,
        "problems": alert(drawing.problems),
        "answer": unbroken(f"{_answer(drawing)}."),
        "means": [*means, *others_list(drawing.names, drawing.others), html.P(CAVEAT, className="detail")]
        if means
        else [],
        "found": {} if drawing.n_points and drawing.is_comparable else {"display": "none"},
        "chart": {} if any(row.has_ratio for row in drawing.rows) else {"display": "none"},
        "note": _note(drawing, n_left_out),
        "figure": figure,
        "csv": f"{PAGE.path}.csv{query}",
        "rows": ratios_table(drawing.rows, drawing.names) or [html.P(NOTHING_CHANGED, className="dimmed")],
    }


def _answer(drawing: CompareDrawing) -> str:
    choice = drawing.choice
    if choice.along is Along.COMMIT and len(drawing.options.commits) == 1:
        others = ["choose another machine"] if len(drawing.options.machines) > 1 else []
        others += ["compare providers"] if len(drawing.providers) > 1 else []
        remedy = " or ".join(others) or "measure another"
        return f"Only one commit was measured on {choice.machine[0]}: {remedy}"
    return answer_of(drawing.names, drawing.means)


def _figure(drawing: CompareDrawing) -> tuple[Figure, int]:
    """Return the scatter, and how many points were left out of it."""
    choice = drawing.choice
    sides = [
        RatioSide(
            name=name,
            marks=tuple(
                [
                    RatioMark(value, ratio.ratio, row.name, ratio.word, ratio.is_significant)
                    for row in drawing.rows
                    if (ratio := row.ratios[number]) is not None and ratio.ratio and (value := row.base.value)
                ]
            ),
        )
        for number, name in enumerate(drawing.names[1:])
    ]
    kept, n_left_out = thinned(sides)
    ordinate = MetricFormat(metric=choice.metric, unit=drawing.unit, better=drawing.better).ordinate
    base = short_name(drawing.names[0])[:MOST_OF_TITLE] if drawing.names else ""
    figure = scatter_of_ratios(kept, ordinate=ordinate, base=base, are_providers=choice.along is Along.PROVIDER)
    return figure, n_left_out


def _measured_axes(drawing: CompareDrawing) -> list[dict[str, str]]:
    """Return the axes that have two sides to compare, and the chosen one."""
    options = drawing.options
    n_sides = {
        "commit": len(options.commits), "provider": len(drawing.providers),
        "machine": len(options.machines), "environment": len(options.environments),
    }  # fmt: skip
    chosen = drawing.choice.along.value
    return [{"value": name, "label": ALONG[name]} for name, n in n_sides.items() if n > 1 or name == chosen]


def _note(drawing: CompareDrawing, n_left_out: int) -> str:
    if not drawing.n_points:
        return "nothing to show for this choice"
    compared = [row for row in drawing.rows if row.has_ratio]
    parts = [f"{counted(len(compared), 'point')} with a ratio; filled where it changed beyond the noise"]
    if drawing.choice.show is Show.SIGNIFICANT:
        parts[0] = f"{len(drawing.rows):,} of {counted(drawing.n_points, 'point')} changed beyond the noise"
    if drawing.choice.along is Along.PROVIDER and len(drawing.choice.sides) < len(drawing.providers):
        parts.append(f"{len(drawing.choice.sides)} of {len(drawing.providers)} providers, others to be chosen above")
    if drawing.shared:
        parts.append(f"all with {drawing.shared}")
    if drawing.choice.along is not Along.COMMIT:
        parts.append("intervals: the widest that both values' own allow")
    if any(one.ratio and one.low is None for row in compared for one in row.ratios if one is not None):
        parts.append("without an interval: counted, disturbed, or of unknown noise")
    if are_unlike_their_values(compared):
        parts.append(MADE_OF_PROCESSES)
    if n_left_out:
        parts.append(f"{counted(n_left_out, 'point')} without a certain change are not drawn, to keep the figure quick")
    return " · ".join(parts)


def _side(name: str, data: tuple[str, ...], value: tuple[str, ...], *, along: Along) -> dict[str, Any]:
    is_shown = len(data) > 1 or (along.value == name and bool(data))
    nothing = "choose two" if along.value == name else "any"
    return {
        "data": list(data),
        "value": list(value),
        "style": {} if is_shown else {"display": "none"},
        "placeholder": "" if value else nothing,
    }


def _group(label: str, control: Component) -> Component:
    return html.Div(
        [html.Span(label, className="group-label"), control],
        role="group",
        **cast("dict[str, Any]", {"aria-label": label}),
    )


def _id(name: str) -> str:
    return f"compare-{name}"


PICKED = ("project", "along", *SIDES, "metric", "contains", "show")
INPUTS = {
    "search": Input(_id("url"), "search"),
    "picked": {name: Input(_id(name), "value") for name in PICKED},
}
STATE = {"shown": State(_id("shown"), "data")}
SELECT = ("data", "value", "style")
OUTPUTS = {
    "search": Output(_id("url"), "search"),
    "shown": Output(_id("shown"), "data"),
    "project": {prop: Output(_id("project"), prop) for prop in SELECT},
    "along": {prop: Output(_id("along"), prop) for prop in ("value", "data")},
    "sides": {name: {prop: Output(_id(name), prop) for prop in (*SELECT, "placeholder")} for name in SIDES},
    "metric": {prop: Output(_id("metric"), prop) for prop in SELECT},
    "contains": Output(_id("contains"), "value"),
    "show_value": Output(_id("show"), "value"),
    "problems": Output(_id("problems"), "children"),
    "answer": Output(_id("answer"), "children"),
    "means": Output(_id("means"), "children"),
    "found": Output(_id("found"), "style"),
    "chart": Output(_id("chart"), "style"),
    "note": Output(_id("note"), "children"),
    "figure": Output(_id("graph"), "figure"),
    "csv": Output(_id("csv"), "href"),
    "rows": Output(_id("rows"), "children"),
}
PAGE = Page(
    path="/compare",
    name="Compare",
    layout=layout,
    register=register,
    needs_sweep=False,
    takes=("project", *SIDES),
    takes_any_project=True,
)
