"""Work on a shard: what is left for a host, which groups begin anew, which commits take turns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ruler.errors import InvalidShard, JournalError, UncommittedChanges
from benchmarks.ruler.fleet import work as work_module
from benchmarks.ruler.fleet.folder import (
    fleet_folder_of,
    host_folder,
    read_fleet,
    read_shard,
    read_shards,
    shard_path,
)
from benchmarks.ruler.fleet.host import Host, HostClass, host_name
from benchmarks.ruler.fleet.notes import Notebook, WorkState, notes_of
from benchmarks.ruler.fleet.recorded import record_of_host
from benchmarks.ruler.fleet.work import begun_work, measured
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record import provenance
from benchmarks.ruler.record.outcome import State

KIND = HostClass(cpu="a CPU", cores=2)


def work_on(fleet, number=1, host="one", *, is_shared=False):
    shard = fleet.shards[number - 1]
    return begun_work(shard, fleet.folder, Host(name=host, node=host, kind=KIND), Settings(), is_shared=is_shared)


def test_a_host_records_as_the_class_in_a_folder_of_its_own_and_names_itself_among_the_conditions(made_fleet):
    fleet = made_fleet()
    settings = work_on(fleet).settings
    assert settings.data_dir == fleet.folder / "hosts" / "one"
    assert (settings.machine, settings.threads, settings.conditions) == ("testbox", 1, (("host", "one"),))
    assert dict(work_on(fleet, is_shared=True).settings.conditions)["shared_host"] == "yes"


def test_what_any_host_has_completed_is_left_out(made_fleet):
    fleet = made_fleet()
    [first, *others] = fleet.shards[0].groups
    fleet.record("two", [first])
    assert work_on(fleet).keys_left(is_repeat=False) == tuple(others)


@pytest.mark.parametrize("lacking", [{"visits": 1}, {"profiled": False}])
def test_what_another_host_has_only_begun_begins_anew(made_fleet, lacking):
    fleet = made_fleet()
    fleet.record("two", fleet.shards[0].groups, **lacking)
    assert work_on(fleet).keys_left(is_repeat=False) == fleet.shards[0].groups


def test_a_group_without_a_commit_is_left_whole_so_that_its_commits_meet_on_one_host(made_fleet):
    fleet = made_fleet(n_commits=2)
    fleet.record("two", fleet.shards[0].groups, commits=fleet.fleet.commits[:1])
    assert work_on(fleet).keys_left(is_repeat=False) == fleet.shards[0].groups


def test_a_point_that_failed_is_measured(made_fleet):
    fleet = made_fleet()
    fleet.record("two", fleet.shards[0].groups, state=State.CRASHED)
    assert work_on(fleet).keys_left(is_repeat=False) == ()


def test_a_host_repeats_no_group_that_it_measured_itself(made_fleet):
    fleet = made_fleet()
    [repeater] = [shard for shard in fleet.shards if shard.repeats]
    assert work_on(fleet, repeater.number).keys_left(is_repeat=True) == repeater.repeats
    fleet.record("one", repeater.repeats, visits=1)
    assert work_on(fleet, repeater.number).keys_left(is_repeat=True) == ()
    assert work_on(fleet, repeater.number, "two").keys_left(is_repeat=True) == repeater.repeats
    fleet.record("two", repeater.repeats, is_repeat=True)
    assert work_on(fleet, repeater.number, "three").keys_left(is_repeat=True) == ()


def test_what_one_host_repeated_and_then_measured_is_left_for_a_second_one(made_fleet):
    fleet = made_fleet()
    [repeater] = [shard for shard in fleet.shards if shard.repeats]
    fleet.record("one", repeater.repeats, is_repeat=True)
    assert work_on(fleet, repeater.number, "two").keys_left(is_repeat=True) == ()
    fleet.record("one", repeater.repeats)
    assert work_on(fleet, repeater.number, "two").keys_left(is_repeat=True) == repeater.repeats


def test_commits_take_turns_through_their_wheels_with_the_shard_s_shapes_alone(made_fleet, monkeypatch, silent):
    fleet, seen = made_fleet(n_commits=2), []

    def visit(commit, settings, *, n_visits, label, options):
        shapes = json.loads(Path(options[-1]).read_text())
        seen.append((commit.hash[0], settings.last_visit, settings.run_id, n_visits, len(shapes), options[0]))
        return "2 ok\n"

    monkeypatch.setattr(work_module, "made_visit", visit)
    assert measured(work_on(fleet), silent) == 0
    n, of_groups = len(fleet.shards[0].groups), [entry for entry in seen if entry[2].endswith("repeat") is False]
    ids = [fleet.fleet.run_id(commit) for commit in fleet.fleet.commits]
    assert of_groups == [
        ("a", None, ids[0], 1, 1, "--check"),
        ("b", None, ids[1], 1, 1, "--check"),
        ("a", 1, ids[0], 2, n, "--only"),
        ("b", 1, ids[1], 2, n, "--only"),
        ("b", 2, ids[1], 2, n, "--only"),
        ("a", 2, ids[0], 2, n, "--only"),
    ]


def test_the_checked_out_commit_is_measured_as_run_does_by_the_groups_of_the_shard(made_fleet, monkeypatch, silent):
    fleet, planned = made_fleet(), []
    commit = fleet.fleet.commits[0]
    monkeypatch.setattr(work_module, "is_editable", lambda: True)
    monkeypatch.setattr(work_module, "measured_commit", lambda _: commit)
    monkeypatch.setattr("benchmarks.ruler.sweep.sweep_plan.measured_commit", lambda _: commit)
    monkeypatch.setattr(work_module, "refuse_uncommitted_changes", lambda _: None)

    def run_directly(console, settings, sweep, reader):
        planned.append(sweep.plan)
        return sweep

    monkeypatch.setattr(work_module, "run_directly", run_directly)
    measured(work_on(fleet), silent)
    known = {group: key for key, group in fleet.known.items()}
    assert tuple(known[group] for group in planned[0].groups) == fleet.shards[0].groups
    run = planned[0].run
    assert (run.run_id, run.machine, run.commit) == (fleet.fleet.run_id(commit), "testbox", commit.hash)
    assert run.started_at == fleet.fleet.created_at
    assert planned[0].axes.visits == 2


def test_lines_of_other_runs_and_torn_ones_count_for_nothing(made_fleet):
    fleet = made_fleet()
    key = fleet.shards[0].groups[0]
    fleet.record("one", [key])
    other = replace(fleet.fleet, name="ffffffff")
    assert record_of_host(fleet.folder, "one", other).points == {}
    [path] = host_folder(fleet.folder, "one").rglob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-5])
    assert record_of_host(fleet.folder, "one", fleet.fleet).complete(fleet.fleet, fleet.known) == frozenset()
    path.write_text("no journal\n")
    with pytest.raises(JournalError, match=r"jsonl:1: not a line of a journal .* copy it from its host again"):
        record_of_host(fleet.folder, "one", fleet.fleet)


def test_files_of_a_fleet_are_read_as_they_were_written_and_named_when_they_are_none(made_fleet, tmp_path):
    fleet = made_fleet(n_shards=3)
    assert read_fleet(fleet.folder) == fleet.fleet
    assert read_shards(fleet.folder) == fleet.shards
    path = shard_path(fleet.folder, fleet.shards[1])
    assert fleet_folder_of(path) == fleet.folder
    path.write_text(path.read_text().replace('"format": 1', '"format": 9'))
    with pytest.raises(InvalidShard, match="shard format 9, this checkout reads 1"):
        read_shard(path)
    path.write_text("{}")
    with pytest.raises(InvalidShard, match=r"0002.json: not a file of a fleet"):
        read_shards(fleet.folder)
    with pytest.raises(InvalidShard, match="no such file; `fusebench fleet plan"):
        read_fleet(tmp_path / "nowhere")


def test_notes_tell_how_far_a_shard_is(made_fleet):
    fleet = made_fleet()
    notebook = Notebook(fleet.folder, "a/b", fleet.shards[0])
    notebook.write(WorkState.RUNNING)
    notebook.write(WorkState.FAILED, "the reason")
    note = notes_of(fleet.folder, "a/b")[1]
    assert (note.state, note.detail) == (WorkState.FAILED, "the reason")
    assert note.started_at <= note.seen_at
    assert host_folder(fleet.folder, "../x").parent == fleet.folder / "hosts"


def test_a_host_is_called_as_it_is_told_or_as_slurm_calls_the_node(monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    assert host_name(Settings(host="mine")) == "mine"
    assert host_name(Settings()) == "n1"
    monkeypatch.delenv("SLURMD_NODENAME")
    assert host_name(Settings())


def test_a_checkout_with_edited_kernels_is_refused_before_it_is_calibrated(made_fleet, monkeypatch):
    fleet = made_fleet()
    monkeypatch.setattr(work_module, "measured_commit", lambda _: fleet.fleet.commits[0])
    monkeypatch.setattr(provenance, "uncommitted_files", lambda: ["kernels/fused_mlp/ops.py"])
    with pytest.raises(UncommittedChanges, match=r"kernels/fused_mlp/ops.py differs from HEAD"):
        work_on(fleet)
