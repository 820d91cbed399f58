"""Page *Overview*: did the last commit make it slower, what to run at which shape, what fails and what is stale."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dash import Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dashboard.pages import ANY_PROJECT, Page, kept_in_url
from dashboard.pages.notices import judging_note
from dashboard.selectors import labelled_select, select_props
from dashboard.sweep_axes import text_of
from dashboard.tables.findings import findings_list
from dashboard.tables.map_drawing import headlines_table, map_card, map_key
from dashboard.tables.standings import failing_in_words, failing_list, freshness_in_words
from dashboard.tables.surfaces import answer_of, commits_of, surfaces_list
from dashboard.tables.winner_flips import flips_in_words
from dashboard.views.comparison import MOST_SURFACES
from dashboard.views.overview import KEYS, MAP_AXES, maps_view_of, names_projects_of, overview_of, query_from_axes
from dashboard.views.projects import PROJECT
from dashboard.views.regressions_drawing import open_regressions_of
from dashboard.views.url import ALL
from dashboard.views.winner_flips import MOST_COMMITS, winner_flips_of
from dashboard.widgets import alert, at_end, card

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash
    from dash.development.base_component import Component

    from dashboard.tables.standings import FreshnessSummary
    from dashboard.tables.surfaces import Comparison
    from dashboard.views.overview import MapsView, Overview
    from results.judgement.changes.ranked import RankedFinding
    from results.store import Store

MOST_FAILING = 10
MOST_OPEN = 5
MOST_FLIPS = 6
JUDGING = "Judging the newest commits …"


def layout() -> Component:
    """Build the page before anything is known; two callbacks fill it, the slower one with the commits' judgement."""
    return html.Div(
        [
            dcc.Location(id=_id("url"), refresh="callback-nav"),
            dcc.Store(id=_id("shown")),
            dcc.Store(id=_id("of-project")),  # what the cards are about
            html.Div(labelled_select("Project", component_id=_id(PROJECT)), id=_id("bar"), className="bar",
                     style=HIDDEN),
            html.Div(id=_id("problems"), className="problems"),
            html.H1("Did the last commit make it slower?"),
            html.Div(
                [
                    html.Div(html.P(JUDGING, className="dimmed"), id=_id("changes"), className="charts"),
                    html.Div(judging_note(), id=_id("open")),
                ],
                className="pair",
            ),
            html.Section(
                [
                    html.H2("Which one to run", className="headline"),
                    html.Div([labelled_select(axis.label, component_id=_id(axis.name)) for axis in MAP_AXES],
                             className="bar"),
                    html.Div(id=_id("maps")),
                    html.Div([html.Div(id=_id("headlines")), html.Div(id=_id("flips"))], className="pair"),
                ],
                id=_id("sweep"), className="page", style=HIDDEN,
            ),
            html.Div(id=_id("failing")),
        ],
        className="page",
    )  # fmt: skip


def register(app: Dash, store: Store) -> None:
    """Connect the page: its maps follow the URL and the selectors, the rest follows the project."""
    of_project = Input(_id("of-project"), "data")

    @app.callback(Output(_id("changes"), "children"), Output(_id("failing"), "children"), of_project)
    def show_changes(project: str | None) -> tuple[list[Component], list[Component]]:
        overview = overview_of(store, project=project or ALL)
        return change_cards(overview), failing_cards(overview)

    @app.callback(Output(_id("open"), "children"), of_project)
    def show_open(project: str | None) -> list[Component]:
        about = project or ALL
        found, names_project = open_regressions_of(store, project=about), names_projects_of(store, project=about)
        return open_cards(found, project=about, names_project=names_project)

    @app.callback(Output(_id("flips"), "children"), of_project)
    def show_flips(project: str | None) -> list[Component]:
        found = [one for one in winner_flips_of(store) if project in {None, ALL, one.since.project}]
        return flip_cards(flips_in_words(found), project=project or ALL)

    @app.callback(output=OUTPUTS, inputs=INPUTS, state=STATE)
    def show_maps(search: str | None, picked: dict[str, Any], shown: str | None, about: str | None) -> dict[str, Any]:
        query = asked_query(search, picked=picked, shown=shown, triggered=ctx.triggered_id)
        with kept_in_url(_id("url"), query=query, search=search):
            view = maps_view_after(store, query=query, triggered=ctx.triggered_id)
            return page_props(view, is_from_url=query == search, about=about)


def asked_query(
    search: str | None, *, picked: Mapping[str, str | None], shown: str | None, triggered: str | None
) -> str:
    """Return the query to draw: the URL's own when it changed, else that of the selectors.

    Raises: PreventUpdate if that is shown already, as after each update of the URL by this callback.
    """
    if search is None or (shown is not None and triggered == _id("url") and search == shown):
        raise PreventUpdate
    if shown is None or triggered in {None, _id("url")}:
        return search
    project = None if picked[PROJECT] == ALL else picked[PROJECT]
    # Another project has other machines.
    return query_from_axes({PROJECT: project} if triggered == _id(PROJECT) else {**picked, PROJECT: project})


def maps_view_after(store: Store, *, query: str, triggered: str | None) -> MapsView:
    """Return the maps of `query`; of the settings of another machine that one just chosen lacks nobody is warned."""
    view = maps_view_of(store, query=query)
    return replace(view, problems=()) if triggered == _id("machine") else view


