"""How a self-check ends that has judged nothing: 2 would mean that the ruler failed it, 1 a regression."""

import os
import subprocess
import sys

import pytest

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.settings import ROOT


@pytest.mark.parametrize(
    ("arguments", "environ", "why"),
    [
        (["nothing"], {}, "No such command 'nothing'"),
        (["referee", "--only", "nothing"], {}, "'nothing' is not one of"),
        (["floors"], {"FUSEBENCH_THREADS": "none"}, "FUSEBENCH_THREADS=none: a whole number"),
    ],
)
def test_a_self_check_that_was_asked_wrongly_has_not_failed(arguments, environ, why):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ruler.self_check", *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (ExitCode.WRONG_USAGE, False)
    assert why in done.stderr
