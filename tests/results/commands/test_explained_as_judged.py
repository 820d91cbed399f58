"""`explain` judges as the gate does."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging.explain import explain
from results.commands.judging.gate import gate
from results.exit_codes import ExitCode

A, B = "a" * 40, "b" * 40


def test_a_place_that_is_asked_for_is_judged_as_the_gate_judges_it(tmp_path, journals, monkeypatch):
    """All that was measured is looked at, so that one floor and one finding is told by both commands."""
    monkeypatch.chdir(tmp_path)
    base = journals.Sweep(commit=A, n_visits=3)
    sweeps = [replace(base, machine=f"bench-{i}") for i in range(3)]
    heads = [replace(sweep, commit=B, slowdowns={("mlp", "fused"): 1.2}) for sweep in sweeps]
    journals.write_journals(tmp_path / "data", [*sweeps, *heads])
    run = partial(CliRunner().invoke, standalone_mode=False)
    run(ingest, ["data", "--db", "explain.db"])
    options = ["--where", "machine=bench-1", "--format", "json", "--db", "explain.db"]
    told = [run(gate, ["--base", A, "--head", B, *options]), run(explain, [A, B, *options])]
    (judged,), (explained,) = (json.loads(one.stdout)["findings"] for one in told)
    assert (explained["floor"], explained["interval"]) == (judged["floor"], judged["interval"])


@pytest.mark.parametrize("where", ["benchmark=mlp", "metric=latency_s", "version=1", "operation=mlp"])
def test_what_chooses_series_for_the_gate_does_so_here(compared, where):
    run = compared(slowdowns={("mlp", "fused"): 1.5})
    judged, explained = (
        json.loads(run("--where", where, "--format", "json", command=command).stdout)["findings"]
        for command in (gate, explain)
    )
    assert [one["points"] for one in judged] == [one["points"] for one in explained]
    assert len(judged) == 1


@pytest.mark.parametrize("where", ["operation=nope", "batch=7", "machine=elsewhere"])
@pytest.mark.parametrize("command", [explain, gate])
def test_a_selection_of_nothing_is_told_as_that(compared, command, where):
    answer = compared()("--where", where, command=command)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert answer.stderr == f"Nothing measured at {A[:8]} or {B[:8]} matches the selection.\n"
