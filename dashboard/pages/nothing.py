"""What stands where a page would be when there is nothing to put on it: what there is, and what to do."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from dash import dcc, html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from results.rows import CommitRow

MEASURE = (
    ("make bench", "measures the checked-out commit on this machine, in a few minutes, and stores it"),
    ("fusebench ingest PATH", "stores what was measured before: a journal, or any asv results folder"),
    ("fusebench dashboard PATH", "shows the files under PATH without storing them"),
)
JUDGE = (("fusebench gate --base REV --head REV", "tells which of its benchmarks got slower between two commits"),)


def nothing_to_show(commits: Sequence[CommitRow]) -> Component:
    """The page for a database without a sweep: empty, or with other projects' asv suites only."""
    if not commits:
        return _notice("Nothing has been measured yet", _steps(MEASURE), "Then reload this page.")
    return _notice(
        "No sweep has been measured yet",
        html.P("This page draws sweeps of MLP implementations. The database holds asv benchmarks only:"),
        _table_of_projects(commits),
        _steps(JUDGE),
        "To add a sweep:",
        _steps(MEASURE),
    )


def nothing_at(path: str, *, pages: Sequence[tuple[str, str]]) -> Component:
    """The page for a path no page has; `pages` are (path, name) of those there are."""
    links = [html.Li(dcc.Link(name, href=to)) for to, name in pages]
    return _notice(f"There is no page {path}", html.Ul(links))


def _notice(title: str, *children: Component | str) -> Component:
    return html.Section([html.H1(title), *children], className="card notice")


def _steps(steps: Sequence[tuple[str, str]]) -> Component:
    lines = [[html.Dt(html.Code(command)), html.Dd(effect)] for command, effect in steps]
    return html.Dl([part for line in lines for part in line])


def _table_of_projects(commits: Sequence[CommitRow]) -> Component:
    """One line per project: how many commits and numbers, and the newest commit."""

    def project(row: CommitRow) -> str:
        return row.project

    head = html.Tr([html.Th(text) for text in ("Project", "Commits", "Numbers", "Newest commit")])
    lines = []
    # sorted() is stable, so each project's commits stay oldest first.
    for name, group in groupby(sorted(commits, key=project), key=project):
        rows = list(group)
        newest = f"{rows[-1].commit[:10]} {rows[-1].subject or ''}"
        lines.append(html.Tr([html.Td(text) for text in (name, len(rows), sum(row.n_values for row in rows), newest)]))
    return html.Table([html.Thead(head), html.Tbody(lines)], className="winners")
