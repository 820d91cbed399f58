"""Clocks."""

import torch

from benchmarks.ruler.clock import ColdClock, CpuClock, cache_flush


class CountingClock:
    """A second passes with each call."""

    def __init__(self):
        self.time_s = 0.0

    def now(self):
        return self.time_s

    def wall(self, call, *, calls):
        for _ in range(calls):
            call()
        self.time_s += calls
        return float(calls)


def test_a_cold_clock_flushes_before_each_call_and_does_not_count_it():
    log = []
    clock = ColdClock(CountingClock(), lambda: log.append("flush"))
    assert clock.wall(lambda: log.append("call"), calls=3) == 3.0
    assert log == ["flush", "call"] * 3


def test_a_flush_writes_as_many_bytes_as_it_says():
    flush = cache_flush(n_bytes=4096, device=torch.device("cpu"))
    assert flush().numel() == 4096


def test_the_cpu_clock_counts_every_call():
    calls = []
    seconds = CpuClock().wall(lambda: calls.append(1), calls=1000)
    assert len(calls) == 1000
    assert 0 < seconds < 1
