"""kill -9 at any moment: nothing recorded is lost, nothing is there twice, nobody is left behind."""

import json
import math
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BENCH = "mlp.Mlp.time_forward"
VICTIMS = ("group", "asv", "setup_cache", "worker")
# FUSEBENCH_KILLS=20 is the full proof; CI takes fewer.
N_KILLS = int(os.environ.get("FUSEBENCH_KILLS", "2"))
AXES = """
batches = [1, 2, 3, 4, 5, 6]
hiddens = [16]
providers = ["eager", "fused"]
budget_s = 0.05
"""
# Six batches, two providers, a timing and a profile each.
N_LINES = 6 * 2 * 2


def victim_pid(place, victim):
    if victim == "setup_cache":
        return next((pid for pid, line in place.processes().items() if " setup_cache " in line), None)
    return next((pid for pid, line in place.processes().items() if "benchmarks.ruler.worker.main" in line), None)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_at_any_moment_loses_at_most_the_group_being_measured(asv_place, victim):
    place = asv_place(AXES)
    rng = random.Random(VICTIMS.index(victim))
    before, n_run = b"", 0
    for _ in range(N_KILLS):
        place.environ["FUSEBENCH_RUN_ID"] = f"run{n_run}"
        process = place.run("--bench", BENCH)
        time.sleep(rng.uniform(0.5, 9.0))
        if victim == "group":
            os.killpg(process.pid, signal.SIGKILL)
        elif victim == "asv":
            process.kill()
        elif (pid := victim_pid(place, victim)) is not None:
            os.kill(pid, signal.SIGKILL)
        # Where asv, or the sweep, still lives, it goes on with what is left.
        process.wait()
        time.sleep(2)
        assert place.processes() == {}
        after = place.journal()
        assert after.startswith(before)
        before = after
        # A run that is whole has nothing left to be killed in: the next kill meets a new one.
        n_run += lines_of_run(after, n_run) == N_LINES
    place.environ["FUSEBENCH_RUN_ID"] = f"run{n_run}"
    assert place.run("--bench", BENCH).wait() == 0
    lines = [json.loads(line) for line in place.journal().splitlines()]
    points = Counter((line["run"]["run_id"], line["kind"], json.dumps(line["point"], sort_keys=True)) for line in lines)
    assert set(points.values()) == {1}
    assert Counter(run_id for run_id, _, _ in points) == {f"run{n}": N_LINES for n in range(n_run + 1)}
    assert {line["state"] for line in lines} == {"ok"}
    (record,) = (place.folder / "asv" / "testbox").glob("*-existing*.json")
    values = json.loads(record.read_text())["results"]["mlp.Mlp.time_forward"][0]
    assert sum(value is not None and not math.isnan(value) for value in values) == N_LINES / 2


def lines_of_run(journal, n_run):
    return sum(json.loads(line)["run"]["run_id"] == f"run{n_run}" for line in journal.splitlines())
