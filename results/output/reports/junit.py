"""Judgements and findings → JUnit, which CI servers show as tests; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from results.exit_codes import ExitCode
from results.judgement.commit_findings import together_in_words
from results.judgement.sides import surface_parameters
from results.judgement.verdicts import Outcome, exit_code
from results.output.reports.judgement_words import headline, notes, warnings
from results.output.reports.other_versions import of_failing_points, other_version_of, other_versions
from results.output.reports.point_words import benchmark_in_words
from results.printable import printable
from results.rows import parameters_in_words
from results.units import change_in_words, in_words

if TYPE_CHECKING:
    from results.judgement.verdicts import Judgement, Verdict
    from results.rows import SeriesValueRow


DECIDES = "the gate decides"


def gate_junit(judgement: Judgement) -> str:
    """Render a test case for each compared series: a regression is a failure, a failed point an error.

    A surface of which only all points together are certain that they are worse is one, too.
    Where nothing can be decided, why is an error, too. What is no case of a series is the suite's output: the headline,
    what else keeps a gate from passing, and what is to be known beside the verdicts.
    """
    counts = judgement.count()
    # Without a failure of its own a gate that does not pass would look green.
    told = warnings(judgement) if exit_code(judgement) is ExitCode.NOTHING_COMPARABLE else []
    together = judgement.together(Outcome.REGRESSION, Outcome.KNOWN)
    n_worse = sum(one.outcome is Outcome.REGRESSION for one in together)
    suite = ET.Element(
        "testsuite",
        name=f"fusebench gate {judgement.base_commit[:8]}..{judgement.head_commit[:8]}",
        tests=str(len(judgement.verdicts) + len(judgement.only_at_base) + len(told) + len(together)),
        failures=str(counts[Outcome.REGRESSION] + n_worse),
        errors=str(counts[Outcome.FAILED] + len(told)),
        skipped=str(
            len(judgement.only_at_base) + counts[Outcome.UNDECIDED] + counts[Outcome.KNOWN] + len(together) - n_worse
        ),
    )
    for surface in together:
        row = surface.rows[0]
        case = _case(suite, row._replace(parameters=surface_parameters(row)))
        if surface.outcome is Outcome.KNOWN:
            ET.SubElement(case, "skipped", message=together_in_words(surface))
        else:
            message = change_in_words(surface.evidence.ratio)
            ET.SubElement(case, "failure", message=message).text = together_in_words(surface)
    for verdict in judgement.verdicts:
        case = _case(suite, verdict.head)
        if verdict.outcome in {Outcome.FAILED, Outcome.REGRESSION}:
            tag = "failure" if verdict.outcome is Outcome.REGRESSION else "error"
            ET.SubElement(case, tag, message=_sentence(verdict)).text = verdict.why
        elif verdict.outcome in {Outcome.UNDECIDED, Outcome.KNOWN}:
            ET.SubElement(case, "skipped", message=verdict.why)
    for text in told:
        case = ET.SubElement(suite, "testcase", classname="fusebench", name=DECIDES)
        ET.SubElement(case, "error", message=text)
    why = {row.series_id: "its point fails at the head" for row in of_failing_points(judgement)}
    why |= {row.series_id: "not there yet at the head" for row in judgement.not_yet}
    for row, _ in other_versions(judgement):
        other = other_version_of(judgement, row.metric)
        why[row.series_id] = f"{other.how} at the head: {other.remedy}"
    for row in judgement.only_at_base:
        ET.SubElement(_case(suite, row), "skipped", message=why.get(row.series_id, "not measured at the head"))
    # A passed case shows no text of its own, and of some series there is no case.
    beside = dict.fromkeys([headline(judgement), *warnings(judgement), *notes(judgement)])
    ET.SubElement(suite, "system-out").text = "\n".join(line for line in beside if line not in told)
    ET.indent(suite)
    # XML cannot hold control characters, and stored texts may have some.
    return printable(ET.tostring(suite, encoding="unicode"))


def unjudged_junit(why: str, *, command: str) -> str:
    """Render the one error of a command that ended before it had judged: without a case a server shows nothing."""
    suite = ET.Element("testsuite", name=f"fusebench {command}", tests="1", failures="0", errors="1", skipped="0")
    name = "changes are looked for" if command == "changes" else DECIDES
    ET.SubElement(ET.SubElement(suite, "testcase", classname="fusebench", name=name), "error", message=why)
    ET.indent(suite)
    return printable(ET.tostring(suite, encoding="unicode"))


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
        name=f"{benchmark_in_words(row)}[{words}]" if words else benchmark_in_words(row),
    )
