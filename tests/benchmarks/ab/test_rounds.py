"""Rounds of two commits: their order, the runs they are recorded as, and what is refused before anything is built."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from benchmarks.ruler.ab import command, runs
from benchmarks.ruler.ab.runs import Comparison, Side, comparison_of, default_base, with_ours
from benchmarks.ruler.commits.stacks import PRESENT, Stack
from benchmarks.ruler.commits.visit import with_shapes
from benchmarks.ruler.errors import WheelFailed
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.axes import QUICK, all_groups
from benchmarks.ruler.plan.filters import selected
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.provenance import Commit
from benchmarks.ruler.sweep.interruption import run_command
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep

BASE, HEAD = (Commit(hash=letter * 40, date="2026-01-01", subject=letter) for letter in "ab")


def two_sides():
    runs_of = (("base", BASE), ("head", HEAD))
    return Comparison(sides=tuple(Side(name=name, commit=at, run_id=f"run-{name}") for name, at in runs_of))


def run_ids(comparison):
    return tuple(side.run_id for side in comparison.sides)


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path, machine="testbox", device=DeviceKind.CPU, threads=1)


@pytest.fixture
def visits(monkeypatch):
    """Visits that the rounds ask for: commit, last visit, run, options."""
    seen = []

    def visit(commit, settings, *, n_visits, label, options, stack):
        seen.append((commit.subject, settings.last_visit, n_visits, settings.run_id, list(options)))
        return "a step\n2 ok\n"

    monkeypatch.setattr(command, "made_visit", visit)
    monkeypatch.setattr(command, "checked_wheel", lambda *_, **__: "2 ok")
    return seen


def test_rounds_visit_both_and_every_other_one_begins_with_the_head(visits, settings, capsys):
    comparison = two_sides()
    command.measure_rounds(comparison, settings, n_rounds=3, only=None)
    assert [(what, at) for what, at, *_ in visits] == [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)]
    assert {(what, run) for what, _, _, run, _ in visits} == {("a", "run-base"), ("b", "run-head")}
    assert "round 2 of 3, head bbbbbbbb: 2 ok" in capsys.readouterr().out


def test_what_is_uncertain_is_visited_alone(visits, settings, tmp_path):
    comparison = two_sides()
    command.measure_rounds(comparison, settings, n_rounds=8, first=6, only=tmp_path / "only.json")
    assert [at for _, at, *_ in visits] == [6, 6, 7, 7, 8, 8]
    assert all(options == ["--only", str(tmp_path / "only.json")] for *_, options in visits)


def test_shapes_as_the_store_names_them_choose_groups():
    groups = all_groups(QUICK, operations=tuple(Operation), device=DeviceKind.CPU)
    plan = Plan(run=None, path=None, device=DeviceKind.CPU, threads=1, axes=QUICK, groups=groups)
    shape = {"operation": "mlp", "pass": "forward", "batch": 16, "hidden": 256}
    [chosen] = with_shapes(empty_sweep(plan), [shape]).plan.groups
    assert (chosen.shape.operation, chosen.shape.batch, chosen.shape.hidden) == ("mlp", 16, 256)
    assert with_shapes(empty_sweep(plan), [{**shape, "batch": 17}]).plan.groups == ()


def test_two_stacks_are_visited_in_turn_and_one_of_a_commit_is_told_by_its_stack(visits, settings, capsys):
    stacks = (PRESENT, Stack(name="torch==2.12", python=PRESENT.python))
    alone = comparison_of([HEAD], settings, stacks=stacks)
    assert [side.stack for side in alone.sides] == list(stacks)
    four = comparison_of([BASE, HEAD], settings, stacks=stacks)
    assert [(side.commit, side.stack) for side in four.sides] == [(at, on) for on in stacks for at in (BASE, HEAD)]
    assert len({side.run_id for side in (*alone.sides, *four.sides)}) == 6
    command.measure_rounds(four, settings, n_rounds=2, only=None)
    assert [what for what, *_ in visits] == ["a", "b", "a", "b", "b", "a", "b", "a"]
    assert "round 1 of 2, head on torch==2.12 bbbbbbbb: 2 ok" in capsys.readouterr().out


def test_a_name_that_is_given_is_the_runs_name(settings):
    comparison = comparison_of((BASE, HEAD), settings, name="bisect-1-ends")
    assert run_ids(comparison) == ("bisect-1-ends-base", "bisect-1-ends-head")


def test_a_commit_that_cannot_be_measured_is_handed_to_who_asked(monkeypatch, tmp_path, capsys):
    def fail(commit, *_, **__):
        raise WheelFailed("no wheel could be made", commit=commit.hash)

    monkeypatch.setattr(command, "checked_wheel", fail)
    monkeypatch.setenv("FUSEBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FUSEBENCH_LOCK_FILE", str(tmp_path / "lock"))
    monkeypatch.setattr(sys, "argv", ["ab", "HEAD", "HEAD", "--selection", str(tmp_path / "s.json")])
    with pytest.raises(SystemExit) as ended:
        run_command(command.main, name="fusebench ab")
    assert ended.value.code == ExitCode.WRONG_USAGE
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["why"] == "no wheel could be made"
    assert len(told["failed"]) == 40
    assert "no wheel could be made" in capsys.readouterr().err


class TestRuns:
    """The same command goes on with what was begun."""

    def test_a_comparison_has_a_run_a_side_and_the_same_ones_each_time(self, settings):
        first = comparison_of((BASE, HEAD), settings, again=False)
        assert first == comparison_of((BASE, HEAD), settings, again=False)
        assert len(set(run_ids(first))) == 2
        equal = comparison_of((HEAD, HEAD), settings, again=False)
        assert len({*run_ids(first), *run_ids(equal)}) == 4

    def test_other_points_are_another_comparison(self, settings):
        first = comparison_of((BASE, HEAD), settings, again=False)
        filters = replace(settings.filters, batch=("16",))
        assert comparison_of((BASE, HEAD), replace(settings, filters=filters), again=False) != first

    def test_again_begins_another_which_is_then_gone_on_with(self, settings, monkeypatch):
        first = comparison_of((BASE, HEAD), settings, again=False)
        monkeypatch.setattr(runs, "_numbers", lambda *_: [1])
        assert comparison_of((BASE, HEAD), settings, again=False) == first
        second = comparison_of((BASE, HEAD), settings, again=True)
        assert run_ids(second) != run_ids(first)
        monkeypatch.setattr(runs, "_numbers", lambda *_: [1, 2])
        assert comparison_of((BASE, HEAD), settings, again=False) == second


def test_only_what_a_commit_can_change_is_compared_beside_eager(settings):
    axes = "full"
    chosen = with_ours(replace(settings, axes=axes)).filters.provider
    assert chosen[0] == "eager"
    assert len(chosen) > 2
    assert all(name.startswith("fused") for name in chosen[1:])
    asked = replace(settings, filters=replace(settings.filters, provider=("compiled",)))
    assert with_ours(asked).filters.provider == ("eager", "compiled")
    groups = all_groups(QUICK, operations=("mlp",), device=DeviceKind.CPU)
    assert selected(groups, with_ours(asked).filters)


def test_axes_of_none_of_ours_are_compared_whole(settings, tmp_path):
    axes = tmp_path / "mine.toml"
    axes.write_text('operations = ["linear"]\nproviders = ["addmm", "eager"]\nbatches = [8]\n', encoding="utf-8")
    assert with_ours(replace(settings, axes=str(axes))).filters.provider == ("eager", "addmm")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"origin/HEAD": "f" * 40, "main": "e" * 40}, "f" * 40),
        ({"main": "f" * 40}, "f" * 40),
        ({"main": "e" * 40}, "HEAD~1"),
        ({}, "HEAD~1"),
    ],
)
def test_the_base_is_where_head_left_the_main_branch_or_its_parent(monkeypatch, known, expected):
    def git(*arguments):
        if arguments[0] == "merge-base":
            return known.get(arguments[1])
        return "e" * 40 + "\n"

    monkeypatch.setattr(runs, "git_output", git)
    assert default_base() == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--axes", "none"], "no axes are called 'none'"),
        (["nothing", "HEAD"], "git knows no commit 'nothing'"),
        (["f" * 40, "HEAD"], "git has no commit ffffffffffff here, only its name"),
        (["--provider", "fusd"], "did you mean fused?"),
        (["--stack", "torch"], "write torch==VERSION"),
        (["HEAD", "HEAD", "--stack", "torch==2.12"], "BASE and HEAD are one commit"),
        (["--rounds", "1"], "Invalid value for '--rounds'"),
    ],
)
def test_a_mistake_is_named_before_anything_is_built(monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(command, "checked_wheel", lambda *_, **__: pytest.fail("something was built"))
    monkeypatch.setattr(sys, "argv", ["ab", *arguments])
    with pytest.raises(SystemExit) as ended:
        run_command(command.main, name="fusebench ab")
    assert ended.value.code == ExitCode.WRONG_USAGE
    assert said in capsys.readouterr().err


def test_a_comparison_that_was_begun_stays_with_its_commits(visits, monkeypatch, tmp_path):
    monkeypatch.setenv("FUSEBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FUSEBENCH_LOCK_FILE", str(tmp_path / "lock"))
    pinned = f"{'a' * 40},{'b' * 40}"
    selection = tmp_path / "s.json"
    monkeypatch.setattr(sys, "argv", ["ab", "--rounds", "2", "--pinned", pinned, "--selection", str(selection)])
    run_command(command.main, name="fusebench ab")
    assert [side["commit"] for side in json.loads(selection.read_text())["sides"]] == pinned.split(",")


def test_what_was_compared_is_handed_to_who_judges_it(visits, monkeypatch, tmp_path):
    monkeypatch.setenv("FUSEBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FUSEBENCH_LOCK_FILE", str(tmp_path / "lock"))
    monkeypatch.setattr(sys, "argv", ["ab", "HEAD", "HEAD", "--rounds", "2", "--selection", str(tmp_path / "s.json")])
    run_command(command.main, name="fusebench ab")
    base, head = json.loads((tmp_path / "s.json").read_text())["sides"]
    assert base["commit"] == head["commit"]
    assert base["run"] != head["run"]
    assert len(visits) == 4


def test_why_nothing_was_measured_is_left_to_the_judging_half(monkeypatch, tmp_path):
    left = tmp_path / "selection.json"
    monkeypatch.setattr(command, "checked_wheel", lambda *_, **__: pytest.fail("something was built"))
    monkeypatch.setattr(sys, "argv", ["ab", "nothing", "HEAD", "--selection", str(left)])
    with pytest.raises(SystemExit):
        run_command(command.main, name="fusebench ab")
    told = json.loads(left.read_text())
    assert told.keys() == {"why"}
    assert "git knows no commit 'nothing'" in told["why"]


def test_one_commit_against_itself_is_announced_as_such(capsys):
    sides = tuple(Side(name=name, commit=HEAD, run_id=name) for name in ("base", "head"))
    command._announce(Comparison(sides=sides), is_head_checked_out=False)
    assert capsys.readouterr().out == "bbbbbbbb (b) against itself, an A/A: what differs is noise of this machine.\n"
    command._announce(two_sides(), is_head_checked_out=False)
    other = replace(sides[1], stack=Stack(name="torch==2.12.0", python=PRESENT.python))
    command._announce(Comparison(sides=(sides[0], other)), is_head_checked_out=False)
    assert "A/A" not in capsys.readouterr().out
