from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import fusebench
from dashboard.command import opened
from results.errors import NoStore
from results.queries import commits


def run(monkeypatch, *arguments):
    """The exit code of `fusebench dashboard …`, run in this process."""
    monkeypatch.setattr(sys, "argv", ["fusebench", "dashboard", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        fusebench.main()
    return ended.value.code


def test_a_missing_database_is_an_error_that_says_what_to_do(monkeypatch, tmp_path, capsys):
    assert run(monkeypatch, "--db", tmp_path / "none.db", "--port", 0) == NoStore.exit_code
    assert "make bench" in capsys.readouterr().err


def test_a_file_that_is_no_database_is_an_error_that_names_it(monkeypatch, tmp_path, capsys):
    path = tmp_path / "notes.db"
    path.write_text("shopping: milk, bread, " * 500)
    assert run(monkeypatch, "--db", path, "--port", 0) == fusebench.ExitCode.FAILED
    assert "notes.db" in capsys.readouterr().err


def test_a_path_that_is_not_there_is_wrong_usage(monkeypatch, tmp_path, capsys):
    assert run(monkeypatch, tmp_path / "nowhere") == fusebench.ExitCode.WRONG_USAGE
    assert "nowhere" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_with_the_remedy(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(monkeypatch, "--port", port) == fusebench.ExitCode.WRONG_USAGE
    assert f"127.0.0.1 port {port}" in capsys.readouterr().err


def test_files_of_which_none_can_be_read_are_an_error_that_names_them(monkeypatch, tmp_path, capsys):
    journal = tmp_path / "journal" / "desk" / "abcdef01-py3.11-cpu-t2.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("this is no journal\n{}\n")
    assert run(monkeypatch, tmp_path, "--port", 0) == fusebench.ExitCode.FAILED
    assert "abcdef01" in capsys.readouterr().err


def test_the_dashboard_waits_three_seconds_for_whoever_has_the_database_to_himself(journal_store):
    name = journal_store().name
    with opened(None, name) as store, store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 3000


def test_a_path_is_shown_without_a_database_of_its_own(tmp_path, journals):
    journals.write_journals(tmp_path, journals.history(2))
    with opened(tmp_path, None) as store:
        assert len(commits(store)) == 2
        temporary = Path(store.name)
    assert not temporary.exists()


def test_a_path_with_a_database_is_kept_in_it(tmp_path, journals):
    journals.write_journals(tmp_path / "data", journals.history(2))
    with opened(tmp_path / "data", str(tmp_path / "kept.db")):
        pass
    with opened(None, str(tmp_path / "kept.db")) as store:
        assert len(commits(store)) == 2


def test_an_empty_folder_is_served_and_ended_without_a_trace(tmp_path):
    shown, temporary = tmp_path / "shown", tmp_path / "temporary"
    shown.mkdir()
    temporary.mkdir()
    command = [sys.executable, "-m", "fusebench", "dashboard", str(shown), "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            url = process.stdout.readline().split()[4]
            with contextlib.closing(urllib.request.urlopen(url, timeout=30)) as answer:  # noqa: S310 - our own
                assert "fusebench" in answer.read().decode()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == fusebench.ExitCode.FINE
    assert list(temporary.iterdir()) == []


def test_the_settings_that_pages_judge_by_are_told_and_so_is_what_does_nothing(monkeypatch, tmp_path, journals, capsys):
    journals.write_journals(tmp_path / "data", journals.history(2))
    monkeypatch.chdir(tmp_path)
    project = tmp_path / "pyproject.toml"
    project.write_text("[[tool.fusebench.threshold]]\nbenchmark = 'mlpp'\nleast_change = 0.2\n")
    monkeypatch.setattr("dashboard.command.serve", lambda *_, **__: None)
    assert run(monkeypatch, "data", "--port", 0) == 0
    told = capsys.readouterr()
    assert f"Changes are judged by [tool.fusebench] in {project}." in told.out
    assert "threshold 1 (benchmark mlpp) matches no series here" in told.err
    project.write_text("[tool.other]\n")
    assert run(monkeypatch, "data", "--port", 0) == 0
    assert "judged by" not in capsys.readouterr().out
    project.write_text("[tool.fusebench]\nleastchange = 1\n")
    assert run(monkeypatch, "data", "--port", 0) == fusebench.ExitCode.WRONG_USAGE
    assert "`leastchange` is no key here" in capsys.readouterr().err
