"""Judgements → text, and the formats of `gate` and `ab`; pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from results.exit_codes import ExitCode
from results.judgement.commit_findings import findings_of, together_in_words
from results.judgement.sides import surface_parameters
from results.judgement.verdicts import Outcome
from results.output.findings import FINDINGS_FORMAT
from results.output.plain_values import document_as_json
from results.output.report_json import as_json
from results.output.reports.annotations import Level, annotation, annotations_of
from results.output.reports.comments import comment_of
from results.output.reports.finding_words import name_in_words, own_class, unexplained
from results.output.reports.gate_comment import gate_comment
from results.output.reports.judgement_words import headline, how_to_be_sure, notes, warnings, why_nothing
from results.output.reports.junit import gate_junit, unjudged_junit
from results.output.reports.other_versions import known_anew
from results.output.reports.point_words import benchmark_in_words, shared_parameters
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.printable import printable
from results.rows import parameters_in_words
from results.units import change_in_words, in_words, visible_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from results.judgement.outcomes import SurfaceVerdict
    from results.judgement.verdicts import Judgement, Verdict
    from results.output.reports.finding_words import Classed, Explained
    from results.output.terminal import Terminal
    from results.rows import SeriesValueRow

SECTIONS = (
    ("Failed", (Outcome.FAILED,), Style.BAD),
    ("Regressions", (Outcome.REGRESSION,), Style.BAD),
    ("Known", (Outcome.KNOWN,), Style.PLAIN),
    (
        "Undecided: looks changed, and is not certain ({how_to_be_sure})",
        (Outcome.UNDECIDED,),
        Style.DOUBTFUL,
    ),
    ("Changed (better direction unknown)", (Outcome.CHANGED,), Style.DOUBTFUL),
    ("Better", (Outcome.IMPROVEMENT, Outcome.FIXED), Style.GOOD),
)
COLUMNS = (
    Column(name="benchmark", stack=1),
    Column(name="parameters", stack=2),
    Column(name="where", stack=3),
    Column(name="base", is_right=True),
    Column(name="head", is_right=True),
    Column(name="change", is_right=True),
    Column(name="invisible", is_right=True, drop=1),
    Column(name="why", is_note=True),
)


class ReportFormat(StrEnum):
    """Format of a report; `github` is annotations of a workflow."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    GITHUB = "github"


def rendered(  # noqa: PLR0913 - a judgement, and how to tell it
    judgement: Judgement,
    *,
    report_format: ReportFormat,
    terminal: Terminal = UNLIMITED,
    limit: int | None = None,
    explained: Explained = unexplained,
    classed: Classed = own_class,
) -> str:
    """Render the report; text lists `limit` verdicts of a kind, the others have a limit of their own or none.

    explained: what a finding comes from, as one sentence; JUnit, which lists points, has none. classed: its
    class, for JSON.
    """
    match report_format:
        case ReportFormat.TEXT:
            return as_text(judgement, terminal, limit=limit, explained=explained)
        case ReportFormat.JSON:
            return as_json(judgement, explained=explained, classed=classed)
        case ReportFormat.MARKDOWN:
            return gate_comment(judgement, explained=explained)
        case ReportFormat.JUNIT:
            return gate_junit(judgement)
        case ReportFormat.GITHUB:
            found = findings_of(judgement)
            return annotations_of(
                found,
                suspicion=Level.ERROR,
                others=warnings(judgement),
                known=known_anew(judgement),
                explained=explained,
            )


def unjudged(why: str, *, command: str, exit_code: int | None, report_format: ReportFormat) -> str:
    """Render the report of a command that ended before it had judged. exit_code: None where it is not known yet."""
    match report_format:
        case ReportFormat.TEXT:
            return printable(why)
        case ReportFormat.JSON:
            return document_as_json(
                {
                    "format": FINDINGS_FORMAT,
                    "command": command,
                    "exit_code": exit_code,
                    "why": why,
                    "findings": [],
                }
            )
        case ReportFormat.MARKDOWN:
            return comment_of(f"fusebench {command}: nothing was judged", [], [why])
        case ReportFormat.JUNIT:
            return unjudged_junit(why, command=command)
        case ReportFormat.GITHUB:
            level = Level.WARNING if exit_code == ExitCode.NOTHING_COMPARABLE else Level.ERROR
            return annotation(level, title="fusebench", message=why)


