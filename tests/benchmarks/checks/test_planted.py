"""The table of planted disturbances: what counts as missed, false or unknown."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ruler.checks import planted
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.planted import Row, bias_and_unrest, plants, summary
from benchmarks.ruler.plan.points import Contender

ROOT = Path(__file__).parents[3]
EAGER, FUSED = Contender(provider="eager"), Contender(provider="fused")


@pytest.mark.parametrize(
    ("bias", "flag", "verdict"),
    [
        (0.10, None, "MISSED"),
        (0.10, "slow", "right"),
        (0.01, "slow", "FALSE"),
        (-0.01, None, "right"),
        (0.03, None, "right"),
        (0.03, "slow", "right"),
        (None, None, "unknown"),
    ],
)
def test_a_flag_is_judged_by_the_bias(bias, flag, verdict):
    row = Row(plant="p", shape="s", threads=1, bias=bias, unrest=0.0, flag=flag)
    assert row.verdict() == verdict


def test_a_machine_that_is_not_quiet_by_itself_proves_nothing():
    assert Row(plant="p", shape="s", threads=1, bias=0.4, unrest=0.2, flag=None).verdict() == "unknown"


def test_a_machine_that_was_flagged_with_nothing_planted_proves_nothing():
    row = Row(plant="p", shape="s", threads=1, bias=-0.03, unrest=0.0, flag="slow", was_quiet=False)
    assert row.verdict() == "unknown"
    right = replace(row, was_quiet=True, flag=None)
    assert summary([right]).kind is Kind.PASS
    found = summary([right, row, row])
    assert found.kind is Kind.UNDECIDED
    assert "the machine was not quiet by itself, 2 of 3 cases not counted" in found.words


def test_a_disturbance_is_planted_again_until_the_machine_was_quiet_around_it(monkeypatch, shape):
    quiet = planted.Measured({EAGER: 1.0, FUSED: 1.0}, None)
    harmed, unquiet = replace_seconds(quiet, 1.3), planted.Measured(quiet.seconds, "slow")
    # before, then twice during and after: of the first the machine was not quiet, of the second it was.
    measured = iter([unquiet, harmed, quiet, harmed, quiet])
    monkeypatch.setattr(planted, "_measured", lambda *_, **__: next(measured))
    (found,) = planted._rows_of(None, shape, None, 1, [planted.Plant(name="p")])
    assert (found.verdict(), found.bias) == ("MISSED", pytest.approx(0.3))
    assert next(measured, None) is None


def test_a_machine_that_is_never_quiet_ends_the_tries(monkeypatch, shape):
    monkeypatch.setattr(planted, "_measured", lambda *_, **__: planted.Measured({EAGER: 1.0}, "slow"))
    (found,) = planted._rows_of(None, shape, None, 1, [planted.Plant(name="p")])
    assert found.verdict() == "unknown"


def replace_seconds(measured, factor):
    return planted.Measured({each: factor * seconds for each, seconds in measured.seconds.items()}, measured.flag)


def test_within_the_machines_own_unrest_neither_is_claimed():
    assert Row(plant="p", shape="s", threads=1, bias=0.06, unrest=0.03, flag=None).verdict() == "right"
    assert Row(plant="p", shape="s", threads=1, bias=0.01, unrest=0.03, flag="slow").verdict() == "right"


def test_one_flag_that_misses_the_harm_fails_the_check():
    right, missed = (Row(plant="p", shape="s", threads=1, bias=bias, unrest=0.0, flag=None) for bias in (0.0, 0.5))
    assert summary([right] * 3).kind is Kind.PASS
    found = summary([right] * 3 + [missed])
    assert found.kind is Kind.FAIL
    assert found.words.startswith("of 4 planted disturbances 3 flags were right, 1 missed a bias above 5 %")


def test_the_bias_is_the_worst_contenders_against_both_quiet_times():
    bias, unrest = bias_and_unrest({EAGER: 1.0, FUSED: 2.0}, {EAGER: 1.2, FUSED: 2.0}, {EAGER: 1.0, FUSED: 2.02})
    assert bias == pytest.approx(0.2)
    assert unrest == pytest.approx(0.02 / 2.01)
    assert bias_and_unrest({}, {}, {}) == (None, 0.0)


def test_a_program_runs_while_it_is_planted_and_no_longer(monkeypatch):
    started = []
    popen = planted.subprocess.Popen
    monkeypatch.setattr(planted.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    (neighbour,) = (plant for plant in plants(2) if plant.name == "a neighbour on one core")

    def ends_badly():
        with planted.running(neighbour.programs):
            os.kill(started[0].pid, 0)
            raise KeyError

    with pytest.raises(KeyError):
        ends_badly()
    assert started[0].returncode == -signal.SIGKILL


def test_a_neighbour_ends_with_a_check_that_is_killed(tmp_path):
    told = tmp_path / "neighbour"
    program = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    check = "import time\nfrom benchmarks.ruler.checks.planted import running\n"
    check += f"with running([{program!r}]): time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", check], cwd=ROOT) as process:
        while not told.exists() or not told.read_text():
            time.sleep(0.05)
        process.terminate()
    neighbour = Path("/proc") / told.read_text() / "cmdline"
    while neighbour.exists() and b"sleep" in neighbour.read_bytes():
        time.sleep(0.05)  # a neighbour that stays runs into the test's limit
