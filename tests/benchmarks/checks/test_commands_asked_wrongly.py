"""A command that is asked for help or wrongly says so and measures nothing."""

import os
import subprocess
import sys

import pytest

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.settings import ROOT

MODULES = ("benchmarks.ruler.article.guesses", "benchmarks.ruler.fused_table", "benchmarks.ruler.host_cost")


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [("--help", ExitCode.FINE, "Show this message and exit."), ("--nosuch", ExitCode.WRONG_USAGE, "No such option")],
)
def test_help_and_unknown_options_measure_nothing(module, asked, code, said):
    done = subprocess.run(
        [sys.executable, "-m", module, asked],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert f"Usage: python -m {module}" in done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "| geometric mean" not in done.stdout
    assert '"flop"' not in done.stdout


@pytest.mark.parametrize(
    ("module", "asked"),
    [
        ("campaign.smoke", ("--nosuch",)),
        ("campaign.smoke", ("cpu",)),
        ("campaign.smoke", ("tpu", "smoke.jsonl", "code", "0")),
        ("campaign.smoke", ("cpu", "smoke.jsonl", "code", "soon")),
        ("campaign.asv_record", ("--nosuch",)),
        ("campaign.asv_record", ()),
        ("campaign", ("smoke", "--nosuch")),
        ("worker.main", ("--nosuch",)),
        ("commits.visit", ("--nosuch",)),
        ("checks.worker_in_turns", ("--nosuch",)),
    ],
)
def test_a_module_that_another_starts_refuses_wrong_arguments_too(module, asked):
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.ruler.{module}", *asked],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (ExitCode.WRONG_USAGE, False)
    assert done.stderr.startswith("usage: ")


@pytest.mark.parametrize(("asked_by", "name"), [(("--directly", "noise"), "noise"), ((), "run")])
def test_an_option_that_a_command_passes_on_is_told_as_its_own(asked_by, name):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ruler.sweep.run", *asked_by, "--nosuch"],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == ExitCode.WRONG_USAGE
    assert f"Try 'fusebench {name} " in done.stderr
