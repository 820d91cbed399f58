"""A head on a branch that left the main line before a benchmark came: git's history tells what is gone there."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from results.exit_codes import ExitCode
from tests.results.ingest.test_commit_order import NOON, Repository

OF_FUSED = ("--where", "provider=fused", "--note", "retired")
WITHOUT, WITH = ("eager",), ("eager", "fused")


@pytest.fixture
def repository(tmp_path):
    """The current folder as a repository: main of three commits, and a branch from the second, dated after all."""
    made = Repository(tmp_path)
    made.git("init", "-q")
    return made


@pytest.fixture
def lines(repository):
    """Hashes of main's commits by their number, and of the branch's, dated after all of main's."""
    main = [repository.commit(f"main {i}", at=NOON + 1000 * i) for i in range(2)]
    repository.git("branch", "side")
    main.append(repository.commit("main 2", at=NOON + 2000))
    repository.git("checkout", "-q", "side")
    side = [repository.commit(f"side {i}", at=NOON + 3000 + 1000 * i) for i in range(2)]
    return {f"m{i}": commit for i, commit in enumerate(main)} | {f"s{i}": commit for i, commit in enumerate(side)}


@pytest.fixture
def gate(fusebench, tmp_path, lines, journals):
    """Ingest commits with the providers that each measured, then compare the branch with main, as main's tip was."""

    def answer(measured, *options, base="m2", head="s1"):
        dates = {name: datetime.fromtimestamp(NOON + 1000 * i, tz=UTC) for i, name in enumerate(lines)}
        (sweep,) = journals.history(1, operations=("mlp",))
        sweeps = [
            replace(sweep, commit=lines[name], commit_date=dates[name], providers=providers)
            for name, providers in measured.items()
        ]
        journals.write_journals(tmp_path / "data", sweeps)
        assert fusebench("ingest", "data", "--repository", ".").return_value == ExitCode.FINE
        return fusebench("gate", "--base", lines[base], "--head", lines[head], *options)

    return answer


def test_what_came_to_main_after_the_branch_left_is_not_there_yet_whatever_the_dates(gate):
    answer = gate({"m1": WITHOUT, "m2": WITH, "s0": WITHOUT, "s1": WITHOUT})
    assert answer.return_value == ExitCode.FINE
    assert "Not there yet at the head, which is from before they were first measured" in " ".join(answer.stdout.split())


@pytest.mark.parametrize("before", ["m0", "m1", "s0"])
def test_what_was_measured_before_the_head_on_its_own_line_is_gone(gate, before):
    answer = gate({"m1": WITHOUT, "m2": WITH, "s1": WITHOUT} | {before: WITH})
    assert answer.return_value == ExitCode.FAILED


def test_where_nothing_before_the_branch_was_measured_it_is_gone_and_told_what_may_excuse_it(gate, lines):
    answer = gate({"m2": WITH, "s1": WITHOUT}, "--format", "json")
    assert answer.return_value == ExitCode.FAILED
    (why,) = {one["why"] for one in json.loads(answer.stdout)["changes"] if one["outcome"] == "failed"}
    assert why == (
        f"gone, or the head is from before it: measure {lines['m1'][:10]}, where its line left that of the base"
    )


@pytest.mark.parametrize("providers", [WITHOUT, WITH])
def test_measuring_where_the_branch_left_decides_it(gate, providers):
    gate({"m2": WITH, "s1": WITHOUT})
    answer = gate({"m1": providers})
    assert answer.return_value == (ExitCode.FAILED if providers == WITH else ExitCode.FINE)


def test_a_shared_commit_that_was_measured_at_other_shapes_only_decides_nothing(gate, journals, monkeypatch):
    (sweep,) = journals.history(1, operations=("mlp",))
    larger = tuple(7 * batch for batch in sweep.batches)
    monkeypatch.setattr(journals, "history", lambda *_, **__: [replace(sweep, batches=larger)])
    gate({"m1": WITHOUT})
    monkeypatch.setattr(journals, "history", lambda *_, **__: [sweep])
    assert gate({"m2": WITH, "s1": WITHOUT}).return_value == ExitCode.FAILED


def _empty(folder):
    folder.mkdir()
    Repository(folder).git("init", "-q")
    return folder


