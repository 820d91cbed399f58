"""Profiles and their folded stacks: what `fusebench profile` prints, and the way from the ruler through the store."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from click.testing import CliRunner

from results.commands.profile import profile
from results.exit_codes import ExitCode
from results.files.stacks import FoldedStack, StackKind, stacks_of_kind
from results.queries import latest_points, profile_of, stacks_of
from results.rows import GapRow, OperatorRow, RuntimeCallRow
from results.store import open_store
from results.upkeep.merge import merge

ONE_POINT = ("--where", "operation=mlp", "--where", "provider=fused", "--where", "batch=64", "--where", "hidden=1024")


def run_profile(database, *arguments):
    return CliRunner().invoke(profile, [*arguments, "--db", database], standalone_mode=False)


def test_a_profile_is_printed_with_its_operators_and_kernels(stored):
    answer = run_profile(stored("cuda", unexpected="3 kernels where 1 are declared"), *ONE_POINT)
    assert answer.return_value == ExitCode.FINE
    for words in ("mlp forward", "batch 64, fused", "kernels 2", "unexpected: 3 kernels", "aten::addmm", "gemm_tn"):
        assert words in answer.stdout


def test_memory_gaps_and_runtime_calls_reach_the_store(stored):
    operator = {"name": "aten::mm", "count": 2.0, "self_time_s": 1e-6, "total_time_s": 2e-6, "is_compute": True}
    more = {"inputs": ["float32[2,3] float32[3,4]", "float32[2,4] float32[4,5]"], "allocated_bytes": 72.0}
    others = {"freed_bytes": None, "min_bytes": None, "min_bytes_reason": "no rule"}
    gap = {"duration_s": 2e-6, "after": "gemm", "before": "Memcpy DtoD"}
    call = {"name": "cudaLaunchKernel", "kind": "launch", "count": 2.0, "time_s": 1e-5}
    numbers = {"allocated_bytes": 72.0, "gap_count": 1.0, "gap_time_s": 2e-6, "longest_gap_s": 2e-6}
    why = {"freed_bytes": "not recorded", "operators_min_bytes": "no rule"}
    lists = {"operators": [{**operator, **more, **others}], "gaps": [gap], "runtime_calls": [call]}
    with open_store(stored("cuda", **numbers, **lists, device_busy_s=3e-5, missing=why)) as store:
        point = next(row for row in latest_points(store) if row.provider == "fused")
        found = profile_of(store, point=point)
    inputs = ("float32[2,3] float32[3,4]", "float32[2,4] float32[4,5]")
    assert found.operators == (OperatorRow(**operator, inputs=inputs, allocated_bytes=72.0, **others),)
    assert found.gaps == (GapRow(**gap, words="gemm → copy (DtoD) · CUDA"),)
    (kernel,) = found.kernels
    assert (kernel.name, kernel.words, kernel.kind) == ("gemm_tn", "gemm_tn", None)
    assert found.runtime_calls == (RuntimeCallRow(**call),)
    assert {name: getattr(found, name) for name in numbers} == numbers
    assert (found.device_busy_s, found.freed_bytes, found.operators_min_bytes) == (3e-5, None, None)
    assert found.missing == why


def test_a_merge_brings_all_of_a_profile_and_a_second_one_nothing(make_database, tmp_path, journals):
    journals.write_journals(tmp_path, [journals.Sweep(device="cuda", ruler_version="3", n_visits=3)])
    with open_store(make_database()) as theirs, open_store(make_database()) as ours:
        assert theirs.ingest([tmp_path]).problems == ()
        assert merge(ours, theirs).conflicts == ()
        (point, *_) = points = latest_points(ours)
        assert (point.gap_count, point.gap_time_s) == (1, pytest.approx(point.latency_s * 0.05))
        profiles = [profile_of(ours, point=each) for each in points]
        assert profiles == [profile_of(theirs, point=each) for each in latest_points(theirs)]
        assert profiles[0].gaps
        assert merge(ours, theirs).n_runs_added == 0


def test_an_older_profile_has_none_of_it(stored):
    with open_store(stored()) as store:
        found = profile_of(store, point=latest_points(store)[0])
    assert (found.allocated_bytes, found.gap_count, found.gaps, found.runtime_calls) == (None, None, (), None)
    assert found.missing == {}
    assert {row.inputs for row in found.operators} == {()}


@pytest.mark.parametrize(
    ("kind", "printed"),
    [
        ("host", ["backward;MmBackward0 70", "forward;aten::addmm 500"]),
        ("device", ["forward;aten::addmm;gemm 900"]),
    ],
)
def test_the_stacks_of_host_and_device_are_printed_apart(stored, kind, printed):
    answer = run_profile(stored(), *ONE_POINT, "--stacks", kind)
    assert answer.return_value == ExitCode.FINE
    assert answer.stdout.splitlines() == printed


def test_of_several_points_it_says_what_is_left_to_choose(stored):
    answer = run_profile(stored(), *ONE_POINT[:-2], "--where", "state=ok")
    assert answer.exception.exit_code == 2  # click's own; the front door makes it 64
    assert "2 points match" in answer.exception.message
    assert "--where hidden=…  (256, 1024)" in answer.exception.message
    assert "provider" not in answer.exception.message


def test_of_two_machines_it_is_the_one_that_measured_last_unless_one_is_named(journal_store, journals, tmp_path):
    ours, theirs = (
        journals.Sweep(machine="here", commit_date=journals.START + timedelta(days=9)),
        journals.Sweep(machine="published"),
    )
    opened = journal_store([])
    opened.ingest(journals.write_journals(tmp_path, [ours, theirs]))
    answer = run_profile(opened.name, *ONE_POINT)
    assert (answer.return_value, "· here py3.11" in answer.stdout) == (ExitCode.FINE, True), answer.stdout
    assert answer.stderr == "Of here, which measured last; --where machine=… for another (published).\n"
    answer = run_profile(opened.name, *ONE_POINT, "--where", "machine=published")
    assert (answer.return_value, answer.stderr, "here" in answer.stdout) == (ExitCode.FINE, "", False)


def test_what_is_left_to_choose_is_in_order(stored):
    answer = run_profile(stored(), "--where", "state=ok")
    assert "--where batch=…  (1, 64)" in answer.exception.message
    assert "--where provider=…  (compiled, eager, fused)" in answer.exception.message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--stacks", "device"), "No stacks of the device are stored"),
        (("--stacks", "device"), "fusebench run --axes point.toml --again"),
        (("--trace",), "FUSEBENCH_TRACES=64 FUSEBENCH_THREADS=2 fusebench run --axes point.toml --again"),
        (("--where", "dtype=float16"), "dtype is one of float32"),
    ],
)
def test_where_there_is_nothing_it_says_why(stored, arguments, said):
    answer = run_profile(stored(stacks=["host;forward;aten::addmm 500"]), *ONE_POINT, *arguments)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert said in answer.stderr


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ({}, "No profile of this point is stored"),
        ({("mlp", "fused"): "wrong"}, "There is no profile of this point: wrong: fused is wrong in this test"),
    ],
)
def test_a_point_without_a_profile_says_why(journal_store, journals, tmp_path, states, said):
    (path,) = journals.write_journals(tmp_path / "timed", [journals.Sweep(states=states)])
    timings = [line for line in path.read_text().splitlines() if json.loads(line)["kind"] == "timing"]
    path.write_text("\n".join(timings) + "\n")
    opened = journal_store([])
    opened.ingest([path])
    answer = run_profile(opened.name, *ONE_POINT)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert said in answer.stderr


def test_stacks_that_do_not_say_whose_they_are_are_the_hosts():
    stacks = [FoldedStack(frames, 1e-9) for frames in (("aten::mm",), ("device",), ("forward", "device"))]
    assert stacks_of_kind(stacks, StackKind.HOST) == tuple(stacks)
    assert stacks_of_kind(stacks, StackKind.DEVICE) == ()


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A gated MLP, forward and backward, measured and profiled by the ruler; its folder and its profile line."""
    pytest.importorskip("torch")
    from benchmarks.ruler.plan.axes import QUICK
    from benchmarks.ruler.plan.points import DeviceKind, Pass
    from benchmarks.ruler.plan.settings import Settings, settings_from_environment
    from benchmarks.ruler.sweep.measure import measure

    folder = tmp_path_factory.mktemp("measured")
    tiny = replace(QUICK, name="tiny", passes=(Pass.FORWARD_BACKWARD,), batches=(8,), hiddens=(32,), budget_s=0.02)
    settings = Settings(
        data_dir=folder,
        machine="testbox",
        threads=1,
        device=DeviceKind.CPU,
        is_uncommitted=True,
        lock_file=settings_from_environment().lock_file,
    )
    axes = replace(tiny, providers=("eager",))
    (line,) = measure(settings, operation="gated_mlp", axes=axes).profiles.values()
    return folder, line


