"""Judgements → text, JSON, Markdown, JUnit; pure."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tabulate import tabulate

from results.judgement.verdicts import Outcome, exit_code
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import MANY, Block, Cell, Column, render_blocks
from results.printable import json_for_terminal, printable, printable_line
from results.rows import parameters_in_words
from results.units import change_in_words, in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from results.judgement.verdicts import Judgement, Verdict
    from results.output.terminal import Terminal
    from results.rows import KnownChange, SeriesValueRow

BAD = (Outcome.FAILED, Outcome.REGRESSION)
SECTIONS = (
    ("Failed", (Outcome.FAILED,), Style.BAD),
    ("Regressions", (Outcome.REGRESSION,), Style.BAD),
    ("Known", (Outcome.KNOWN,), Style.PLAIN),
    (
        "Undecided: disturbed while measured, or not known well enough (measure again: fusebench run --again)",
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
    parts.extend(map(terminal.paragraph, (*_missing(judgement), *_hidden(judgement, limit))))
    return "\n\n".join(parts)


def as_markdown(judgement: Judgement, *, limit: int | None = None) -> str:
    """Render the same as a comment on a pull request."""
    parts = [f"**{_headline(judgement)}**"]
    names = [column.name for column in COLUMNS]
    for title, verdicts, style in _sections(judgement, limit):
        lines = [[_markdown_cell(cell.text) for cell in row] for row in _rows(judgement, verdicts, style)]
        table = tabulate(lines, headers=names, disable_numparse=True, tablefmt="github")
        parts.append(f"### {title}\n\n{table}")
    parts.extend(map(printable, (*_missing(judgement), *_hidden(judgement, limit))))
    return "\n\n".join(parts)


def as_json(judgement: Judgement) -> str:
    """Render everything but the unchanged series, which are counted."""
    counts = judgement.count()
    document = json.dumps(
        {
            "base": judgement.base_commit,
            "head": judgement.head_commit,
            "exit_code": int(exit_code(judgement)),
            "least_change": judgement.least_change,
            "compared": len(judgement.verdicts),
            "counts": {outcome.value: counts[outcome] for outcome in Outcome},
            "only_at_base": [_named(row) for row in judgement.only_at_base],
            "only_at_head": [_named(row) for row in judgement.only_at_head],
            "changes": [
                _fields(v) for v in judgement.with_outcome(*(o for o in Outcome if o is not Outcome.UNCHANGED))
            ],
        },
        indent=1,
        ensure_ascii=False,
    )
    return json_for_terminal(document)


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
    return (
        f"{judgement.base_commit[:8]} → {judgement.head_commit[:8]}: "
        f"{len(judgement.verdicts)} compared{': ' if counted else ''}{counted}"
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


def _missing(judgement: Judgement) -> list[str]:
    parts = []
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


def _named(row: SeriesValueRow) -> dict[str, object]:
    return {
        "benchmark": row.benchmark,
        "metric": row.metric,
        "machine": row.machine,
        "environment": row.environment,
        "parameters": {parameter.name: parameter.value for parameter in row.parameters},
    }


def _fields(verdict: Verdict) -> dict[str, object]:
    return {
        **_named(verdict.head),
        "outcome": verdict.outcome.value,
        "unit": verdict.head.unit,
        "base": verdict.base.value,
        "head": verdict.head.value,
        "ratio": verdict.ratio,
        "why": verdict.why,
        "known": None if verdict.known is None else _acknowledgement(verdict.known),
    }


def _acknowledgement(change: KnownChange) -> dict[str, object]:
    return {
        "commit": change.commit,
        "decision": change.decision,
        "note": change.note,
        "by": change.decided_by,
        "at": None if change.decided_at is None else change.decided_at.isoformat(),
    }
