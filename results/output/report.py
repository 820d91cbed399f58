"""Judgements → text, JSON, Markdown, JUnit; pure."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tabulate import tabulate

from results.judgement.verdicts import Outcome, exit_code
from results.rows import parameters_in_words
from results.units import change_in_words, in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.verdicts import Judgement, Verdict
    from results.rows import KnownChange, SeriesValueRow

BAD = (Outcome.FAILED, Outcome.REGRESSION)
GOOD = (Outcome.IMPROVEMENT, Outcome.FIXED)
UNDECIDED_HEADING = "Undecided: slower, but disturbed while measured (measure again: fusebench run --again)"
MANY = 20


class ReportFormat(StrEnum):
    """How a judgement is written down."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


def rendered(judgement: Judgement, *, report_format: ReportFormat) -> str:
    """The whole report."""
    match report_format:
        case ReportFormat.TEXT:
            return as_text(judgement)
        case ReportFormat.JSON:
            return as_json(judgement)
        case ReportFormat.MARKDOWN:
            return as_markdown(judgement)
        case ReportFormat.JUNIT:
            return as_junit(judgement)


def as_text(judgement: Judgement) -> str:
    """What failed and got slower first, then what got better, then the count of the rest."""
    parts = [_headline(judgement)]
    for heading, outcomes in (
        ("Failed", (Outcome.FAILED,)),
        ("Regressions", (Outcome.REGRESSION,)),
        ("Known", (Outcome.KNOWN,)),
        (UNDECIDED_HEADING, (Outcome.UNDECIDED,)),
        ("Changed (nobody said which way is better)", (Outcome.CHANGED,)),
        ("Better", GOOD),
    ):
        if verdicts := judgement.with_outcome(*outcomes):
            parts.append(f"{heading}:\n{tabulate(_lines(judgement, verdicts), headers=HEADERS, disable_numparse=True)}")
    parts.extend(_missing(judgement))
    return "\n\n".join(parts)


def as_markdown(judgement: Judgement) -> str:
    """The same as a comment on a pull request."""
    parts = [f"**{_headline(judgement)}**"]
    for heading, outcomes in (
        ("Failed", (Outcome.FAILED,)),
        ("Regressions", (Outcome.REGRESSION,)),
        ("Known", (Outcome.KNOWN,)),
        (UNDECIDED_HEADING, (Outcome.UNDECIDED,)),
        ("Changed, direction unknown", (Outcome.CHANGED,)),
        ("Better", GOOD),
    ):
        if verdicts := judgement.with_outcome(*outcomes):
            table = tabulate(_lines(judgement, verdicts), headers=HEADERS, disable_numparse=True, tablefmt="github")
            parts.append(f"### {heading}\n\n{table}")
    parts.extend(_missing(judgement))
    return "\n\n".join(parts)


def as_json(judgement: Judgement) -> str:
    """Everything but the unchanged series, which are counted."""
    counts = judgement.count()
    return json.dumps(
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


def as_junit(judgement: Judgement) -> str:
    """One test case a compared series: a regression is a failure, a failed point an error."""
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
    # Text of any origin may hold characters that XML has no word for.
    text = ET.tostring(suite, encoding="unicode")
    return "".join(c if c in "\n\t" or ord(c) >= 32 else "�" for c in text)


HEADERS = ("benchmark", "parameters", "base", "head", "change", "why")


def _headline(judgement: Judgement) -> str:
    counts = judgement.count()
    told = ", ".join(_counted(counts[outcome], outcome) for outcome in Outcome if counts[outcome])
    return (
        f"{judgement.base_commit[:8]} → {judgement.head_commit[:8]}: "
        f"{len(judgement.verdicts)} compared{': ' if told else ''}{told}"
    )


def _counted(n: int, outcome: Outcome) -> str:
    is_noun = outcome in {Outcome.REGRESSION, Outcome.IMPROVEMENT}
    return f"{n} {outcome}{'s' if is_noun and n != 1 else ''}"


def _lines(judgement: Judgement, verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    shared = _shared_parameters(judgement)
    return [
        (
            _benchmark(verdict.head),
            parameters_in_words(verdict.head.parameters, without=shared),
            in_words(verdict.base.value, unit=verdict.base.unit),
            in_words(verdict.head.value, unit=verdict.head.unit),
            change_in_words(verdict.ratio),
            verdict.why,
        )
        for verdict in verdicts
    ]


def _shared_parameters(judgement: Judgement) -> frozenset[str]:
    """Parameters that every compared series has with the same value: they tell nobody anything."""
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
