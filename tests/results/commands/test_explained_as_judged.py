"""`explain` judges as the gate does."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
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


class TestRounds:
    """What `ab` measured is explained as `ab` judges it, and the gate tells less of it."""

    @pytest.fixture
    def explained(self, tmp_path, journals, monkeypatch):
        """The findings after comparisons of A and B, by the names of their runs and the slowdown of fused."""
        monkeypatch.chdir(tmp_path)

        def told(*comparisons, also=()):
            sweeps = []
            for number, (name, slower) in enumerate(comparisons):
                base = journals.Sweep(commit=A, n_visits=5, run_id=f"{name}-base", operations=("mlp",))
                head = replace(base, commit=B, run_id=f"{name}-head", slowdowns={("mlp", "fused"): slower})
                sweeps += [replace(one, commit_date=one.commit_date + timedelta(number)) for one in (base, head)]
            journals.write_journals(tmp_path / "data", [*sweeps, *also])
            run = partial(CliRunner().invoke, standalone_mode=False)
            run(ingest, ["data", "--db", "explain.db"])
            answer = run(explain, [A, B, "--format", "json", "--db", "explain.db"])
            return json.loads(answer.stdout)["findings"]

        return told

    def test_a_change_that_only_rounds_show_is_explained(self, explained):
        assert [one["benchmark"] for one in explained(("ab-12345678-1", 1.04))] == ["mlp"]

    def test_the_same_runs_of_no_comparison_do_not_show_it(self, explained):
        assert explained(("nightly-1", 1.04)) == []

    def test_the_latest_of_what_was_asked_for_several_times_counts(self, explained):
        assert explained(("ab-12345678-1", 1.04), ("ab-12345678-2", 1.0)) == []
        assert len(explained(("ab-12345678-9", 1.0), ("ab-12345678-10", 1.04))) == 1

    def test_what_no_rounds_tell_of_is_judged_as_the_gate_does(self, explained, journals):
        base = journals.Sweep(commit=A, n_visits=3, operations=("linear",))
        head = replace(base, commit=B, slowdowns={("linear", "fused"): 1.3})
        found = explained(("ab-12345678-1", 1.04), also=(base, head))
        assert sorted(one["benchmark"] for one in found) == ["linear", "mlp"]


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
