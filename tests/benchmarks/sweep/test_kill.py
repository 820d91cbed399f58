"""Any process of a run ended at any moment: nothing recorded is lost or there twice, nothing is left behind."""

import json
import os
import random
import signal
import time
from collections import Counter

import pytest

AXES = """
batches = [1, 2, 3, 4]
hiddens = [16]
providers = ["eager", "fused"]
budget_s = 0.05
visits = 2
"""
# Four batches, two providers.
N_POINTS, N_VISITS = 4 * 2, 2
# What its command line holds, for each process of the tree that `fusebench run` grows.
PROCESSES = {
    "front": "-m fusebench run",
    "run": "benchmarks.ruler.sweep.run",
    "asv": "-m asv --config",
    "setup_cache": " setup_cache ",
    "worker": "benchmarks.ruler.worker.main",
    "watchdog": "watchdog.py",
}
KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
ALL = [(victim, signum) for victim in (*PROCESSES, "group") for signum in (KILL, TERM, INT)]
# Ctrl-C, a job's end, and what runs out of memory; the rest before a release.
COMMON = {("front", INT), ("run", TERM), ("setup_cache", KILL), ("worker", KILL)}
CASES = [
    pytest.param(victim, signum, id=f"{victim}-{signum.name}", marks=[] if (victim, signum) in COMMON else [
        pytest.mark.exhaustive
    ])
    for victim, signum in ALL
]  # fmt: skip
N_KILLS = int(os.environ.get("FUSEBENCH_KILLS", "1"))


def pid_of(place, victim):
    return next((pid for pid, line in place.processes().items() if PROCESSES[victim] in line), None)


def send(place, process, victim, signum):
    if victim == "group":
        os.killpg(process.pid, signum)
    elif (pid := pid_of(place, victim)) is not None:
        os.kill(pid, signum)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("victim", "signum"), CASES)
def test_a_run_of_which_a_process_is_ended_at_any_moment_loses_at_most_the_group_being_measured(
    asv_place, victim, signum
):
    place = asv_place(AXES)
    rng = random.Random(ALL.index((victim, signum)))
    before, n_run = b"", 0
    for _ in range(N_KILLS):
        process = place.fusebench("run", "--operation", "mlp", FUSEBENCH_RUN_ID=f"run{n_run}")
        wait_for_worker(place, process)
        time.sleep(rng.uniform(0.0, 6.0))
        send(place, process, victim, signum)
        # Where the sweep still lives, it goes on with what is left.
        code = process.wait()
        wait_until_nothing_runs(place)
        assert not place.is_locked()
        if victim in {"front", "group"} and not is_whole(place.journal(), f"run{n_run}"):
            assert code == (-KILL if signum == KILL else 128 + signum)
        after = place.journal()
        assert after.startswith(before)
        before = after
        # A run that is whole has nothing left to be killed in: the next kill meets a new one.
        n_run += is_whole(after, f"run{n_run}")
    assert place.fusebench("run", "--operation", "mlp", FUSEBENCH_RUN_ID=f"run{n_run}").wait() == 0, place.said()
    lines = [json.loads(line) for line in place.journal().splitlines()]
    assert {line["run"]["run_id"] for line in lines} == {f"run{n}" for n in range(n_run + 1)}
    assert all(is_whole(place.journal(), f"run{n}") for n in range(n_run + 1))
    assert {line["state"] for line in lines} == {"ok"}


def wait_for_worker(place, process):
    deadline = time.monotonic() + 300
    while pid_of(place, "worker") is None and process.poll() is None:
        assert time.monotonic() < deadline, place.said()
        time.sleep(0.1)


def wait_until_nothing_runs(place):
    deadline = time.monotonic() + 60
    while place.processes():
        assert time.monotonic() < deadline, place.processes()
        time.sleep(0.1)


def is_whole(journal, run_id):
    """Whether the run has everything of every point; what it has, it must not have lost or have twice."""
    timings, profiles = {}, Counter()
    for line in map(json.loads, journal.splitlines()):
        if line["run"]["run_id"] != run_id:
            continue
        point = json.dumps(line["point"], sort_keys=True)
        if line["kind"] == "profile":
            profiles[point] += 1
            continue
        visits = [visit["measured_at"] for visit in line["visits"]]
        before = timings.get(point, [])
        # A line for each visit, with those before it; once more, if the point's floor is another by then.
        assert visits[: len(before)] == before
        assert len(visits) in {len(before), len(before) + 1}
        timings[point] = visits
    assert all(len(set(visits)) == len(visits) <= N_VISITS for visits in timings.values())
    assert set(profiles.values()) <= {1}
    return len(profiles) == N_POINTS and [len(visits) for visits in timings.values()] == [N_VISITS] * N_POINTS


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("victim", ["group", "asv", "setup_cache", "worker"])
def test_plain_asv_that_is_killed_leaves_nothing_behind_and_asv_has_every_value_after_the_next(asv_place, victim):
    place = asv_place(AXES)
    rng = random.Random(victim)
    process = place.run("--bench", "mlp.Mlp.time_forward")
    time.sleep(rng.uniform(0.5, 9.0))
    if victim == "asv":
        process.kill()
    else:
        send(place, process, victim, KILL)
    process.wait()
    wait_until_nothing_runs(place)
    assert place.run("--bench", "mlp.Mlp.time_forward").wait() == 0
    (run_id,) = {json.loads(line)["run"]["run_id"] for line in place.journal().splitlines()}
    assert is_whole(place.journal(), run_id)
    (record,) = (place.folder / "asv" / "testbox").glob("*-existing*.json")
    values = json.loads(record.read_text())["results"]["mlp.Mlp.time_forward"][0]
    assert sum(isinstance(value, float) and value > 0 for value in values) == N_POINTS
