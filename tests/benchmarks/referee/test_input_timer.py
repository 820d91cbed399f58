"""Calls alone and in a row, on a clock that the calls turn."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from benchmarks.ruler.referee.failures import ContenderRaised
from benchmarks.ruler.referee.input_timer import InputTimer
from benchmarks.ruler.referee.input_times import why_suspicious_again

SLOWER_S = 3e-6
N_INPUTS = 16


class Machine:
    """Clock, rotation and a call: `alone_s` after an input was prepared, `in_a_row_s` after another call.

    stalls: seconds that each call in a row takes longer, in turns: as one does that waits for a thread.
    """

    def __init__(self, *, alone_s, in_a_row_s, stalls=(0.0,)):
        self.time_s = 0.0
        self.follows = self.n_calls = 0
        self.durations_s = (alone_s, in_a_row_s)
        self.stalls = itertools.cycle(stalls)
        rotation = SimpleNamespace(
            prepare=self.prepare, start=lambda: None, rest=lambda: None, read=self.prepare, n_inputs=N_INPUTS
        )
        self.timer = InputTimer(rotation, now=lambda: self.time_s, on_gpu=False)

    def prepare(self, n_calls=1):  # noqa: ARG002 - the rotation's
        self.follows = 0

    def __call__(self):
        alone_s, in_a_row_s = self.durations_s
        self.time_s += in_a_row_s + next(self.stalls) if self.follows else alone_s
        self.follows += 1
        self.n_calls += 1
        return torch.zeros(())


def test_of_a_contender_the_mean_in_a_row_counts_and_of_alone_the_least():
    machine = Machine(alone_s=13e-6, in_a_row_s=5e-6, stalls=(0.0, 2e-6))
    _, times = machine.timer.surprised(machine, 200, n_warming=80, is_suspected=False)
    assert times.in_a_row_s == pytest.approx(6e-6)
    assert (times.new_s, times.seen_s) == pytest.approx((13e-6, 13e-6))


@pytest.mark.parametrize("n_first", [0, N_INPUTS, 100])
def test_of_many_calls_in_a_row_as_many_as_there_are_inputs_may_be_computed_before_it(n_first):
    machine = Machine(
        alone_s=60e-6, in_a_row_s=50e-6, stalls=[0.0] * 80 + [0.0] * n_first + [-47e-6] * N_INPUTS + [0.0] * 999
    )
    _, times = machine.timer.surprised(machine, 300, n_warming=80, is_suspected=False)
    assert times.why_suspicious(SLOWER_S)


@pytest.mark.parametrize("stall_s", [0.0, 100e-6, 2e-3])
def test_on_a_machine_where_calls_in_a_row_wait_for_threads_a_lone_call_costs_what_it_costs(stall_s):
    """As beside work on every core: eager's threads wait for one another, a kernel of one thread for nobody."""
    small = Machine(alone_s=13e-6, in_a_row_s=5.5e-6)
    eager = Machine(alone_s=65e-6, in_a_row_s=50e-6, stalls=[stall_s] * 9 + [0.0])
    of_small = [small.timer.surprised(small, 200, n_warming=80, is_suspected=True)[1] for _ in range(5)]
    of_eager = [eager.timer.surprised_honest(eager, 200, n_warming=80) for _ in range(5)]
    assert of_small[0].why_suspicious(SLOWER_S)
    assert why_suspicious_again(of_small, of_eager, SLOWER_S) is None
    keeper = Machine(alone_s=30e-6, in_a_row_s=5.5e-6)
    of_keeper = [keeper.timer.surprised(keeper, 200, n_warming=80, is_suspected=True)[1] for _ in range(5)]
    assert why_suspicious_again(of_keeper, of_eager, SLOWER_S)


@pytest.mark.parametrize(("call_s", "n_alone"), [(0.4, 2 * 8), (0.6, 2 * 2)])
def test_of_very_long_calls_few_tell_enough_of_eager_too(call_s, n_alone):
    machine = Machine(alone_s=call_s, in_a_row_s=call_s)
    machine.timer.surprised_honest(machine, 1, n_warming=1)
    assert machine.n_calls == 2 + n_alone
    machine.n_calls = 0
    machine.timer.surprised(machine, 1, n_warming=1, is_suspected=True)
    assert machine.n_calls == 2 + n_alone


class Device:
    """A GPU as its caller's clock shows it: work is put into a queue, in `launch_s`, and done in its turn."""

    def __init__(self, monkeypatch, *, launch_s, kernel_s):
        self.time_s = self.done_at_s = 0.0
        self.launch_s, self.kernel_s = launch_s, kernel_s
        monkeypatch.setattr(torch.cuda, "synchronize", self.synchronize)
        rotation = SimpleNamespace(
            prepare=self.fill, start=lambda: None, rest=lambda: None, read=self.fill, n_inputs=N_INPUTS
        )
        self.timer = InputTimer(rotation, now=lambda: self.time_s, on_gpu=True)

    def enqueue(self, kernel_s):
        self.time_s += self.launch_s
        self.done_at_s = max(self.done_at_s, self.time_s) + kernel_s

    def fill(self, n_calls=1):  # noqa: ARG002 - the rotation's
        self.enqueue(400e-6)

    def synchronize(self):
        self.time_s = max(self.time_s, self.done_at_s)

    def __call__(self):
        self.enqueue(self.kernel_s)
        return torch.zeros(())


def test_on_a_gpu_a_time_ends_with_the_last_kernel_and_begins_after_what_was_in_the_queue(monkeypatch):
    device = Device(monkeypatch, launch_s=5e-6, kernel_s=30e-6)
    _, times = device.timer.surprised(device, 100, n_warming=80, is_suspected=False)
    assert times.in_a_row_s == pytest.approx(30e-6 + 5e-6 / N_INPUTS)
    assert (times.new_s, times.seen_s) == pytest.approx((35e-6, 35e-6))
    of_eager = device.timer.surprised_honest(device, 100, n_warming=80)
    # No call's own time is known there, only that of all.
    assert of_eager == pytest.approx(times)


def test_on_a_gpu_where_launches_take_longest_those_are_the_time_in_a_row(monkeypatch):
    device = Device(monkeypatch, launch_s=20e-6, kernel_s=8e-6)
    for times in (
        device.timer.surprised(device, 100, n_warming=80, is_suspected=False)[1],
        device.timer.surprised_honest(device, 100, n_warming=80),
    ):
        assert times.in_a_row_s == pytest.approx(20e-6 + 8e-6 / N_INPUTS)
        assert (times.new_s, times.seen_s) == pytest.approx((28e-6, 28e-6))


def test_what_a_kernel_raises_when_it_is_waited_for_is_its_contenders(monkeypatch):
    device = Device(monkeypatch, launch_s=5e-6, kernel_s=30e-6)

    def faulty():
        device.synchronize()
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def call():
        device()
        monkeypatch.setattr(device.timer, "_wait", faulty)

    with pytest.raises(ContenderRaised) as found:
        device.timer.timed(call, 3)
    assert "illegal memory access" in str(found.value.error)
