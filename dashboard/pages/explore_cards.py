"""Parts of the page *Explore* that depend on its drawing: selectors of parameters, charts, and the table of changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import dcc, html

from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.history import looks_of
from dashboard.lines import parameter_choices, parameter_names_of
from dashboard.looks import MARKERS
from dashboard.selectors import commit_props
from dashboard.tables.changes import changes_table
from dashboard.views.explore_choice import CASCADE, query_from_explore_choice
from dashboard.views.explore_drawing import judged_commit
from dashboard.views.url import LATEST
from dashboard.widgets import GRAPH_CONFIG, OnEnter, by_keyboard, labelled_stroke

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from dashboard.lines import HistoryLine
    from dashboard.views.explore_choice import ExploreChoice
    from dashboard.views.explore_drawing import ExploreDrawing

PARAMETERS = tuple(f"parameter-{number}" for number in range(6))  # a benchmark with more has the rest among its lines
GRAPH_HEIGHT, PANEL_HEIGHT = "420px", "260px"
HIDDEN = {"display": "none"}


def id_of(name: str) -> str:
    """Return the id of one of the page's components."""
    return f"explore-{name}"


def legend_of(lines: Sequence[HistoryLine], *, colour: str | None) -> list[Component]:
    """Build the legend of the lines; where one of them has another's colour, with the markers that the curves have."""
    looks = looks_of(lines, colour=colour)
    needs_markers = len({look.colour for look in looks}) < len(looks)
    return [
        labelled_stroke(look, f"{MARKERS.get(look.symbol, '')} {line.label}" if needs_markers else line.label)
        for look, line in zip(looks, lines, strict=True)
    ]


def chart_props(drawing: ExploreDrawing) -> dict[str, Any]:
    """Return the figure of all lines, or a small one for each value of the parameter that is grouped by.

    The small ones share their axes; the title of each leads to its value alone.
    """
    choice = drawing.view.choice
    looks: dict[str, Any] = {
        "scale": choice.scale,
        "chosen": judged_commit(drawing),
        "keeps_zoom_of": query_from_explore_choice(replace(choice, commit=None, lines=())),
    }
    if not drawing.panels:
        figure = figure_from_chart(drawing.chart, **looks)
        return {"figure": figure, "graph_style": {"height": GRAPH_HEIGHT}, "panels": []}
    # The better direction has no room beside a small chart; the note says it for all.
    frame = replace(drawing.chart, ordinate=replace(drawing.chart.ordinate, better=""))
    panels: list[Component] = []
    for name, chart in drawing.panels.items():
        figure = figure_from_chart(replace(chart, ordinate=frame.ordinate), frame=frame, **looks)
        title = html.H3(dcc.Link(name.replace("=", " = ", 1), href=_address_of(name, choice), className="link"))
        graph = dcc.Graph(figure=figure, config=GRAPH_CONFIG, style={"height": PANEL_HEIGHT})
        read = by_keyboard(graph, label=f"Chart over commits, {name.replace('=', ' = ', 1)}", on_enter=OnEnter.OPENS)
        panels.append(html.Div([title, read], className="panel"))
    return {"figure": {}, "graph_style": HIDDEN, "panels": panels}


def _address_of(name: str, choice: ExploreChoice) -> str:
    """Return the address of the lines with that `name=value` alone."""
    others = [one for one in choice.where if one.partition("=")[0] != name.partition("=")[0]]
    pairs = [(key, getattr(choice, key)) for key in CASCADE]
    return f"/explore?{urlencode([*pairs, *(('where', one) for one in (*others, name))])}"


def parameter_props(drawing: ExploreDrawing) -> list[dict[str, Any]]:
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
    empty = {"label": "", "data": [], "value": [], "placeholder": "", "style": HIDDEN}
    return [*found, *([empty] * (len(PARAMETERS) - len(found)))]


def parameter_select_props(nothing: str, drawing: ExploreDrawing, *, chosen: str | None) -> dict[str, Any]:
    """Return the properties of a selector of a parameter, or of `nothing`; hidden where none tells lines apart."""
    names = parameter_names_of(drawing.view.lines)
    data = [{"value": "", "label": nothing}, *({"value": name, "label": name} for name in names)]
    return {"data": data, "value": chosen or "", "style": {} if names else HIDDEN}


def base_props(drawing: ExploreDrawing) -> dict[str, Any]:
    """Return the properties of the selector of the commit that all others are drawn relative to."""
    options = commit_props(drawing.commits, chosen=None, latest=LATEST)["data"][1:]
    data = [{"value": "", "label": "nothing"}, *options]
    return {"data": data, "value": drawing.view.choice.relative or "", "style": {}}


def changed_by_commit(drawing: ExploreDrawing) -> list[Component]:
    """Build the table of what the chosen commit changed; nothing where nothing is judged."""
    if drawing.judgement is None:
        return []
    labels = {line.name: line.label for line in drawing.view.lines}
    return changes_table(drawing.judgement, metric_format=drawing.metric_format, labels=labels)
