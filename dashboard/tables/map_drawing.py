"""Winner maps and headline speedups → HTML; a cell of a map is a link, so that a keyboard reaches it, too."""

from __future__ import annotations

import re
from math import log
from typing import TYPE_CHECKING, Any

from dash import dcc, html

from dashboard.addresses import point_profile_address
from dashboard.looks import look_of
from dashboard.tables.winner_map import map_in_words
from dashboard.widgets import contender_label, labelled_cells
from results.judgement.winners import Standing
from results.units import THIN_SPACE, TIMES, counted, percent, ratio, ratio_interval, si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from dashboard.tables.winner_map import Cell, Headline, WinnerMap
    from results.judgement.winners import Ranking
    from results.rows import PointRow

# Share of the provider's colour in a cell, in percent: from no margin up to this one.
FAINTEST, DEEPEST, DEEPEST_AT = 14, 48, 2.0
UNDECIDED = f"undecided, the least time named; by 1.12{TIMES}: leads by that at least"
LEAST_TOLD = 1.005  # a lead that is written as more than 1.00
MAP_KEYS = "Arrow keys go from cell to cell, Enter opens its page Throughput."
MOST_HEADLINES = 2  # of an operation, in sight
MOST_TIED = 3  # named in a cell
FEWEST_FOLDED = 3  # so that a fold is shorter than what it hides
HEADINGS = (
    ("Operation", ""),
    ("Provider", ""),
    ("Median over shapes", "number"),
    ("Least", "number"),
    ("Most, 95 % interval", "number"),
    ("Most at, its profile", ""),
)


def map_card(one: WinnerMap) -> Component:
    """Build a map: its sentence, then a table with hidden dims down and batches across."""
    corner = html.Th([html.Span("hidden", className="down"), html.Span("batch", className="across")], scope="col")
    head = html.Tr([corner, *(html.Th(f"{batch}", scope="col") for batch in one.batches)])
    rows = [
        html.Tr([html.Th(f"{hidden}", scope="row"), *(_cell(one, batch, hidden) for batch in one.batches)])
        for hidden in one.hiddens
    ]
    others = [html.Span(f"also measured: {', '.join(one.others)}", className="dimmed")] if one.others else []
    # One stop of the keyboard, by assets/maps.js.
    grid: dict[str, Any] = {"role": "grid", "aria-label": f"{one.title}. {MAP_KEYS}"}
    keys: dict[str, Any] = {"data-keys": MAP_KEYS}
    return html.Div(
        [
            html.H3([one.title, *others]),
            html.P(map_in_words(one), className="detail"),
            *([html.P(one.clocks, className="detail")] if one.clocks else []),
            html.Div(
                html.Table(
                    [html.Thead(head), html.Tbody(rows)],
                    className="map",
                    style={"--columns": str(len(one.batches))},
                    **grid,
                ),
                className="scrolls",
            ),
        ],
        className="map-box",
        **keys,
    )


def map_key(maps: Sequence[WinnerMap]) -> list[Component]:
    """Build the key of the maps: each leader's colour, and what the marks in a cell mean."""
    names = sorted({name for one in maps for name in one.contenders})
    if not names:
        return []
    return [
        *(contender_label(name) for name in names),
        html.Span("+12 %: the next takes that much longer", className="dimmed"),
        html.Span([html.Span(className="cell hatched sample"), UNDECIDED], className="dimmed"),
    ]


def headlines_table(headlines: Sequence[Headline]) -> Component:
    """Build one row per operation and contender: the median speedup over eager, the least and the greatest.

    Of each operation the first are in sight, and the others folded below them.
    """
    shown: list[Headline] = []
    folded: list[Headline] = []
    for one in headlines:
        n_shown = sum(other.title == one.title for other in shown)
        (shown if n_shown < MOST_HEADLINES else folded).append(one)
    if len(folded) < FEWEST_FOLDED:
        return _table_of(headlines)
    rest = html.Details(
        [html.Summary(f"{len(folded):,} more, behind these in their operation"), _table_of(folded)], className="names"
    )
    return html.Div([_table_of(shown), rest])


def _table_of(headlines: Sequence[Headline]) -> Component:
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in HEADINGS])
    table = html.Table(
        [html.Thead(head), html.Tbody([_headline(each) for each in headlines])], className="winners headlines"
    )
    return html.Div(table, className="scrolls")


