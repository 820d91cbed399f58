"""Commits that were measured in part: what they spared is neither new nor excused by them, and coverage is told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from results.exit_codes import ExitCode
from results.judgement.known_levels import without_later
from results.judgement.outcomes import Change
from tests import made_findings
from tests.results.ingest.test_commit_order import NOON, Repository

SUITE = tuple(f"s.time_{letter}" for letter in "abcde")
PROVIDERS = ("eager", "fused", "compiled")
ONE = SUITE[:1]


@pytest.fixture
def lines(tmp_path):
    """Hashes: a fork, main after it, and a branch from it."""
    repository = Repository(tmp_path)
    repository.git("init", "-q")
    fork = repository.commit("fork", at=NOON)
    repository.git("branch", "side")
    main = repository.commit("main", at=NOON + 1000)
    repository.git("checkout", "-q", "side")
    return {"fork": fork, "main": main, "side": repository.commit("side", at=NOON + 2000)}


@pytest.fixture
def gate(fusebench, tmp_path, lines, write_asv_run, timed):
    """Ingest what was measured of an asv suite at each commit, then hold the branch against main."""

    def answer(measured, *options, base="main", head="side"):
        for name, benchmarks in measured.items():
            results = {benchmark: timed(1e-3) for benchmark in benchmarks}
            date = (NOON + 1000 * list(lines).index(name)) * 1000
            write_asv_run(tmp_path / "tree", results, commit=lines[name], date=date)
        fusebench("ingest", "tree", "--project", "p", "--repository", ".")
        found = fusebench("gate", "--base", lines[base], "--head", lines[head], "--format", "json", *options)
        return found.return_value, json.loads(found.stdout)

    return answer


def gone(told):
    return {one["benchmark"]: one["why"] for one in told["changes"] if one["verdict"] == "gone"}


@pytest.mark.parametrize("head", [ONE, SUITE[:-1]])
def test_a_fork_measured_by_one_benchmark_excuses_nothing_that_a_branch_lacks(gate, lines, head):
    code, told = gate({"fork": ONE, "main": SUITE, "side": head})
    assert code == ExitCode.FAILED
    why = f"gone, or the head is from before it: {lines['fork'][:10]}, which both have, was measured in part; "
    assert gone(told) == dict.fromkeys(set(SUITE) - set(head), why + "measure it whole")
    assert (told["compared"], told["of_base"], told["not_there_yet"]) == (len(head), len(SUITE), [])


@pytest.mark.parametrize(
    ("fork", "head", "expected"),
    [
        (SUITE[:3], SUITE[:3], ExitCode.FINE),  # whatever both measured: the rest came to main
        (SUITE[:3], SUITE[:4], ExitCode.FAILED),  # it lacks what both have
        (SUITE[:2], SUITE[:2], ExitCode.FAILED),  # less than half of main
        (SUITE, SUITE[:3], ExitCode.FAILED),  # it measured what the branch lost
    ],
)
def test_a_fork_tells_what_came_after_it_only_if_it_was_measured_whole(gate, fork, head, expected):
    assert gate({"fork": fork, "main": SUITE, "side": head})[0] == expected


def test_measuring_the_fork_whole_decides_it(gate):
    assert gate({"fork": ONE, "main": SUITE, "side": SUITE[:-1]})[0] == ExitCode.FAILED
    assert gate({"fork": SUITE[:-1]})[0] == ExitCode.FINE
    assert gate({"fork": SUITE})[0] == ExitCode.FAILED


def test_what_is_newer_than_the_head_is_not_gone_however_little_the_head_measured(gate):
    code, told = gate({"fork": ONE, "main": SUITE}, head="fork")
    assert (code, gone(told), len(told["not_there_yet"])) == (ExitCode.FINE, {}, 4)
    assert (told["compared"], told["of_base"]) == (1, 5)


def test_a_head_measured_by_one_benchmark_has_lost_the_others_and_tells_how_much_was_compared(gate):
    code, told = gate({"main": SUITE, "fork": SUITE, "side": ONE})
    assert (code, set(gone(told)), told["compared"], told["of_base"]) == (ExitCode.FAILED, set(SUITE[1:]), 1, 5)


@pytest.mark.parametrize("fork", [("eager",), PROVIDERS[:2]])
def test_of_a_sweep_each_operation_was_measured_whole_by_itself(fusebench, tmp_path, lines, journals, fork):
    (sweep,) = journals.history(1, operations=("mlp", "linear"), batches=(1,), hiddens=(256,))
    measured = {
        "fork": replace(sweep, operations=("mlp",), providers=fork),
        "main": replace(sweep, providers=PROVIDERS),
        "side": replace(sweep, operations=("mlp",), providers=PROVIDERS[:2]),
    }
    journals.write_journals(tmp_path / "data", [replace(each, commit=lines[name]) for name, each in measured.items()])
    fusebench("ingest", "data", "--repository", ".")
    answer = fusebench("gate", "--base", lines["main"], "--head", lines["side"])
    assert answer.return_value == (ExitCode.FAILED if fork == ("eager",) else ExitCode.FINE)


def test_the_part_that_a_head_was_measured_in_is_judged_where_it_is_asked_for(gate, fusebench, lines):
    measured = {"main": SUITE, "fork": SUITE, "side": SUITE[:2]}
    one = ("--where", f"benchmark={SUITE[0]}")
    code, told = gate(measured, *one)
    assert (code, told["changes"], told["only_at_base"]) == (ExitCode.FINE, [], [])
    assert (told["compared"], told["of_base"], told["not_asked"]) == (1, 1, 4)
    code, told = gate({}, *one, "--where", f"benchmark={SUITE[4]}")
    assert (code, set(gone(told)), told["not_asked"]) == (ExitCode.FAILED, {SUITE[4]}, 3)
    text = " ".join(fusebench("gate", "--base", lines["main"], "--head", lines["side"], *one).stdout.split())
    assert "A part was asked for: 4 other series of the base are left out." in text


def test_what_is_asked_for_and_slower_fails_whatever_else_was_measured(gate, write_asv_run, timed, tmp_path, lines):
    gate({"main": SUITE, "fork": SUITE, "side": ONE})
    results = {SUITE[0]: timed(1e-3), SUITE[1]: timed(3e-3)}
    write_asv_run(tmp_path / "tree", results, commit=lines["side"], date=(NOON + 2000) * 1000)
    for name, code in zip(SUITE, (ExitCode.FINE, ExitCode.REGRESSION, ExitCode.FAILED), strict=False):
        assert gate({}, "--where", f"benchmark={name}")[0] == code


def test_a_selection_that_nothing_matches_does_not_pass(gate, fusebench, lines):
    gate({"main": SUITE, "side": SUITE})
    answer = fusebench("gate", "--base", lines["main"], "--head", lines["side"], "--where", "benchmark=s.time_z")
    assert (answer.return_value, answer.stdout) == (ExitCode.NOTHING_COMPARABLE, "")
    assert "matches the selection" in answer.stderr


def test_the_operation_of_a_sweep_is_asked_for_and_its_controls_count_still(fusebench, tmp_path, journals, lines):
    (sweep,) = journals.history(1, operations=("mlp", "linear"), batches=(1, 2, 4), hiddens=(256, 512))
    factors = dict.fromkeys(PROVIDERS, 1.3) | {"fused": 2.0}
    slow = {(name, provider): factor for name in ("mlp", "linear") for provider, factor in factors.items()}
    head = replace(sweep, commit=lines["side"], slowdowns=slow)
    journals.write_journals(tmp_path / "data", [replace(sweep, commit=lines["main"]), head])
    fusebench("ingest", "data")
    told = fusebench(
        "gate", "--base", lines["main"], "--head", lines["side"], "--format", "json",
        "--where", "operation=mlp", "--where", "provider=fused", "--where", "batch=1..2",
    )  # fmt: skip
    assert told.return_value == ExitCode.NOTHING_COMPARABLE
    document = json.loads(told.stdout)
    assert [one["is_moved"] for one in document["controls"]] == [True]
    assert {(one["benchmark"], one["parameters"]["provider"]) for one in document["changes"]} == {("mlp", "fused")}


def test_where_most_is_gone_it_is_told_how_to_judge_a_part(gate, fusebench, lines):
    gate({"main": SUITE, "fork": SUITE, "side": SUITE[:2]})
    command = ("gate", "--base", lines["main"], "--head", lines["side"])
    hint = "Most of what the base measured is gone. Was the head measured in part? --where judges that part"
    assert hint in " ".join(fusebench(*command).stdout.split())
    gate({"side": SUITE[:3]})
    assert "in part?" not in fusebench(*command).stdout


def test_what_is_gone_and_known_counts_as_compared_nowhere(gate, fusebench, lines):
    gate({"main": SUITE, "fork": SUITE, "side": SUITE[:3]})
    fusebench("store", "acknowledge", lines["side"], "--benchmark", SUITE[4], "--note", "retired")
    code, told = gate({})
    assert (code, told["compared"], told["of_base"], told["counts"]["known"]) == (ExitCode.FAILED, 3, 5, 1)
    fusebench("store", "acknowledge", lines["side"], "--benchmark", SUITE[3], "--note", "retired")
    assert gate({})[0] == ExitCode.FINE
    text = fusebench("gate", "--base", lines["main"], "--head", lines["side"]).stdout
    assert "3 compared of 5 that the base measured" in " ".join(text.split())


def test_a_part_of_a_judgement_has_its_own_series_alone_of_every_kind():
    whole = made_findings.judgement()
    gone = [one.base for one in whole.verdicts if one.change is Change.GONE]
    new = gone[0]._replace(series_id=10**9)
    whole = replace(without_later(whole, {gone[0].series_id}), only_at_head=(new,))
    rows = [*(one.head for one in whole.verdicts), *whole.only_at_base, *whole.only_at_head]
    assert all((whole.verdicts, whole.only_at_base, whole.not_yet))
    for chosen in rows:
        part = whole.only({chosen.series_id})
        left = [*(one.head for one in part.verdicts), *part.only_at_base, *part.only_at_head]
        assert left == [row for row in rows if row.series_id == chosen.series_id]
        assert part.not_yet == tuple(row for row in whole.not_yet if row.series_id == chosen.series_id)
        assert part.n_not_asked == whole.n_of_base - part.n_of_base
        assert part.only(()).n_not_asked == whole.n_of_base
    assert whole.only({row.series_id for row in rows}) == whole
