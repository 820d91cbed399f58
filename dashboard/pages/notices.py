"""Notices in place of a page, or below it: an empty store, an unknown path, by what is judged, what nobody has."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from dash import dcc, html

from results.printable import printable_line
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from results.judgement.thresholds import Settings
    from results.rows import UnjudgedPlace

MEASURE = (
    ("make bench", "measures the checked-out commit on this machine, in a few minutes, and stores it"),
    ("fusebench ingest PATH", "stores what was measured before: a journal, or any asv results folder"),
    ("fusebench dashboard PATH", "shows the files under PATH without storing them"),
)
# Class of what stands in for what could not be read: assets/refresh.js has the page drawn anew while there is any.
UNREAD = "unread"


def empty_store() -> Component:
    """Build the notice for an empty database, with the commands that fill it."""
    return _notice(
        "Nothing has been measured yet", _steps(MEASURE), "Then reload this page, or start the dashboard again."
    )


def no_sweep(name: str, pages: Sequence[tuple[str, str]]) -> Component:
    """Build the notice for a page that shows points of a sweep, where none is stored.

    name: the page's. pages: (path, name) of those that show what is stored.
    """
    links = [html.Li(dcc.Link(other, href=to)) for to, other in pages]
    return _notice(
        f"{name} has nothing to show",
        html.P("It shows points of fusebench's own sweep; what is stored here is of other suites. They are on:"),
        html.Ul(links),
        html.P("To measure the sweep as well:"),
        _steps(MEASURE[:2]),
    )


def unknown_path(path: str, *, pages: Sequence[tuple[str, str]]) -> Component:
    """Build the notice for a path without a page; `pages` are (path, name) of the existing ones."""
    links = [html.Li(dcc.Link(name, href=to)) for to, name in pages]
    return _notice(f"There is no page {path}", html.Ul(links))


def unreadable(name: str, words: str) -> Component:
    """Build the notice for a page whose store cannot be read now; `words` say why. It gives way when that is over."""
    return _notice(f"{name} cannot be shown just now", html.P(words), class_name=UNREAD)


def judging_note() -> Component:
    """Build what stands in place of findings until all histories are judged; it appears only if that takes a while."""
    return html.P(
        "Judging all histories for what changed … After an upgrade, or when much is new, the first visit judges them "
        "anew; on a large store that takes a while. What was found is kept, and the next visits are quick.",
        className="detail late",
        role="status",
    )


def settings_note(settings: Settings) -> list[Component | str]:
    """Build the line that tells by what the pages judge, without the folder; nothing where the usual counts."""
    if settings.is_empty or settings.path is None:
        return []
    name = printable_line(PurePath(settings.path).name)
    told = html.Code(f"[tool.fusebench] in {name}")
    return [html.Div([told, " tells from what on a change counts, and which way is better."])]


def unjudged_note(places: Sequence[UnjudgedPlace]) -> list[Component | str]:
    """Build the line that tells of values nobody has judged for others to read; nothing without any."""
    if not places:
        return []
    n_series = sum(one.n_series for one in places)
    first = f"{places[0].project} on {places[0].machine}"
    others = f" and {counted(len(places) - 1, 'other place')}" if len(places) > 1 else ""
    words = f"What changed in the newest values of {n_series:,} series ({first}{others}) is not kept yet"
    return [
        f"{words}: each start of the dashboard looks for it again, ",
        html.Code("fusebench changes"),
        " once for all.",
    ]


def _notice(title: str, *children: Component | str, class_name: str = "") -> Component:
    return html.Section([html.H1(title), *children], className=f"card notice {class_name}".rstrip())


def _steps(steps: Sequence[tuple[str, str]]) -> Component:
    lines = [[html.Dt(html.Code(command)), html.Dd(effect)] for command, effect in steps]
    return html.Dl([part for line in lines for part in line])
