"""Files of a fleet that cannot be written whole, or were damaged: nobody reads half of one, and the mend is named."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from benchmarks.ruler.errors import InvalidShard, JournalError
from benchmarks.ruler.fleet import command
from benchmarks.ruler.fleet import folder as folder_module
from benchmarks.ruler.fleet.admission import class_path, host_path, unfit_hosts
from benchmarks.ruler.fleet.calibration import _found_class
from benchmarks.ruler.fleet.folder import host_folder, read_shard, shard_path, write_value
from benchmarks.ruler.fleet.host import Host, HostClass
from benchmarks.ruler.fleet.notes import Notebook, WorkState
from benchmarks.ruler.fleet.reading import state_of
from benchmarks.ruler.fleet.status_text import status_lines
from benchmarks.ruler.record import journal
from benchmarks.ruler.sweep.machine_file import BestProbe, keep_probe

KIND = HostClass(cpu="EPYC", cores=8)


@contextmanager
def full_disk(n_bytes=20):
    """No file may grow beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def host(name, kind=KIND):
    return Host(name=name, node=name, kind=kind)


def test_the_first_of_several_hosts_says_what_the_class_is(tmp_path):
    for name, cores in (("one", 8), ("two", 16)):
        _found_class(tmp_path, host(name, HostClass(cpu="EPYC", cores=cores)))
    assert '"cores": 8' in class_path(tmp_path).read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["class.json"]


def test_on_a_full_disk_no_half_of_a_file_is_left_and_the_file_is_named(made_fleet):
    fleet = made_fleet()
    before = sorted(fleet.folder.rglob("*"))
    with full_disk():
        with pytest.raises(InvalidShard, match=r"class.json: cannot be written \(File too large\); make room"):
            _found_class(fleet.folder, host("one"))
        with pytest.raises(InvalidShard, match=r"fleet.json: cannot be written"):
            folder_module.write_shards(fleet.folder / "other", fleet.fleet, fleet.shards[:1])
    assert [path for path in sorted(fleet.folder.rglob("*")) if path.is_file()] == [p for p in before if p.is_file()]


def test_on_a_full_disk_work_ends_as_wrong_usage_and_not_as_a_fault_of_ours(made_fleet):
    fleet = made_fleet()
    with full_disk():
        done = CliRunner().invoke(command.main, ["work", str(shard_path(fleet.folder, fleet.shards[0]))])
    assert isinstance(done.exception, InvalidShard)


def test_a_machine_s_file_that_cannot_be_written_is_named(tmp_path):
    probe = BestProbe(seconds={"product": 1.0}, measured_at="2026-01-01T00:00:00+00:00", conditions={})
    with full_disk(), pytest.raises(JournalError, match=r"box.json: cannot be written \(File too large\)"):
        keep_probe(tmp_path, probe, machine="box", environment="py3.11-cpu-t1")


@pytest.mark.parametrize(
    ("path_of", "mend"),
    [
        (class_path, "remove it; the next host writes it"),
        (lambda folder: host_path(folder, "one"), "remove it; the host is calibrated again before its next shard"),
        (lambda folder: host_folder(folder, "one") / "work" / "0001.json", "remove it; its host notes anew"),
        (lambda folder: folder / "fleet.json", "copy it again, or plan again"),
    ],
)
def test_a_half_written_file_is_named_with_its_mend(made_fleet, path_of, mend):
    fleet = made_fleet()
    path = path_of(fleet.folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"cpu": "EP')
    with pytest.raises(InvalidShard, match=f"{path.name}: not a file of a fleet .*{mend}"):
        state_of(fleet.folder)
    if path.name in {"class.json", "host.json"}:
        path.unlink()
        assert unfit_hosts(fleet.folder, tolerance=0.02) == {}


def test_a_shard_that_was_given_up_says_why_until_its_groups_are_done(made_fleet):
    fleet = made_fleet()
    Notebook(fleet.folder, "one", fleet.shards[0]).write(WorkState.FAILED, "the reason")
    assert "failed: shard 1 on one: the reason" in status_lines(state_of(fleet.folder).status(), folder=fleet.folder)
    fleet.record("two", fleet.shards[0].groups)
    assert not any(
        line.startswith("failed") for line in status_lines(state_of(fleet.folder).status(), folder=fleet.folder)
    )


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_host_whose_clock_is_wrong_is_not_lost(made_fleet, monkeypatch, hours):
    class Wrong(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=hours)

    fleet = made_fleet()
    with monkeypatch.context() as patch:
        patch.setattr(journal, "datetime", Wrong)
        patch.setattr(folder_module, "datetime", Wrong)
        Notebook(fleet.folder, "one", fleet.shards[0]).write(WorkState.RUNNING)
    [found] = state_of(fleet.folder).status().hosts
    assert found.running == 1
    assert abs(datetime.fromisoformat(found.last_seen) - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threads": 7}, "its threads differ from those of fleet.json"),
        ({"visits": 9, "machine": "other"}, "its machine and visits differ from those of fleet.json"),
    ],
)
def test_a_shard_that_was_edited_by_hand_is_measured_by_nobody(made_fleet, changes, said):
    fleet = made_fleet()
    path = shard_path(fleet.folder, fleet.shards[1])
    write_value(path, replace(fleet.shards[1], fleet=replace(fleet.fleet, **changes)))
    with pytest.raises(InvalidShard, match=f"0002.json: {said}"):
        state_of(fleet.folder)
    assert said in str(CliRunner().invoke(command.main, ["work", str(path)]).exception)


def test_a_group_or_a_shard_that_is_there_twice_is_named(made_fleet):
    fleet = made_fleet()
    shard = fleet.shards[0]
    write_value(fleet.folder / "shards" / "copy.json", shard)
    with pytest.raises(InvalidShard, match="two files in shards/ hold shard 1; remove the copy"):
        state_of(fleet.folder)
    write_value(shard_path(fleet.folder, shard), replace(shard, groups=shard.groups + shard.groups[:1]))
    with pytest.raises(InvalidShard, match=r"0001.json: holds a group twice"):
        read_shard(shard_path(fleet.folder, shard))
