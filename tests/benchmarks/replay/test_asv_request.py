"""What asv may ask of a recording, run by asv_runner as asv runs it: a process for each benchmark and round."""

import json
import math
import os
import pickle
import pstats
import subprocess
import sys
from dataclasses import replace

import pytest

from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.replay.asv_request import AsvRequest, asv_request, samples_to_replay
from benchmarks.ruler.replay.suite import Track

SAMPLES = (5e-6, 1e-6, 4e-6, 2e-6, 3e-6)
AXES = """
operations = ["mlp"]
providers = ["eager"]
batches = [8, 9]
hiddens = [32]
dims = [16]
"""


@pytest.fixture
def suite_folder(tmp_path, shape):
    """A folder as asv makes one for a suite and a run, with the recording in it."""
    recording = {
        (shape, Contender(provider="eager")): Track(reason=None, samples_s=SAMPLES, run="run r of 2026-01-02"),
        (replace(shape, batch=9), Contender(provider="eager")): Track(reason=None, samples_s=SAMPLES),
    }
    (tmp_path / "cache.pickle").write_bytes(pickle.dumps(recording))
    (tmp_path / "axes.toml").write_text(AXES)
    return tmp_path


@pytest.fixture
def asked_by_asv(suite_folder, request):
    """Asks for mlp.Mlp.time_forward in a new process; returns what asv reads, and what was printed."""

    def ask(name="mlp.Mlp.time_forward-0", profile=None, **attributes):
        root = request.config.rootpath
        script = "import json, sys; from asv_runner.run import _run; _run(json.loads(sys.argv[1]))"
        arguments = [str(root / "benchmarks"), name, json.dumps(attributes), str(profile)]
        result = suite_folder / "result.json"
        done = subprocess.run(
            [sys.executable, "-c", script, json.dumps([*arguments, str(result)])],
            cwd=suite_folder,
            env={
                **os.environ,
                "PYTHONPATH": str(root),
                "FUSEBENCH_UNCOMMITTED": "1",
                "FUSEBENCH_DEVICE": "cpu",
                "FUSEBENCH_AXES": str(suite_folder / "axes.toml"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(result.read_text()), done.stdout + done.stderr

    return ask


def test_a_recording_is_replayed_once_however_many_rounds_asv_makes(asked_by_asv):
    rounds = [asked_by_asv(rounds=3)[0], *(asked_by_asv(rounds=3, number=1)[0] for _ in range(2))]
    assert [one["samples"] for one in rounds] == [list(SAMPLES), [], []]


def test_what_asv_appends_to_an_earlier_result_is_one_sample_and_leaves_the_median(asked_by_asv):
    # asv names the number of calls where it holds a result to append to.
    answer, said = asked_by_asv(number=1)
    assert answer == {"samples": [3e-6], "number": 1}
    # Where asv kept no samples, this one is all that it has then.
    assert "r of 2026-01-02, the median alone" in said
    assert "without them it now has no interval" in said


def test_the_run_that_is_replayed_is_named_once_by_each_round_because_asv_shows_the_last_ones_words(asked_by_asv):
    for _ in range(2):
        _, said = asked_by_asv(rounds=2)
        assert said == "mlp: replayed from run r of 2026-01-02; fusebench run --again measures anew\n"
    _, said = asked_by_asv(name="mlp.Mlp.time_forward-1", rounds=2)
    assert said == ""


def test_quick_replays_the_median(asked_by_asv):
    answer, said = asked_by_asv(number=1, repeat=1, warmup_time=0, rounds=1)
    assert answer == {"samples": [3e-6], "number": 1}
    # asv keeps nothing of it, so nothing is lost.
    assert "interval" not in said


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"repeat": 6}, "asks for 6 samples, and 5 are recorded; leave out -a repeat"),
        ({"number": 7}, "-a number=7 is too late"),
        ({"warmup_time": 0.5}, "-a warmup_time=0.5 is too late"),
    ],
)
def test_what_a_recording_cannot_answer_is_not_available_with_the_reason(asked_by_asv, attributes, reason):
    answer, said = asked_by_asv(**attributes)
    assert math.isnan(answer)
    assert reason in said


def test_a_number_of_samples_is_spread_over_the_recording():
    asked = samples_to_replay(SAMPLES, AsvRequest(attributes={"repeat": (2, 2, 20.0)}))
    assert asked == (2e-6, 4e-6)


def test_nothing_special_is_asked_of_a_process_that_asv_did_not_start():
    assert asv_request() == AsvRequest()
    assert samples_to_replay(SAMPLES, AsvRequest()) == SAMPLES


def test_asv_profile_profiles_real_calls_of_the_provider_and_not_the_replay(asked_by_asv, suite_folder):
    path = suite_folder / "profile"
    answer, said = asked_by_asv(profile=path)
    assert answer["samples"] == list(SAMPLES)
    assert "eager, mlp gelu float32, batch 8, dim 16, hidden 32: real calls, profiled" in said
    called = {name for _, _, name in pstats.Stats(str(path)).stats}
    assert "<built-in method torch._C._nn.linear>" in called
    assert "workload" not in called, "what builds a provider is not profiled"


def test_asv_profile_of_a_recorded_value_says_that_nothing_is_called(asked_by_asv, suite_folder):
    _, said = asked_by_asv(name="mlp.Mlp.track_operator_count-0", profile=suite_folder / "profile")
    assert "track_operator_count tells a recorded value, and calls nothing that could be profiled" in said
