"""Winner flips: shapes at which another provider is the fastest since a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dash import dcc, html

from dashboard.addresses import throughput_address
from dashboard.sweep_axes import AXES, text_of
from dashboard.widgets import card, contender_label, labelled_cells
from results.judgement.leads import lead_of
from results.printable import printable_line
from results.units import counted
from results.units import ratio as ratio_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from results.judgement.leads import Lead
    from results.rows import PointRow

MOST_FLIPS = 12
HEADINGS = (("Shape", ""), ("Machine", ""), ("Was", ""), ("Is", ""), ("By", "number"), ("Since", ""))


@dataclass(frozen=True, kw_only=True)
class WinnerFlip:
    """Shape with another fastest provider than before. before: who was, at the last commit that decided it otherwise.

    margin: the time of the one that was the fastest over the time of the one that is, both at the newest commit that
    decides it; None where the former was not measured there. is_of_several: whether other projects have a sweep on its
    machine, too.
    """

    lead: Lead
    before: PointRow
    margin: float | None
    is_of_several: bool = False

    @property
    def since(self) -> PointRow:
        """The leader's point at the first commit that it is the fastest at."""
        return self.lead.since

    @property
    def place(self) -> str:
        """Machine, with the project where others have a sweep there."""
        row = self.since
        return f"{row.machine} ({row.project})" if self.is_of_several else row.machine


def flips_of(at_commits: Sequence[Sequence[PointRow]]) -> list[WinnerFlip]:
    """Return the shapes that lead otherwise than at an earlier commit; at_commits: points of each, the oldest first."""
    of_shape: dict[tuple[object, ...], list[list[PointRow]]] = {}
    for rows in at_commits:
        for shape, found in _by_shape(rows).items():
            of_shape.setdefault(shape, []).append(found)
    flips = (_flip_of(found) for found in of_shape.values() if len(found) > 1)
    return [flip for flip in flips if flip is not None]


def _flip_of(at_commits: Sequence[Sequence[PointRow]]) -> WinnerFlip | None:
    lead = lead_of(reversed(at_commits))
    if lead is None or lead.before is None:
        return None
    rows = next(found for found in at_commits if found[0].commit == lead.newest.commit)
    loser = next((row for row in rows if row.contender == lead.before.contender), None)
    time, best = loser and loser.latency_s, lead.newest.latency_s
    return WinnerFlip(lead=lead, before=lead.before, margin=time / best if time and best else None)


def _by_shape(rows: Sequence[PointRow]) -> dict[tuple[object, ...], list[PointRow]]:
    found: dict[tuple[object, ...], list[PointRow]] = {}
    for row in rows:
        found.setdefault(tuple(getattr(row, axis.column) for axis in AXES), []).append(row)
    return found


def flips_table(flips: Sequence[WinnerFlip]) -> list[Component]:
    """Build the card of the shapes with another fastest provider; nothing if there is none."""
    if not flips:
        return []
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in HEADINGS])
    table = html.Table([html.Thead(head), html.Tbody([_flip(one) for one in flips[:MOST_FLIPS]])], className="winners")
    rest = len(flips) - MOST_FLIPS
    more = [html.P(f"… and {counted(rest, 'shape')} more, since no later commits", className="dimmed")]
    note = html.Span("certain before and since, the latest first", className="dimmed")
    return [
        card(
            [html.H2("Another provider is the fastest now"), note],
            html.Div(table, className="scrolls"),
            *(more if rest > 0 else []),
        )
    ]


def flips_in_words(flips: Sequence[WinnerFlip]) -> list[str]:
    """Write a line for each commit since which somebody leads where another did, with the number of shapes."""
    groups: dict[tuple[str, str, str, str], list[WinnerFlip]] = {}
    for one in flips:
        row = one.since
        groups.setdefault((one.place, row.commit, row.contender, one.before.contender), []).append(one)
    found = []
    for (place, _, now, was), those in groups.items():
        operations = ", ".join(dict.fromkeys(one.since.operation for one in those))
        new = ", which has its first time there" if all(one.lead.is_new for one in those) else ""
        found.append(
            f"{now} leads at {counted(len(those), 'shape')} of {operations} on {place} since "
            f"{commit_in_words(those[0].since)}{new}; {was} did before"
        )
    return found


def commit_in_words(row: PointRow) -> str:
    """Write a point's commit: short hash, date and subject as far as they are known."""
    date = f" of {row.commit_date:%Y-%m-%d}" if row.commit_date else ""
    return f"{row.commit[:8]}{date}{f' ({printable_line(row.commit_subject)})' if row.commit_subject else ''}"


def _flip(flip: WinnerFlip) -> Component:
    row = flip.since
    words = {axis.name: text_of(getattr(row, axis.column)) for axis in AXES}
    shape = "{operation} at batch {batch}, hidden {hidden}, {dtype}, {pass}".format_map(words)
    new = [html.Span(" its first time", className="dimmed")] if flip.lead.is_new else []
    cells = labelled_cells(
        HEADINGS,
        [
            dcc.Link(shape, href=throughput_address(row, is_newest=True)),
            flip.place,
            contender_label(flip.before.contender),
            contender_label(row.contender),
            "" if flip.margin is None else ratio_in_words(flip.margin),
            [commit_in_words(row), *new],
        ],
    )
    return html.Tr(cells)
