"""`fusebench bisect` on a clone with ten commits, one of which makes a call do more: found, killed or not.

The commit adds an operator and a tenth of each call's time: on a busy machine the count tells, on a quiet one the time.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

AXES = """
operations = ["mlp"]
providers = ["eager", "fused"]
batches = [64]
hiddens = [256]
budget_s = 0.1
"""
MODULE = "kernels/fused_mlp/modules/layers.py"
SOUND = "    _operation = Operation.MLP\n"
PLANTED = """
    def __call__(self, *arguments):
        from time import perf_counter as now
        begun = now()
        output = super().__call__(*arguments) + 0
        until = now() + 0.1 * (now() - begun)
        while now() < until:
            pass
        return output
"""
N, CULPRIT, BROKEN = 10, 6, 4


@pytest.fixture(scope="module")
def clone(new_user, kernels_built_here, tmp_path_factory):
    """Clone with ten commits: every other one leaves the kernels alone, one of the others cannot be imported."""
    shell = new_user("bisected")
    shell.environ.update(kernels_built_here)
    shell.environ.update(FUSEBENCH_THREADS="1", FUSEBENCH_DATA=str(tmp_path_factory.mktemp("data")))
    shell.environ["PYTHONPATH"] = str(shell.folder)
    (shell.folder / "few.toml").write_text(AXES)
    path, readme = shell.folder / MODULE, shell.folder / "README.md"
    assert path.read_text().count(SOUND) == 1
    for i in range(1, N + 1):
        changed = path if i % 2 == 0 else readme
        text = changed.read_text().replace("raise ImportError('planted')\n", "") + f"\n# change {i}\n"
        if i == CULPRIT:
            text = text.replace(SOUND, SOUND + PLANTED)
        if i == BROKEN:
            text += "raise ImportError('planted')\n"
        changed.write_text(text)
        shell.git("commit", "-qam", f"Change {i}")
    return shell


def bisected(shell, **variables):
    return shell.fusebench("bisect", f"HEAD~{N}", "HEAD", "--axes", "few.toml", "--format", "json", **variables)


@pytest.mark.exhaustive  # minutes: the search's rules have tests of their own
def test_the_commit_is_found_and_found_again_after_a_kill(clone):
    culprit = clone.git("rev-parse", f"HEAD~{N - CULPRIT}")
    broken = clone.git("rev-parse", f"HEAD~{N - BROKEN}")
    command = ["-m", "fusebench", "bisect", f"HEAD~{N}", "HEAD", "--axes", "few.toml", "--format", "json"]
    with subprocess.Popen(
        [sys.executable, *command], cwd=clone.folder, env=clone.environ, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("trial 1 "):
                process.kill()
                break
        process.communicate()
    assert process.returncode == -signal.SIGKILL, "".join(said)
    answer = bisected(clone)
    assert answer.code in {0, 2}, answer.output
    assert "going on after 1 trial" in answer.err
    found = json.loads(answer.out)
    # The one before it cannot be imported, so that the change may be of either.
    assert (found["ending"], found["first_bad"]) == ("range", culprit)
    assert found["suspects"] == [broken, culprit]
    [skipped] = found["skipped"]
    assert "planted" in skipped["why"]
    assert found["n_equal_kernels"] == N // 2
    assert (found["benchmark"], found["is_worse"]) == ("mlp", True)
    assert found["trials"][-1]["is_confirmation"]
    again = bisected(clone)
    assert json.loads(again.out) == found
    assert again.seconds < answer.seconds


def test_another_question_waits_until_this_one_is_answered(clone):
    state = clone.folder.parent / "unfinished"
    ends = (f"HEAD~{N}", "HEAD~1")
    with subprocess.Popen(
        [sys.executable, "-m", "fusebench", "bisect", *ends, "--axes", "few.toml"], cwd=clone.folder,
        env={**clone.environ, "FUSEBENCH_DATA": str(state)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    ) as process:  # fmt: skip
        assert "(good) to" in process.stdout.readline()
        running = bisected(clone, FUSEBENCH_DATA=str(state))
        process.terminate()
        process.communicate()
    assert "another bisection is running there" in running.err
    assert process.returncode == 128 + signal.SIGTERM
    refused = bisected(clone, FUSEBENCH_DATA=str(state))
    assert refused.code == 64
    assert "another bisection is unfinished there" in refused.err


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (("HEAD", f"HEAD~{N}"), "give the older commit first"),
        (("HEAD", "HEAD"), "are one commit"),
        (("HEAD~10", "nothing"), "git knows no commit 'nothing'"),
        (("HEAD~10", "HEAD~9"), "the only commit from HEAD~10 to HEAD~9 leaves kernels/ as it is"),
    ],
)
def test_ends_that_are_none_are_refused_before_anything_is_built(clone, ends, said):
    answer = clone.fusebench("bisect", *ends, "--axes", "few.toml")
    assert answer.code == 64
    assert said in answer.err
