"""FUSEBENCH_DATA names the folder of record and its database to every command, whatever it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.measuring import tower
from results.commands.show import show
from results.commands.store import store
from results.database.urls import url_from_text
from results.exit_codes import ExitCode


@pytest.fixture
def data(tmp_path, monkeypatch, journals):
    """A folder of record that FUSEBENCH_DATA names, with journals and without a database; we are elsewhere."""
    folder = tmp_path / "x"
    journals.write_journals(folder, journals.history(1, operations=("mlp",)))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.delenv("FUSEBENCH_DB", raising=False)
    monkeypatch.setenv("FUSEBENCH_DATA", str(folder))
    return folder


def code_of(command, *arguments):
    return CliRunner().invoke(command, list(arguments), standalone_mode=False, catch_exceptions=False).return_value


def test_what_is_stored_below_it_is_shown_from_there(data):
    assert code_of(ingest) == ExitCode.FINE
    assert (data / "fusebench.db").is_file()
    assert code_of(show) == ExitCode.FINE
    assert not list(Path.cwd().iterdir())


def test_commands_that_measure_and_commands_that_read_mean_the_same_database(data, monkeypatch, tmp_path):
    for named in (None, str(tmp_path / "other.db")):
        if named:
            monkeypatch.setenv("FUSEBENCH_DB", named)
        place = tower.place_of(tmp_path, is_recorded=True)
        assert place.data == data
        assert url_from_text(None) == url_from_text(place.db)
        assert url_from_text(None).database == (named or str(data / "fusebench.db"))
    assert url_from_text("given.db").database == "given.db"


def test_a_relative_folder_is_below_the_current_one(data, monkeypatch):
    monkeypatch.setenv("FUSEBENCH_DATA", "y")
    assert url_from_text(None).database == str(Path.cwd() / "y" / "fusebench.db")


def test_traces_are_removed_below_it(data):
    code_of(ingest)
    assert code_of(store, "retain-traces", "--keep", "1", "--dry-run") == ExitCode.FINE


def test_decisions_are_written_and_read_and_taken_back_below_it(data, journals):
    commit = journals.history(1, operations=("mlp",))[0].commit
    code_of(ingest)
    assert code_of(store, "acknowledge", commit, "--note", "known") == ExitCode.FINE
    assert not list(Path.cwd().iterdir())
    assert 'note = "known"' in (data / "decisions.toml").read_text()
    assert code_of(ingest, "--rebuild") == ExitCode.FINE  # which refuses to lose a decision
    assert code_of(store, "acknowledge", commit, "--undo") == ExitCode.FINE
    assert "[[withdrawal]]" in (data / "decisions.toml").read_text()


def test_without_it_decisions_are_of_the_checkout_and_a_file_that_is_named_comes_first(data, monkeypatch, journals):
    commit = journals.history(1, operations=("mlp",))[0].commit
    db = str(data / "fusebench.db")
    code_of(ingest)
    named = Path("kept", "decisions.toml")
    assert code_of(store, "acknowledge", commit, "--file", str(named)) == ExitCode.FINE
    assert named.is_file()
    monkeypatch.delenv("FUSEBENCH_DATA")
    assert code_of(store, "acknowledge", commit, "--db", db) == ExitCode.FINE
    assert Path("results/data/published/decisions.toml").is_file()
    assert not (data / "decisions.toml").exists()