def as_text(
    judgement: Judgement,
    terminal: Terminal = UNLIMITED,
    *,
    limit: int | None = None,
    explained: Explained = unexplained,
) -> str:
    """Render what failed and got slower first, then what got better, then the count of the rest."""
    blocks = [
        Block(
            title=f"{title}:",
            rows=[*_rows_together(judgement, surfaces, style), *_rows(judgement, verdicts, style)],
        )
        for title, surfaces, verdicts, style in _sections(judgement, limit)
    ]
    parts = [terminal.paragraph(headline(judgement))]
    if blocks:
        parts.append(render_blocks(COLUMNS, blocks, terminal))
    if not judgement.n_compared:
        parts.append(terminal.paragraph(why_nothing(judgement)))
    parts.extend(_reasons(judgement, terminal, limit=limit, explained=explained))
    parts.extend(map(terminal.paragraph, (*notes(judgement), *_hidden(judgement, limit))))
    return "\n\n".join(parts)


def _reasons(judgement: Judgement, terminal: Terminal, *, limit: int | None, explained: Explained) -> list[str]:
    """Return why the worst findings are, a line each, as far as that is known."""
    found = [(finding, explained(finding)) for finding in findings_of(judgement)[:limit]]
    lines = [terminal.paragraph(f"{name_in_words(finding)}: {text}") for finding, text in found if text]
    return ["\n".join([terminal.styled("Why:", Style.HEADING), *lines])] if lines else []


def _sections(
    judgement: Judgement, limit: int | None
) -> Iterator[tuple[str, list[SurfaceVerdict], list[Verdict], Style]]:
    """Yield the title, surfaces, verdicts and style of every section that has any, the largest changes first."""
    for words, outcomes, style in SECTIONS:
        heading = words.format(how_to_be_sure=how_to_be_sure(judgement))
        surfaces, verdicts = judgement.together(*outcomes), judgement.with_outcome(*outcomes)
        if surfaces or verdicts:
            n = len(surfaces) + len(verdicts)
            is_cut = limit is not None and n > limit
            title = f"{heading} ({limit} of {n:,}, the largest changes)" if is_cut else heading
            rest = limit if limit is None else max(0, limit - len(surfaces))
            yield title, surfaces[:limit], verdicts[:rest], style


def _hidden(judgement: Judgement, limit: int | None) -> list[str]:
    numbers = (len(judgement.together(*each)) + len(judgement.with_outcome(*each)) for _, each, _ in SECTIONS)
    n_hidden = sum(max(0, n - (limit or 0)) for n in numbers)
    return [f"{n_hidden:,} more changes are not listed; all of them: --all"] if limit is not None and n_hidden else []


def _rows(judgement: Judgement, verdicts: Sequence[Verdict], style: Style) -> list[tuple[Cell, ...]]:
    shared = shared_parameters(judgement)
    has_place = _has_places(judgement)
    return [
        (
            Cell(benchmark_in_words(verdict.head)),
            Cell(parameters_in_words(verdict.head.parameters, without=shared)),
            Cell(_place_in_words(verdict.head) if has_place else ""),
            Cell(in_words(verdict.base.value, unit=verdict.base.unit)),
            Cell(in_words(verdict.head.value, unit=verdict.head.unit), style),
            Cell(change_in_words(verdict.ratio), style),
            Cell("" if verdict.floor is None else f"< {visible_from(verdict.floor)}"),
            Cell(verdict.why),
        )
        for verdict in verdicts
    ]


def _rows_together(
    judgement: Judgement, surfaces: Sequence[SurfaceVerdict], style: Style
) -> Iterator[tuple[Cell, ...]]:
    shared = shared_parameters(judgement)
    has_place = _has_places(judgement)
    for one in surfaces:
        row, evidence = one.rows[0], one.evidence
        yield (
            Cell(benchmark_in_words(row)),
            Cell(parameters_in_words(surface_parameters(row), without=shared)),
            Cell(_place_in_words(row) if has_place else ""),
            Cell(""),
            Cell(""),
            Cell(change_in_words(evidence.ratio), style),
            Cell(f"< {visible_from(evidence.floor)}"),
            Cell(together_in_words(one)),
        )


def _has_places(judgement: Judgement) -> bool:
    return len({_place_in_words(verdict.head) for verdict in judgement.verdicts}) > 1


def _place_in_words(row: SeriesValueRow) -> str:
    return f"{row.project} on {row.machine}, {row.environment}"
