"""Flags follow the harm of processors taken away in slices of any length: visits on a machine of a simulated clock."""

import random
from dataclasses import dataclass, replace
from statistics import median

import pytest

from benchmarks.ruler.measure.clock import Timed
from benchmarks.ruler.measure.counters import Counters
from benchmarks.ruler.measure.disturbances import MOST_HARM, Demand, MachineWatch
from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.measure.referee import NoReferee
from benchmarks.ruler.measure.timing import sample_group

CALL_S = 2e-5
_TICK_S = 0.01


@dataclass(frozen=True, kw_only=True)
class Thief:
    """It takes a slice of slice_s about every_s apart, from from_s on; noise: relative sd of a sample by itself.

    is_host: a hypervisor, whose theft the kernel counts in ticks; else another process, for which ours waits.
    """

    every_s: float = 1e9
    slice_s: float = 0.0
    from_s: float = 0.0
    is_host: bool = False
    noise: float = 0.004


class StolenFrom:
    """A machine of two processors with one thread of ours, which `thief` takes time from."""

    def __init__(self, thief, seed):
        self.thief, self.rng = thief, random.Random(seed)
        self.now_s = self.lost_s = 0.0
        self.speed = 1.0
        self.next_s = thief.from_s + thief.every_s * self.rng.random()

    def works(self, seconds):
        while self.now_s + seconds >= self.next_s:
            seconds -= max(0.0, self.next_s - self.now_s)
            self.now_s = max(self.now_s, self.next_s) + self.thief.slice_s
            self.lost_s += self.thief.slice_s
            self.next_s = self.now_s - self.thief.slice_s + self.thief.every_s * self.rng.uniform(0.5, 1.5)
            self.next_s = max(self.next_s, self.now_s)
        self.now_s += seconds

    def call(self):
        self.works(CALL_S * self.speed)

    def now(self):
        return self.now_s

    def timed(self, call, *, calls):
        self.speed = 1 + self.rng.gauss(0, self.thief.noise)
        start = self.now_s
        for _ in range(calls):
            call()
        return Timed(self.now_s - start, None)

    def wall(self, call, *, calls):
        return self.timed(call, calls=calls).seconds

    def read(self):
        own_s = self.now_s - self.lost_s
        if self.thief.is_host:
            stolen_s = self.lost_s // _TICK_S * _TICK_S
            return Counters(now_s=self.now_s, own_s=own_s, busy_s=own_s, stolen_s=stolen_s, waited_s={"1": 0.0})
        # Another one runs on the other processor all the time, and in each slice on ours.
        return Counters(now_s=self.now_s, own_s=own_s, busy_s=2 * self.now_s, stolen_s=0.0, waited_s={"1": self.lost_s})


class Checks(NoReferee):
    """A referee whose own work takes as long as the machine says."""

    def __init__(self, machine):
        self.machine = machine

    def after_sample(self, _name, _output):
        self.machine.works(2e-4)


def visit(thief, *, n_contenders=2, seed=0, n_slow=0):
    """Return how far a visit's worst median lies above the undisturbed one, as a part of it, and its flag.

    n_slow: so many calls of the last contender take thirty times as long, as while it tunes itself.
    """
    machine = StolenFrom(thief, seed)
    n_calls = 0

    def last():
        nonlocal n_calls
        n_calls += 1
        machine.works(30 * CALL_S if n_calls <= n_slow else CALL_S * machine.speed)

    watch = MachineWatch(Demand(threads=1, n_cpus=2, private_cache_bytes=2**20), probe=None, read=machine.read)
    names = ["eager", *(f"rival {number}" for number in range(1, n_contenders))]
    policy = replace(Policy(least_s=1.0, max_samples=900), budget_s=0.5).of_visit(n_visits=3)
    found = sample_group(
        dict.fromkeys(names, machine.call) | ({names[-1]: last} if n_slow else {}),
        baseline="eager",
        clock=machine,
        policy=policy,
        watch=watch,
        referee=Checks(machine),
    )
    bias = max(median(each.samples_s) for each in found.values()) / CALL_S - 1
    return bias, next((each.disturbed for each in found.values() if each.disturbed), None)


def visits(thief, *, n_contenders):
    return [visit(thief, n_contenders=n_contenders, seed=seed) for seed in range(6)]