def page_props(view: MapsView, *, is_from_url: bool, about: str | None = None) -> dict[str, Any]:
    """Convert the view into properties of the page's components, in the shape of OUTPUTS.

    about: project that the cards show; None before the first.
    """
    return {
        # Writing the URL where it was just read would put a second entry into the browser's history.
        "search": no_update if is_from_url else view.query,
        "shown": view.query,
        "about": no_update if view.project == about else view.project,
        "bar": {} if view.has_projects else HIDDEN,
        "project": {
            "data": [{"value": name, "label": ANY_PROJECT if name == ALL else name} for name in view.projects],
            "value": view.project,
        },
        "sweep": {} if view.chosen else HIDDEN,
        "axes": {
            axis.name: select_props(
                [text_of(option) for option in view.options.get(axis.name, ())],
                text_of(view.chosen[axis.name]) if view.chosen else "",
                is_always_shown=axis.name == "machine" and bool(view.chosen),
            )
            for axis in MAP_AXES
        },
        "problems": alert(view.problems),
        "maps": _maps(view) if view.chosen else [],
        "headlines": _headlines(view) if view.chosen else [],
    }


def change_cards(overview: Overview) -> list[Component]:
    """Build a card per project and machine: the answer, the commits, what changed, and how fresh it is."""
    freshness = {(one.project, one.machine): one for one in overview.freshness}
    return [_change_card(each, freshness.get((each.project, each.machine))) for each in overview.comparisons]


def open_cards(found: Sequence[RankedFinding], *, project: str = ALL, names_project: bool = False) -> list[Component]:
    """Build the card of the regressions of earlier commits, too, that nobody has acknowledged; nothing without any."""
    if not found:
        return []
    note = html.Span("in all histories, the heaviest first", className="dimmed")
    label, page = f"All on the page Regressions ({len(found):,})", _regressions(project)
    more = dcc.Link(label, href=page, className="link")
    listed = findings_list(found, most=MOST_OPEN, page=page, names_project=names_project)
    return [card([html.H2("Open regressions"), note, at_end(more)], listed)]


def flip_cards(found: Sequence[str], *, project: str = ALL) -> list[Component]:
    """Build the card of who leads since when where another did before; nothing without any."""
    if not found:
        return []
    note = html.Span(f"certain before and since, over the newest {MOST_COMMITS} commits", className="dimmed")
    more = dcc.Link("Shape by shape on the page Regressions", href=_regressions(project), className="link")
    lines = [html.Li(one) for one in found[:MOST_FLIPS]]
    if len(found) > MOST_FLIPS:
        lines.append(html.Li(f"… and {len(found) - MOST_FLIPS:,} more, since no later commits", className="dimmed"))
    return [
        card([html.H3("Another provider is the fastest now"), note, at_end(more)], html.Ul(lines, className="surfaces"))
    ]


def failing_cards(overview: Overview) -> list[Component]:
    """Build the card of what has no value in its newest run."""
    listed = failing_list(overview.failing, most=MOST_FAILING, names_project=overview.names_project)
    parts = [listed] if overview.failing else []
    note = html.Span(failing_in_words(overview.failing), className="dimmed")
    return [card([html.H2("Failing, wrong or missing"), note], *parts)]


def _regressions(project: str) -> str:
    """Return the address of the page Regressions of a project, or of all."""
    return f"/regressions{query_from_axes({PROJECT: None if project == ALL else project})}"


def _change_card(comparison: Comparison, summary: FreshnessSummary | None) -> Component:
    title = [html.H2(comparison.machine), html.Span(comparison.project, className="dimmed")]
    fresh = [html.P(freshness_in_words(summary), className="detail")] if summary else []
    return card(
        title,
        answer_of(comparison),
        commits_of(comparison),
        *surfaces_list(comparison, most=MOST_SURFACES),
        *fresh,
    )


def _maps(view: MapsView) -> Sequence[Component]:
    axes = [_fact(name, text_of(value)) for name, value in view.chosen.items() if name != "machine"]
    facts = " · ".join([*_mapped(view), *axes])
    return [
        card(
            [html.H3("Fastest provider at each shape"), html.Span(facts, className="dimmed")],
            html.Div(map_key(view.maps), className="keys"),
            html.Div([map_card(one) for one in view.maps], className="maps"),
        ),
    ]


def _mapped(view: MapsView) -> list[str]:
    """Write of which project the maps are, where the page does not say so otherwise, and that others measured it."""
    if not view.has_projects or view.project != ALL:
        return []
    one, *others = view.mapped
    return [f"project {one}; Project above has {', '.join(others)}, too" if others else f"project {one}"]


def _headlines(view: MapsView) -> Component:
    return card([html.H3("Speedup over eager")], headlines_table(view.headlines))


def _fact(name: str, value: str) -> str:
    if name == "cache":
        return f"{value} cache"
    return f"{value} thread{'' if value == '1' else 's'}" if name == "threads" else value


def _id(name: str) -> str:
    return f"overview-{name}"


HIDDEN = {"display": "none"}
INPUTS = {
    "search": Input(_id("url"), "search"),
    "picked": {name: Input(_id(name), "value") for name in (PROJECT, *(axis.name for axis in MAP_AXES))},
}
STATE = {"shown": State(_id("shown"), "data"), "about": State(_id("of-project"), "data")}
OUTPUTS = {
    "search": Output(_id("url"), "search"),
    "shown": Output(_id("shown"), "data"),
    "about": Output(_id("of-project"), "data"),
    "bar": Output(_id("bar"), "style"),
    "project": {name: Output(_id(PROJECT), name) for name in ("data", "value")},
    "sweep": Output(_id("sweep"), "style"),
    "axes": {
        axis.name: {name: Output(_id(axis.name), name) for name in ("data", "value", "style")} for axis in MAP_AXES
    },
    "problems": Output(_id("problems"), "children"),
    "maps": Output(_id("maps"), "children"),
    "headlines": Output(_id("headlines"), "children"),
}


PAGE = Page(
    path="/",
    name="Overview",
    layout=layout,
    register=register,
    needs_sweep=False,
    takes=KEYS,
    takes_any_project=True,
    offers_all_projects=True,
)
