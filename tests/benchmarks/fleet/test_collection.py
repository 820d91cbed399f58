"""Collection of hosts' folders: from a folder, an object store, another machine; what is longer stays."""

from __future__ import annotations

import os
import shutil

import fsspec
import pytest

from benchmarks.ruler.errors import FolderTaken, InvalidShard
from benchmarks.ruler.fleet.claim import claimed
from benchmarks.ruler.fleet.collection import collected as collected_saying
from benchmarks.ruler.fleet.folder import collection_claim
from benchmarks.ruler.fleet.notes import Notebook, WorkState
from benchmarks.ruler.fleet.reading import state_of
from benchmarks.ruler.fleet.status_text import status_lines


def collected(folder, sources):
    return collected_saying(folder, sources, say=pytest.fail)


@pytest.fixture
def elsewhere(made_fleet, tmp_path):
    """A fleet of two hosts; the second one has recorded in a folder of its own."""
    fleet = made_fleet()
    fleet.record("one", fleet.shards[0].groups)
    fleet.record("two", fleet.shards[1].groups)
    shutil.move(fleet.folder / "hosts" / "two", tmp_path / "far" / "hosts" / "two")
    return fleet, tmp_path / "far"


def journals(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.jsonl")}


def test_a_folder_of_another_host_completes_the_fleet(elsewhere):
    fleet, far = elsewhere
    assert state_of(fleet.folder).status().missing
    assert collected(fleet.folder, [str(far)]) == [f"{far}: 1 of 1 files came"]
    assert state_of(fleet.folder).status().missing == ()
    assert collected(fleet.folder, [str(far)]) == [f"{far}: 0 of 1 files came"]


def test_an_object_store_is_a_source_like_a_folder(elsewhere):
    fleet, far = elsewhere
    store = fsspec.filesystem("memory")
    store.put(str(far / "hosts"), "/bucket/sweep/hosts", recursive=True)
    try:
        collected(fleet.folder, ["memory://bucket/sweep"])
        assert state_of(fleet.folder).status().missing == ()
    finally:
        store.rm("/bucket", recursive=True)


def test_a_journal_only_grows(elsewhere):
    fleet, far = elsewhere
    collected(fleet.folder, [str(far)])
    before = journals(fleet.folder)
    [path] = far.rglob("*.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    collected(fleet.folder, [str(far)])
    assert journals(fleet.folder) == before
    path.write_bytes(whole + whole)
    collected(fleet.folder, [str(far)])
    assert len(journals(fleet.folder)[path.relative_to(far)]) == 2 * len(whole)


@pytest.mark.parametrize("part", [0.5, 2])
def test_two_hosts_of_one_name_are_told_apart_before_one_replaces_the_other(elsewhere, part):
    fleet, far = elsewhere
    collected(fleet.folder, [str(far)])
    before = journals(fleet.folder)
    [path] = far.rglob("*.jsonl")
    other = path.read_bytes().replace(b'"measured_at":"20', b'"measured_at":"21')
    path.write_bytes(other[: len(other) // 2] if part < 1 else other * part)
    with pytest.raises(InvalidShard, match=r"holds other lines than .*two hosts are called alike.*FUSEBENCH_HOST"):
        collected(fleet.folder, [str(far)])
    assert journals(fleet.folder) == before
    assert not list(fleet.folder.rglob("*.part"))


def test_a_line_that_was_copied_while_it_was_written_is_completed(elsewhere):
    fleet, far = elsewhere
    [path] = far.rglob("*.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    collected(fleet.folder, [str(far)])
    path.write_bytes(whole)
    assert collected(fleet.folder, [str(far)]) == [f"{far}: 1 of 1 files came"]
    assert journals(fleet.folder)[path.relative_to(far)] == whole


@pytest.fixture
def remote(monkeypatch, tmp_path):
    """Machines that rsync reaches: a shell in place of ssh."""
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("RSYNC_RSH", str(shell))


@pytest.mark.usefixtures("remote")
@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
def test_by_rsync_a_journal_only_grows_and_a_note_is_replaced(elsewhere):
    fleet, far = elsewhere
    source, [path] = f"gpu2:{far}", far.rglob("*.jsonl")
    note = path.parents[2] / "host.json"
    note.write_text("an earlier one, which is longer")
    collected(fleet.folder, [source])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    note.write_text("anew")
    assert collected(fleet.folder, [source]) == [f"{source}: 1 files came"]
    assert journals(fleet.folder)[path.relative_to(far)] == whole
    assert (fleet.folder / note.relative_to(far)).read_text() == "anew"
    path.write_bytes(whole + whole)
    collected(fleet.folder, [source])
    assert journals(fleet.folder)[path.relative_to(far)] == whole + whole


@pytest.mark.usefixtures("remote")
@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
def test_a_machine_is_a_source_by_rsync(elsewhere):
    fleet, far = elsewhere
    assert collected(fleet.folder, [f"gpu2:{far}"]) == [f"gpu2:{far}: 1 files came"]
    assert state_of(fleet.folder).status().missing == ()
    with pytest.raises(InvalidShard, match=r"gpu2:/nowhere: rsync ended with \d+ .* does it hold a folder `hosts`"):
        collected(fleet.folder, ["gpu2:/nowhere"])


def test_without_rsync_that_is_said(made_fleet, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InvalidShard, match="gpu2:/data: rsync is not installed here"):
        collected(made_fleet().folder, ["gpu2:/data"])


@pytest.mark.parametrize(
    ("source", "said"),
    [("/nowhere", "no host's folder below `hosts`"), ("nosuch://x", "cannot be read .*Protocol not known")],
)
def test_a_source_without_hosts_is_named(made_fleet, source, said):
    with pytest.raises(InvalidShard, match=f"{source}: .*{said}"):
        collected(made_fleet().folder, [source])


def test_nothing_is_written_beside_the_hosts_folders(made_fleet, monkeypatch):
    fleet = made_fleet()
    store = fsspec.filesystem("memory")
    found = {"/bucket/hosts/../../../evil": {"size": 1}}
    monkeypatch.setattr(type(store), "find", lambda *_, **__: found)
    with pytest.raises(InvalidShard, match="leads out of the fleet's folder"):
        collected(fleet.folder, ["memory://bucket"])


def test_groups_of_two_hosts_are_named_after_collecting(elsewhere):
    fleet, far = elsewhere
    fleet.record("one", fleet.shards[1].groups[:1])
    collected(fleet.folder, [str(far)])
    said = status_lines(state_of(fleet.folder).status(), folder=fleet.folder)
    assert any(line.startswith(f"measured twice: {fleet.shards[1].groups[0]} by one and two") for line in said)


def test_two_collections_into_one_folder_do_not_mix(elsewhere):
    fleet, far = elsewhere
    with (
        claimed(collection_claim(fleet.folder), refusal=str, say=pytest.fail),
        pytest.raises(FolderTaken, match=rf"process {os.getpid()} on .*, brings hosts' folders there"),
    ):
        collected(fleet.folder, [str(far)])
    assert state_of(fleet.folder).status().missing


def test_a_host_without_a_journal_has_nothing_to_store(made_fleet):
    fleet = made_fleet()
    fleet.record("one", fleet.shards[0].groups)
    Notebook(fleet.folder, "two", fleet.shards[1]).write(WorkState.FAILED)
    assert state_of(fleet.folder).hosts_to_store() == ("one",)


def test_a_folder_that_cannot_be_written_is_named(elsewhere):
    fleet, far = elsewhere
    (fleet.folder / "hosts" / "two").write_text("in the way")
    with pytest.raises(InvalidShard, match=r"hosts/two/.*: cannot be written, as .*hosts/two is no folder"):
        collected(fleet.folder, [str(far)])
