"""Steps of action.yml by hand: each `run` is executed by bash as a runner does, comment and answer included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step.get("name", step.get("id")): step for step in ACTION["runs"]["steps"]}
A, B = "a" * 40, "b" * 40


@pytest.fixture
def runner(tmp_path):
    """Run a step's script with the variables that it names; the process that ended, and its outputs."""
    place, outputs = tmp_path / "place", tmp_path / "outputs"
    (place / "venv" / "bin").mkdir(parents=True)
    python = place / "venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')  # what `Install` has made
    python.chmod(0o755)

    def run(name, **variables):
        given = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": f"{ROOT / 'tools'}",
            "PLACE": str(place),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            **variables,
        }
        assert set(STEPS[name].get("env", {})) <= given.keys(), "every variable of the step is given"
        outputs.write_text("")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
        done = subprocess.run(
            command, env=given, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
        return done, dict(line.split("=", 1) for line in outputs.read_text().splitlines())

    return run


@pytest.fixture
def judged(runner, tmp_path, write_asv_run, timed):
    """Judge two commits of somebody else's asv suite, of which the second is slower by a factor."""

    def run(factor, **variables):
        for day, (commit, value) in enumerate(((A, 1e-3), (B, 1e-3 * factor))):
            results = {"suite.time_it": timed(value)}
            write_asv_run(tmp_path / "asv", results, commit=commit, date=1_700_000_000_000 + day * 86_400_000)
        given = {
            "FUSEBENCH_BASE": A,
            "FUSEBENCH_HEAD": B,
            "FUSEBENCH_RESULTS": "asv\n",
            "FUSEBENCH_OPTIONS": "",
            "FUSEBENCH_OUT": str(tmp_path / "report"),
        }
        return runner("Judge", **(given | variables))

    return run


def test_the_first_push_of_a_branch_has_nothing_before_it_to_compare_with(judged, tmp_path, runner):
    done, outputs = judged(2.0, FUSEBENCH_BASE="0" * 40)
    assert (done.returncode, outputs["exit-code"], outputs["verdict"]) == (0, "3", "nothing comparable")
    report = Path(outputs["report"]).read_text(encoding="utf-8")
    assert "began a branch" in report
    assert json.loads(Path(outputs["report"]).with_name("findings.json").read_text())["exit_code"] == 3
    assert "asv run" not in report
    assert runner("Answer", CODE=outputs["exit-code"], FAIL_ON="never")[0].returncode == 0


def test_a_regression_is_judged_reported_and_counts_only_at_the_end(judged, tmp_path, runner):
    done, outputs = judged(1.5)
    assert done.returncode == 0, done.stderr
    assert (outputs["exit-code"], outputs["verdict"]) == ("1", "regression")
    assert "::error title=suite.time_it%3A +50.0 %25::" in done.stdout
    assert "### Regressions (1)" in Path(outputs["report"]).read_text()
    assert json.loads((tmp_path / "report" / "findings.json").read_text())["exit_code"] == 1
    assert (tmp_path / "report" / "junit.xml").exists()
    assert "### Regressions (1)" in (tmp_path / "summary.md").read_text()
    assert runner("Answer", CODE="1", FAIL_ON="worse")[0].returncode == 1


def test_equal_commits_are_fine(judged):
    assert judged(1.0)[1]["verdict"] == "fine"


def test_options_are_the_gates(judged):
    assert judged(1.5, FUSEBENCH_OPTIONS="--least-change 0.9")[1]["verdict"] == "fine"


def test_a_base_that_was_not_measured_has_a_report_that_says_so(judged):
    _, outputs = judged(1.0, FUSEBENCH_BASE="c" * 40)
    assert outputs["verdict"] == "nothing comparable"
    assert "asv run" in Path(outputs["report"]).read_text()


def test_text_that_looks_like_a_command_is_a_revision_that_nobody_knows(judged, tmp_path):
    done, outputs = judged(1.0, FUSEBENCH_HEAD="$(touch pwned); `touch pwned`")
    assert done.returncode == 64
    assert outputs["verdict"] == "not judged"
    assert not (tmp_path / "pwned").exists()


def test_a_second_use_in_one_job_judges_its_own_results_and_posts_its_own_report(judged, tmp_path):
    assert judged(1.5)[1]["verdict"] == "regression"
    (tmp_path / "empty").mkdir()
    done, outputs = judged(1.5, FUSEBENCH_RESULTS="empty")
    told = Path(outputs["report"]).read_text() if "report" in outputs else ""
    assert "### Regressions" not in told, done.stderr
    assert outputs.get("verdict") != "regression"


@pytest.mark.parametrize("name", ["Judge", "Comment"])
def test_modules_of_the_judged_repository_are_not_run(judged, runner, tmp_path, name):
    for module in ("ci/__init__.py", "ci/judge.py", "ci/comment.py", "fusebench.py", "json.py"):
        path = tmp_path / module
        path.parent.mkdir(exist_ok=True)
        path.write_text("open('pwned', 'w')\n")
    if name == "Judge":
        assert judged(1.5)[1]["verdict"] == "regression"
    else:
        (tmp_path / "report.md").write_text("the report")
        token = {"GITHUB_TOKEN": "", "GITHUB_REPOSITORY": "owner/project"}
        done, _ = runner("Comment", REPORT="report.md", NUMBER="12", MARKER="report", **token)
        assert done.returncode == 0, done.stderr
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"FUSEBENCH_OPTIONS": '--exact "'}, "options are not what a shell could split (No closing quotation)"),
        ({"FUSEBENCH_OPTIONS": "--bogus"}, "No such option"),
        ({"FUSEBENCH_RESULTS": "no-such-folder"}, "no-such-folder does not exist"),
        ({"FUSEBENCH_RESULTS": "--help"}, "--help does not exist"),
    ],
)
def test_what_keeps_it_from_judging_is_in_every_report_and_the_summary(judged, tmp_path, given, told):
    """Else the comment of an earlier push stays, and looks like this one's."""
    done, outputs = judged(1.0, **given)
    assert done.returncode == 64
    assert outputs == {"exit-code": "64", "verdict": "not judged", "report": str(tmp_path / "report" / "comment.md")}
    for file in ("report/comment.md", "report/findings.json", "report/junit.xml", "summary.md"):
        assert told in (tmp_path / file).read_text(encoding="utf-8"), file


