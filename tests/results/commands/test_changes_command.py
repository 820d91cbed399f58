"""`fusebench changes` as a user runs it."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
from dataclasses import replace

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging.changes import changes
from results.exit_codes import ExitCode
from results.store import open_store

FIRST_BAD = 14


@pytest.fixture(scope="module")
def run_changes(tmp_path_factory, journals):
    """Run the command on twenty commits, of which the fused mlp is slower from the fifteenth on."""
    folder = tmp_path_factory.mktemp("changes")
    sweeps = journals.history(20, operations=("linear", "mlp"))
    slow = {("mlp", "fused"): 1.3}
    sweeps = [replace(one, slowdowns=slow) if i >= FIRST_BAD else one for i, one in enumerate(sweeps)]
    journals.write_journals(folder / "data", sweeps)
    runner, db = CliRunner(), str(folder / "changes.db")
    with contextlib.chdir(folder):
        runner.invoke(ingest, [str(folder / "data"), "--db", db], standalone_mode=False)

    def run(*arguments):
        with contextlib.chdir(folder):
            return runner.invoke(changes, [*arguments, "--db", db], standalone_mode=False)

    run.commit = journals.commit_hash
    return run


def test_a_slowdown_is_told_once_with_its_range(run_changes):
    answer = run_changes()
    assert answer.return_value == ExitCode.FINE
    assert f"{run_changes.commit(FIRST_BAD - 1)[:8]}..{run_changes.commit(FIRST_BAD)[:8]}" in answer.stdout
    assert "1 finding in" in answer.stdout
    assert "4 of 4" in answer.stdout
    assert "+30.0 %" in answer.stdout
    assert "what 8 control series share is taken out" in answer.stdout


def test_json_has_the_fields_of_a_finding(run_changes):
    answer = json.loads(run_changes("--format", "json").stdout)
    [found] = answer["findings"]
    assert {"benchmark", "metric", "points", "last_good", "first_bad", "ratio", "interval", "state", "class"} <= set(
        found
    )
    assert (found["benchmark"], found["metric"], found["state"], found["class"]) == (
        "mlp",
        "latency_s",
        "confirmed",
        "code",
    )
    assert len(found["points"]) == 4
    [place] = answer["places"]
    assert (place["n_commits"], place["n_controls"]) == (20, 8)


def test_a_selection_is_looked_at_alone(run_changes):
    assert "0 findings in" in run_changes("--where", "benchmark=linear").stdout
    assert run_changes("--where", "operation=mlp").stdout == run_changes("--where", "benchmark=mlp").stdout
    answer = run_changes("--where", "provider=fused").stdout
    assert "1 finding in" in answer
    assert "what 8 control series share is taken out" in answer, (
        "eager is no part of the selection, and still a control"
    )


def test_a_least_change_above_the_step_hides_it(run_changes):
    assert "0 findings in" in run_changes("--least-change", "0.5").stdout


def test_nothing_selected_is_told(run_changes):
    answer = run_changes("--where", "benchmark=unknown")
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "No stored series matches" in answer.stderr


def test_an_empty_store_says_how_to_fill_it(tmp_path):
    with open_store(str(tmp_path / "empty.db")):
        pass
    answer = CliRunner().invoke(changes, ["--db", str(tmp_path / "empty.db")], standalone_mode=False)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "store is empty" in answer.stderr


def test_controls_that_are_misspelt_or_too_few_are_told(tmp_path, monkeypatch, journals):
    journals.write_journals(tmp_path / "data", journals.history(3, providers=("fused",)))
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    runner.invoke(ingest, ["data", "--db", "c.db"], standalone_mode=False)

    def told(*patterns):
        named = [word for pattern in patterns for word in ("--control", pattern)]
        return runner.invoke(changes, [*named, "--db", "c.db"], standalone_mode=False).stderr

    assert told("calibration.*") == "--control calibration.* matches no benchmark here.\n"
    assert "--control names 4 series, too few to tell what the machine did (5 at one run)" in told("linear")
    assert not told("linear", "mlp")


@pytest.mark.parametrize(("n_commits", "is_short"), [(2, True), (7, True), (8, False)])
def test_a_history_too_short_for_any_finding_is_told(tmp_path, monkeypatch, journals, n_commits, is_short):
    """Five commits before a step and three from it on are the fewest that it is found in."""
    sweeps = journals.history(n_commits, operations=("linear",), providers=("eager", "fused"))
    slow = [replace(one, slowdowns={("linear", "fused"): 1.5}) for one in sweeps[5:]]
    journals.write_journals(tmp_path / "data", [*sweeps[:5], *slow])
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    runner.invoke(ingest, ["data", "--db", "c.db"], standalone_mode=False)
    text = " ".join(runner.invoke(changes, ["--db", "c.db"], standalone_mode=False).stdout.split())
    assert ("8 series with fewer than 8 measured commits, too few to find a change in" in text) is is_short
    assert ("1 finding in" in text) is not is_short
    told = json.loads(runner.invoke(changes, ["--db", "c.db", "--format", "json"], standalone_mode=False).stdout)
    [place] = told["places"]
    assert (place["n_short"], place["n_unsuspected"]) == ((8, 0) if is_short else (0, 8))


@pytest.mark.parametrize(("n_commits", "is_suspected"), [(60, False), (61, True)])
def test_a_newest_value_that_no_history_of_that_length_lets_be_suspected_is_told(
    tmp_path, monkeypatch, write_asv_run, timed, n_commits, is_suspected
):
    noise = [1 + 0.01 * math.sin(7 * i * i) for i in range(n_commits - 1)]
    for i, factor in enumerate([*noise, 1.5]):
        commit = f"{i:08x}{0:032x}"
        write_asv_run(
            tmp_path / "tree", {"s.time_it": timed(factor)}, commit=commit, date=1_700_000_000_000 + i * 86_400_000
        )
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    runner.invoke(ingest, ["tree", "--db", "c.db"], standalone_mode=False)
    text = " ".join(runner.invoke(changes, ["--db", "c.db"], standalone_mode=False).stdout.split())
    assert ("Regressions, suspected" in text) is is_suspected
    assert ("1 series with 60 measured commits or fewer: their newest value alone is never suspected" in text) is (
        not is_suspected
    )


def test_what_failed_since_is_counted_and_told(tmp_path, monkeypatch, journals):
    sweeps = journals.history(6, operations=("linear",))
    broken = {("linear", "fused"): "crashed", ("linear", "compiled"): "crashed"}
    ended = [replace(one, states=broken) if i == len(sweeps) - 1 else one for i, one in enumerate(sweeps)]
    journals.write_journals(tmp_path / "data", ended)
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    runner.invoke(ingest, ["data", "--db", "c.db"], standalone_mode=False)
    text = " ".join(runner.invoke(changes, ["--db", "c.db"], standalone_mode=False).stdout.split())
    assert "8 series that worked once failed when last measured" in text
    narrowed = ["--where", "provider=fused", "--db", "c.db", "--format"]
    [place] = json.loads(runner.invoke(changes, [*narrowed, "json"], standalone_mode=False).stdout)["places"]
    assert (place["n_failed"], place["n_without_ratio"]) == (4, 0)
    assert "4 series that worked once failed" in runner.invoke(changes, [*narrowed, "markdown"]).stdout


@pytest.mark.parametrize("dates", [[1_700_000_000_000] * 20, [None] * 20])
def test_that_the_order_of_commits_is_a_guess_is_told_until_a_repository_tells_it(
    tmp_path, monkeypatch, write_asv_run, timed, dates
):
    def git(*arguments):
        settings = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *settings, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
    git("init", "-q", "repository")
    for i, date in enumerate(dates):
        git("-C", "repository", "commit", "-q", "--allow-empty", "-m", f"number {i}")
        commit = git("-C", "repository", "rev-parse", "HEAD")
        write_asv_run("tree", {"s.time_it": timed(1.5 if i >= 10 else 1.0)}, commit=commit, date=date)
    runner = CliRunner()

    def told(*arguments):
        return " ".join(runner.invoke(changes, ["--db", "c.db", *arguments], standalone_mode=False).stdout.split())

    runner.invoke(ingest, ["tree", "--db", "c.db"], standalone_mode=False)
    for report_format in ("text", "markdown"):
        assert "The order of 20 commits is not known" in told("--format", report_format)
    assert json.loads(told("--format", "json"))["places"][0]["n_unordered"] == 20
    runner.invoke(ingest, ["tree", "--repository", "repository", "--db", "c.db"], standalone_mode=False)
    assert "is not known" not in told()
    assert "1 finding in" in told()


def test_how_to_tell_the_better_direction_is_told_until_it_is(tmp_path, monkeypatch, write_asv_run):
    for i in range(20):
        column = {"result": [100.0 + i % 3 if i < 10 else 80.0 + i % 3], "params": [], "version": "v"}
        names = ("s.track_items", "s.track_other") if i % 2 else ("s.track_items",)
        moment = 1_700_000_000_000 + i * 86_400_000
        write_asv_run(tmp_path / "tree", dict.fromkeys(names, column), commit=f"{i:08x}{0:032x}", date=moment)
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    runner.invoke(ingest, ["tree", "--db", "c.db"], standalone_mode=False)
    told = "higher or lower is better of s.track_items, so a change is no regression: `better` of"
    assert told in runner.invoke(changes, ["--db", "c.db"], standalone_mode=False).stdout
    (tmp_path / "pyproject.toml").write_text("[[tool.fusebench.threshold]]\nbenchmark = 's.*'\nbetter = 'higher'\n")
    text = runner.invoke(changes, ["--db", "c.db"], standalone_mode=False).stdout
    assert told not in text
    assert "Regressions" in text


def test_a_slowdown_whose_ruler_ended_says_that_nothing_tells_whether_it_is_there(journal_store, journals):
    sweeps = journals.history(20, operations=("mlp",), batches=(1,), hiddens=(256,), ruler_version="4")
    slow = [replace(one, slowdowns={("mlp", "fused"): 1.5}) for one in sweeps[8:14]]
    newer = [replace(one, ruler_version="5") for one in sweeps[14:]]
    for sweeps_of_both, is_told in (([*sweeps[:8], *slow, *newer], True), ([*sweeps[:8], *slow], False)):
        store = journal_store(sweeps_of_both)
        answer = CliRunner().invoke(changes, ["--format", "json", "--db", store.name], standalone_mode=False)
        [found] = json.loads(answer.stdout)["findings"]
        told = f"ruler 4 measured it last at {journals.commit_hash(13)[:8]}, and another since"
        assert (told in found["why"]) is is_told
