"""kill -9 at any moment: nothing recorded is lost, nothing is there twice, nobody is left behind."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VICTIMS = ("group", "asv", "setup_cache", "worker")
# FUSEBENCH_KILLS=20 is the full proof; CI takes fewer.
N_KILLS = int(os.environ.get("FUSEBENCH_KILLS", "2"))
AXES = """
batches = [1, 2, 3, 4, 5, 6]
hiddens = [16]
providers = ["eager", "fused"]
budget_s = 0.05
"""


class Place:
    """A folder of its own for asv and the journal; every process started in it is found by its environment."""

    def __init__(self, folder):
        self.folder = folder
        config = json.loads(
            "\n".join(
                line for line in (ROOT / "asv.conf.json").read_text().splitlines() if not line.strip().startswith("//")
            )
        )
        config |= {"repo": str(ROOT), "benchmark_dir": str(ROOT / "benchmarks"), "results_dir": str(folder / "asv")}
        (folder / "asv.conf.json").write_text(json.dumps(config))
        (folder / "axes.toml").write_text(AXES)
        self.environ = {
            **os.environ,
            "HOME": str(folder),
            "FUSEBENCH_DATA": str(folder / "data"),
            "FUSEBENCH_AXES": str(folder / "axes.toml"),
            "FUSEBENCH_MACHINE": "testbox",
            "FUSEBENCH_THREADS": "1",
            "FUSEBENCH_DEVICE": "cpu",
            "FUSEBENCH_UNCOMMITTED": "1",
        }
        self.asv("machine", "--yes", "--machine", "testbox").wait()

    def asv(self, *arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "asv", "--config", str(self.folder / "asv.conf.json"), *arguments],
            env=self.environ,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def run(self):
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        return self.asv(
            "run",
            "-E",
            f"existing:{sys.executable}",
            "--set-commit-hash",
            commit,
            "--machine",
            "testbox",
            "--bench",
            "mlp.Mlp.time_forward",
        )

    def journal(self):
        return b"".join(path.read_bytes() for path in sorted((self.folder / "data" / "journal").rglob("*.jsonl")))

    def processes(self):
        """Command lines of all living processes that carry this folder in their environment, by pid."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    is_ours = str(self.folder).encode() in (entry / "environ").read_bytes()
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:
                    continue
                if is_ours and line:
                    found[int(entry.name)] = line
        return found


def victim_pid(place, victim):
    if victim == "setup_cache":
        return next((pid for pid, line in place.processes().items() if " setup_cache " in line), None)
    return next((pid for pid, line in place.processes().items() if "benchmarks.ruler.worker" in line), None)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_at_any_moment_loses_at_most_the_group_being_measured(tmp_path, victim):
    place = Place(tmp_path)
    rng = random.Random(VICTIMS.index(victim))
    before = b""
    for _ in range(N_KILLS):
        process = place.run()
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
    assert place.run().wait() == 0
    lines = [json.loads(line) for line in place.journal().splitlines()]
    points = Counter((line["kind"], json.dumps(line["point"], sort_keys=True)) for line in lines)
    assert set(points.values()) == {1}
    assert len(points) == 2 * 6 * 2
    assert len({line["run"]["run_id"] for line in lines}) == 1
    assert {line["state"] for line in lines} == {"ok"}
    (record,) = (tmp_path / "asv" / "testbox").glob("*-existing*.json")
    values = json.loads(record.read_text())["results"]["mlp.Mlp.time_forward"][0]
    assert sum(value is not None and value == value for value in values) == 12  # noqa: PLR0124 - NaN is not itself
