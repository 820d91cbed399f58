from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging.gate import gate
from results.exit_codes import ExitCode

A, B = "a" * 40, "b" * 40


@pytest.fixture
def run_gate(tmp_path, monkeypatch):
    """Run `fusebench gate` on the store that `folder` gives, outside of any git repository."""

    def run(folder, *others, base=A, head=B, report_format="text"):
        runner = CliRunner()
        db = str(tmp_path / "gate.db")
        monkeypatch.chdir(tmp_path)
        runner.invoke(ingest, [str(folder), "--db", db], standalone_mode=False)
        arguments = ["--base", base, "--head", head, "--format", report_format, "--db", db, *others]
        return runner.invoke(gate, arguments, standalone_mode=False)

    return run


@pytest.fixture
def two_commits(tmp_path, journals):
    """Journals of commit A, and of B with changes; the folder."""

    def write(**changes):
        base = journals.Sweep(commit=A)
        head = replace(base, commit=B, **changes)
        journals.write_journals(tmp_path / "data", [base, head])
        return tmp_path / "data"

    return write


def test_two_identical_measurements_pass(run_gate, two_commits):
    assert run_gate(two_commits()).return_value == ExitCode.FINE


def test_a_point_slowed_by_half_is_named_and_exits_1(run_gate, two_commits):
    answer = run_gate(two_commits(slowdowns={("mlp", "fused"): 1.5}))
    assert answer.return_value == ExitCode.REGRESSION
    table, _, reasons = answer.stdout.partition("Why:")
    assert table.count("mlp latency_s") == 4
    assert reasons.count("mlp latency_s") == 1
    assert "provider=fused" in answer.stdout
    assert "+50.0 %" in answer.stdout


def test_a_slowdown_measured_on_a_disturbed_machine_is_undecided_and_does_not_pass(run_gate, two_commits):
    folder = two_commits(slowdowns={("mlp", "fused"): 1.5}, disturbed="other processes used 0.9 cores")
    answer = run_gate(folder)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "Regressions" not in answer.stdout
    assert "4 undecided" in answer.stdout
    assert "other processes used 0.9 cores" in answer.stdout
    assert "fusebench ab aaaaaaaaaa bbbbbbbbbb" in answer.stdout
    assert "4 undecided" in answer.stderr
    assert "Nothing was measured" not in answer.stderr


def test_a_disturbed_machine_that_shows_no_slowdown_passes(run_gate, two_commits):
    assert run_gate(two_commits(disturbed="other processes used 0.9 cores")).return_value == ExitCode.FINE


def test_a_point_made_faster_passes_and_is_told(run_gate, two_commits):
    answer = run_gate(two_commits(slowdowns={("mlp", "fused"): 0.5}))
    assert answer.return_value == ExitCode.FINE
    assert "Better" in answer.stdout


def test_a_change_below_what_is_relevant_passes(run_gate, two_commits):
    assert run_gate(two_commits(slowdowns={("mlp", "fused"): 1.04})).return_value == ExitCode.FINE


def test_a_change_within_the_noise_passes(run_gate, two_commits):
    answer = run_gate(two_commits(slowdowns={("mlp", "fused"): 1.06}, noise=0.14))
    assert answer.return_value == ExitCode.FINE


def test_a_slowdown_of_a_time_known_to_no_better_than_5_percent_is_undecided_and_does_not_pass(run_gate, two_commits):
    answer = run_gate(two_commits(slowdowns={("mlp", "fused"): 1.5}, noise=0.18))
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only at the head" in answer.stdout
    assert "fusebench ab aaaaaaaaaa bbbbbbbbbb" in answer.stdout
    assert "4 undecided" in answer.stderr


def test_a_slowdown_that_such_a_noise_explains_is_told_and_passes(run_gate, two_commits):
    answer = run_gate(two_commits(slowdowns={("mlp", "fused"): 1.06}, noise=0.18))
    assert answer.return_value == ExitCode.FINE
    assert "4 undecided" in answer.stdout


@pytest.mark.parametrize("changes", [{"noise": 0.18}, {"disturbed": "other processes used 0.9 cores"}])
def test_a_speedup_in_doubt_is_undecided_and_passes(run_gate, two_commits, changes):
    """It may be no speedup, and no gate keeps from passing what looks better."""
    answer = run_gate(two_commits(slowdowns={("mlp", "fused"): 0.5}, **changes))
    assert answer.return_value == ExitCode.FINE
    assert "4 undecided" in answer.stdout
    assert "Better" not in answer.stdout


def test_other_suites_are_judged_by_the_intervals_they_come_with(run_gate, tmp_path, write_asv_run, timed):
    for commit, value in ((A, 2e-3), (B, 3e-3)):
        write_asv_run(tmp_path / "results", {"suite.time_it": timed(value, noise=0.08)}, commit=commit)
    assert run_gate(tmp_path / "results").return_value == ExitCode.REGRESSION


