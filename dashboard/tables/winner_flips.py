"""Winner flips: shapes at which another provider is the fastest since a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dash import dcc, html

from dashboard.sweep_axes import AXES, text_of
from dashboard.widgets import card, contender_label, labelled_cells
from results.judgement.winners import ranking_of
from results.units import ratio as ratio_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from results.rows import CommitRow, PointRow

MOST_FLIPS = 12
HEADINGS = (("Shape", ""), ("Machine", ""), ("Was", ""), ("Is", ""), ("By", "number"), ("Since", ""))


@dataclass(frozen=True, kw_only=True)
class WinnerFlip:
    """Shape with another fastest provider at `head` than at `base`, both certain. after: at the head.

    margin: the time of the one that was the fastest over the time of the one that is, both at the head.
    """

    base: CommitRow
    head: CommitRow
    before: str
    after: PointRow
    margin: float | None


def flips_between(
    at_base: Sequence[PointRow], at_head: Sequence[PointRow], *, base: CommitRow, head: CommitRow
) -> list[WinnerFlip]:
    """Return the shapes whose winner differs, where both commits decide it."""
    before, after = _by_shape(at_base), _by_shape(at_head)
    found = []
    for shape, rows in after.items():
        was, now = (ranking_of(each) for each in (before.get(shape, []), rows))
        if was is None or now is None or was.winner is None or now.winner is None:
            continue
        if was.winner.contender == now.winner.contender:
            continue
        loser = next((row for row in rows if row.contender == was.winner.contender), None)
        time, best = loser and loser.latency_s, now.winner.latency_s
        found.append(
            WinnerFlip(
                base=base,
                head=head,
                before=was.winner.contender,
                after=now.winner,
                margin=time / best if time and best else None,
            )
        )
    return found


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
    more = [html.P(f"… and {rest} more, on the page Overview's maps", className="dimmed")] if rest > 0 else []
    note = html.Span("certain at both of the newest two commits", className="dimmed")
    return [card([html.H2("Another provider is the fastest now"), note], html.Div(table, className="scrolls"), *more)]


def _flip(flip: WinnerFlip) -> Component:
    row = flip.after
    pairs = [(axis.name, text_of(getattr(row, axis.column))) for axis in AXES]
    words = {axis.name: text_of(getattr(row, axis.column)) for axis in AXES}
    shape = "{operation} at batch {batch}, hidden {hidden}, {dtype}, {pass}".format_map(words)
    cells = labelled_cells(
        HEADINGS,
        [
            dcc.Link(shape, href=f"/throughput?{urlencode(pairs)}"),
            row.machine,
            contender_label(flip.before),
            contender_label(row.contender),
            "" if flip.margin is None else ratio_in_words(flip.margin),
            f"{flip.head.commit[:8]} {flip.head.subject or ''}".strip(),
        ],
    )
    return html.Tr(cells)