def _cell(one: WinnerMap, batch: int, hidden: int) -> Component:
    cell = one.cells.get((batch, hidden))
    if cell is None:
        return html.Td(html.Span("not measured", className="cell none"), className="absent")
    if cell.ranking is None:
        return html.Td(dcc.Link("nothing ok", href=cell.link, className="cell none"))
    leader = cell.ranking.leader
    name, figure = _texts(cell.ranking)
    style = {"--provider": look_of(leader.contender).colour, "--depth": f"{_depth(cell.ranking)}%"}
    kind = {Standing.UNDECIDED: "cell hatched", Standing.TIED: "cell tied"}.get(
        cell.ranking.standing or Standing.FASTEST, "cell"
    )
    link = dcc.Link(
        [
            html.Span(f"batch {cell.batch}, hidden {cell.hidden}: ", className="unseen"),
            html.Span(_breakable(name), className="name"),
            html.Span(figure, className="figure"),
        ],
        href=cell.link, className=kind, style=style, title=_in_full(cell, cell.ranking),
    )  # fmt: skip
    return html.Td(link)


def _breakable(name: str) -> list[str | Component]:
    """Return `name` for a narrow cell: a line may end after a colon or a hyphen."""
    first, *others = re.split(r"(?<=[:-])", name)
    return [first, *(part for other in others for part in (html.Wbr(), other))]


def _texts(ranking: Ranking) -> tuple[str, str]:
    """Return the name and the figure of a cell."""
    name = ranking.leader.contender
    match ranking.standing:
        case Standing.UNDECIDED:
            least = ranking.least_margin
            # The mark stays with the name's last part.
            return (
                f"{name}\N{NO-BREAK SPACE}?",
                "undecided" if least is None or least < LEAST_TOLD else f"by {least:.2f}{TIMES}",
            )
        case Standing.TIED:
            names = [row.contender for row in ranking.candidates]
            n_more = len(names) - MOST_TIED
            # One more name takes no more room than to say that there is one.
            is_short = n_more < 2
            told = " = ".join(names if is_short else names[:MOST_TIED])
            return "tied", told if is_short else f"{told} and {n_more} others"
        case None:
            return name, "no rival"
        case _:
            return name, f"+{percent((ranking.margin or 1.0) - 1)}"


def _depth(ranking: Ranking) -> int:
    if ranking.standing is not Standing.FASTEST or not ranking.margin:
        return FAINTEST
    share = min(log(ranking.margin) / log(DEEPEST_AT), 1.0)
    return round(FAINTEST + (DEEPEST - FAINTEST) * max(share, 0.0))


def _in_full(cell: Cell, ranking: Ranking) -> str:
    """Write what a cell means, for who points at it or hears it."""
    leader, runner_up = ranking.leader, ranking.runner_up
    latency = "" if leader.latency_s is None else f", {si(leader.latency_s, 's')}"
    parts = [f"batch {cell.batch}, hidden {cell.hidden}: {leader.contender}{latency}{_over_eager(leader)}"]
    if runner_up is not None and ranking.margin is not None:
        parts.append(f"next {runner_up.contender}, takes {percent(ranking.margin - 1)} longer")
    if ranking.standing is Standing.TIED:
        parts.append(f"tied, the intervals overlap: {', '.join(row.contender for row in ranking.candidates)}")
    if ranking.standing is Standing.UNDECIDED:
        parts.append(f"undecided: {ranking.doubt_and_lead}")
    return "; ".join(parts)


def _over_eager(row: PointRow) -> str:
    return "" if row.speedup_vs_eager is None else f", {ratio(row.speedup_vs_eager)} eager"


def _headline(one: Headline) -> Component:
    disturbed = f" ({one.n_disturbed} disturbed)" if one.n_disturbed else ""
    most = one.most
    return html.Tr(
        [
            *labelled_cells(
                HEADINGS,
                [
                    one.title,
                    contender_label(one.contender),
                    [
                        html.B(ratio(one.middle)),
                        html.Span(f" at {counted(one.n, 'shape')}{disturbed}", className="dimmed"),
                    ],
                    _speedup(one.least),
                    _speedup(most),
                    dcc.Link(f"batch {most.batch}, hidden{THIN_SPACE}{most.hidden}", href=point_profile_address(most)),
                ],
            )
        ]
    )


def _speedup(row: PointRow) -> list[Component | str]:
    value, low, high = row.speedup_vs_eager, row.speedup_ci_low, row.speedup_ci_high
    if value is None:
        return []
    if low is None or high is None:
        return [ratio(value)]
    return [f"{ratio(value)} ", html.Span(ratio_interval(value, low, high), className="dimmed")]
