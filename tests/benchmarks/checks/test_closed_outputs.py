"""A command of the ruler whose reader leaves ends as SIGPIPE does: 1 would mean a regression."""

import os
import signal
import subprocess
import sys

import pytest

from benchmarks.ruler.plan.settings import ROOT


@pytest.mark.parametrize(
    "asked",
    [
        ("benchmarks.ruler.doctor.command", "--help"),
        ("benchmarks.ruler.fleet.command", "--help"),
        ("benchmarks.ruler.fleet.command", "plan", "--help"),
        ("benchmarks.ruler.sweep.run", "--help"),
        ("benchmarks.ruler.article.command", "--help"),
        ("benchmarks.ruler.ab.command", "--help"),
        ("fusebench", "doctor", "--help"),
        ("fusebench", "ab", "--help"),
    ],
)
def test_a_reader_that_left_is_no_regression(asked):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", *asked],
            cwd=ROOT,
            env=os.environ,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
