"""Result files parsed by other processes ahead of the one that writes: only faster, in nothing different."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from results.ingest import parallel_parsing as reading_ahead
from results.ingest.parallel_parsing import LEAST_BYTES, ParallelParser, Request, default_processes, parse_result
from results.queries import commits, values_at
from results.store import open_store
from results.upkeep.housekeeping import store_size

ROOT = Path(__file__).parents[3]


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """An asv tree of eight commits, one of whose files is broken."""
    for number in range(8):
        grid = {"result": [1.0, None, float("nan")], "params": [["1", "'x'", "2.5"]], "version": "g"}
        suite = {"s.time_it": timed(1e-3 * (number + 1), samples=[[1.0, 2.0]]), "s.track_grid": grid}
        write_asv_run(tmp_path / "tree", suite, commit=f"{number}" * 40, date=1_700_000_000_000 + number)
    (broken,) = tree_file(tmp_path / "tree", 5)
    broken.write_bytes(broken.read_bytes()[:-30])
    return tmp_path / "tree"


def tree_file(tree, number):
    return tree.rglob(f"{number}{number}{number}*.json")


def content_of(store):
    values = [repr(row) for commit in commits(store) for row in values_at(store, commit=commit.commit)]
    return values, store_size(store).n_rows


def test_other_processes_change_nothing_but_the_time(tmp_path, tree):
    found = []
    for n_processes in (0, 2):
        with open_store(str(tmp_path / f"{n_processes}.db")) as store:
            report = store.ingest([tree], n_processes=n_processes)
            again = store.ingest([tree], n_processes=n_processes)
            found.append((report, again, content_of(store)))
    assert found[0] == found[1]
    assert len(found[0][0].problems) == 1


def test_a_file_that_vanishes_meanwhile_is_told(tmp_path, tree):
    requests = [
        Request(path=path, machine=None, context="", known_hash=None) for path in sorted(tree.rglob("*-v*.json"))
    ]
    with ParallelParser(requests, n_processes=1) as ahead:
        assert ahead.parsed(requests[0]).record is not None
        requests[-1].path.unlink()
        with pytest.raises(FileNotFoundError):
            ahead.parsed(requests[-1])


def test_files_that_are_left_out_are_passed_over(tree):
    requests = [
        Request(path=path, machine=None, context="", known_hash=None) for path in sorted(tree.rglob("*-v*.json"))
    ]
    with ParallelParser(requests, n_processes=1) as ahead:
        for request in requests[::3]:
            assert ahead.parsed(request).content_hash == parse_result(request).content_hash


def test_a_reader_that_was_killed_costs_time_and_nothing_else(tmp_path, tree):
    requests = [
        Request(path=path, machine=None, context="", known_hash=None) for path in sorted(tree.rglob("*-v*.json"))
    ]
    with ParallelParser(requests, n_processes=1) as ahead:
        ahead.parsed(requests[0])
        for pid in list(ahead._pool._processes):
            os.kill(pid, signal.SIGKILL)
        assert [ahead.parsed(request).content_hash for request in requests[1:]] == [
            parse_result(request).content_hash for request in requests[1:]
        ]


@pytest.mark.parametrize(("cores", "n_bytes", "expected"), [(8, LEAST_BYTES, 2), (2, LEAST_BYTES, 0), (8, 1000, 0)])
def test_others_parse_only_where_it_pays(monkeypatch, cores, n_bytes, expected):
    monkeypatch.setattr(reading_ahead.os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert default_processes(n_bytes) == expected


ENDLESS = """
import sys, time
from pathlib import Path
from results.ingest.parallel_parsing import ParallelParser, Request

if __name__ == "__main__":
    request = Request(path=Path(sys.argv[1]), machine=None, context="", known_hash=None)
    with ParallelParser([request] * 3, n_processes=2) as ahead:
        ahead.parsed(request)
        print(*ahead._pool._processes, flush=True)
        time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
def test_a_killed_ingest_leaves_no_reader_behind(tmp_path, tree):
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(next(tree_file(tree, 0)))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ, cwd=ROOT) as process:
        readers = [int(pid) for pid in process.stdout.readline().split()]
        assert readers
        process.kill()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(is_running(pid) for pid in readers):
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in readers)


def is_running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
