"""One finding in full: what is known of it, and where to look next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.addresses import compare_address, explore_address, profile_address
from dashboard.finding_words import change_of, machine_of, range_of, since_of, title_of
from dashboard.tables.findings import cause_of, state_badge
from dashboard.widgets import command_code
from results.rows import parameters_in_words
from results.units import change_interval_in_words, counted, visible_from

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dash.development.base_component import Component

    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding
    from results.rows import TakenBack

MOST_LINES = 7  # of a finding's points, on the page *Explore*


def finding_facts(
    found: RankedFinding,
    *,
    explanation: str | None,
    taken_back: Iterable[TakenBack] = (),
    left_out: str = "",
    names_project: bool = False,
) -> tuple[str, list[Component], list[Component]]:
    """Build the title, the badges, and the lines that say what is known of a finding and where to look next.

    left_out: what of its history is left out, in words. names_project: where others may be of another.
    """
    finding = found.finding
    badges = [
        state_badge(finding),
        dmc.Badge(f"cause: {cause_of(finding)}", size="sm", variant="light", color="gray"),
    ]
    machine = machine_of(finding, names_project=names_project)
    lines: list[Component] = [html.P(_size(finding)), html.P(_since(found))]
    lines.append(html.P(_why(finding, explanation, machine=machine)))
    lines += [html.P(f"{left_out}.")] if left_out else []
    lines += [html.P(f"{one.words[:1].upper()}{one.words[1:]}.") for one in taken_back]
    return f"{change_of(finding)} {title_of(finding)}", badges, [*lines, html.P(_links(found), className="links")]


def _size(finding: Finding) -> str:
    interval = ""
    if finding.interval is not None:
        low, high = change_interval_in_words(*finding.interval, ratio=finding.ratio)
        interval = f" (95 % interval {low} to {high})"
    where = ""
    if finding.points:
        shared = {one.name for one in finding.surface.shared}
        worst = parameters_in_words(finding.points[0], without=shared)
        at = f" at {worst}" if worst else ""
        points = f"{len(finding.points):,} of {counted(finding.n_points, 'point')} changed"
        where = f"{at}; {points}"
    floor = f"; changes under {visible_from(finding.floor)} are invisible there" if finding.floor else ""
    return f"{change_of(finding)}{interval}{where}{floor}."


def _since(found: RankedFinding) -> list[Component | str]:
    finding = found.finding
    order = "" if finding.n_unmeasured is not None else "; without a git repository it is not known what lies between"
    command = f"git log --oneline {(finding.last_good or '')[:12]}..{finding.first_bad[:12]}"
    listed: list[Component | str] = [" ", command_code(command), " lists them"] if finding.last_good else []
    return [f"Since {since_of(found)}; the cause is a commit of {range_of(finding)}{order}.", *listed]


def _why(finding: Finding, explanation: str | None, *, machine: str) -> list[Component | str]:
    """Write why it is, as far as that is known, the evidence, and where it was measured."""
    known = "The cause is not known" if finding.class_ is None else f"Cause: {finding.class_.value}"
    parts = [explanation.rstrip(".") if explanation else known, finding.why, machine]
    words = "; ".join(part for part in parts if part)
    return [html.Strong(words) if explanation else words, f", {finding.surface.environment}."]


def _links(found: RankedFinding) -> list[Component | str]:
    finding = found.finding
    links: list[tuple[str, str]] = []
    if found.series is not None:
        points = finding.points[:MOST_LINES]
        links.append(("Curves of its points", explore_address(found.series, commit=finding.first_bad, points=points)))
    if (address := profile_address(finding)) is not None:
        links.append(("Profile before and after", address))
    if (address := compare_address(finding)) is not None:
        links.append(("All that differs between the two commits", address))
    return [part for text, address in links for part in (dcc.Link(text, href=address), " ")]
