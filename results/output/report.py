"""Judgements → text, Markdown, JUnit; pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tabulate import tabulate

from results.judgement.verdicts import Outcome
from results.output.report_json import as_json
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import MANY, Block, Cell, Column, render_blocks
from results.printable import printable, printable_line
from results.rows import parameters_in_words
from results.units import change_in_words, in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from results.judgement.verdicts import Judgement, Verdict
    from results.output.terminal import Terminal
    from results.rows import SeriesValueRow

MOST_OF_A_COMMENT = 65_000
"""Characters; GitHub takes 65,536."""
FOLDED_FROM = 5
BAD = (Outcome.FAILED, Outcome.REGRESSION)
SECTIONS = (
    ("Failed", (Outcome.FAILED,), Style.BAD),
    ("Regressions", (Outcome.REGRESSION,), Style.BAD),
    ("Known", (Outcome.KNOWN,), Style.PLAIN),
    (
        "Undecided: looks changed, and is not certain (measure both again: fusebench ab, or fusebench run --again)",
        (Outcome.UNDECIDED,),
        Style.DOUBTFUL,
    ),
    ("Changed (better direction unknown)", (Outcome.CHANGED,), Style.DOUBTFUL),
    ("Better", (Outcome.IMPROVEMENT, Outcome.FIXED), Style.GOOD),
)
COLUMNS = (
    Column(name="benchmark", stack=1),
    Column(name="parameters", stack=2),
    Column(name="base", is_right=True),
    Column(name="head", is_right=True),
    Column(name="change", is_right=True),
    Column(name="why", is_note=True),
)


class ReportFormat(StrEnum):
    """Format of a report."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


def rendered(
    judgement: Judgement, *, report_format: ReportFormat, terminal: Terminal = UNLIMITED, limit: int | None = None
) -> str:
    """Render the report; text and Markdown list `limit` verdicts of a kind."""
    match report_format:
        case ReportFormat.TEXT:
            return as_text(judgement, terminal, limit=limit)
        case ReportFormat.JSON:
            return as_json(judgement)
        case ReportFormat.MARKDOWN:
            return as_markdown(judgement, limit=limit)
        case ReportFormat.JUNIT:
            return as_junit(judgement)


def as_text(judgement: Judgement, terminal: Terminal = UNLIMITED, *, limit: int | None = None) -> str:
    """Render what failed and got slower first, then what got better, then the count of the rest."""
    blocks = [
        Block(title=f"{title}:", rows=_rows(judgement, verdicts, style))
        for title, verdicts, style in _sections(judgement, limit)
    ]
    parts = [terminal.paragraph(_headline(judgement))]
    if blocks:
        parts.append(render_blocks(COLUMNS, blocks, terminal))
    parts.extend(map(terminal.paragraph, (*notes(judgement), *_hidden(judgement, limit))))
    return "\n\n".join(parts)


def as_markdown(judgement: Judgement, *, limit: int | None = None) -> str:
    """Render the same as a comment on a pull request: what is worse is open, and it is never too long for one."""
    text = _markdown(judgement, limit)
    most = max((len(verdicts) for _, verdicts, _ in _sections(judgement, limit)), default=0)
    while len(text) > MOST_OF_A_COMMENT and most > 1:
        most //= 2
        text = _markdown(judgement, most)
    return text


def _markdown(judgement: Judgement, limit: int | None) -> str:
    parts = [f"**{_headline(judgement)}**"]
    names = [column.name for column in COLUMNS]
    for title, verdicts, style in _sections(judgement, limit):
        lines = [[_markdown_cell(cell.text) for cell in row] for row in _rows(judgement, verdicts, style)]
        table = tabulate(lines, headers=names, disable_numparse=True, tablefmt="github")
        if style is not Style.BAD and len(verdicts) > FOLDED_FROM:
            table = f"<details><summary>{len(verdicts)} series</summary>\n\n{table}\n\n</details>"
        parts.append(f"### {title}\n\n{table}")
    parts.extend(map(printable, (*notes(judgement), *_hidden(judgement, limit))))
    return "\n\n".join(parts)


def as_junit(judgement: Judgement) -> str:
    """Render a test case for each compared series: a regression is a failure, a failed point an error."""
    counts = judgement.count()
    suite = ET.Element(
        "testsuite",
        name=f"fusebench gate {judgement.base_commit[:8]}..{judgement.head_commit[:8]}",
        tests=str(len(judgement.verdicts) + len(judgement.only_at_base)),
        failures=str(counts[Outcome.REGRESSION]),
        errors=str(counts[Outcome.FAILED]),
        skipped=str(len(judgement.only_at_base) + counts[Outcome.UNDECIDED] + counts[Outcome.KNOWN]),
    )
    for verdict in judgement.verdicts:
        case = _case(suite, verdict.head)
        if verdict.outcome in BAD:
            tag = "failure" if verdict.outcome is Outcome.REGRESSION else "error"
            ET.SubElement(case, tag, message=_sentence(verdict)).text = verdict.why
        elif verdict.outcome in {Outcome.UNDECIDED, Outcome.KNOWN}:
            ET.SubElement(case, "skipped", message=verdict.why)
    for row in judgement.only_at_base:
        ET.SubElement(_case(suite, row), "skipped", message="not measured at the head")
    ET.indent(suite)
    # XML cannot hold control characters, and stored texts may have some.
    return printable(ET.tostring(suite, encoding="unicode"))