@pytest.mark.parametrize("is_host", [False, True])
@pytest.mark.parametrize("n_contenders", [1, 2, 4])
@pytest.mark.parametrize(
    "thief",
    [
        Thief(every_s=1.2e-3, slice_s=0.3e-3),
        Thief(every_s=0.2e-3, slice_s=0.05e-3),
        Thief(every_s=1e-3, slice_s=0.1e-3),
        Thief(every_s=1e-3, slice_s=0.5e-3),
    ],
    ids=["25 % by 0.3 ms", "25 % by 0.05 ms", "10 % by 0.1 ms", "50 % by 0.5 ms"],
)
def test_slices_so_short_that_each_sample_meets_some_are_flagged(thief, n_contenders, is_host):
    found = visits(replace(thief, is_host=is_host), n_contenders=n_contenders)
    assert min(bias for bias, _ in found) > MOST_HARM
    assert all("host kept" in flag if is_host else "other processes" in flag for _, flag in found)


def test_samples_that_vary_by_themselves_hide_no_tenth_of_the_time():
    found = visits(Thief(every_s=1e-3, slice_s=0.1e-3, noise=0.05), n_contenders=2)
    assert all(bias > MOST_HARM and flag for bias, flag in found)


@pytest.mark.parametrize("is_host", [False, True])
def test_stretches_from_before_a_thief_came_tell_of_its_harm(is_host):
    """Whatever is kept is of the time before it, or flagged."""
    found = visits(Thief(every_s=0.4e-3, slice_s=0.1e-3, from_s=0.15, is_host=is_host), n_contenders=2)
    assert all(flag for bias, flag in found if bias > MOST_HARM)


@pytest.mark.parametrize("is_host", [False, True])
@pytest.mark.parametrize(
    "thief",
    [
        Thief(),
        Thief(noise=0.05),
        Thief(every_s=1e-3, slice_s=0.02e-3),
        Thief(every_s=4e-3, slice_s=1e-3),
        Thief(every_s=12e-3, slice_s=3e-3),
        Thief(every_s=30e-3, slice_s=3e-3),
        Thief(every_s=40e-3, slice_s=10e-3),
        Thief(every_s=100e-3, slice_s=10e-3),
        Thief(every_s=8e-3, slice_s=4e-3),
        Thief(every_s=16e-3, slice_s=4e-3, noise=0.03),
    ],
    ids=[
        "none",
        "none, 5 % noise",
        "2 % by 0.02 ms",
        "25 % by 1 ms",
        "25 % by 3 ms",
        "10 % by 3 ms",
        "25 % by 10 ms",
        "10 % by 10 ms",
        "50 % by 4 ms",
        "25 % by 4 ms, 3 % noise",
    ],
)
def test_slices_that_move_no_median_are_not_flagged(thief, is_host):
    found = visits(replace(thief, is_host=is_host), n_contenders=2)
    assert max(bias for bias, _ in found) < MOST_HARM
    assert [flag for _, flag in found] == [None] * 6


def test_a_gpu_loses_nothing_where_its_host_waits():
    steady = {"eager": [1e-3] * 20}

    def flag(*, is_on_host):
        readings = iter([0.0, 0.0, 1.0])

        def read():
            now_s = 0.1 * next(readings)
            return Counters(now_s=now_s, own_s=now_s, busy_s=2 * now_s, stolen_s=0.0, waited_s={"1": 0.2 * now_s})

        watch = MachineWatch(
            Demand(threads=1, is_on_host=is_on_host, n_cpus=2, private_cache_bytes=2**20), probe=None, read=read
        )
        watch.start()
        return watch.disturbance(steady)

    assert flag(is_on_host=False) is None
    assert "waited for a processor 20 % of the time" in flag(is_on_host=True)


@pytest.mark.parametrize("n_slow", [0, 60])
@pytest.mark.parametrize("every_s", [30e-3, 12e-3], ids=["10 %", "25 %"])
def test_slices_that_spare_most_samples_are_not_flagged_where_calls_were_counted_anew(every_s, n_slow):
    thief = Thief(every_s=every_s, slice_s=3e-3, from_s=0.12)
    found = [visit(thief, seed=seed, n_slow=n_slow) for seed in range(6)]
    assert max(abs(bias) for bias, _ in found) < 0.02
    assert [flag for _, flag in found] == [None] * 6


def test_slices_that_all_samples_meet_are_flagged_where_calls_were_counted_anew():
    found = [visit(Thief(every_s=0.2e-3, slice_s=0.05e-3), seed=seed, n_slow=60) for seed in range(6)]
    assert all(bias > MOST_HARM and flag for bias, flag in found)
