"""What stands where a page would be when there is nothing to put on it: what there is, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

MEASURE = (
    ("make bench", "measures the checked-out commit on this machine, in a few minutes, and stores it"),
    ("fusebench ingest PATH", "stores what was measured before: a journal, or any asv results folder"),
    ("fusebench dashboard PATH", "shows the files under PATH without storing them"),
)


def nothing_to_show() -> Component:
    """The page for an empty database."""
    return _notice(
        "Nothing has been measured yet", _steps(MEASURE), "Then reload this page, or start the dashboard again."
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
