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
