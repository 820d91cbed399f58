"""Charts of the page *Throughput*: their cards, and their figures as properties of these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.figures.bars import bars_from_chart, height_of_bars
from dashboard.figures.drawing import figure_from_chart
from dashboard.scales import Multiples
from dashboard.selectors import MOST_SUGGESTIONS, NO_MATCH, card_select, commit_props, switch
from dashboard.views.throughput.choice import query_from_choice
from dashboard.views.throughput.drawing import batch_chart_of, panel_charts_of
from dashboard.views.throughput.notes import note_of_beside, note_of_commit
from dashboard.views.throughput.sides import MOST_SIDES
from dashboard.views.url import LATEST
from dashboard.widgets import GRAPH_CONFIG, OnEnter, at_end, by_keyboard, card, empty_graph, picture_buttons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from dashboard.figures.chart import Chart
    from dashboard.figures.drawing import Figure
    from dashboard.views.throughput.choice import ThroughputChoice
    from dashboard.views.throughput.drawing import ThroughputDrawing

CURVES_HEIGHT = "380px"
PANEL_HEIGHT = "250px"
ADD_COMMIT = "add a commit beside it"


HIDDEN = {"display": "none"}


def id_of(name: str) -> str:
    """Return the id of one of the page's components."""
    return f"throughput-{name}"


def batch_card() -> Component:
    """Build the card of the chart over batch, which may be one small chart for each hidden dim."""
    title = [
        html.H2("Over batch"),
        html.Span("at commit"),
        card_select(component_id=id_of("commit"), label="Commit", is_wide=True),
        at_end(
            html.Div(switch("multiples", component_id=id_of("multiples")), id=id_of("multiples-switch")),
            html.Div(switch("batch_scale", component_id=id_of("batch_scale")), id=id_of("batch-scales")),
        ),
    ]
    beside: Component = dmc.MultiSelect(
        id=id_of("commits"), data=[], value=[], searchable=True, limit=MOST_SUGGESTIONS, size="xs",
        maxValues=MOST_SIDES - 1, hidePickedOptions=True, clearable=True, nothingFoundMessage=NO_MATCH,
        placeholder=ADD_COMMIT, className="beside", **{"aria-label": "Commits beside it"},
        comboboxProps={"width": "max-content", "position": "bottom-start"},
    )  # fmt: skip
    panels = html.Div(id=id_of("panels"), className="panels")
    return _graph_card(
        title, name="batch", label="Chart over batch", above=[html.Div(beside, className="more")], below=[panels]
    )


def commits_card() -> Component:
    """Build the card of the chart over commits."""
    select = card_select(component_id=id_of("batch"), label="Batch", is_wide=False)
    switches = [switch(name, component_id=id_of(name)) for name in ("spacing", "commits_scale")]
    return _graph_card(
        [html.H2("Over commits"), html.Span("at batch"), select, at_end(*switches)],
        name="commits",
        label="Chart over commits",
    )


def beside_props(drawing: ThroughputDrawing) -> dict[str, Any]:
    """Return the properties of the selector of commits beside the chosen one; hidden where there is no other."""
    choice = drawing.view.choice
    here = {row.commit for row in drawing.by_commit if row.machine == choice.machine}
    others = [row for row in drawing.commits if row.commit in here and row.commit != choice.commit]
    data = commit_props(others, chosen=None, latest=LATEST)["data"][1:]
    style = {} if len(here) > 1 else HIDDEN
    value = [commit[:12] for commit in choice.commits]
    # Beside what is chosen, a placeholder would take a line of its own.
    return {"data": data, "value": value, "style": style, "placeholder": "" if value else ADD_COMMIT}


