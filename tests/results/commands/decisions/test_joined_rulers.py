"""`fusebench store join` of two versions of the ruler: what they measure differently is then no longer told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from fusebench import cli
from results.exit_codes import ExitCode


@pytest.fixture
def fusebench(tmp_path, monkeypatch):
    """Run the real command outside of any repository, on a database of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "joined.db"))
    return lambda *arguments: CliRunner().invoke(cli, list(arguments), standalone_mode=False)


def test_what_joined_rulers_measure_differently_is_warned_of_once(fusebench, tmp_path, journals):
    first, second = journals.history(2, operations=("mlp",), batches=(1,), hiddens=(256,), ruler_version="4")
    journals.write_journals(tmp_path / "data", [first, replace(second, ruler_version="5")])
    fusebench("ingest", "data")
    answer = fusebench("store", "join", "mlp", "4", "5")
    assert answer.return_value == ExitCode.FINE
    assert answer.stderr == (
        "These are versions of the ruler: what 5 measures differently from 4 is now told as a change of the machine or "
        "of a commit.\n"
    )


def test_of_versions_of_a_suite_nothing_is_warned(fusebench, tmp_path, write_asv_run, timed):
    for number, commit in enumerate(("a" * 40, "b" * 40)):
        results = {"s.time_it": {**timed(1e-3), "version": f"version-{number}"}}
        write_asv_run(tmp_path / "tree", results, commit=commit)
    fusebench("ingest", "tree", "--project", "p")
    answer = fusebench("store", "join", "s.time_it", "version-0", "version-1")
    assert (answer.return_value, answer.stderr) == (ExitCode.FINE, "")


def test_a_join_is_undone_as_its_help_says(fusebench, tmp_path, journals):
    first, second = journals.history(2, operations=("mlp",), batches=(1,), hiddens=(256,), ruler_version="4")
    journals.write_journals(tmp_path / "data", [first, replace(second, ruler_version="5")])
    fusebench("ingest", "data")
    gate = ("gate", "--base", first.commit, "--head", second.commit)
    assert fusebench(*gate).return_value == ExitCode.NOTHING_COMPARABLE
    fusebench("store", "join", "mlp", "4", "5", "--file", "decisions.toml")
    assert fusebench(*gate).return_value == ExitCode.FINE
    words = " ".join(fusebench("store", "join", "--help").stdout.split())
    assert "take its [[continuation]] out of the file, leave the file itself there, and run" in words
    kept, _, _ = (tmp_path / "decisions.toml").read_text().partition("[[continuation]]")
    (tmp_path / "decisions.toml").write_text(kept)
    assert fusebench("ingest", "decisions.toml").return_value == ExitCode.FINE
    assert fusebench(*gate).return_value == ExitCode.NOTHING_COMPARABLE