def _headline(judgement: Judgement) -> str:
    counts = judgement.count()
    counted = ", ".join(_counted(counts[outcome], outcome) for outcome in Outcome if counts[outcome])
    whole = "" if judgement.n_compared == judgement.n_of_base else f" of {judgement.n_of_base} that the base measured"
    return (
        f"{judgement.base_commit[:8]} → {judgement.head_commit[:8]}: "
        f"{judgement.n_compared} compared{whole}{': ' if counted else ''}{counted}"
    )


def _counted(n: int, outcome: Outcome) -> str:
    is_noun = outcome in {Outcome.REGRESSION, Outcome.IMPROVEMENT}
    return f"{n} {outcome}{'s' if is_noun and n != 1 else ''}"


def _sections(judgement: Judgement, limit: int | None) -> Iterator[tuple[str, list[Verdict], Style]]:
    """Yield the title, verdicts and style of every section that has any, the largest changes first."""
    for heading, outcomes, style in SECTIONS:
        verdicts = judgement.with_outcome(*outcomes)
        if verdicts:
            is_cut = limit is not None and len(verdicts) > limit
            title = f"{heading} ({limit} of {len(verdicts)}, the largest changes)" if is_cut else heading
            yield title, verdicts[:limit], style


def _hidden(judgement: Judgement, limit: int | None) -> list[str]:
    n_hidden = sum(max(0, len(judgement.with_outcome(*outcomes)) - (limit or 0)) for _, outcomes, _ in SECTIONS)
    return [f"{n_hidden} more changes are not listed; all of them: --all"] if limit is not None and n_hidden else []


def _rows(judgement: Judgement, verdicts: Sequence[Verdict], style: Style) -> list[tuple[Cell, ...]]:
    shared = _shared_parameters(judgement)
    return [
        (
            Cell(_benchmark(verdict.head)),
            Cell(parameters_in_words(verdict.head.parameters, without=shared)),
            Cell(in_words(verdict.base.value, unit=verdict.base.unit)),
            Cell(in_words(verdict.head.value, unit=verdict.head.unit), style),
            Cell(change_in_words(verdict.ratio), style),
            Cell(verdict.why),
        )
        for verdict in verdicts
    ]


def _markdown_cell(text: str) -> str:
    """Return `text` without what would end the cell or start a tag."""
    return printable_line(text).replace("|", "\\|").replace("<", "&lt;")


def _shared_parameters(judgement: Judgement) -> frozenset[str]:
    """Return the parameters that every compared series has with the same value."""
    if len(judgement.verdicts) < 2:
        return frozenset()
    parameters = [set(verdict.head.parameters) for verdict in judgement.verdicts]
    return frozenset(parameter.name for parameter in set.intersection(*parameters))


def _benchmark(row: SeriesValueRow) -> str:
    # asv's name already says what is measured; an operation does not.
    return (
        f"{row.benchmark} {row.metric}"
        if row.metric.endswith(("_s", "_bytes", "_count", "_launches"))
        else row.benchmark
    )


def notes(judgement: Judgement) -> list[str]:
    """Return what is to be known beside the verdicts: noise floor, moved control series, what is not compared."""
    parts = []
    if judgement.floor is not None and judgement.floor < 1:
        parts.append(f"Changes under {judgement.floor:.1%} are invisible in half of the series.")
    parts += [
        f"The machine or torch changed on {control.machine}, {control.environment}: eager is "
        f"{change_in_words(control.ratio)} over {control.n_series} series. Measure both commits in the same "
        "minutes: fusebench ab."
        for control in judgement.controls
        if control.is_moved
    ]
    if any(control.ratio != 1 for control in judgement.controls):
        parts.append("A change is told without the machine's part, by eager: it may differ from head over base.")
    for side, rows in (("base", judgement.only_at_base), ("head", judgement.only_at_head)):
        if rows:
            names = sorted({_benchmark(row) for row in rows})
            listed = ", ".join(names[:MANY]) + (", …" if len(names) > MANY else "")
            parts.append(f"Measured at the {side} only, not compared ({len(rows)}): {listed}")
    return parts


def _sentence(verdict: Verdict) -> str:
    unit = verdict.head.unit
    if verdict.outcome is Outcome.FAILED:
        return verdict.why
    before, after = in_words(verdict.base.value, unit=unit), in_words(verdict.head.value, unit=unit)
    return f"{before} → {after} ({change_in_words(verdict.ratio)})"


def _case(suite: ET.Element, row: SeriesValueRow) -> ET.Element:
    words = parameters_in_words(row.parameters)
    return ET.SubElement(
        suite,
        "testcase",
        classname=f"{row.project}.{row.machine}.{row.environment}",
        name=f"{_benchmark(row)}[{words}]" if words else _benchmark(row),
    )
