"""`fusebench run` as its user sees it: one plan, the lock, the folder of record, what is printed."""

import json
import os
import sqlite3
import time
from collections import Counter

import pytest

from benchmarks.ruler.sweep.lock import machine_lock

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

AXES = """
batches = [8]
hiddens = [16]
providers = ["eager", "addmm-activation"]
activations.mlp = ["relu"]
budget_s = 0.02
visits = 1
"""
# Written by every Python process of a run, but the worker: which of our functions it called, and what it read.
SPY = """
import os, sys
if "benchmarks.ruler.worker.main" not in sys.orig_argv:
    def note(text):
        with open({log!r}, "a") as file:
            file.write(f"{{os.getpid()}} {{text}}\\n")
    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_name == "plan_sweep":
            note("plan")
    def audit(event, arguments):
        if event == "open" and str(arguments[0]).endswith(".jsonl") and "journal" in str(arguments[0]):
            if arguments[1] in ("r", "rb"):
                note("read")
    sys.setprofile(profile)
    sys.addaudithook(audit)
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory, asv_place_at):
    """A place after one run of an operation, with a spy in each process; its notes, by kind and process."""
    folder = tmp_path_factory.mktemp("front")
    place = asv_place_at(folder, AXES)
    log = folder / "spied"
    (folder / "spy").mkdir()
    (folder / "spy" / "sitecustomize.py").write_text(SPY.format(log=str(log)))
    path = f"{folder / 'spy'}:{place.environ['PYTHONPATH']}"
    code = place.fusebench("run", "--operation", "mlp", PYTHONPATH=path, ASV_PYTHONPATH=path).wait()
    notes = [line.split() for line in log.read_text().splitlines()]
    return place, code, place.said(), notes


def test_the_sweep_is_planned_once_per_run(measured):
    _, code, said, notes = measured
    assert code == 0, said
    assert [kind for _, kind in notes].count("plan") == 1


def test_no_process_of_a_run_reads_what_it_has_read_of_the_journal_again(measured):
    _, _, _, notes = measured
    reads = Counter(pid for pid, kind in notes if kind == "read")
    planner = next(pid for pid, kind in notes if kind == "plan")
    # The planner reads the rest when the suites are done; ingest reads it to store it, with no plan of its own.
    assert reads.pop(planner) <= 2
    assert max(reads.values()) <= 2
    assert len([pid for pid in reads if reads[pid] == 1]) >= 1


def test_it_prints_the_operation_it_measured_and_no_other(measured):
    _, _, said, _ = measured
    assert "mlp forward" in said
    assert "linear forward" not in said
    assert "2 points: 2 ok" in said


def test_it_says_how_many_groups_are_left_within_80_columns(measured):
    _, _, said, _ = measured
    assert "points   2 in 1 group of the" in said
    assert "timing mlp: visit 1 of 1, 1 of 1 groups" in said
    progress = said[said.index("timing mlp") : said.index("values stored")].splitlines()[:-1]
    assert max(map(len, progress)) <= 80


def test_a_folder_of_record_named_by_its_variable_holds_journal_database_and_asvs_results(measured):
    place, _, said, _ = measured
    data = place.folder / "data"
    lines = [json.loads(line) for line in place.journal().splitlines()]
    # A line whose floor is known only later is written twice.
    assert len({(line["kind"], line["point"]["provider"]) for line in lines}) == 4
    assert f"into {data / 'fusebench.db'}" in said
    with sqlite3.connect(data / "fusebench.db") as database:
        ((n_runs,),) = database.execute("select count(*) from run")
    assert n_runs == 1
    assert json.loads((data / "asv.conf.json").read_text())["results_dir"] == str(data / "asv")
    assert (data / "asv" / "benchmarks.json").is_file()
    assert f"--db {data / 'fusebench.db'}" in said.splitlines()[-1]


def test_a_run_that_waited_for_the_lock_does_not_measure_what_the_other_recorded(measured, lock):
    place, *_ = measured
    (path,) = (place.folder / "data" / "journal" / "testbox").glob("*.jsonl")
    recorded = path.read_bytes()
    path.unlink()
    with machine_lock(lock, say=print):
        waiting = place.fusebench("run", "--operation", "mlp")
        deadline = time.monotonic() + 240
        while "another sweep measures on this machine" not in place.said():
            assert time.monotonic() < deadline, place.said()
            time.sleep(0.1)
        path.write_bytes(recorded)
    assert waiting.wait() == 0, place.said()
    assert "2 recorded already" in place.said()
    assert f"(process {os.getpid()}, {lock}); waiting for it to end\n" in place.said()
    assert path.read_bytes() == recorded


def test_a_run_that_shall_not_wait_for_the_lock_says_who_holds_it(measured, lock):
    place, *_ = measured
    with machine_lock(lock, say=print):
        assert place.fusebench("run", "--operation", "mlp", "--no-wait").wait() == 64
    assert "another sweep measures on this machine" in place.said()
