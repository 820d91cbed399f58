"""What fails at the head by another ruler than the base's is no finding, and no gate passes on it."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from results.exit_codes import ExitCode
from results.judgement.exact_only import exact_only
from results.judgement.verdicts import exit_code, judge
from results.output.report import ReportFormat, rendered
from results.output.reports.judgement_words import notes, warnings, why_nothing, why_undecided
from tests.made_values import A, B, failed, row

CALM = [1.0, 1.002, 0.998]
OF_ASV = {"metric": "time", "parameters": {"n": 1}}
OF_RULERS = (
    "1 series fails at the head, which another ruler measured there, and was ok at the base: mlp latency_s "
    "(provider=fused, batch=16, hidden=256, pass=forward) is wrong, wrong in this test. It may be the commit or the "
    "ruler: fusebench ab aaaaaaaaaa bbbbbbbbbb measures both by one."
)
OF_VERSIONS = (
    "1 series fails at the head, in another version there, and was ok at the base: mlp (n=1) is wrong, wrong in this "
    "test. It may be the commit or the version: fusebench store join says of one that it measures the same."
)


def judged(base, head):
    """Judge these beside eager, which both have."""
    eagers = [row(CALM, provider="eager", commit=commit) for commit in (A, B)]
    return judge([*base, eagers[0]], [*head, eagers[1]], base_commit=A, head_commit=B)


@pytest.mark.parametrize(("of_row", "told"), [({}, OF_RULERS), (OF_ASV, OF_VERSIONS)])
def test_every_format_tells_what_fails_and_nothing_passes(of_row, told):
    found = judged([row(CALM, **of_row)], [failed("wrong", **of_row, commit=B, version="4")])
    assert exit_code(found) is ExitCode.NOTHING_COMPARABLE
    assert (warnings(found), why_undecided(found)) == ([told], f"{told} A gate does not pass on that.")
    assert "only" not in " ".join(notes(found))
    for report_format in set(ReportFormat) - {ReportFormat.MARKDOWN}:  # which tells it with escapes
        assert told in rendered(found, report_format=report_format)
    assert rendered(found, report_format=ReportFormat.MARKDOWN).count("1 series fails at the head") == 1
    assert exit_code(exact_only(found)) is ExitCode.NOTHING_COMPARABLE


def test_of_several_they_are_counted_and_the_first_has_its_reason():
    base = [row(CALM, batch=batch) for batch in (1, 2)]
    [told] = warnings(judged(base, [failed(batch=batch, commit=B, version="4") for batch in (1, 2)]))
    assert told.startswith("2 series fail at the head, which another ruler measured there, and were ok at the base: ")
    assert "batch=1, hidden=256, pass=forward) is crashed, crashed in this test." in told


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ([failed()], [failed(commit=B, version="4")], ExitCode.FINE),  # it never worked
        ([], [failed(commit=B, version="4")], ExitCode.FINE),  # it is new
        ([row(CALM)], [row(CALM, commit=B), failed(commit=B, version="4")], ExitCode.FINE),  # the base's ruler tells
        ([row(CALM)], [row(CALM, commit=B, version="4")], ExitCode.FINE),
        ([row(CALM)], [failed(commit=B)], ExitCode.FAILED),
        ([row(CALM, version="4")], [failed(commit=B, version="4")], ExitCode.FAILED),
        ([row(CALM), row(CALM, benchmark="linear")], [failed(commit=B, version="4")], ExitCode.NOTHING_COMPARABLE),
    ],
)
def test_only_what_worked_and_fails_by_another_ruler_is_undecided(base, head, expected):
    found = judged(base, head)
    assert exit_code(found) is expected
    assert bool(warnings(found)) == bool(found.failing_anew) == (expected is ExitCode.NOTHING_COMPARABLE)


def test_of_a_part_only_what_was_asked_for_is_told():
    found = judged([row(CALM)], [failed(commit=B, version="4")])
    [failing] = found.failing_anew
    [verdict] = found.verdicts
    assert exit_code(found.only({verdict.head.series_id})) is ExitCode.FINE
    assert found.only({failing.series_id}).failing_anew == (failing,)


def test_where_all_that_the_head_measured_fails_the_rulers_are_told():
    found = judge([row(CALM)], [failed(commit=B, version="4")], base_commit=A, head_commit=B)
    assert "by other rulers (3 at the base, 4 at the head)" in why_nothing(found)
    assert why_undecided(found) is None
    assert "The head was not measured on" not in " ".join(notes(found))


@pytest.mark.parametrize("version", ["3", "4"])
def test_other_metrics_of_what_fails_are_not_told_as_missing(version):
    base = [row(CALM), row(1.0, metric="operator_count")]
    found = judged(base, [failed("wrong", commit=B, version=version)])
    assert [one.metric for one in found.only_at_base][-1] == "operator_count"
    assert "only" not in " ".join(notes(found))
    skipped = ET.fromstring(rendered(found, report_format=ReportFormat.JUNIT)).iter("skipped")  # noqa: S314 - ours
    assert {one.get("message") for one in skipped} == {"its point fails at the head"}
    other = row(1.0, metric="operator_count", batch=1)
    assert "Measured at the base only, not compared (1)" in " ".join(notes(judged([*base, other], found.failing_anew)))


def test_junit_tells_beside_its_cases_what_the_terminal_does():
    base = [row(CALM), row(CALM, batch=1), row(CALM, batch=2)]
    head = [row(CALM, commit=B), row(CALM, batch=1, commit=B, version="4"), row(CALM, batch=4, commit=B)]
    found = judged(base, head)
    assert exit_code(found) is ExitCode.FINE
    assert notes(found)
    output = ET.fromstring(rendered(found, report_format=ReportFormat.JUNIT)).findtext("system-out")  # noqa: S314 - ours
    assert set(notes(found)) < set(output.splitlines())
    assert "fusebench ab aaaaaaaaaa bbbbbbbbbb measures both by one." in output


def test_junit_tells_what_fails_by_another_ruler_beside_what_fails_for_certain():
    worse = row([9.0, 9.02, 8.98], batch=1, commit=B)
    found = judged([row(CALM), row(CALM, batch=1)], [failed("wrong", commit=B, version="4"), worse])
    assert exit_code(found) is ExitCode.REGRESSION
    suite = ET.fromstring(rendered(found, report_format=ReportFormat.JUNIT))  # noqa: S314 - ours
    assert suite.get("errors") == "0"
    assert "1 series fails at the head, which another ruler measured there" in suite.findtext("system-out")
    assert "1 series fails" not in judged_junit_output([row(CALM)], [failed("wrong", commit=B, version="4")])


def judged_junit_output(base, head):
    text = rendered(judged(base, head), report_format=ReportFormat.JUNIT)
    return ET.fromstring(text).findtext("system-out")  # noqa: S314 - ours


def test_of_several_kinds_each_is_counted_and_the_gravest_is_named():
    base = [row(CALM, batch=batch) for batch in (1, 2, 3)]
    head = [failed(state, batch=batch, commit=B, version="4") for batch, state in ((1, "unavailable"), (2, "wrong"))]
    found = judged(base, [*head, row(CALM, batch=3, commit=B)])
    [told] = warnings(found)
    assert told.startswith("2 series fail at the head (1 wrong, 1 unavailable), which another ruler measured there, ")
    assert "batch=2" in told
    assert " is wrong, " in told
    by_json = json.loads(rendered(found, report_format=ReportFormat.JSON))["failing_anew"]
    assert [(one["state"], one["version"]) for one in by_json] == [("unavailable", "4"), ("wrong", "4")]


def test_what_a_newer_ruler_finds_wrong_is_told_where_the_bases_ruler_passes_it():
    found = judged([row(CALM)], [row(CALM, commit=B), failed("wrong", commit=B, version="4")])
    assert exit_code(found) is ExitCode.FINE
    [told] = [note for note in notes(found) if "fails at the head" in note]
    assert "is wrong, wrong in this test. By the base's ruler it is ok at the head, and that is compared" in told
    assert told in rendered(found, report_format=ReportFormat.TEXT)
    slower_too = judged([row(CALM)], [failed("wrong", commit=B), failed("wrong", commit=B, version="4")])
    assert not slower_too.failing_besides
