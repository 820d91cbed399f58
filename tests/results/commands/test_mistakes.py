"""What people mistype, and what the commands answer: no traceback, what was meant, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fusebench

WRONG_USAGE = fusebench.ExitCode.WRONG_USAGE


@pytest.fixture
def stored(tmp_path, journals, journal_store):
    """The database of a small history."""
    return journal_store(journals.history(2)).name


@pytest.fixture
def typed(monkeypatch, tmp_path, capfd):
    """Type `fusebench …` in an empty folder: the exit code and all that was said."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FUSEBENCH_DB", raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["fusebench", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            fusebench.main()
        streams = capfd.readouterr()
        said = streams.out + streams.err
        assert "Traceback" not in said
        return ended.value.code, said

    return run


def test_merging_what_is_not_there_leaves_no_database_behind(typed, tmp_path):
    code, said = typed("store", "merge", "other.db")
    assert code == WRONG_USAGE
    assert "no database at other.db" in said
    assert list((tmp_path / "here").iterdir()) == []


def test_an_export_into_a_folder_that_is_not_there_is_told_so(typed, stored, tmp_path):
    code, said = typed("export", "--db", stored, "--output", tmp_path / "nowhere" / "points.csv")
    assert code == WRONG_USAGE
    assert "no folder" in said


def test_an_export_where_nothing_may_be_written_names_the_file(typed, stored):
    code, said = typed("export", "--db", stored, "--output", "/proc/points.csv")
    assert code == fusebench.ExitCode.FAILED
    assert "/proc/points.csv cannot be written" in said


@pytest.mark.parametrize("report", [("--report", "json=/proc/gate.json"), ("--format", "github")])
def test_a_report_that_cannot_be_written_is_named_and_no_regression(typed, stored, journals, monkeypatch, report):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/proc/summary.md")
    base, head = (journals.commit_hash(i) for i in range(2))
    code, said = typed("gate", "--base", base, "--head", head, "--db", stored, *report)
    assert code == fusebench.ExitCode.FAILED
    assert ".json cannot be written" in said or "summary.md cannot be written" in said


def test_two_reports_in_one_file_are_wrong_usage(typed, stored):
    code, said = typed("changes", "--db", stored, "--report", "json=it", "--report", "junit=./it")
    assert code == WRONG_USAGE
    assert "./it is to hold another report" in said
    assert not Path("it").exists()


def test_an_export_has_the_format_its_name_ends_with(typed, stored, tmp_path):
    path = tmp_path / "points.json"
    assert typed("export", "--db", stored, "--output", path)[0] == fusebench.ExitCode.FINE
    assert path.read_text(encoding="utf-8").startswith("[")
    assert typed("export", "--db", stored, "--output", path, "--format", "csv")[0] == fusebench.ExitCode.FINE
    assert path.read_text(encoding="utf-8").startswith("project,")


def test_a_gate_between_a_commit_and_itself_is_wrong_usage(typed, stored, journals):
    commit = journals.commit_hash(0)
    code, said = typed("gate", "--db", stored, "--base", commit[:8], "--head", commit)
    assert code == WRONG_USAGE
    assert "name two commits" in said


def test_acknowledging_a_commit_that_nobody_knows_is_wrong_usage(typed, stored):
    code, said = typed("store", "acknowledge", "nonsense", "--db", stored)
    assert code == WRONG_USAGE
    assert "knows nonsense" in said


def test_traces_are_not_looked_for_in_a_folder_that_is_not_there(typed, stored):
    code, said = typed("store", "retain-traces", "nowhere", "--keep", 1, "--db", stored)
    assert code == WRONG_USAGE
    assert "nowhere is not a folder" in said


@pytest.mark.parametrize("command", [name for name in fusebench.COMMANDS if name not in {"run", "store"}])
def test_the_help_of_every_command_shows_how_to_type_it(typed, command):
    code, said = typed(command, "--help")
    assert code == fusebench.ExitCode.FINE
    assert said.count(f"fusebench {command}") >= 2  # the usage line, and an example at least
    # These take their database from the environment, as run does; fleet's own commands say it each.
    if command not in {"ab", "advise", "article", "bisect", "doctor", "fleet"}:
        assert "[default: FUSEBENCH_DB, else" in " ".join(said.split())


@pytest.mark.parametrize(
    "words", [("gate", "--base", "HEAD~1", "--least-change", "nan"), ("store", "retain-traces", "--older-than", "nan")]
)
def test_what_is_no_number_is_no_limit(typed, words):
    code, said = typed(*words)
    assert code == WRONG_USAGE
    assert "not a number" in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [("show",), ("export",), ("status",)])
def test_an_output_on_a_full_disk_is_named_and_fails(stored, words):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, fusebench.__file__, *words, "--db", stored]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (fusebench.ExitCode.FAILED, 1)
    assert "cannot be written: No space left on device" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_where_the_reason_cannot_be_written_either_it_is_still_no_regression(stored):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, fusebench.__file__, "show", "--db", stored]
        done = subprocess.run(command, stdout=full, stderr=full, check=False)
    assert done.returncode == fusebench.ExitCode.FAILED


@pytest.mark.parametrize(
    "words",
    [
        ("show", ""),
        ("show", " "),
        ("gate", "--base", "", "--head", "HEAD"),
        ("explain", "", "HEAD"),
        ("store", "acknowledge", ""),
    ],
)
def test_an_empty_revision_is_told_as_such(typed, stored, words):
    code, said = typed(*words, "--db", stored)
    assert code == WRONG_USAGE
    assert "the revision is empty; name a commit, a branch or a tag" in said


@pytest.mark.parametrize("where", ["batch", "=1"])
def test_a_selection_that_is_none_is_told_before_a_commit_that_is_not_stored(typed, stored, where):
    code, said = typed("store", "acknowledge", "f" * 40, "--where", where, "--db", stored)
    assert code == WRONG_USAGE
    assert "measure it" not in said


@pytest.mark.parametrize("folder", ["file", "file/below", "/proc"])
def test_decisions_that_cannot_be_written_are_named_and_nothing_is_known(typed, stored, journals, tmp_path, folder):
    (tmp_path / "file").touch()
    file = tmp_path / folder / "decisions.toml"  # an absolute folder stays as it is
    code, said = typed("store", "acknowledge", journals.history(2)[1].commit, "--db", stored, "--file", file)
    assert code == fusebench.ExitCode.FAILED
    assert f"{file} cannot be written" in said
    assert "nothing was written, name another with --file" in said
