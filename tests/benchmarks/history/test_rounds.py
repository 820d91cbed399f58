"""Rounds of a history: in which order commits are visited, and what an end in between leaves to do."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.ruler.commits import visit_process, wheels
from benchmarks.ruler.commits.visit import planned_sweep
from benchmarks.ruler.errors import RulerError, UnknownCommit, WheelFailed
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.history import __main__ as history
from benchmarks.ruler.history.milestones import Milestone
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.provenance import Commit
from benchmarks.ruler.sweep.interruption import run_command

ROOT = Path(__file__).parents[3]
MILESTONES = [
    Milestone(commit=Commit(hash=letter * 40, date="2026-01-01", subject=letter), what=letter) for letter in "abc"
]


@pytest.fixture
def visits(monkeypatch):
    """Visits that the rounds ask for, as (commit, last visit, visits in the end)."""
    seen = []

    def visit(milestone, settings, *, n_visits):
        seen.append((milestone.what, settings.last_visit, n_visits))
        return "2 ok\n"

    monkeypatch.setattr(history, "_visit", visit)
    return seen


def test_each_round_visits_every_commit_once_and_every_other_round_leads_back(visits):
    assert history.measure_rounds(MILESTONES, Settings(), n_visits=3)
    assert visits == [(what, i + 1, 3) for i, way in enumerate(("abc", "cba", "abc")) for what in way]


def test_what_lacks_visits_in_the_end_is_said(monkeypatch, capsys):
    monkeypatch.setattr(history, "_visit", lambda *_, **__: "a step\n3 ok, 1 groups lack a visit\n")
    assert not history.measure_rounds(MILESTONES[:2], Settings(), n_visits=2)
    said = capsys.readouterr().out
    assert "2 commits lack visits; the same command makes them." in said
    assert "a step" not in said


@pytest.mark.parametrize(("failed_at", "is_whole"), [(1, True), (2, False)])
def test_a_visit_that_fails_leaves_the_other_commits_theirs_and_the_next_one_makes_up_for_it(
    monkeypatch, capsys, failed_at, is_whole
):
    seen = []

    def visit(milestone, settings, **_):
        seen.append((milestone.what, settings.last_visit))
        if seen[-1] == ("b", failed_at):
            raise RulerError("bbbbbbbb (b): killed")
        return "3 ok\n"

    monkeypatch.setattr(history, "_visit", visit)
    assert history.measure_rounds(MILESTONES, Settings(), n_visits=2) is is_whole
    assert [what for what, _ in seen] == ["a", "b", "c", "c", "b", "a"]
    said = capsys.readouterr().out
    assert "the visit failed: bbbbbbbb (b): killed" in said
    assert ("1 commits lack visits; the same command makes them." in said) is not is_whole


def test_what_fails_at_every_commit_ends_the_history(monkeypatch):
    seen = []

    def visit(milestone, *_, **__):
        seen.append(milestone.what)
        raise RulerError("no space left")

    monkeypatch.setattr(history, "_visit", visit)
    with pytest.raises(RulerError, match="no space left"):
        history.measure_rounds(MILESTONES, Settings(), n_visits=5)
    assert seen == ["a", "b", "c"]


def test_a_milestone_that_was_right_is_not_checked_again_and_one_that_was_not_is(monkeypatch, tmp_path, capsys):
    said = {"a": "30 ok\n", "b": "29 ok, 1 timed_out\n  fused at mlp: timed_out: gave no sign\n"}
    seen = []

    def visit(commit, _, *, n_visits, label, options, **__):
        assert options == ["--check"]
        seen.append(commit.subject)
        return said[commit.subject]

    monkeypatch.setattr(visit_process, "made_visit", visit)
    monkeypatch.setattr(visit_process, "installed_wheel", lambda commit: tmp_path / commit.hash[:1] / "site")
    for _ in range(2):
        history.prepare(MILESTONES[:2], Settings())
    assert seen == ["a", "b", "b"]
    assert capsys.readouterr().out.count("aaaaaaaa (a): 30 ok\n") == 2


def test_a_visit_that_fails_ends_the_history_with_its_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(visit_process, "installed_wheel", lambda _: tmp_path)
    with pytest.raises(
        RulerError, match=r"aaaaaaaa \(a\): visit: the installed fused_mlp is that of .*not of aaaaaaaaaaaa"
    ):
        history._visit(MILESTONES[0], Settings(data_dir=tmp_path, machine="cpu-x"), n_visits=1)


def test_another_commits_wheel_is_not_measured_as_this_one():
    with pytest.raises(UnknownCommit, match="and not of bbbbbbbbbbbb"):
        planned_sweep(Settings(is_uncommitted=True), commit="b" * 40, n_visits=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--machine", "a/b"], "--machine a/b: a name without / is needed"),
        (["--machine", "x", "--milestones", "gone.toml"], "gone.toml: cannot be read"),
        (["--machine", "x", "--axes", "none"], "no axes are called 'none'"),
        (["--machine", "x", "--also", "nothing"], "git knows no commit 'nothing'"),
        ([], "Missing option '--machine'"),
    ],
)
def test_a_mistake_is_named_before_anything_is_built(monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(history, "prepare", lambda *_: pytest.fail("something was built"))
    monkeypatch.setattr(sys, "argv", ["history", *arguments])
    with pytest.raises(SystemExit) as ended:
        run_command(history.main, name="history")
    assert ended.value.code == ExitCode.WRONG_USAGE
    assert said in capsys.readouterr().err


def test_a_history_that_is_interrupted_says_how_to_go_on_and_ends_as_the_signal_does(monkeypatch, capsys):
    def measured(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(history, "prepare", measured)
    monkeypatch.setattr(sys, "argv", ["history", "--machine", "x", "--commits", "HEAD"])
    with pytest.raises(SystemExit) as ended:
        run_command(history.main, name="history")
    assert ended.value.code == 128 + signal.SIGTERM
    assert "Interrupted (SIGTERM)" in capsys.readouterr().out


def test_a_wheel_that_cannot_be_made_is_named_and_leaves_nothing_behind(monkeypatch, tmp_path):
    def extract(_, folder):
        folder.mkdir()
        (folder / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'gone'\n")

    monkeypatch.setattr(wheels, "_extract", extract)
    with pytest.raises(WheelFailed, match=r"no wheel could be made of aaaaaaaaaaaa \(a\):\n"):
        wheels.installed_wheel(MILESTONES[0].commit, builds=tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    monkeypatch.undo()
    with pytest.raises(WheelFailed, match="git gives no files of"):
        wheels.installed_wheel(MILESTONES[0].commit, builds=tmp_path)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_commits_are_measured_through_their_own_wheels_and_a_killed_history_goes_on(tmp_path):
    """One shape of two commits, killed after the first lines, then run to its end; nothing twice, nothing lost."""
    axes = tmp_path / "axes.toml"
    axes.write_text(
        'operations = ["mlp"]\nproviders = ["eager", "fused"]\nbatches = [8]\nhiddens = [32]\nbudget_s = 0.05'
    )
    hashes = [
        subprocess.run(["git", "rev-parse", name], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for name in ("HEAD~1", "HEAD")
    ]
    listed = tmp_path / "milestones.toml"
    listed.write_text("".join(f'[[milestone]]\ncommit = "{name}"\nwhat = "{name[:8]}"\n' for name in hashes))
    command = [sys.executable, "-m", "benchmarks.ruler.history", "--machine", "testbox", "--axes", str(axes)]
    command += ["--visits", "2", "--milestones", str(listed), "--data", str(tmp_path / "data")]
    journals = tmp_path / "data" / "journal" / "cpu-testbox"
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("round 1 of 2"):
                process.kill()
                break
    before = {path.name: path.read_bytes() for path in journals.glob("*.jsonl")}
    assert len(before) >= 1
    subprocess.run(command, cwd=ROOT, check=True)
    for name, content in before.items():
        assert (journals / name).read_bytes().startswith(content)
    for name in hashes:
        (journal,) = journals.glob(f"{name[:8]}-py*-cpu-t1.jsonl")
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        assert {line["run"]["commit"] for line in lines} == {name}
        # A line may stand there again: with another floor, as ceilings that a point beats are measured once more, or
        # with a visit judged anew, as the machine has been seen faster since.
        visits = {tuple(visit["median_s"] for visit in line["visits"]) for line in lines if line["kind"] == "timing"}
        assert Counter(map(len, visits)) == {1: 2, 2: 2}
    before = {path.name: path.read_bytes() for path in journals.glob("*.jsonl")}
    subprocess.run(command, cwd=ROOT, check=True)
    assert {path.name: path.read_bytes() for path in journals.glob("*.jsonl")} == before
