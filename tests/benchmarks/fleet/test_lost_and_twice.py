"""No group of a fleet is lost, measured twice or taken from a wrong host, whatever happens to its folder."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from benchmarks.ruler.errors import InvalidAxes, InvalidShard
from benchmarks.ruler.fleet import command
from benchmarks.ruler.fleet.admission import Calibration, HostFile, host_path, unfit_hosts
from benchmarks.ruler.fleet.engines import EngineOptions, Job
from benchmarks.ruler.fleet.engines.local import run_jobs
from benchmarks.ruler.fleet.folder import (
    host_folder,
    read_shard,
    shard_left,
    shard_path,
    write_shards,
    write_value,
)
from benchmarks.ruler.fleet.host import Host, HostClass
from benchmarks.ruler.fleet.notes import Notebook, WorkState
from benchmarks.ruler.fleet.planning import shards_again
from benchmarks.ruler.fleet.reading import state_of


def test_groups_whose_shard_s_file_is_lost_are_missing_and_planned_again(made_fleet):
    fleet = made_fleet(n_shards=3)
    lost = fleet.shards[1]
    shard_path(fleet.folder, lost).unlink()
    for shard in (fleet.shards[0], fleet.shards[2]):
        fleet.record("one", shard.groups)
    state = state_of(fleet.folder)
    assert state.status().n_groups == len(fleet.known)
    assert set(state.status().missing) == set(lost.groups)
    assert {key for shard in shards_again(state, n_shards=1) for key in shard.groups} == set(lost.groups)


def test_what_was_planned_anew_is_started_by_its_new_shard_alone(made_fleet):
    fleet = made_fleet(n_shards=2)
    # One with repeats is not done until these are.
    ended, failed = sorted(fleet.shards, key=lambda shard: not shard.repeats)
    fleet.record("one", ended.groups)
    Notebook(fleet.folder, "one", ended).write(WorkState.ENDED)
    Notebook(fleet.folder, "two", failed).write(WorkState.FAILED)
    again = shards_again(state_of(fleet.folder), n_shards=2)
    write_shards(fleet.folder, fleet.fleet, again)
    assert [shard.number for shard in state_of(fleet.folder).shards_left()] == [3, 4]
    assert shard_left(shard_path(fleet.folder, failed)).groups == ()
    assert shard_left(shard_path(fleet.folder, again[0])) == again[0]


@pytest.mark.parametrize("state", [WorkState.RUNNING, WorkState.FAILED, WorkState.UNFIT])
def test_repeats_that_no_host_came_to_the_end_of_are_started_again(made_fleet, state):
    fleet = made_fleet()
    fleet.record("one", fleet.known)
    [repeater] = [shard for shard in fleet.shards if shard.repeats]
    Notebook(fleet.folder, "two", repeater).write(state)
    assert state_of(fleet.folder).shards_left() == (repeater,)


def test_a_shard_of_another_fleet_is_named(made_fleet):
    fleet = made_fleet()
    path = shard_path(fleet.folder, fleet.shards[1])
    values = json.loads(path.read_text())
    values["fleet"]["name"] = "ffffffff"
    path.write_text(json.dumps(values))
    with pytest.raises(InvalidShard, match=r"0002.json: is of fleet ffffffff, the folder of 0a1b2c3d"):
        state_of(fleet.folder)


def test_a_shard_with_a_group_that_the_axes_lack_is_named(made_fleet):
    fleet = made_fleet()
    write_value(shard_path(fleet.folder, fleet.shards[0]), replace(fleet.shards[0], groups=("mlp-of-tomorrow",)))
    with pytest.raises(InvalidAxes, match=r"shard 0001: this checkout's tiny.toml axes have no group mlp-of-tomorrow"):
        state_of(fleet.folder)


def test_a_shard_of_a_newer_checkout_is_told_so_though_it_holds_unknown_values(made_fleet):
    fleet = made_fleet()
    path = shard_path(fleet.folder, fleet.shards[0])
    values = json.loads(path.read_text())
    values["format"], values["fleet"]["device"] = 2, "xpu"
    path.write_text(json.dumps(values))
    with pytest.raises(InvalidShard, match="shard format 2, this checkout reads 1"):
        read_shard(path)


def test_shards_that_wait_for_their_host_are_running_not_missing(made_fleet):
    fleet = made_fleet(n_shards=3)
    for shard in fleet.shards[:2]:
        Notebook(fleet.folder, "one", shard).write(WorkState.RUNNING)
    assert set(state_of(fleet.folder).status().missing) == set(fleet.shards[2].groups)


def test_a_run_whose_workers_were_killed_is_not_fine(made_fleet, monkeypatch):
    fleet = made_fleet()
    fleet.record("one", fleet.shards[0].groups)

    def start(jobs, options, avoid):
        for job in jobs:
            shard = fleet.shards[job.shard - 1]
            Notebook(fleet.folder, "one", shard).write(WorkState.RUNNING)  # its last sign of life
        return {job.shard: -9 for job in jobs}

    monkeypatch.setattr(command, "engine", lambda _: start)
    done = CliRunner().invoke(command.main, ["run", str(fleet.folder)])
    assert done.exit_code == 2, done.output


def test_hosts_whose_names_differ_in_what_a_path_cannot_hold_have_folders_of_their_own(tmp_path):
    names = ["gpu 1", "gpu/1", "gpu_1", "..", ".", "größe"]
    folders = {host_folder(tmp_path, name) for name in names}
    assert len(folders) == len(names)
    assert {path.resolve().parent for path in folders} == {(tmp_path / "hosts").resolve()}
    assert all(host_folder(tmp_path, path.name) == path for path in folders)
    assert host_folder(tmp_path, "gpu-1.example").name == "gpu-1.example"


def test_the_class_of_collected_hosts_is_that_of_most(tmp_path):
    kind = HostClass(cpu="EPYC", cores=8)
    kinds = {"a": kind, "b": replace(kind, cores=32), "c": kind}
    for minute, (name, of_host) in enumerate(kinds.items()):
        at = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)).isoformat()
        found = Calibration(measured_at=at, times_s={"p": 1e-5}, ceilings={})
        host = Host(name=name, node=name, kind=of_host)
        write_value(host_path(tmp_path, name), HostFile(host=host, calibration=found))
    assert unfit_hosts(tmp_path, tolerance=0.02) == {"b": "is of another class: cores 32 instead of 8"}


def test_an_engine_is_told_the_machines_of_unfit_hosts_and_not_their_folders(made_fleet):
    fleet = made_fleet()
    kind = HostClass(cpu="EPYC", cores=8)
    for name, slowness in {"one": 1, "node7.gpu-a": 2, "node7.gpu-b": 2, "a/b": 2, "two": 1, "three": 1}.items():
        at = "2026-01-01T00:00:00+00:00"
        found = Calibration(measured_at=at, times_s={"p": slowness * 1e-5}, ceilings={})
        host = Host(name=name, node=name.partition(".")[0], kind=kind)
        write_value(host_path(fleet.folder, name), HostFile(host=host, calibration=found))
    assert set(state_of(fleet.folder).unfit_nodes()) == {"node7", "a/b"}


@pytest.mark.parametrize(("visible", "expected"), [(None, ["0", "1"]), ("2,GPU-ab", ["2", "GPU-ab"])])
def test_local_slots_share_out_the_gpus_that_are_visible(tmp_path, monkeypatch, visible, expected):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    code = "import os, time; print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True); time.sleep(1)"
    jobs = [Job(shard=number, command=(sys.executable, "-c", code), cwd="/") for number in (1, 2)]
    assert run_jobs(jobs, EngineOptions(logs=tmp_path, slots=2), ()) == {1: 0, 2: 0}
    assert sorted((tmp_path / f"000{number}.log").read_text().strip() for number in (1, 2)) == expected