def test_a_point_gone_bad_exits_2_with_its_reason(run_gate, two_commits):
    answer = run_gate(two_commits(states={("mlp", "fused"): "crashed"}))
    assert answer.return_value == ExitCode.FAILED
    assert "crashed: fused is crashed in this test" in answer.stdout


def test_a_failure_comes_before_a_regression(run_gate, two_commits):
    answer = run_gate(two_commits(slowdowns={("linear", "fused"): 2.0}, states={("mlp", "fused"): "out_of_memory"}))
    assert answer.return_value == ExitCode.FAILED


def test_a_point_that_was_bad_at_the_base_already_is_no_failure(run_gate, tmp_path, journals):
    base = journals.Sweep(commit=A, states={("mlp", "fused"): "unavailable"})
    journals.write_journals(tmp_path / "data", [base, replace(base, commit=B)])
    assert run_gate(tmp_path / "data").return_value == ExitCode.FINE


@pytest.mark.parametrize("revision", ["d" * 40, "dddddddd"])
def test_an_unmeasured_commit_exits_3_and_says_what_measures_it(run_gate, two_commits, revision):
    answer = run_gate(two_commits(), head=revision)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert f"git checkout {revision} && {{ make bench;" in answer.stderr


def test_two_commits_measured_on_different_machines_are_not_comparable(run_gate, two_commits):
    answer = run_gate(two_commits(machine="elsewhere"))
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "same machine" in answer.stderr


def test_a_machine_that_changed_keeps_no_part_of_another_from_passing(run_gate, tmp_path, journals):
    """Where the first machine is asked for, what eager did on the second is neither told nor decisive."""
    calm = journals.Sweep(commit=A)
    slow = {(operation, provider): 1.3 for operation in calm.operations for provider in calm.providers}
    changed = [replace(calm, machine="bench-02"), replace(calm, machine="bench-02", commit=B, slowdowns=slow)]
    journals.write_journals(tmp_path / "data", [calm, replace(calm, commit=B), *changed])
    whole = run_gate(tmp_path / "data")
    assert whole.return_value == ExitCode.NOTHING_COMPARABLE
    assert "The machine or torch changed on bench-02" in whole.stdout
    part = run_gate(tmp_path / "data", "--where", "machine=bench-01")
    assert part.return_value == ExitCode.FINE
    assert "bench-02" not in part.stdout
    same = run_gate(tmp_path / "data", "--where", "machine=bench-02", "--where", "provider=fused")
    assert same.return_value == ExitCode.NOTHING_COMPARABLE, "control series count whether they are asked for or not"


def test_a_new_ruler_is_not_compared_with_the_old_one(run_gate, two_commits):
    answer = run_gate(two_commits(ruler_version="2", slowdowns={("mlp", "fused"): 3.0}))
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE


def test_a_name_that_nobody_knows_is_wrong_usage(run_gate, two_commits):
    answer = run_gate(two_commits(), head="no-such-branch")
    assert "no-such-branch" in str(answer.exception)
    assert answer.exception.exit_code == 2  # click's own; the front door makes it 64


def test_without_a_database_the_gate_says_how_to_get_one(tmp_path):
    arguments = ["--base", A, "--head", B, "--db", str(tmp_path / "none.db")]
    answer = CliRunner().invoke(gate, arguments)
    assert answer.exit_code == ExitCode.NOTHING_COMPARABLE
    assert "make bench" in answer.output
    assert not (tmp_path / "none.db").exists()


def test_an_operator_more_is_a_regression_however_small(run_gate, tmp_path, journals):
    sweep = journals.Sweep(operations=("mlp",), providers=("eager",), batches=(1,), hiddens=(256,))
    for commit, count in ((A, 40), (B, 41)):
        lines = journals.lines_of(replace(sweep, commit=commit))
        lines[-1]["operator_count"] = count
        path = tmp_path / "data" / f"{commit}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer = run_gate(tmp_path / "data")
    assert answer.return_value == ExitCode.REGRESSION
    assert "operator_count" in answer.stdout


