"""Findings of histories → Markdown, JUnit and annotations; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from results.judgement.changes.from_histories import LEAST_VALUES
from results.judgement.changes.newest import BASELINE
from results.judgement.findings import EVERYTHING, FindingClass, FindingState, Turn
from results.output.reports.annotations import annotations_of
from results.output.reports.comments import comment_of
from results.output.reports.finding_tables import table_of_findings
from results.output.reports.finding_words import (
    OPEN,
    interval_in_words,
    is_worse_and_open,
    name_in_words,
    range_in_words,
    scope_in_words,
    size_in_words,
    undirected_in_words,
    unexplained,
    why_in_words,
    worst_in_words,
)
from results.printable import printable
from results.rows import left_out_in_words, unordered_in_words
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from results.judgement.changes.from_histories import PlaceChanges
    from results.judgement.findings import Finding
    from results.output.reports.comments import Table
    from results.output.reports.finding_words import Explained


def changes_comment(places: Sequence[PlaceChanges], *, explained: Explained = unexplained) -> str:
    """Return a comment: what is worse and not recovered stands open, the rest is folded."""
    found = findings_of_places(places)

    def table(title: str, is_in: Callable[[Finding], bool], *, is_open: bool = False) -> Table:
        chosen = [one for one in found if is_in(one)]
        return table_of_findings(title, chosen, is_open=is_open, has_range=True, explained=explained)

    def is_of_code(one: Finding) -> bool:
        return one.state in OPEN and one.class_ not in {FindingClass.MACHINE, FindingClass.NOISE}

    tables = [
        table("Regressions", lambda one: is_worse_and_open(one) and one.state is FindingState.CONFIRMED, is_open=True),
        table(
            "Regressions, suspected: measure this commit again",
            lambda one: is_worse_and_open(one) and one.state is FindingState.SUSPECTED,
            is_open=True,
        ),
        table("Everything at once: the machine or its software", is_of_machine),
        table("Changed (better direction unknown)", lambda one: is_of_code(one) and one.turn is Turn.CHANGED),
        table("Better", lambda one: is_of_code(one) and one.turn is Turn.FASTER),
        table("Acknowledged", lambda one: one.state is FindingState.ACKNOWLEDGED),
        table("Levels seen before", lambda one: one.class_ is FindingClass.NOISE and one.state in OPEN),
        table("Recovered or withdrawn", _is_over),
    ]
    notes = [
        f"{place.project} on {place.machine}, {place.environment}: {counted(len(place.findings), 'finding')} in "
        f"{place.n_series:,} series over {commits_in_words(place)}. {' '.join(unjudged_in_words(place))}".rstrip()
        for place in places[:5]
    ]
    n_worse = sum(is_worse_and_open(one) for one in found)
    headline = f"{counted(len(found), 'finding')}, {n_worse:,} of them worse and not recovered"
    return comment_of(headline, tables, [*notes, *([f"… and {len(places) - 5:,} more testbeds"] if places[5:] else [])])


def commits_in_words(place: PlaceChanges) -> str:
    """Write over how many commits a place was judged, and how many stand beside them."""
    left_out = left_out_in_words(place.n_beside)
    return counted(place.n_commits, "commit") + (f" ({left_out})" if left_out else "")


def unjudged_in_words(place: PlaceChanges) -> list[str]:
    """Write what could not be judged: commits without an order, values without a ratio and short series."""
    found = []
    if unordered := unordered_in_words(place.n_unordered):
        found.append(f"{unordered[:1].upper()}{unordered[1:]}.")
    if place.without_ratio:
        name = place.without_ratio[0]
        found.append(
            f"{len(place.without_ratio):,} series of noisy metrics with values that are 0, negative "
            f"or infinite, such as {name}: these are left out, as they have no ratio."
        )
    if place.n_short:
        found.append(
            f"{place.n_short:,} series with fewer than {LEAST_VALUES} measured commits, too few to find a change in: "
            "`fusebench gate` compares two commits."
        )
    if place.n_unsuspected:
        found.append(
            f"{place.n_unsuspected:,} series with {BASELINE} measured commits or fewer: their newest value alone is "
            "never suspected, and a step shows from its second commit on, or later; `fusebench gate` compares two."
        )
    if place.n_failed:
        found.append(
            f"{place.n_failed:,} series that worked once failed when last measured, which no change "
            "of level tells: `fusebench status` lists them."
        )
    changed = (one for one in place.findings if one.turn is Turn.CHANGED and one.state in OPEN)
    return [*found, *undirected_in_words({one.benchmark for one in changed} - {EVERYTHING})]


def changes_junit(places: Sequence[PlaceChanges], *, explained: Explained = unexplained) -> str:
    """Render a suite for each place and a test case for each finding; what is worse and not recovered is a failure.

    A suspicion is skipped: one measurement decides nothing.
    """
    root = ET.Element("testsuites", name="fusebench changes")
    for place in places:
        _suite(root, place, explained)
    ET.indent(root)
    return printable(ET.tostring(root, encoding="unicode"))


def changes_annotations(places: Sequence[PlaceChanges], *, explained: Explained = unexplained) -> str:
    """Render the annotations of a workflow: an error for each confirmed slowdown that is still there."""
    return annotations_of(findings_of_places(places), explained=explained)


def is_of_machine(finding: Finding) -> bool:
    """Return whether a finding is told as the machine's; one that a person knows of is told as known, and once."""
    return finding.class_ is FindingClass.MACHINE and finding.state is not FindingState.ACKNOWLEDGED


def findings_of_places(places: Iterable[PlaceChanges]) -> list[Finding]:
    """Return the findings of all places: what is worse and still there first, then in the order of each place."""
    found = [one for place in places for one in place.findings]
    return sorted(found, key=lambda one: (not is_worse_and_open(one), one.state is FindingState.SUSPECTED))


def _suite(root: ET.Element, place: PlaceChanges, explained: Explained) -> None:
    failed = [one for one in place.findings if is_worse_and_open(one) and one.state is FindingState.CONFIRMED]
    skipped = [one for one in place.findings if is_worse_and_open(one) and one.state is FindingState.SUSPECTED]
    name = f"{place.project}.{place.machine}.{place.environment}"
    suite = ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(place.findings)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
    )
    for one in place.findings:
        case = ET.SubElement(suite, "testcase", classname=name, name=f"{name_in_words(one)} {range_in_words(one)}")
        why = why_in_words(one, explained(one))
        details = [scope_in_words(one), worst_in_words(one), interval_in_words(one), why]
        text = "\n".join(filter(None, details))
        if is_worse_and_open(one) and one.state is FindingState.CONFIRMED:
            ET.SubElement(case, "failure", message=f"{one.turn.value} {size_in_words(one)}").text = text
        elif is_worse_and_open(one):
            ET.SubElement(case, "skipped", message=f"suspected: {size_in_words(one)}").text = text
        else:
            ET.SubElement(case, "system-out").text = f"{one.state.value} {one.turn.value} {size_in_words(one)}\n{text}"


def _is_over(finding: Finding) -> bool:
    is_of_machine = finding.class_ is FindingClass.MACHINE
    return finding.state in {FindingState.RECOVERED, FindingState.WITHDRAWN} and not is_of_machine
