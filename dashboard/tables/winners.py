"""Table *Which one to run*, and the list of points without a value."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from dashboard.clocks import HOST_BOUND, WHAT_IT_IS, has_device_time
from dashboard.widgets import contender_label, labelled_cells
from results.judgement.winners import Standing
from results.rows import AT_FLOOR, CEILING_NOT_VALID, ERROR_OF_CEILINGS
from results.units import percent, ratio, ratio_interval, si, si_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from results.judgement.winners import Ranking
    from results.rows import PointRow

_TOO_FAST = "The call is faster than the machine's ceilings allow: they were measured too low. Run the sweep again."
BOUND = ("Bound by", "")
LATENCY, WALL_TIME = ("Latency, 95 % interval", "number"), ("Wall time, 95 % interval", "number")
DEVICE_TIME = ("Device time", "number")
HEADINGS = (
    ("Batch", "number"),
    ("Run this", ""),
    LATENCY,
    DEVICE_TIME,
    ("Rows/s", "number"),
    ("Over eager", "number"),
    ("Per call", ""),
    BOUND,
    ("Next best, or what is in doubt", ""),
)


def winners_table(rankings: Sequence[tuple[int, Ranking | None]]) -> Component:
    """Build one row per batch: the provider to run, its numbers, and the cost of the next best.

    Where it is undecided, the numbers are the least time's, and the reason stands in place of the next best.
    """
    rows = [ranking.leader for _, ranking in rankings if ranking is not None]
    # Nothing is bound by what was never measured: without ceilings there is no such column.
    on_device = has_device_time(rows)
    left_out = {one for one, is_known in ((BOUND, any(map(_bound, rows))), (DEVICE_TIME, on_device)) if not is_known}
    headings = [WALL_TIME if one == LATENCY and on_device else one for one in HEADINGS if one not in left_out]
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in headings])
    return html.Div(
        html.Table(
            [html.Thead(head), html.Tbody([_line(batch, ranking, headings) for batch, ranking in rankings])],
            className="winners",
        ),
        className="scrolls",
    )


def absences_list(rows: Sequence[PointRow]) -> Component | None:
    """List which provider has no value at which batches, its state and reason; None if all have one."""

    def cause(row: PointRow) -> tuple[str, str, str]:
        return (row.contender, row.state, row.reason or "no reason given")

    absent = sorted((row for row in rows if row.state != "ok"), key=lambda row: (*cause(row), row.batch))
    if not absent:
        return None
    items = []
    for (name, state, reason), group in groupby(absent, key=cause):
        batches = ", ".join(str(row.batch) for row in group)
        badge = dmc.Badge(state.replace("_", " "), size="sm", variant="light", color="gray")
        where = html.Span(f"batch {batches}", className="dimmed")
        items.append(html.Li([contender_label(name), badge, where, html.Span(reason)]))
    return html.Div(
        [html.H3("Measured without a value"), html.Ul(items, className="absences")], className="absences-box"
    )


def _line(batch: int, ranking: Ranking | None, headings: Sequence[tuple[str, str]]) -> Component:
    head = html.Th(f"{batch}", className="number", scope="row")
    if ranking is None:
        return html.Tr([head, html.Td("no provider is ok here", colSpan=len(headings) - 1, className="dimmed")])
    row = ranking.leader
    return html.Tr(
        [
            head,
            *labelled_cells(
                headings[1:],
                [
                    _choice(ranking),
                    _latency(row),
                    *([_device_time(row)] if DEVICE_TIME in headings else []),
                    "" if row.rows_per_s is None else si(row.rows_per_s, ""),
                    _speedup(row),
                    _pieces(row),
                    *([_bound(row)] if BOUND in headings else []),
                    _runner_up(ranking),
                ],
            ),
        ]
    )


def _latency(row: PointRow) -> list[Component | str]:
    """Build the median with a dimmed interval."""
    text = "" if row.latency_s is None else si(row.latency_s, "s")
    if row.latency_s is None or row.latency_ci_low_s is None or row.latency_ci_high_s is None:
        return [text]
    interval = si_interval(row.latency_s, max(row.latency_ci_low_s, 0.0), row.latency_ci_high_s)
    parts: list[Component | str] = [f"{text} ", html.Span(interval, className="dimmed")]
    return [_disturbed(row.disturbed), " ", *parts] if row.disturbed else parts


def _device_time(row: PointRow) -> list[Component | str]:
    """Build what a device works of the latency, and that it waits for the rest where that is most."""
    if row.device_time_s is None:
        return []
    time = si(row.device_time_s, "s")
    return [f"{time} ", html.Span(HOST_BOUND, className="dimmed", title=WHAT_IT_IS)] if row.is_host_bound else [time]


def _disturbed(how: str) -> Component:
    return html.Span(dmc.Badge("disturbed", size="xs", color="yellow", variant="light"), title=how)


def _speedup(row: PointRow) -> list[Component | str]:
    if row.speedup_vs_eager is None:
        return []
    if row.speedup_ci_low is None or row.speedup_ci_high is None:
        return [ratio(row.speedup_vs_eager)]
    interval = ratio_interval(row.speedup_vs_eager, row.speedup_ci_low, row.speedup_ci_high)
    return [f"{ratio(row.speedup_vs_eager)} ", html.Span(interval, className="dimmed")]


def _pieces(row: PointRow) -> str:
    """Write how many kernels or operators one call has; kernels where there is a device."""
    if row.kernel_launches is not None:
        return f"{row.kernel_launches:g} kernel{'' if row.kernel_launches == 1 else 's'}"
    if row.operator_count is not None:
        return f"{row.operator_count:g} operator{'' if row.operator_count == 1 else 's'}"
    return ""


def _bound(row: PointRow) -> list[Component | str]:
    """Build the bound, its evidence on hover, and how near the latency is to the floor.

    Neither where the call beats the floor.
    """
    bound = html.Span(row.bound, title=row.bound_detail) if row.bound_detail else row.bound or ""
    if not row.has_valid_ceiling:
        return [html.Span(CEILING_NOT_VALID, className="dimmed", title=_TOO_FAST)]
    near = row.floor_in_words
    if near is None:
        return [bound] if bound else []
    return [bound, " ", html.Span(near, className="dimmed", title=ERROR_OF_CEILINGS if near == AT_FLOOR else "")]


def _choice(ranking: Ranking) -> list[Component | str]:
    """Build the provider to run: the winner, all that are tied, or none where it is undecided."""
    match ranking.standing:
        case Standing.UNDECIDED:
            names = ", ".join(row.contender for row in ranking.candidates)
            badge = dmc.Badge("undecided", size="sm", color="yellow", variant="light")
            return [html.Span(badge, title=names), html.Span(f" {ranking.leader.contender} leads", className="dimmed")]
        case Standing.TIED:
            return [contender_label(row.contender) for row in ranking.candidates]
        case _:
            return [contender_label(ranking.leader.contender)]


def _runner_up(ranking: Ranking) -> list[Component | str]:
    if ranking.runner_up is None or ranking.margin is None:
        return [html.Span("no other", className="dimmed")]
    match ranking.standing:
        case Standing.UNDECIDED:
            return [html.Span(ranking.doubt_and_lead, className="dimmed", title=ranking.doubt_and_lead)]
        case Standing.TIED:
            return [html.Span("tied: the intervals overlap", className="dimmed")]
        case _:
            cost = f"takes {percent(ranking.margin - 1)} longer"
            # Without a space between them a line ends within a word.
            return [contender_label(ranking.runner_up.contender), " ", html.Span(cost, className="dimmed")]
