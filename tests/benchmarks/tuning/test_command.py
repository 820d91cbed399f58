"""`python -m benchmarks.tune` as a person calls it."""

import json
import os
import subprocess
import sys

import pytest
import torch
from click.testing import CliRunner

from benchmarks.ruler.tuning import command as tuning_command
from benchmarks.ruler.tuning.cells import Question


def run(*arguments):
    return CliRunner().invoke(tuning_command.main, [*arguments])


def test_names_that_do_not_exist_are_refused_with_the_choices():
    assert "choose from linear, mlp, gated_mlp" in run("--device", "cpu", "--operation", "conv").output
    assert "choose from float32, tf32" in run("--device", "cpu", "--dtype", "int8").output
    assert "a CPU has none" in run("--device", "cpu", "--dtype", "tf32").output
    assert "too little for a table" in run("--device", "cpu", "--quick", "--write").output


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
