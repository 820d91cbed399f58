"""`python -m benchmarks.tune` as a person calls it."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner

from benchmarks.ruler.measure.policy import Policy as SamplingPolicy
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.tuning import candidates
from benchmarks.ruler.tuning import command as tuning_command
from benchmarks.ruler.tuning.cells import NUMBER_FORMATS, Question, cells
from fused_mlp.vocabulary import Operation


def run(*arguments):
    return CliRunner().invoke(tuning_command.main, [*arguments])


def test_names_that_do_not_exist_are_refused_with_the_choices():
    assert "choose from linear, mlp, gated_mlp" in run("--device", "cpu", "--operation", "conv").output
    assert "choose from float32, tf32" in run("--device", "cpu", "--dtype", "int8").output
    assert "a CPU has none" in run("--device", "cpu", "--dtype", "tf32").output
    assert "too little for a table" in run("--device", "cpu", "--quick", "--write").output


@pytest.mark.parametrize("kind", list(DeviceKind), ids=str)
def test_what_is_never_measured_is_tuned_last(kind):
    for number_format in NUMBER_FORMATS[kind]:
        operations = [each.operation for each in cells(kind, number_formats=(number_format,))]
        assert list(dict.fromkeys(operations)) == [Operation.MLP, Operation.GATED_MLP, Operation.LINEAR]


def test_a_sample_on_a_gpu_is_long_beside_the_synchronisation_that_ends_it(monkeypatch):
    known = SimpleNamespace(name="a GPU")
    monkeypatch.setattr(candidates.torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(candidates, "fixed_conditions", lambda _: {"triton": "3.6.0"})
    monkeypatch.setattr(candidates, "cuda_device", lambda _: known)
    assert candidates.this_machine(DeviceKind.CUDA).sampling.min_sample_s >= 2e-3
    assert candidates.this_machine(DeviceKind.CPU).sampling.min_sample_s == SamplingPolicy().min_sample_s


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_measured_and_the_exit_code_says_so():
    answer = run("--device", "cuda")
    assert (answer.exit_code, "torch sees none" in answer.output) == (3, True)


@pytest.mark.slow
def test_the_command_tunes_this_cpu_once_and_a_second_call_measures_nothing(request, tmp_path):
    arguments = ["--device", "cpu", "--quick", "--operation", "linear", "--dtype", "float32"]
    command = [sys.executable, "-m", "benchmarks.tune", *arguments, "--results", str(tmp_path / "tuning.jsonl")]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}

    def said():
        done = subprocess.run(
            command, cwd=request.config.rootpath, env=environ, capture_output=True, text=True, check=True, timeout=300
        )
        return done.stdout

    assert "measured 5 cells" in said()
    assert "everything is measured already: 5 cells" in said()
    lines = [json.loads(line) for line in (tmp_path / "tuning.jsonl").read_text().splitlines()]
    assert {line["cell"]["question"] for line in lines} == {*Question}
    assert all(one["error_rel"] < 1e-5 for line in lines for one in line["measured"])
