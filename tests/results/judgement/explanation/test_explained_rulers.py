"""Commits that two rulers measured: what is explained is what was compared, by one ruler."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from fusebench import cli
from results.exit_codes import ExitCode

A, B = "a" * 40, "b" * 40
SLOW = {("mlp", "fused"): 1.5}


@pytest.fixture
def told(tmp_path, journals, monkeypatch):
    """Ingest runs by their ruler and slowdown, at both commits; return what a command prints as JSON."""
    monkeypatch.chdir(tmp_path)  # outside of any repository
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "rulers.db"))

    def run(command, *, base, head):
        sweep = journals.Sweep(operations=("mlp",), n_visits=3)
        sweeps = [
            replace(sweep, commit=commit, ruler_version=ruler, slowdowns=slow, run_id=f"{commit[0]}{number}")
            for commit, runs in ((A, base), (B, head))
            for number, (ruler, slow) in enumerate(runs)
        ]
        journals.write_journals(tmp_path / "data", sweeps)
        CliRunner().invoke(cli, ["ingest", "data"], standalone_mode=False)
        return CliRunner().invoke(cli, [*command, "--format", "json"], standalone_mode=False)

    return run


GATE, EXPLAIN = ("gate", "--base", A, "--head", B), ("explain", A, B)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ([("3", {})], [("3", SLOW), ("4", SLOW)]),  # the head was measured again by a newer one
        ([("3", {})], [("4", SLOW), ("3", SLOW)]),
        ([("3", {}), ("4", {})], [("3", SLOW)]),  # the base was
        ([("3", {}), ("4", {})], [("3", SLOW), ("4", {})]),  # only the older one has it
        ([("3", {}), ("4", {})], [("3", {}), ("4", SLOW)]),
    ],
)
@pytest.mark.parametrize("command", [GATE, EXPLAIN])
def test_a_regression_by_one_ruler_is_not_explained_by_another(told, command, base, head):
    answer = told(command, base=base, head=head)
    [finding] = json.loads(answer.stdout)["findings"]
    assert finding["ratio"] == pytest.approx(1.5)
    assert finding["class"] != "method"
    explanation = finding["explanation"] if command is GATE else finding["explanation"]["sentence"]
    assert "uler" not in explanation
    assert explanation.startswith("`aten::addmm` takes ")
    if command is EXPLAIN:
        assert any(one.startswith("method: ruler ") for one in finding["explanation"]["ruled_out"])


def test_points_of_two_rulers_are_explained_by_the_one_that_measured_both(told):
    chosen = ("--where", "provider=fused", "--where", "batch=1")
    answer = told((*EXPLAIN, *chosen), base=[("3", {})], head=[("3", {}), ("4", SLOW)])
    assert answer.return_value == ExitCode.FINE
    points = json.loads(answer.stdout)["points"]
    assert len(points) == 2
    assert all("method: ruler 3 at both" in one["explanation"]["ruled_out"] for one in points)


def test_of_commits_without_a_common_ruler_it_is_told(told):
    answer = told(EXPLAIN, base=[("3", {})], head=[("4", SLOW)])
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "by other rulers (3 at the base, 4 at the head)" in answer.stderr
