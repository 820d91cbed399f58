"""`fusebench ab` with a measuring half that was made up: looks, what is measured again, what comes of it."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import click
import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from results.commands.measuring import ab as module
from results.commands.measuring.ab import LOOKS, ab
from results.exit_codes import ExitCode

A, B = "a" * 40, "b" * 40
OPERATIONS = ("linear", "mlp", "gated_mlp")
OTHER_STACK = "torch==2.12.0"
SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "findings.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def compared(monkeypatch, tmp_path, journals):
    """Run `ab` on two commits; `noise` of a visit and `slowdown` of the head by (operation, batch)."""
    asked = []

    def run(*arguments, noise=0.01, slowdown=None, wild=(), states=None, code=0, head=B):
        rng = np.random.default_rng(3)
        data = tmp_path / "data"
        slowdown = slowdown or {}
        sweep = journals.Sweep(providers=("eager", "fused"), ruler_version="3", batches=(1, 16, 64, 256))
        sweep = replace(sweep, states=states or {})
        drawn = {}

        def measure(command, folder, environ, *, stdout):
            options = dict(itertools.pairwise(command))
            n_rounds = int(options["--rounds"])
            only = json.loads(Path(options["--only"]).read_text()) if "--only" in options else None
            asked.append((n_rounds, only, "--again" in command))
            sides = sides_of(command)
            # HEAD may move meanwhile; what was begun stays what it is.
            ends = f"{sides[0][1]},{sides[-1][1]}"
            assert ("--pinned" in command) == (n_rounds > LOOKS[0])
            assert options.get("--pinned", ends) == ends
            for side, commit, _ in sides:
                lines = journals.lines_of(replace(sweep, commit=commit, run_id=f"ab-{side}"))
                path = data / "journal" / "m" / f"{side}-{n_rounds}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                chosen = [line for line in lines if only is None or any(is_of(line["point"], each) for each in only)]
                path.write_text("".join(json.dumps(visited(line, side, n_rounds)) + "\n" for line in chosen))
            told = [{"commit": at, "run": f"ab-{name}", "stack": stack} for name, at, stack in sides]
            Path(options["--selection"]).write_text(json.dumps({"sides": told}))
            return code

        def sides_of(command):
            if "--stack" not in command:
                return [("base", A, "present"), ("head", head, "present")]
            commits = [("base", A), ("head", head)] if "BASE" in command else [("head", head)]
            return [
                (f"{name}-{number}", commit, stack)
                for number, stack in enumerate(("present", OTHER_STACK))
                for name, commit in commits
            ]

        def is_of(point, shape):
            return all(point[name] == value for name, value in shape.items())

        def visited(line, side, n_rounds):
            # A later line of the same point counts.
            line["measured_at"] = re.sub(r":05:", f":{5 + n_rounds:02}:", line["measured_at"])
            if line["kind"] != "timing" or line["state"] != "ok":
                return line
            point = line["point"]
            name = (point["operation"], point["batch"])
            own = noise * (20 if name in wild and point["provider"] == "fused" else 1)
            medians = drawn.setdefault((side, *point.values()), [])
            while len(medians) < n_rounds:
                medians.append(line["latency_s"] * float(np.exp(rng.normal(0, own))))
            factor = slowdown.get(name, 1) if (side[:4], point["provider"]) == ("head", "fused") else 1
            visits = [{"median_s": factor * one, "n_samples": 6, "measured_at": None} for one in medians]
            return line | {"visits": visits, "latency_s": factor * float(np.median(medians))}

        monkeypatch.setattr(module.tower, "run_to_end", measure)
        monkeypatch.setattr(module, "require_modules", lambda *_, **__: None)
        monkeypatch.setenv("FUSEBENCH_DATA", str(data))
        monkeypatch.delenv("FUSEBENCH_DB", raising=False)
        return CliRunner().invoke(ab, list(arguments), standalone_mode=False), asked

    return run


def test_equal_commits_are_the_same_after_one_look(compared):
    answer, asked = compared("--format", "json", noise=0.003)
    assert answer.return_value == ExitCode.FINE, answer.output
    assert [n for n, *_ in asked] == [LOOKS[0]]
    told = json.loads(answer.stdout)
    assert told["compared"] == told["of_base"]
    assert told["verdicts"]["slower"] == told["verdicts"]["faster"] == 0


def test_a_slowdown_of_5_percent_is_found_where_it_is_and_nowhere_else(compared):
    slower = {("mlp", batch): 1.05 for batch in (1, 16, 64, 256)}
    answer, _ = compared("--format", "json", noise=0.003, slowdown=slower)
    assert answer.return_value == ExitCode.REGRESSION, answer.output
    worse = [change for change in json.loads(answer.stdout)["changes"] if change["verdict"] == "slower"]
    assert {(change["benchmark"], change["parameters"]["provider"]) for change in worse} == {("mlp", "fused")}
    assert len(worse) == 8
    for change in worse:
        low, high = change["interval"]
        assert low < change["ratio"] < high


def test_only_the_uncertain_is_measured_again_and_no_more_often_than_said(compared):
    answer, asked = compared("--again", noise=0.003, wild={("linear", 16)})
    assert answer.return_value == ExitCode.FINE, answer.output
    assert [n for n, *_ in asked] == list(LOOKS)
    assert [again for *_, again in asked] == [True, False, False]
    first, *others = [only for _, only, _ in asked]
    assert first is None
    for only in others:
        assert {(shape["operation"], shape["batch"]) for shape in only} == {("linear", 16)}
    assert "linear latency_s" in answer.stdout or "unchanged" in answer.stdout


AGAINST_ITSELF = "A/A: aaaaaaaa against itself. What differs is noise of this machine, and no change of the code."


@pytest.mark.parametrize("report_format", ["text", "markdown", "json", "junit", "github"])
@pytest.mark.parametrize("factor", [1, 1.05])
def test_one_commit_against_itself_is_told_as_such_whatever_is_found(compared, tmp_path, report_format, factor):
    slower = {("mlp", batch): factor for batch in (1, 16, 64, 256)}
    reports = ("--format", report_format, "--report", f"markdown={tmp_path / 'ab.md'}")
    answer, _ = compared(*reports, noise=0.003, slowdown=slower, head=A)
    assert answer.return_value == (ExitCode.FINE if factor == 1 else ExitCode.REGRESSION), answer.output
    is_in_words = report_format in {"text", "markdown"}
    assert answer.stdout.startswith(AGAINST_ITSELF) is is_in_words
    assert (AGAINST_ITSELF in answer.stderr) is (not is_in_words or factor != 1)
    assert (tmp_path / "ab.md").read_text().startswith(AGAINST_ITSELF)


def test_two_commits_and_two_stacks_are_no_comparison_with_itself(compared):
    for arguments in ((), ("--stack", OTHER_STACK)):
        assert "A/A" not in compared(*arguments, noise=0.003)[0].output


@pytest.mark.parametrize(
    "arguments", [(), ("--exact",), ("--stack", OTHER_STACK), ("BASE", "HEAD", "--stack", OTHER_STACK)]
)
def test_a_threshold_that_matches_nothing_is_told(compared, tmp_path, monkeypatch, arguments):
    settings = '[[tool.fusebench.threshold]]\nbenchmark = "{}"\nmetric = "latency_s"\nleast_change = 0.1\n'
    (tmp_path / "pyproject.toml").write_text(settings.format("mpl") + settings.format("mlp"))
    monkeypatch.chdir(tmp_path)
    told = compared(*arguments, noise=0.003)[0].stderr
    assert "threshold 1 (benchmark mpl, metric latency_s) matches no series here" in told
    assert "threshold 2" not in told


def test_why_it_does_not_pass_is_told_where_nothing_worked(compared):
    broken = {(operation, provider): "crashed" for operation in OPERATIONS for provider in ("eager", "fused")}
    answer, _ = compared(states=broken)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "nothing worked at either" in answer.stderr


@pytest.mark.parametrize("code", [64, 130, 143])
def test_a_measuring_half_that_fails_ends_it_with_its_code_and_is_reported(compared, tmp_path, code):
    answer, _ = compared("--report", f"json={tmp_path / 'ab.json'}", code=code)
    assert answer.return_value == code
    assert answer.stdout == ""
    told = json.loads((tmp_path / "ab.json").read_text())
    assert (told["command"], told["exit_code"]) == ("ab", code)
    assert f"exit code {code}" in told["why"]


def test_a_report_is_written_of_a_misused_ab(compared, tmp_path):
    report = tmp_path / "ab.md"
    answer, asked = compared("--exact", "--stack", OTHER_STACK, "--report", f"markdown={report}")
    assert isinstance(answer.exception, click.UsageError)
    assert answer.exception.message in report.read_text()
    assert not asked


def test_exact_metrics_take_one_look_of_two_rounds_and_no_slowdown_fails_them(compared):
    slower = {("mlp", batch): 1.5 for batch in (1, 16, 64, 256)}
    answer, asked = compared("--exact", "--format", "json", noise=0.003, slowdown=slower)
    assert answer.return_value == ExitCode.FINE, answer.output
    assert [n for n, *_ in asked] == [2]
    told = json.loads(answer.stdout)
    assert (told["findings"], told["floor"]) == ([], None)
    assert told["compared"] > 0


def test_a_comparison_of_stacks_is_as_its_schema_says(compared):
    answer, _ = compared("--stack", OTHER_STACK, "--format", "json", noise=0.003)
    told = json.loads(answer.stdout)
    assert told["stacks"] == ["present", OTHER_STACK]
    jsonschema.validate(told, {**SCHEMA, "$ref": "#/$defs/gate"})


@pytest.mark.parametrize("arguments", [(), ("BASE", "HEAD")])
def test_a_comparison_of_stacks_leaves_a_summary_and_says_why_it_does_not_pass(
    compared, tmp_path, monkeypatch, arguments
):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    broken = {(operation, provider): "crashed" for operation in OPERATIONS for provider in ("eager", "fused")}
    answer, _ = compared(*arguments, "--stack", OTHER_STACK, "--format", "github", states=broken)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "nothing worked at either" in answer.stderr
    assert OTHER_STACK in summary.read_text(encoding="utf-8")


def test_a_report_says_why_the_measuring_half_refused(tmp_path, monkeypatch):
    def refuse(command, folder, environ, *, stdout):
        options = dict(itertools.pairwise(command))
        Path(options["--selection"]).write_text(json.dumps({"why": "git knows no commit 'nope'"}))
        return 64

    report = tmp_path / "ab.json"
    monkeypatch.setattr(module, "require_modules", lambda *_, **__: None)
    monkeypatch.setattr(module.tower, "run_to_end", refuse)
    answer = CliRunner().invoke(ab, ["nope", "HEAD", "--report", f"json={report}"], standalone_mode=False)
    assert answer.return_value == ExitCode.WRONG_USAGE
    assert json.loads(report.read_text())["why"] == "git knows no commit 'nope'"
