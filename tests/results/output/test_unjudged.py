"""Reports of a command that ended before it had judged: each format says why, and none is left from an earlier run."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import jsonschema
import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging import gate as module
from results.commands.judging.changes import changes
from results.commands.judging.gate import gate
from results.commands.measuring.noise import noise
from results.exit_codes import ExitCode
from results.output.report import ReportFormat, unjudged

A, B, C = "a" * 40, "b" * 40, "c" * 40
SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "findings.schema.json").read_text(encoding="utf-8"))
FILES = {each: f"report.{each}" for each in ReportFormat}
TO_FILES = [word for each, name in FILES.items() for word in ("--report", f"{each}={name}")]
NO_SERIES = ["--where", "benchmark=nope"]


@pytest.fixture
def run(tmp_path, write_asv_run, timed, monkeypatch):
    """Run a command on two stored commits of a suite, with a report in every format; its result, and the reports."""
    monkeypatch.chdir(tmp_path)
    for commit in (A, B):
        write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3)}, commit=commit)
    CliRunner().invoke(ingest, [str(tmp_path / "tree"), "--db", "s.db"], standalone_mode=False)
    for name in FILES.values():
        Path(name).write_text("of an earlier run")

    def called(command, *arguments, db="s.db"):
        answer = CliRunner().invoke(command, [*arguments, *TO_FILES, "--db", db], standalone_mode=False)
        return answer, {each: Path(name).read_text(encoding="utf-8") for each, name in FILES.items()}

    return called


@pytest.mark.parametrize(
    ("command", "arguments", "why"),
    [
        (gate, ["--base", A, "--head", C], "nothing is stored for"),
        (gate, ["--base", A, "--head", B, *NO_SERIES], "matches the selection"),
        (changes, NO_SERIES, "No stored series matches"),
    ],
)
def test_every_report_says_why_nothing_was_compared(run, command, arguments, why):
    answer, reports = run(command, *arguments)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert why in answer.stderr
    assert all(why in text for text in reports.values())
    document = json.loads(reports[ReportFormat.JSON])
    jsonschema.validate(document, {**SCHEMA, "$ref": "#/$defs/unjudged"})
    jsonschema.validate(document, SCHEMA)
    assert (document["exit_code"], document["findings"]) == (3, [])
    assert reports[ReportFormat.GITHUB].startswith("::warning title=fusebench::")
    suite = ET.fromstring(reports[ReportFormat.JUNIT])  # noqa: S314 - ours
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert why in suite.find("testcase/error").get("message")


@pytest.mark.parametrize(
    ("arguments", "db", "code"),
    [
        (["--base", A, "--head", A], "s.db", 64),
        (["--base", A, "--head", "no-such-name"], "s.db", 64),
        (["--base", A, "--head", B, "--where", "colour=red"], "s.db", 64),
        (["--base", A, "--head", B, "--where", "colour"], "s.db", 64),
        (["--base", A, "--head", B, "--where", "state=crashed"], "s.db", 64),
        (["--base", A, "--head", B], "no.db", 3),
    ],
)
def test_an_error_is_in_every_report_too(run, arguments, db, code):
    answer, reports = run(gate, *arguments, db=db)
    assert isinstance(answer.exception, click.ClickException)
    assert json.loads(reports[ReportFormat.JSON])["exit_code"] == code
    assert json.loads(reports[ReportFormat.JSON])["why"] == answer.exception.message
    assert all("of an earlier run" not in text for text in reports.values())
    level = "warning" if code == ExitCode.NOTHING_COMPARABLE else "error"
    assert reports[ReportFormat.GITHUB].startswith(f"::{level} title=fusebench::")


def test_a_crash_leaves_reports_that_say_that_nothing_was_judged(run, monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(module, "judged_values", crash)
    answer, reports = run(gate, "--base", A, "--head", B)
    assert isinstance(answer.exception, ZeroDivisionError)
    assert json.loads(reports[ReportFormat.JSON])["exit_code"] is None
    assert all("before it had judged" in text for text in reports.values())


@pytest.mark.parametrize("report_format", ["json", "markdown", "junit", "github"])
def test_what_a_program_reads_from_standard_output_says_why_too(run, report_format, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    answer, reports = run(gate, "--base", A, "--head", C, "--format", report_format)
    assert answer.stdout.rstrip("\n") == reports[ReportFormat(report_format)].rstrip("\n")
    if report_format == "github":
        assert (tmp_path / "summary.md").read_text() == reports[ReportFormat.MARKDOWN]


def test_what_a_reason_quotes_marks_up_nothing_and_is_one_annotation():
    why = "nothing is stored of <b>@me</b>\n| x |\x1b"
    assert "<b>" not in unjudged(why, command="gate", exit_code=3, report_format=ReportFormat.MARKDOWN)
    assert len(unjudged(why, command="gate", exit_code=3, report_format=ReportFormat.GITHUB).splitlines()) == 1
    ET.fromstring(unjudged(why, command="changes", exit_code=3, report_format=ReportFormat.JUNIT))  # noqa: S314 - ours


def test_reports_are_written_though_the_reader_of_the_output_left(run, monkeypatch):
    def leave(_):
        raise BrokenPipeError

    monkeypatch.setattr(module, "echo_rendered", leave)
    answer, reports = run(gate, "--base", A, "--head", B)
    assert isinstance(answer.exception, BrokenPipeError)
    assert json.loads(reports[ReportFormat.JSON])["compared"] == 1


@pytest.mark.parametrize(
    ("command", "arguments"), [(gate, ["--base", A, "--head", B]), (changes, []), (noise, ["--from-store"])]
)
def test_a_state_chooses_no_series_and_is_refused_instead_of_passed_over(run, command, arguments):
    options = [*arguments, "--where", "state=crashed", "--db", "s.db"]
    answer = CliRunner().invoke(command, options, standalone_mode=False)
    assert "fusebench show --where state=crashed" in answer.exception.message


@pytest.mark.parametrize(("command", "arguments"), [(gate, ["--base", A, "--head", B]), (changes, [])])
@pytest.mark.parametrize(("name", "is_told"), [("s.time_*", True), ("s.nope", False)])
def test_that_patterns_choose_nothing_is_told(run, command, arguments, name, is_told):
    answer, _ = run(command, *arguments, "--where", f"benchmark={name}")
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert ("--where takes whole names" in answer.stderr) is is_told