def test_what_the_ruler_folds_is_what_the_store_answers_and_the_command_prints(database, measured):
    folder, line = measured
    with open_store(database) as store:
        assert not store.ingest([folder]).problems
        (point,) = latest_points(store)
        found = stacks_of(store, point=point)
        assert stacks_of(store, point=point, kind=StackKind.DEVICE) == ()
    folded = [text.removeprefix("host;") for text in line.outcome.stacks]
    assert list(map(str, found)) == folded
    operators_s = sum(row.self_time_s for row in line.outcome.operators)
    assert sum(stack.time_s for stack in found) == pytest.approx(operators_s, abs=1e-9)
    assert {stack.frames[0] for stack in found} == {"forward", "backward"}
    assert run_profile(database, "--stacks", "host").stdout.splitlines() == folded


def test_the_visits_that_a_latency_is_from_are_printed_with_the_machines_speed(journal_store, journals):
    sweep = journals.Sweep(ruler_version="3", n_visits=3)
    answer = run_profile(journal_store([sweep]).name, *ONE_POINT)
    assert answer.return_value == ExitCode.FINE
    for words in (
        "visit at (UTC)",
        "2026-01-05 13:02:00",
        "99\N{NARROW NO-BREAK SPACE}%",
        "overhead",
        "(a fifth of the time is outside operat",
    ):
        assert words in answer.stdout
    assert "visit at" not in run_profile(journal_store([journals.Sweep()]).name, *ONE_POINT).stdout


@pytest.mark.parametrize(("n_disturbed", "says_so"), [(0, False), (1, True), (2, False)])
def test_which_visits_a_latency_is_from_is_said_where_that_is_not_all(
    journal_store, journals, tmp_path, n_disturbed, says_so
):
    (path,) = journals.write_journals(tmp_path / "visits", [journals.Sweep(ruler_version="3", n_visits=3)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in (line for line in lines if line["kind"] == "timing"):
        for visit in line["visits"][:n_disturbed]:
            visit["disturbed"] = "a neighbour"
        line["disturbed"] = "a neighbour" if n_disturbed > 1 else None
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    store = journal_store([])
    store.ingest([path])
    printed = run_profile(store.name, *ONE_POINT).stdout
    assert printed.count("a neighbour") == n_disturbed
    assert ("from the undisturbed visits alone" in printed) is says_so
