"""Findings as a list: course, what changed, by how much, where, since when, and why."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.finding_words import change_of, kind_of, largest_change_of, machine_of, range_of, since_of, title_of
from dashboard.widgets import labelled_cells, sparkline
from results.judgement.findings import FindingState
from results.units import change_interval_in_words, counted, visible_from

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dash.development.base_component import Component

    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding

HEADINGS = (
    ("", "course"), ("Benchmark", ""), ("Largest change", "number"), ("Points", "number"), ("Since", "since"),
    ("Cause", ""), ("State", ""),
)  # fmt: skip
PLACE = ("machine", "environment")
MOST_ROWS = 40
MOST_VALUES = 60  # of a sparkline
STATE_COLOURS = {
    FindingState.SUSPECTED: "yellow",
    FindingState.ACKNOWLEDGED: "blue",
}
KIND_COLOURS = {"bad": "red", "good": "green"}  # of what is confirmed; without a known direction it is neither


def findings_table(
    found: Sequence[RankedFinding], *, link_to: Callable[[str], str], chosen: str | None, names_project: bool = False
) -> list[Component]:
    """Build a row for each of the first findings, the chosen one marked; `link_to` makes the address of one.

    Of several machines or environments each row names its own. names_project: where they may be of several.
    """
    if not found:
        return []
    course = html.Span("Course", className="unseen")
    head = html.Tr([html.Th(text or course, className=kind, scope="col") for text, kind in HEADINGS])
    named = [name for name in PLACE if len({getattr(one.finding.surface, name) for one in found}) > 1]
    named += ["project"] if names_project else []
    rows = [_row(one, link=link_to(one.uid), is_chosen=one.uid == chosen, named=named) for one in found[:MOST_ROWS]]
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="winners findings listed")
    parts: list[Component] = [html.Div(table, className="scrolls")]
    if len(found) > MOST_ROWS:
        text = f"… and {len(found) - MOST_ROWS} of less weight: narrow the choice above, or save all of them as CSV"
        parts.append(html.P(text, className="dimmed"))
    return parts


def findings_list(
    found: Sequence[RankedFinding], *, most: int, page: str = "/regressions", names_project: bool = False
) -> Component:
    """Build a line for each of the first findings, which leads to it on the page Regressions, at the address `page`.

    names_project: where they may be of several.
    """
    link = f"{page}{'&' if '?' in page else '?'}finding="
    lines = [_line(one, link=f"{link}{one.uid}", names_project=names_project) for one in found[:most]]
    return html.Ul(lines, className="surfaces")


def state_badge(finding: Finding) -> Component:
    """Build a badge with the finding's state."""
    colour = STATE_COLOURS.get(finding.state, "gray")
    if finding.state is FindingState.CONFIRMED:
        colour = KIND_COLOURS.get(kind_of(finding), "gray")
    badge: Component = dmc.Badge(finding.state.value, size="sm", variant="light", color=colour)
    return badge


def cause_of(finding: Finding) -> str:
    """Write the class of the cause, as far as it is known."""
    return "not known" if finding.class_ is None else finding.class_.value


def _line(found: RankedFinding, *, link: str, names_project: bool) -> Component:
    finding, kind, course = found.finding, kind_of(found.finding), _decimated(found.course)
    machine = machine_of(finding, names_project=names_project)
    points = f" at {len(finding.points):,} of {counted(finding.n_points, 'point')}" if finding.points else ""
    return html.Li(
        [
            sparkline(course, kind=kind) if len(course) > 1 else html.Span(className="sparkline"),
            html.Span(
                [
                    dcc.Link(title_of(finding), href=link),
                    html.Span(f" {largest_change_of(finding)}", className=f"tone {kind}"),
                    f"{points}, since {since_of(found)} ({finding.state}), on {machine}",
                ]
            ),
        ]
    )


def _row(found: RankedFinding, *, link: str, is_chosen: bool, named: Sequence[str]) -> Component:
    finding = found.finding
    title: list[Component | str] = [dcc.Link(title_of(finding), href=link, className="finding-link")]
    for name in named:
        title += [" ", html.Span(getattr(finding.surface, name), className=f"dimmed {name}")]
    kind = kind_of(finding)
    course = _decimated(found.course)
    low_high = "" if finding.interval is None else f"95 % interval {_interval(finding)}"
    floor = f"; changes under {visible_from(finding.floor)} are invisible there" if finding.floor else ""
    cells = labelled_cells(
        HEADINGS,
        [
            sparkline(course, kind=kind) if len(course) > 1 else "",
            title,
            html.Span(change_of(finding), className=f"tone {kind}", title=f"{low_high}{floor}"),
            f"{len(finding.points):,} of {finding.n_points:,}" if finding.points else "everything",
            [html.Span(since_of(found)), " ", html.Span(range_of(finding), className="dimmed")],
            cause_of(finding),
            state_badge(finding),
        ],
    )
    return html.Tr(cells, className="chosen" if is_chosen else "")


def _interval(finding: Finding) -> str:
    return " to ".join(change_interval_in_words(*finding.interval, ratio=finding.ratio)) if finding.interval else ""


def _decimated(course: Sequence[float]) -> tuple[float, ...]:
    """Return medians of as many neighbours as leave MOST_VALUES: steps stay, what is far out once goes."""
    stride = max(-(-len(course) // MOST_VALUES), min(3, len(course) // 8), 1)
    return tuple(median(course[i : i + stride]) for i in range(0, len(course), stride))