@pytest.mark.parametrize("missing", ["FUSEBENCH_BASE", "FUSEBENCH_RESULTS"])
def test_what_has_to_be_given_is_named(judged, missing):
    done, outputs = judged(1.0, **{missing: ""})
    assert (done.returncode, outputs) == (64, {})
    assert "base, head and results have to be given" in done.stdout


def test_the_report_is_posted_or_left_in_the_summary(judged, runner, tmp_path):
    report = judged(1.5)[1]["report"]
    (tmp_path / "summary.md").unlink()
    token = {"GITHUB_TOKEN": "", "GITHUB_REPOSITORY": "owner/project"}
    done, _ = runner("Comment", REPORT=report, NUMBER="12", MARKER="report", **token)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "summary.md").read_text().strip() == Path(report).read_text().strip()


@pytest.mark.parametrize(
    ("fail_on", "code", "expected"),
    [
        ("worse", "0", 0),
        ("worse", "1", 1),
        ("worse", "2", 2),
        ("worse", "3", 3),
        ("failed", "1", 0),
        ("failed", "2", 2),
        ("failed", "3", 0),
        ("never", "2", 0),
        ("nonsense", "0", 64),
        ("worse", "", 64),
    ],
)
def test_what_fails_the_step_is_what_was_asked(runner, fail_on, code, expected):
    assert runner("Answer", FAIL_ON=fail_on, CODE=code)[0].returncode == expected


def test_the_comment_is_asked_for_only_on_a_pull_request_and_after_a_judgement():
    condition = STEPS["Comment"]["if"]
    for part in ("!cancelled()", "inputs.comment == 'true'", "github.event.pull_request.number", "outputs.report"):
        assert part in condition