class TestForeignTree:
    """A foreign asv tree with a single benchmark in seconds."""

    NAME = "suite.TimeIt.time_it"

    @pytest.mark.parametrize(
        ("factor", "expected"), [(1.0, ExitCode.FINE), (1.5, ExitCode.REGRESSION), (0.5, ExitCode.FINE)]
    )
    def test_the_gate_judges_it(self, run_gate, tmp_path, write_asv_run, timed, factor, expected):
        write_asv_run(tmp_path / "results", {self.NAME: timed(2e-3)}, commit=A)
        write_asv_run(tmp_path / "results", {self.NAME: timed(2e-3 * factor)}, commit=B)
        answer = run_gate(tmp_path / "results")
        assert answer.return_value == expected
        assert (self.NAME in answer.stdout) == (factor != 1.0)

    def test_an_unmeasured_commit_is_answered_with_asvs_own_command(self, run_gate, tmp_path, write_asv_run, timed):
        write_asv_run(tmp_path / "results", {self.NAME: timed(2e-3)}, commit=A)
        answer = run_gate(tmp_path / "results")
        assert answer.return_value == ExitCode.NOTHING_COMPARABLE
        assert f"asv run {B}^!" in answer.stderr

    @pytest.mark.parametrize(("factor", "expected"), [(1.5, ExitCode.NOTHING_COMPARABLE), (0.5, ExitCode.FINE)])
    def test_a_single_number_without_noise_is_uncertain(self, run_gate, tmp_path, write_asv_run, factor, expected):
        for commit, value in ((A, 1.0), (B, factor)):
            write_asv_run(tmp_path / "results", {self.NAME: {"result": [value], "params": []}}, commit=commit)
        answer = run_gate(tmp_path / "results")
        assert answer.return_value == expected
        assert "a single number at the head, of which no noise is known" in answer.stdout

    def test_a_benchmark_that_fails_now_exits_2(self, run_gate, tmp_path, write_asv_run, timed):
        write_asv_run(tmp_path / "results", {self.NAME: timed(1.0)}, commit=A)
        write_asv_run(tmp_path / "results", {self.NAME: {"params": [], "version": "v1"}}, commit=B)
        assert run_gate(tmp_path / "results").return_value == ExitCode.FAILED

    def test_a_track_value_of_unknown_direction_is_told_but_is_no_regression(self, run_gate, tmp_path, write_asv_run):
        for commit, value in ((A, 10.0), (B, 20.0)):
            write_asv_run(tmp_path / "results", {"suite.track_score": {"result": [value]}}, commit=commit)
        answer = run_gate(tmp_path / "results")
        assert answer.return_value == ExitCode.FINE
        assert "better direction unknown" in answer.stdout
        assert "of suite.track_score, so a change is no regression: `better` of a [[tool.fusebench.thr" in answer.stdout


def test_json_says_what_text_says(run_gate, two_commits):
    folder = two_commits(slowdowns={("mlp", "fused"): 1.5})
    said = json.loads(run_gate(folder, report_format="json").stdout)
    assert said["exit_code"] == 1
    assert said["counts"]["regression"] == len(said["changes"]) == 4
    assert {change["parameters"]["provider"] for change in said["changes"]} == {"fused"}
    assert said["changes"][0]["ratio"] == pytest.approx(1.5)


def test_junit_counts_a_regression_as_a_failure(run_gate, two_commits):
    folder = two_commits(slowdowns={("mlp", "fused"): 1.5}, states={("linear", "fused"): "crashed"})
    suite = ET.fromstring(run_gate(folder, report_format="junit").stdout)  # noqa: S314 - our own
    assert (suite.get("failures"), suite.get("errors")) == ("4", "4")
    assert len(suite.findall("testcase/failure")) == 4


def test_markdown_is_a_table_a_pull_request_can_show(run_gate, two_commits):
    said = run_gate(two_commits(slowdowns={("mlp", "fused"): 1.5}), report_format="markdown").stdout
    assert "### Regressions" in said
    assert "|---" in said


def test_a_workflow_gets_annotations_a_summary_and_files_from_one_call(run_gate, two_commits, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("What the step before said.\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    folder = two_commits(slowdowns={("mlp", "fused"): 1.5})
    reports = ("--report", "json=gate.json", "--report", f"markdown={tmp_path / 'comment.md'}")
    answer = run_gate(folder, *reports, report_format="github")
    assert answer.return_value == ExitCode.REGRESSION
    assert answer.stdout.startswith("::error title=mlp latency_s")
    assert summary.read_text() == "What the step before said.\n" + (tmp_path / "comment.md").read_text()
    assert json.loads((tmp_path / "gate.json").read_text())["exit_code"] == 1


@pytest.mark.parametrize("report", ["html=x", "markdown", "json=", "text=no/such/folder.txt"])
def test_a_report_that_cannot_be_written_is_refused_and_named(run_gate, two_commits, report):
    answer = run_gate(two_commits(), "--report", report)
    assert isinstance(answer.exception, click.UsageError)
    assert f"--report {report}" in answer.exception.message


def test_of_two_machines_the_base_is_to_be_measured_on_the_heads(run_gate, two_commits):
    """To measure the head again where it was measured would help nothing."""
    answer = run_gate(two_commits(machine="another"))
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "The base was not on another, " in answer.stderr
    assert f"`git checkout {A} && " in answer.stderr
