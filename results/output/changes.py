"""Changes of histories → text, and the other formats of `changes`; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.findings import FindingClass, FindingState, Turn
from results.output.findings import FINDINGS_FORMAT, finding_as_json
from results.output.plain_values import document_as_json
from results.output.report import ReportFormat
from results.output.reports.finding_words import (
    OPEN,
    floor_in_words,
    interval_in_words,
    name_in_words,
    own_class,
    range_in_words,
    scope_in_words,
    size_in_words,
    unexplained,
    why_in_words,
    worst_in_words,
)
from results.output.reports.history_reports import (
    changes_annotations,
    changes_comment,
    changes_junit,
    commits_in_words,
    is_of_machine,
    unjudged_in_words,
)
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from results.judgement.changes.from_histories import PlaceChanges
    from results.judgement.findings import Finding
    from results.output.reports.finding_words import Classed, Explained
    from results.output.terminal import Terminal

COLUMNS = (
    Column(name="good..bad"),
    Column(name="benchmark", stack=1),
    Column(name="points", is_right=True, drop=1),
    Column(name="change", is_right=True),
    Column(name="interval", is_right=True, drop=2),
    Column(name="invisible", is_right=True),
    Column(name="worst at", is_note=True),
    Column(name="why", is_note=True),
)
LEGEND = (
    "good..bad: the cause is a commit of this range. invisible: a change so small would not be found there within five "
    "commits. change, interval: of the worst point."
)


def _is_open(turn: Turn, state: FindingState) -> Callable[[Finding], bool]:
    return lambda one: (
        one.turn is turn and one.state is state and one.class_ not in {FindingClass.MACHINE, FindingClass.NOISE}
    )


SECTIONS: tuple[tuple[str, Callable[[Finding], bool], Style], ...] = (
    (
        "Regressions, suspected: measure this commit again",
        _is_open(Turn.SLOWER, FindingState.SUSPECTED),
        Style.DOUBTFUL,
    ),
    ("Regressions", _is_open(Turn.SLOWER, FindingState.CONFIRMED), Style.BAD),
    (
        "Everything at once: the machine or its software",
        is_of_machine,
        Style.DOUBTFUL,
    ),
    ("Changed (better direction unknown)", _is_open(Turn.CHANGED, FindingState.CONFIRMED), Style.DOUBTFUL),
    ("Changed, suspected", _is_open(Turn.CHANGED, FindingState.SUSPECTED), Style.DOUBTFUL),
    ("Better", _is_open(Turn.FASTER, FindingState.CONFIRMED), Style.GOOD),
    ("Better, suspected", _is_open(Turn.FASTER, FindingState.SUSPECTED), Style.DOUBTFUL),
    ("Acknowledged", lambda one: one.state is FindingState.ACKNOWLEDGED, Style.PLAIN),
    (
        "Levels that were seen before",
        lambda one: one.class_ is FindingClass.NOISE and one.state in OPEN,
        Style.PLAIN,
    ),
    ("Suspicions withdrawn", lambda one: one.state is FindingState.WITHDRAWN, Style.PLAIN),
    (
        "Taken back",
        lambda one: one.state is FindingState.RECOVERED and one.class_ is not FindingClass.MACHINE,
        Style.PLAIN,
    ),
)


def changes_rendered(  # noqa: PLR0913 - findings, and how to tell them
    places: Sequence[PlaceChanges],
    *,
    report_format: ReportFormat,
    terminal: Terminal = UNLIMITED,
    limit: int | None = None,
    explained: Explained = unexplained,
    classed: Classed = own_class,
) -> str:
    """Render the findings of each place; text lists `limit` of a kind.

    explained: their cause, as one sentence; classed: their class, for JSON.
    """
    match report_format:
        case ReportFormat.TEXT:
            return changes_as_text(places, terminal, limit=limit, explained=explained)
        case ReportFormat.JSON:
            return changes_as_json(places, explained=explained, classed=classed)
        case ReportFormat.MARKDOWN:
            return changes_comment(places, explained=explained)
        case ReportFormat.JUNIT:
            return changes_junit(places, explained=explained)
        case ReportFormat.GITHUB:
            return changes_annotations(places, explained=explained)


def changes_as_text(
    places: Sequence[PlaceChanges],
    terminal: Terminal = UNLIMITED,
    *,
    limit: int | None = None,
    explained: Explained = unexplained,
) -> str:
    """Render the findings of each place: what got worse first, `limit` of a kind."""
    return "\n\n".join("\n\n".join(_of_place(place, terminal, limit=limit, explained=explained)) for place in places)


def _of_place(place: PlaceChanges, terminal: Terminal, *, limit: int | None, explained: Explained) -> Iterator[str]:
    control = (
        f"what {place.n_controls} control series share is taken out"
        if place.n_controls
        else "no control series: what moves everything at once is told as one"
    )
    yield terminal.paragraph(
        f"{place.project} on {place.machine}, {place.environment}: {counted(len(place.findings), 'finding')} in "
        f"{place.n_series:,} series over {commits_in_words(place)}; {control}.",
        Style.HEADING,
    )
    blocks, hidden = [], []
    for title, is_in, style in SECTIONS:
        found = [one for one in place.findings if is_in(one)]
        if found:
            shown = found[:limit]
            blocks.append(Block(title=f"{title}:", rows=[_row(one, style, explained(one)) for one in shown]))
            if len(shown) < len(found):
                hidden.append(f"{title}: {len(found) - len(shown):,} more")
    if blocks:
        yield render_blocks(COLUMNS, blocks, terminal)
        yield terminal.paragraph(LEGEND)
    for note in unjudged_in_words(place):
        yield terminal.paragraph(note, Style.DOUBTFUL)
    if hidden:
        yield terminal.paragraph(f"{'; '.join(hidden)}. All: --all")


def _row(one: Finding, style: Style, cause: str | None) -> tuple[Cell, ...]:
    worst = worst_in_words(one)
    return (
        Cell(range_in_words(one)),
        Cell(name_in_words(one)),
        Cell(scope_in_words(one)),
        Cell(size_in_words(one), style),
        Cell(interval_in_words(one)),
        Cell(floor_in_words(one)),
        Cell(f"worst at {worst}" if worst else ""),
        Cell(why_in_words(one, cause)),
    )


def changes_as_json(
    places: Sequence[PlaceChanges], *, explained: Explained = unexplained, classed: Classed = own_class
) -> str:
    """Render every finding as one object in a list, with the places they were looked for in."""
    return document_as_json(
        {
            "format": FINDINGS_FORMAT,
            "places": [
                {
                    "project": place.project,
                    "machine": place.machine,
                    "environment": place.environment,
                    "n_series": place.n_series,
                    "n_commits": place.n_commits,
                    "n_controls": place.n_controls,
                    "n_beside": place.n_beside,
                    "n_without_ratio": len(place.without_ratio),
                    "n_failed": place.n_failed,
                    "n_short": place.n_short,
                    "n_unsuspected": place.n_unsuspected,
                    "n_unordered": place.n_unordered,
                }
                for place in places
            ],
            "findings": [
                finding_as_json(one, explanation=explained(one), class_=classed(one))
                for place in places
                for one in place.findings
            ],
        },
        indent=2,
    )
