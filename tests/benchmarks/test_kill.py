"""kill -9 at any moment: nothing recorded is lost, nothing is there twice, nobody is left behind."""

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


def victim_pid(place, victim):
    if victim == "setup_cache":
        return next((pid for pid, line in place.processes().items() if " setup_cache " in line), None)
    return next((pid for pid, line in place.processes().items() if "benchmarks.ruler.worker" in line), None)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_at_any_moment_loses_at_most_the_group_being_measured(asv_place, victim):
    place = asv_place(AXES)
    rng = random.Random(VICTIMS.index(victim))
    before = b""
    for _ in range(N_KILLS):
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
    assert place.run("--bench", BENCH).wait() == 0
    lines = [json.loads(line) for line in place.journal().splitlines()]
    points = Counter((line["kind"], json.dumps(line["point"], sort_keys=True)) for line in lines)
    assert set(points.values()) == {1}
    assert len(points) == 2 * 6 * 2
    assert len({line["run"]["run_id"] for line in lines}) == 1
    assert {line["state"] for line in lines} == {"ok"}
    (record,) = (place.folder / "asv" / "testbox").glob("*-existing*.json")
    values = json.loads(record.read_text())["results"]["mlp.Mlp.time_forward"][0]
    assert sum(value is not None and value == value for value in values) == 12  # noqa: PLR0124 - NaN is not itself