def test_git_orders_what_both_share_where_the_store_knows_dates_alone(
    fusebench, repository, tmp_path, write_asv_run, timed
):
    failing, lacking = (repository.commit(name, at=NOON - 1000 * i) for i, name in enumerate(("failing", "lacking")))
    repository.git("branch", "side")
    base = repository.commit("added", at=NOON + 9000)
    repository.git("checkout", "-q", "side")
    head = repository.commit("side", at=NOON + 9500)
    (tmp_path / "elsewhere").mkdir()
    for commit, new in ((failing, timed(1e-3, result=[None])), (lacking, None), (base, timed(1e-3)), (head, None)):
        results = {"s.time_it": timed(1e-3)} | ({} if new is None else {"s.time_new": new})
        date = int(repository.git("show", "-s", "--format=%ct", commit)) * 1000
        write_asv_run(tmp_path / "elsewhere" / "tree", results, commit=commit, date=date)
    fusebench("ingest", "elsewhere/tree", "--project", "p", "--repository", _empty(tmp_path / "empty"))
    answer = fusebench("gate", "--base", base, "--head", head)
    assert answer.return_value == ExitCode.FINE
    assert "not compared (1): s.time_new" in " ".join(answer.stdout.split())


@pytest.fixture
def shallow(repository, tmp_path, monkeypatch):
    """Go to a clone of the repository's branches, so many commits deep."""

    def clone(depth):
        folder, origin = tmp_path / "shallow", f"file://{repository.path}"
        asked = ("git", "clone", "-q", "--depth", str(depth), "--no-single-branch", origin, folder)
        subprocess.run(asked, check=True)
        monkeypatch.chdir(folder)

    return clone


@pytest.mark.parametrize("is_older", [False, True])
def test_in_a_shallow_clone_what_the_base_measured_is_gone_whatever_the_dates(
    fusebench, journals, lines, shallow, tmp_path, is_older
):
    base, head = journals.history(2, operations=("mlp",))
    dates = sorted((base.commit_date, head.commit_date), reverse=is_older)
    base = replace(base, commit=lines["m2"], commit_date=dates[0])
    head = replace(head, commit=lines["s1"], commit_date=dates[1], providers=WITHOUT)
    shallow(1)
    journals.write_journals(tmp_path / "data", [base, head])
    assert fusebench("ingest", tmp_path / "data", "--repository", ".").return_value == ExitCode.FINE
    answer = fusebench("gate", "--base", base.commit, "--head", head.commit, "--format", "json")
    told = json.loads(answer.stdout)
    assert (answer.return_value, told["exit_code"]) == (ExitCode.FAILED, ExitCode.FAILED)
    (why,) = {one["why"] for one in told["changes"]}
    assert why.endswith("so ask in a full clone" if is_older else "the head did not measure it")
    assert told["compared"] < told["of_base"]
    acknowledged = fusebench("store", "acknowledge", head.commit, "--note", "retired", "--file", "decisions.toml")
    assert " of them gone there" in acknowledged.stdout
    assert fusebench("gate", "--base", base.commit, "--head", head.commit).return_value == ExitCode.FINE


def test_a_shallow_clone_knows_what_a_commit_it_has_measured_before_the_head(gate, fusebench, lines, shallow):
    gate({"s0": WITH, "s1": WITHOUT}, base="s0")
    shallow(2)
    answer = fusebench("gate", "--base", lines["s0"], "--head", lines["s1"], "--format", "json")
    assert answer.return_value == ExitCode.FAILED
    assert {one["why"] for one in json.loads(answer.stdout)["changes"]} == {"gone: the head did not measure it"}


def test_what_may_be_from_after_the_head_can_be_acknowledged_as_gone(gate, fusebench, lines):
    gate({"m2": WITH, "s1": WITHOUT})
    assert " of them gone there" in fusebench("store", "acknowledge", lines["s1"], *OF_FUSED).stdout
    assert fusebench("gate", "--base", lines["m2"], "--head", lines["s1"]).return_value == ExitCode.FINE


def test_counts_alone_do_not_pass_where_times_are_gone(gate):
    answer = gate({"m2": WITH, "s1": WITHOUT}, "--exact")
    assert answer.return_value == ExitCode.FAILED
    assert "mlp latency_s" in answer.stdout


def test_of_commits_that_share_no_history_what_is_missing_is_gone(gate, repository, lines):
    repository.git("checkout", "-q", "--orphan", "other")
    lines["o"] = repository.commit("another root", at=NOON + 9000)
    answer = gate({"m1": WITHOUT, "m2": WITH, "o": WITHOUT}, head="o")
    assert answer.return_value == ExitCode.FAILED
    assert "the head shares no commit with the base" in " ".join(answer.stdout.split())
