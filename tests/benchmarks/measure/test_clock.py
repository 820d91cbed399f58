"""Clocks."""

import pytest
import torch

from benchmarks.ruler.measure import clock as clock_module
from benchmarks.ruler.measure.clock import (
    ColdClock,
    CpuClock,
    CudaClock,
    SynchronousCall,
    Timed,
    cache_flush,
    time_behind_blocked_stream,
)
from tests.benchmarks.measure.turned_clock import FakeClock


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

    def timed(self, call, *, calls):
        return Timed(float(calls), [call() for _ in range(calls)][-1])


def test_a_cold_clock_flushes_before_each_call_and_does_not_count_it():
    log = []
    clock = ColdClock(CountingClock(), lambda: log.append("flush"))
    assert clock.wall(lambda: log.append("call"), calls=3) == 3.0
    assert log == ["flush", "call"] * 3


def test_what_flushing_takes_is_told_beside_the_time_of_the_calls():
    now = FakeClock()

    def taking(seconds):
        now.time_s += seconds

    clock = ColdClock(now, lambda: taking(0.25))
    found = clock.timed(lambda: taking(2.0), calls=3)
    assert (found.seconds, found.uncounted_s) == (6.0, 0.75)
    assert now.timed(lambda: taking(2.0), calls=3).uncounted_s == 0.0


def test_a_flush_writes_as_many_bytes_as_it_says():
    flush = cache_flush(n_bytes=4096, device=torch.device("cpu"))
    assert flush().numel() == 4096


def test_the_cpu_clock_counts_every_call():
    calls = []
    seconds = CpuClock().wall(lambda: calls.append(1), calls=1000)
    assert len(calls) == 1000
    assert 0 < seconds < 1


class Output:
    """A result that is counted while it lives."""

    alive = most_alive = 0

    def __init__(self):
        Output.alive += 1
        Output.most_alive = max(Output.most_alive, Output.alive)

    def __del__(self):
        Output.alive -= 1


@pytest.mark.parametrize("clock", [CpuClock(), ColdClock(CpuClock(), lambda: None)], ids=["warm", "cold"])
def test_of_the_results_of_timed_calls_the_last_is_kept_and_never_two_live_at_once(clock):
    Output.alive = Output.most_alive = 0
    numbers = iter(range(1, 100))

    def call():
        made = Output()
        made.number = next(numbers)
        return made

    assert clock.timed(call, calls=5).last_output.number == 5
    assert Output.most_alive == 1


class FakeGpu:
    """A host and one stream in virtual time: enqueueing costs the host, kernels run one after the other."""

    SPINS_PER_S = 1.4e9

    def __init__(self):
        self.host_s = self.stream_s = 0.0

    def enqueue(self, *, device_s, host_s=0.0):
        """A kernel starts when it has been enqueued and the one before it has ended."""
        self.host_s += host_s
        self.stream_s = max(self.stream_s, self.host_s) + device_s

    def synchronize(self):
        self.host_s = max(self.host_s, self.stream_s)

    def event(self, **_):
        gpu = self

        class Event:
            def record(self):
                gpu.enqueue(device_s=0.0)
                self.at_s = gpu.stream_s

            def query(self):
                return self.at_s <= gpu.host_s

            def elapsed_time(self, end):
                return (end.at_s - self.at_s) * 1e3

        return Event()


@pytest.fixture
def gpu(monkeypatch):
    """A fake GPU in place of torch.cuda, and its host's clock in place of ours."""
    fake = FakeGpu()
    names = {
        "synchronize": fake.synchronize,
        "Event": fake.event,
        "_sleep": lambda cycles: fake.enqueue(device_s=cycles / fake.SPINS_PER_S),
        "current_device": lambda: 0,
        "device": lambda _: torch.inference_mode(mode=False),
    }
    for name, function in names.items():
        monkeypatch.setattr(torch.cuda, name, function, raising=False)
    monkeypatch.setattr(clock_module, "perf_counter", lambda: fake.host_s)
    clock_module._spins_per_s.cache_clear()
    yield fake
    clock_module._spins_per_s.cache_clear()


@pytest.mark.parametrize(("host_s", "device_s"), [(30e-6, 4e-6), (5e-6, 800e-6)])
def test_behind_a_blocked_stream_host_and_device_time_are_told_apart(gpu, host_s, device_s):
    def call():
        gpu.enqueue(device_s=device_s, host_s=host_s)

    found = time_behind_blocked_stream(call, calls=20, block_s=0.01)
    assert found.host_time_s == pytest.approx(host_s)
    assert found.device_time_s == pytest.approx(device_s)
    # Back to back, only the slower of the two is seen, with a little of the other at the start.
    wall_s = CudaClock().wall(call, calls=200) / 200
    assert wall_s == pytest.approx(max(host_s, device_s), rel=0.05)


def test_a_block_that_ends_before_all_is_enqueued_is_lengthened_until_device_time_holds_no_host_time(gpu):
    def call():
        gpu.enqueue(device_s=4e-6, host_s=2e-3)

    found = time_behind_blocked_stream(call, calls=50, block_s=0.01)
    assert found.device_time_s == pytest.approx(4e-6)
    assert found.host_time_s == pytest.approx(2e-3)


def test_a_call_that_waits_for_the_device_has_no_device_time_of_its_own_and_says_so(gpu):
    def call():
        gpu.enqueue(device_s=4e-6, host_s=1e-6)
        gpu.synchronize()

    with pytest.raises(SynchronousCall, match="synchronises with the device"):
        time_behind_blocked_stream(call, calls=4, block_s=0.01)


def test_the_length_of_a_spin_is_measured_not_assumed(gpu):
    assert clock_module._spins_per_s(0) == pytest.approx(gpu.SPINS_PER_S)
