"""`fusebench explain` on an asv suite, of which nothing was profiled: which machine, and how it failed."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging.explain import explain

A, B = "a" * 40, "b" * 40


@pytest.fixture
def of_asv(tmp_path, monkeypatch, write_asv_run, timed):
    """Store an asv suite of commits A and B on two machines, one benchmark slower and one gone; explain it."""
    monkeypatch.chdir(tmp_path)
    for machine in ("desk", "rack"):
        slower = {"s.time_it": timed(3e-3), "s.ok": timed(1e-3)}
        for day, (commit, results) in enumerate(
            ((A, {name: timed(1e-3) for name in (*slower, "s.gone")}), (B, slower))
        ):
            date = 1_700_000_000_000 + day * 86_400_000
            write_asv_run(tmp_path / "tree", results, commit=commit, machine=machine, date=date)
    db = ("--db", str(tmp_path / "asv.db"))
    CliRunner().invoke(ingest, [str(tmp_path / "tree"), "--project", "p", *db], standalone_mode=False)
    return lambda *arguments: CliRunner().invoke(explain, [A, B, *arguments, *db], standalone_mode=False).stdout


def test_findings_of_several_machines_are_told_apart(of_asv):
    for text in (of_asv(), of_asv("--format", "markdown")):
        for name in ("s.time_it", "s.gone"):
            for machine in ("desk", "rack"):
                assert f"{name} on {machine}, virtualenv-py3.11: " in text


def test_what_failed_says_how(of_asv):
    assert "    Gone: the head did not measure it.\n" in of_asv()
    assert "s.gone on desk, virtualenv-py3.11: gone" in of_asv()
    assert "| Gone: the head did not measure it. Not explained" in of_asv("--format", "markdown")


def test_what_has_no_tables_hides_none(of_asv):
    assert "--all" not in of_asv()
    assert of_asv("--all") == of_asv()