def batch_props(drawing: ThroughputDrawing) -> dict[str, Any]:
    """Return the figure over batch with its size and note: curves, bars where batches are few, or small charts."""
    choice = drawing.view.choice
    chart, left_out = batch_chart_of(drawing)
    panels: list[Component] = []
    figure = None
    style, scales = {"height": CURVES_HEIGHT}, {}
    if drawing.panels:
        panels, left_out = _panels(drawing)
        style = HIDDEN
    elif chart.are_few:
        figure, style, scales = bars_from_chart(chart), {"height": f"{height_of_bars(chart)}px"}, HIDDEN
    else:
        figure = figure_from_chart(
            chart, scale=choice.batch_scale, chosen=str(choice.batch), keeps_zoom_of=_zoom_key(choice, "batch")
        )
    note = " · ".join([note_of_commit(drawing.by_batch), *note_of_beside(drawing), *left_out])
    return {
        "batch_figure": figure or {}, "batch_style": style, "batch_scales": scales, "panels": panels,
        "batch_note": note,
    }  # fmt: skip


def commits_figure(drawing: ThroughputDrawing) -> Figure:
    """Draw the curves over commits with their change points."""
    choice = drawing.view.choice
    chosen = drawing.by_batch[0].commit if drawing.by_batch else choice.commit
    return figure_from_chart(
        drawing.commits_chart,
        scale=choice.commits_scale,
        chosen=chosen,
        keeps_zoom_of=_zoom_key(choice, "commits"),
    )


def _panels(drawing: ThroughputDrawing) -> tuple[list[Component], list[str]]:
    """Return the small charts on shared axes, and what they leave out; the title of each leads to its hidden dim."""
    choice = drawing.view.choice
    charts, left_out = panel_charts_of(drawing)
    # The better direction has no room beside a small chart; the note says it for all.
    better = choice.quantity.ordinate.better
    charts = {hidden: replace(chart, ordinate=replace(chart.ordinate, better="")) for hidden, chart in charts.items()}
    frame = _frame(list(charts.values()))
    panels: list[Component] = []
    for hidden, chart in charts.items():
        figure = figure_from_chart(
            chart, scale=choice.batch_scale, chosen=str(choice.batch), keeps_zoom_of=_zoom_key(choice, "batch"),
            frame=frame,
        )  # fmt: skip
        dim = next((row.dim for row in drawing.panels[hidden]), choice.dim)
        address = query_from_choice(replace(choice, hidden=hidden, dim=dim, multiples=Multiples.NONE))
        title = html.H3(dcc.Link(f"hidden dim {hidden}", href=address, className="link"))
        graph = dcc.Graph(figure=figure, config=GRAPH_CONFIG, style={"height": PANEL_HEIGHT})
        read = by_keyboard(graph, label=f"Chart over batch, hidden dim {hidden}", on_enter=OnEnter.OPENS)
        panels.append(html.Div([title, read], className="panel"))
    return panels, [better, *left_out]


def _frame(charts: Sequence[Chart]) -> Chart:
    """Return a chart whose axes hold all the charts."""
    positions = {place: key for chart in charts for place, key in chart.positions}
    curves = tuple(curve for chart in charts for curve in chart.curves)
    return replace(charts[0], positions=tuple(sorted(positions.items(), key=lambda one: int(one[1]))), curves=curves)


def _graph_card(
    title: Sequence[Component],
    *,
    name: str,
    label: str,
    above: Sequence[Component] = (),
    below: Sequence[Component] = (),
) -> Component:
    curves = empty_graph(id_of(f"{name}-graph"), height=CURVES_HEIGHT)
    graph = by_keyboard(curves, label=label, on_enter=OnEnter.CHOOSES)
    note = html.Div(id=id_of(f"{name}-note"), className="note")
    saving = picture_buttons(csv_id=id_of(f"{name}-card-csv"))
    return html.Div(card(title, *above, note, graph, *below, saving), id=id_of(f"{name}-card"))


def _zoom_key(choice: ThroughputChoice, name: str) -> str:
    """Return the key that keeps the zoom through clicks and changes of providers, and nothing else."""
    moves = (
        replace(choice, providers=None, commit=None) if name == "commits" else replace(choice, providers=None, batch=0)
    )
    return query_from_choice(moves)
