"""Notices in place of a page: an empty store, an unknown path."""

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


def empty_store() -> Component:
    """Build the notice for an empty database, with the commands that fill it."""
    return _notice(
        "Nothing has been measured yet", _steps(MEASURE), "Then reload this page, or start the dashboard again."
    )


def unknown_path(path: str, *, pages: Sequence[tuple[str, str]]) -> Component:
    """Build the notice for a path without a page; `pages` are (path, name) of the existing ones."""
    links = [html.Li(dcc.Link(name, href=to)) for to, name in pages]
    return _notice(f"There is no page {path}", html.Ul(links))


def _notice(title: str, *children: Component | str) -> Component:
    return html.Section([html.H1(title), *children], className="card notice")


def _steps(steps: Sequence[tuple[str, str]]) -> Component:
    lines = [[html.Dt(html.Code(command)), html.Dd(effect)] for command, effect in steps]
    return html.Dl([part for line in lines for part in line])
