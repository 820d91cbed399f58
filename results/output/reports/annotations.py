"""Findings → annotations of a GitHub workflow: commands that its runner reads from standard output; pure.

Syntax and escapes: the runner's ActionCommand. It keeps ten errors, ten warnings and ten notices of a step.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from results.judgement.findings import FindingClass, FindingState, Turn
from results.output.reports.finding_words import (
    floor_in_words,
    interval_in_words,
    is_quoted,
    is_worse_and_open,
    name_in_words,
    place_in_words,
    range_in_words,
    scope_in_words,
    size_in_words,
    unexplained,
    worst_in_words,
)
from results.printable import printable
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.findings import Finding
    from results.output.reports.finding_words import Explained

MOST_OF_A_LEVEL = 10
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _DATA | {":": "%3A", ",": "%2C"}


class Level(StrEnum):
    """Level of an annotation, the most urgent first."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


def annotations_of(
    findings: Sequence[Finding],
    *,
    suspicion: Level = Level.WARNING,
    others: Sequence[str] = (),
    known: Sequence[str] = (),
    explained: Explained = unexplained,
) -> str:
    """Return a line for each finding, MOST_OF_A_LEVEL of a level: the workflow's page shows no more.

    What is worse and certain is an error, what is better, known or recovered a notice. suspicion: the level of what is
    worse and suspected; a history waits for another run, a gate does not. others, known: warnings and notices
    that are about no finding. What is left out is counted in the last line of its level.
    """
    of_level: dict[Level, list[Finding | str]] = {level: [] for level in Level}
    of_level[Level.WARNING] += others
    of_level[Level.NOTICE] += known
    for finding in findings:
        of_level[level_of(finding, suspicion=suspicion)].append(finding)
    lines = []
    for level, found in of_level.items():
        # Explaining one takes a while: only what is shown is.
        n_shown = len(found) if len(found) <= MOST_OF_A_LEVEL else MOST_OF_A_LEVEL - 1
        lines += [_annotated(level, one, explained) for one in found[:n_shown]]
        if n_left_out := len(found) - n_shown:
            lines.append(_annotated(level, f"{counted(n_left_out, 'finding')} more; see the summary", explained))
    return "\n".join(lines)


def _annotated(level: Level, told: Finding | str, explained: Explained) -> str:
    if isinstance(told, str):
        return annotation(level, title="fusebench", message=told)
    title = f"{name_in_words(told)}: {size_in_words(told) or told.turn.value}"
    return annotation(level, title=title, message=_message(told, explained(told)))


def annotation(level: Level, *, title: str, message: str) -> str:
    r"""Return the runner's command, `::error title=T::M`; line breaks, `%`, and in a title `:` and `,`, are escaped."""
    return f"::{level.value} title={_escaped(title, _PROPERTY)}::{_escaped(message, _DATA)}"


def level_of(finding: Finding, *, suspicion: Level = Level.WARNING) -> Level:
    """Return the level by what a person is to do: mend, look, or know."""
    if is_worse_and_open(finding):
        return suspicion if finding.state is FindingState.SUSPECTED else Level.ERROR
    is_doubtful = finding.class_ is FindingClass.MACHINE or finding.turn is Turn.CHANGED
    return Level.WARNING if is_doubtful and finding.state is FindingState.CONFIRMED else Level.NOTICE


def _message(finding: Finding, cause: str | None) -> str:
    worst, interval, floor = worst_in_words(finding), interval_in_words(finding), floor_in_words(finding)
    facts = [
        f"{scope_in_words(finding)} points" if finding.points else "",
        f"worst at {worst}" if worst else "",
        f"95 %: {interval}" if interval else "",
        f"invisible: {floor}" if floor else "",
        "" if is_quoted(finding, cause) else finding.why,
    ]
    first = f"{finding.state.value}, {range_in_words(finding)}; {place_in_words(finding)}"
    return "\n".join(filter(None, [first, "; ".join(filter(None, facts)), cause]))


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in printable(text))
