"""`fusebench ab` on a clone with a slowdown planted into one operation: counts of verdicts, never times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

AXES = """
operations = ["linear", "mlp"]
providers = ["eager", "fused"]
batches = [8]
hiddens = [32, 64]
budget_s = 0.1
"""
MODULE = "kernels/fused_mlp/modules/layers.py"
SOUND = "    _operation = Operation.MLP\n"
PLANTED = """
    def __call__(self, *arguments):
        __import__("time").sleep(0.002)
        return super().__call__(*arguments)
"""
REGRESSION, NOTHING_COMPARABLE = 1, 3


@pytest.fixture(scope="module")
def clone(new_user, kernels_built_here, tmp_path_factory):
    """Clone with a commit that makes every call of `FusedMLP` 2 ms slower, and axes of four shapes."""
    shell = new_user("compared")
    shell.environ.update(kernels_built_here)
    shell.environ.update(FUSEBENCH_THREADS="1", FUSEBENCH_DATA=str(tmp_path_factory.mktemp("data")))
    shell.environ["PYTHONPATH"] = str(shell.folder)
    (shell.folder / "few.toml").write_text(AXES)
    path = shell.folder / MODULE
    sound = path.read_text()
    assert sound.count(SOUND) == 1
    path.write_text(sound.replace(SOUND, SOUND + PLANTED))
    shell.git("commit", "-qam", "Slower")
    return shell


def changes_of(answer):
    return {
        (change["benchmark"], change["parameters"]["provider"], change["parameters"]["hidden"]): change
        for change in json.loads(answer.out)["changes"]
        if change["metric"] == "latency_s"
    }


def test_a_planted_slowdown_is_found_where_it_is_and_killed_in_between_it_goes_on(clone):
    command = [sys.executable, "-m", "fusebench", "ab", "HEAD~1", "HEAD", "--axes", "few.toml", "--format", "json"]
    with subprocess.Popen(
        command, cwd=clone.folder, env=clone.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if line.startswith("round 2 of 5"):
                os.kill(process.pid, signal.SIGTERM)
                break
        process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    answer = clone.fusebench(*command[3:])
    assert answer.code in {REGRESSION, NOTHING_COMPARABLE}, answer.output
    assert answer.err.count("round 1 of 5") == 2
    found = changes_of(answer)
    for hidden in (32, 64):
        planted = found["mlp", "fused", hidden]
        # Where other programs disturbed every round, or all but one, nothing is said.
        doubts = ("disturbed", "machine or torch", "one undisturbed round")
        assert planted["verdict"] == "slower" or planted["why"].startswith(doubts), planted
        assert planted["ratio"] > 2
    others = [
        change["ratio"]
        for name, change in found.items()
        if change["verdict"] == "slower" and name[:2] != ("mlp", "fused")
    ]
    # Of equal code one comparison in twenty may name something by chance; never much, and never two.
    assert len(others) <= 1, others
    assert all(ratio < 1.5 for ratio in others), others
