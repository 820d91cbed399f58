"""torch's Timer in a process of its own, which takes turns, dies, or is stopped."""

import os
import signal
import time
from dataclasses import replace

import pytest

from benchmarks.ruler.checks import timer_process
from benchmarks.ruler.checks.timer_process import TimerProcess
from benchmarks.ruler.checks.turns import Ring
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.settings import Settings


def timer(settings, provider, ring):
    return TimerProcess(settings, provider, ring=ring.name, for_s=0.2, turn_s=0.01)


def test_the_timer_times_a_provider_in_a_process_of_its_own_again_and_again(shape):
    assert shape.operation is Operation.MLP
    settings = Settings(threads=1, is_uncommitted=True)
    with (
        Ring() as ring,
        timer(settings, "fused:packed", ring) as packed,
        timer(settings, "fused-single", ring) as unavailable,
    ):
        found = [packed.turns(each) for each in (shape, replace(shape, batch=2 * shape.batch), shape)]
        assert all(found)
        assert all(0 < each < 0.1 for turns in found for turn in turns for each in (turn.rotating_s, turn.single_s))
        moments = [turn.at_s for turns in found for turn in turns]
        assert moments == sorted(moments)
        assert 0 <= time.monotonic() - moments[-1] < 60
        assert unavailable.turns(shape) is None


def test_a_timer_that_was_stopped_is_killed_and_said_to_have_been(shape, monkeypatch):
    monkeypatch.setattr(timer_process, "LONGEST_START_S", 1.0)
    with Ring() as ring, timer(Settings(threads=1, is_uncommitted=True, point_limit_s=0.5), "eager", ring) as stopped:
        assert os.getpgid(stopped._process.pid) != os.getpgrp(), "Ctrl-C would end it with a traceback"
        os.kill(stopped._process.pid, signal.SIGSTOP)
        with pytest.raises(RuntimeError, match=r"was stopped by a signal, gave no sign for 1 s and was killed"):
            stopped.turns(shape)


def test_a_timer_that_died_is_said_to_have(shape):
    with Ring() as ring, timer(Settings(threads=1, is_uncommitted=True), "eager", ring) as dead:
        dead._process.kill()
        dead._process.wait()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="ended with exit code -9"):
                dead.turns(shape)
