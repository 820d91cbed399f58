"""Somebody's tree may hold anything: what is odd is named, the rest goes in, and nothing hangs."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.database.schema import Run, Value
from results.exit_codes import ExitCode
from results.files import asv_results
from results.files.asv_results import asv_run_uid
from results.files.paths import path_from_text, text_from_path
from results.ingest import file_ingestion
from results.queries import latest_points, values_at
from results.store import open_store

ROOT = Path(__file__).parents[3]
A, B = "a" * 40, "b" * 40
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """An asv tree of one good result file; its folder of the machine."""
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1.0)}, commit=A)
    return tmp_path / "tree" / "laptop"


def ingested(path, database, *options):
    """Ingest in a process that may take 60 s and 2 GB."""
    command = [sys.executable, str(ROOT / "fusebench.py"), "ingest", str(path), "--db", str(database), *options]

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))

    return subprocess.run(
        command, cwd=ROOT, capture_output=True, check=False, timeout=60, preexec_fn=limit,
        encoding="utf-8", errors="surrogateescape",
    )  # fmt: skip


def test_only_regular_files_are_read_and_every_other_one_is_named(tmp_path, tree):
    os.mkfifo(tree / "fifo.json")
    os.mkfifo(tmp_path / "tree" / "fifo.jsonl")
    (tree / "endless.json").symlink_to("/dev/zero")
    (tree / "circle.json").symlink_to(tree / "circle.json")
    (tree / "gone.json").symlink_to(tree / "nowhere")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        folder = os.open(tree, os.O_RDONLY)
        try:
            listening.bind(f"/proc/self/fd/{folder}/socket.json")
        finally:
            os.close(folder)
        answer = ingested(tmp_path / "tree", tmp_path / "x.db")
        again = ingested(tmp_path / "tree", tmp_path / "x.db")
    assert answer.returncode == ExitCode.FAILED
    assert "1 value stored" in answer.stdout
    expected = {
        "tree/laptop/fifo.json": "is a FIFO, not a regular file",
        "tree/fifo.jsonl": "is a FIFO, not a regular file",
        "tree/laptop/endless.json": "is a device, not a regular file",
        "tree/laptop/socket.json": "is a socket, not a regular file",
        "tree/laptop/circle.json": "Too many levels of symbolic links",
        "tree/laptop/gone.json": "No such file or directory",
    }
    for name, reason in expected.items():
        assert f"not read: {tmp_path / name}: {reason}" in answer.stderr
        assert f"not read: {tmp_path / name}: {reason}" in again.stderr


@pytest.mark.parametrize("name", ["laptop/machine.json", "benchmarks.json", "asv.conf.json", "../journal/m/x.jsonl"])
def test_a_fifo_in_place_of_what_describes_the_results_does_not_hang(tmp_path, tree, name):
    path = tmp_path / "tree" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    answer = ingested(tmp_path, tmp_path / "x.db")
    assert "1 value stored" in answer.stdout
    assert ("is a FIFO" in answer.stderr) == (name != "asv.conf.json"), answer.stderr


def test_a_file_too_large_for_any_record_is_refused_unread(tmp_path, tree):
    with (tree / "sparse.json").open("wb") as file:
        file.truncate(2**40)
    answer = ingested(tmp_path / "tree", tmp_path / "x.db")
    assert answer.returncode == ExitCode.FAILED
    assert "sparse.json: has 1,099,511,627,776 bytes; at most 1,073,741,824 are read" in answer.stderr
    assert "1 value stored" in answer.stdout


def test_names_that_are_not_utf8_are_no_hindrance(database, tmp_path, tree):
    whole = next(tree.glob("*virtualenv*.json"))
    odd = os.fsencode(whole.parent) + b"/caf\xe9.json"
    os.rename(whole, odd)  # noqa: PTH104 - bytes
    os.rename(tree, os.fsencode(tree) + b"\xff")  # noqa: PTH104
    answer = ingested(tmp_path / "tree", database)
    assert (answer.returncode, answer.stderr) == (ExitCode.FINE, "")
    assert "1 value stored from 2 files" in answer.stdout
    assert "0 values stored from 2 files (2 unchanged" in ingested(tmp_path / "tree", database).stdout
    (found,) = (tmp_path / "tree").glob("*/caf*")
    found.write_text("{")
    answer = ingested(tmp_path / "tree", database)
    assert answer.returncode == ExitCode.FAILED
    assert r"laptop\xff/caf\xe9.json: not JSON" in answer.stderr
    found.unlink()
    assert "1 run" in ingested(tmp_path / "tree", database, "--prune").stdout


def test_a_path_comes_back_from_its_stored_text():
    for name in ("/a/b.json", "/a/é \n.json", os.fsdecode(b"/a/caf\xe9 %41.json")):
        text = text_from_path(Path(name))
        text.encode()
        assert path_from_text(text) == Path(name)


def test_control_characters_of_names_and_contents_never_reach_the_terminal(tmp_path, tree, timed, write_asv_run):
    (tree / "x\x1b]0;owned\x07.json").write_text("{")
    write_asv_run(tmp_path / "tree", {"s.time_\x1b[2J": timed(1.0) | {"result": 3}}, commit=B)
    (tmp_path / "j\x1b[31m.jsonl").write_text('{"format": 1, "kind": "timing')
    (tmp_path / "j\x1b[32m.jsonl").write_text('{"format": "\\u001b[2J"}\n')
    answer = ingested(tmp_path, tmp_path / "x.db")
    assert answer.returncode == ExitCode.FAILED
    assert not CONTROL.search(answer.stdout + answer.stderr)
    assert r"x\x1b]0;owned\x07.json: not JSON" in answer.stderr
    assert r"j\x1b[31m.jsonl: the last line is cut off" in answer.stderr
    assert r"s.time_\x1b[2J" in answer.stderr


def test_a_folder_that_cannot_be_listed_is_named_and_the_rest_goes_in(tmp_path, tree, monkeypatch):
    closed = tmp_path / "tree" / "closed"
    closed.mkdir()
    listed = os.scandir

    def scandir(path="."):
        if Path(path) == closed:  # root may list everything, so nobody's permissions will do
            raise PermissionError(13, "Permission denied", str(closed))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    answer = CliRunner().invoke(ingest, [str(tmp_path / "tree"), "--db", str(tmp_path / "x.db")], standalone_mode=False)
    assert answer.return_value == ExitCode.FAILED
    assert f"not read: {closed}: the folder cannot be listed (Permission denied)" in answer.stderr
    assert "1 value stored" in answer.stdout


def test_each_given_folder_without_a_file_of_record_is_named(tmp_path, tree):
    for name in ("empty", "also empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("nothing")
    arguments = [str(tmp_path / name) for name in ("empty", "tree", "also empty")]
    answer = CliRunner().invoke(ingest, [*arguments, "--db", str(tmp_path / "x.db")], standalone_mode=False)
    assert answer.return_value == ExitCode.FAILED
    assert f"found under {tmp_path / 'empty'}, {tmp_path / 'also empty'}." in answer.stderr
    assert "1 value stored" in answer.stdout


def test_parameters_that_explode_without_results_are_refused_at_once(tmp_path, tree, write_asv_run, timed):
    axis = [str(number) for number in range(1000)]
    grid = {"result": None, "params": [axis, axis], "version": "g"}
    path = write_asv_run(tmp_path / "tree", {"s.track_grid": grid, "s.time_it": timed(1.0)}, commit=B)
    assert path.stat().st_size < 20_000
    started = time.monotonic()
    answer = ingested(tmp_path / "tree", tmp_path / "x.db")
    assert time.monotonic() - started < 15
    assert answer.returncode == ExitCode.FAILED
    assert f"not read: {path}: s.track_grid: with its parameters more than 100,000 combinations" in answer.stderr
    assert "1 value stored" in answer.stdout


def test_a_grid_that_failed_whole_is_stored_up_to_the_limit(opened, tmp_path, write_asv_run, monkeypatch):
    monkeypatch.setattr(asv_results, "MOST_WITHOUT_RESULT", 12)
    axes = [["1", "2", "3"], ["1", "2"]]
    failed = {"result": None, "params": axes, "version": "g"}
    write_asv_run(tmp_path / "tree", {"s.track_a": failed, "s.track_b": failed}, commit=A)
    assert opened.ingest([tmp_path / "tree"]).n_values == 12
    write_asv_run(tmp_path / "tree", {"s.track_a": failed, "s.track_b": failed, "s.track_c": failed}, commit=B)
    assert "s.track_c: with its parameters more than 12" in opened.ingest([tmp_path / "tree"]).problems[0]


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
def test_an_older_copy_of_a_run_never_takes_the_newer_ones_place(opened, tmp_path, write_asv_run, timed, order):
    early, late = 1_700_000_000_000, 1_700_000_500_000
    write_asv_run(tmp_path / "old", {"s.time_it": timed(1.0, started_at=early)}, commit=A)
    suite = {"s.time_it": timed(2.0, started_at=late), "s.time_other": timed(3.0, started_at=early)}
    write_asv_run(tmp_path / "new", suite, commit=A)
    notes = [note for name in order for note in opened.ingest([tmp_path / name], project="p").notes]
    assert sorted(row.value for row in values_at(opened, commit=A)) == [2.0, 3.0]
    (note,) = notes
    assert str(tmp_path / "old") in note
    assert str(tmp_path / "new") in note


def test_a_file_of_a_run_that_shrinks_is_believed(opened, tmp_path, write_asv_run, timed):
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1.0), "s.time_other": timed(2.0)}, commit=A)
    opened.ingest([tmp_path / "tree"])
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1.0)}, commit=A)
    opened.ingest([tmp_path / "tree"])
    assert [row.value for row in values_at(opened, commit=A)] == [1.0]


def test_slashes_in_names_never_make_two_runs_one():
    assert asv_run_uid("m", "x/y", "e") != asv_run_uid("m/x", "y", "e")
    assert asv_run_uid("m", "x%2Fy", "e") != asv_run_uid("m", "x/y", "e")
    assert asv_run_uid("m", "abc", "e/f") == "asv/m/abc/e/f", "as it was"


def test_runs_of_two_machines_whose_names_join_alike_stay_two(opened, tmp_path, write_asv_run, timed):
    for folder, machine, commit in (("one", "m", "x/y"), ("two", "m/x", "y")):
        path = write_asv_run(tmp_path / folder, {"s.time_it": timed(1.0)}, commit=A)
        document = json.loads(path.read_text())
        path.write_text(json.dumps(document | {"commit_hash": commit, "params": {"machine": machine}}))
        path.with_name("machine.json").write_text(json.dumps({"machine": machine, "version": 1}))
        opened.ingest([tmp_path / folder], project="p")
    with opened.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(Run)).scalar() == 2
        assert connection.execute(sa.select(sa.func.count()).select_from(Value)).scalar() == 2


@pytest.mark.parametrize("are_in_one_file", [True, False])
def test_a_run_identity_of_two_machines_is_refused_by_name(opened, tmp_path, journals, are_in_one_file):
    sweep = journals.Sweep(commit=A, operations=("mlp",), run_id="1234abcd", machine="bench-01")
    (first,) = journals.write_journals(tmp_path / "first", [sweep])
    (second,) = journals.write_journals(tmp_path / "second", [replace(sweep, machine="bench-02")])
    if are_in_one_file:
        first.write_text(first.read_text() + second.read_text())
        (problem,) = opened.ingest([first]).problems
        assert str(first) in problem
        assert latest_points(opened) == []
    else:
        opened.ingest([tmp_path / "first"])
        (problem,) = opened.ingest([tmp_path / "second"]).problems
        assert str(first) in problem
        assert str(second) in problem
        assert {row.machine for row in latest_points(opened)} == {"bench-01"}
    assert "run 1234abcd" in problem
    assert "bench-01" in problem
    assert "bench-02" in problem


def test_a_group_measured_twice_in_a_run_is_reported_and_a_copy_is_not(opened, tmp_path, journals):
    sweep = journals.Sweep(commit=A, operations=("mlp",), run_id="1234abcd", batches=(1,))
    (first,) = journals.write_journals(tmp_path / "first", [sweep])
    opened.ingest([first])
    (copy,) = journals.write_journals(tmp_path / "copy", [sweep])
    assert opened.ingest([copy]).notes == ()
    (second,) = journals.write_journals(tmp_path / "second", [replace(sweep, slowdowns={("mlp", "eager"): 2.0})])
    second.write_text(second.read_text().replace("T13:05:00", "T15:05:00"))
    (note,) = opened.ingest([second]).notes
    assert f"{second}: run 1234abcd measured 2 groups twice, for this file and for {copy}" in note
    eager = {row.latency_s for row in latest_points(opened) if row.provider == "eager"}
    assert eager == {journals.latency_s(replace(sweep, slowdowns={("mlp", "eager"): 2.0}), "mlp", "eager", 1, hidden)
                     for hidden in sweep.hiddens}  # fmt: skip


def test_a_fault_of_a_reader_stops_one_file_and_not_the_rest(tmp_path, tree, journals, monkeypatch):
    journals.write_journals(tmp_path / "tree", [journals.Sweep(commit=B)])

    def faulty(*_arguments, **_options):
        raise KeyError("a fault of ours")

    monkeypatch.setattr(file_ingestion, "journal_from_bytes", faulty)
    with open_store(str(tmp_path / "x.db")) as store:
        report = store.ingest([tmp_path / "tree"])
    assert report.n_values == 1
    assert "cannot be understood (KeyError: 'a fault of ours')" in report.problems[0]
