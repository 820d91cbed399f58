"""`explain` judges as the gate does."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging.explain import explain
from results.commands.judging.gate import gate

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
