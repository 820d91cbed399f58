"""Samples against the calls that go on after them, on a clock that the test turns and on a real one."""

import gc
import itertools
import math
import random
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner

from benchmarks.ruler.checks import re_warming, self_check
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.re_warming import LEAST_TURNS, GoingOn, Row, line_of, summary
from benchmarks.ruler.measure.clock import Timed
from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.measure.referee import Implausible, NoReferee
from benchmarks.ruler.measure.statistics import MedianInterval, median_interval
from benchmarks.ruler.measure.timing import sample_group
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.providers import registry
from benchmarks.ruler.referee.tampering import Instrument
from tests.benchmarks.measure.turned_clock import CalmWatch, FakeClock, Op

POLICY = Policy(half_width=0.0, budget_s=math.inf, max_samples=40, least_s=math.inf)


class SlowAfterRivals(Op):
    """A call twice as long at first after a rival's, and as long as ever after `lasting` calls in a row."""

    lasting = 0

    def __call__(self):
        self.clock.log.append(self.name)
        in_a_row = sum(1 for _ in itertools.takewhile(lambda name: name == self.name, reversed(self.clock.log)))
        self.clock.time_s += next(self.durations_s) * (1 + max(0, self.lasting + 1 - in_a_row) / max(1, self.lasting))


def ratios_of(calls, *, clock, policy=POLICY, referee=None):
    going_on = GoingOn(clock, referee or NoReferee(), calls)
    sample_group(calls, baseline="eager", clock=going_on, policy=policy, watch=CalmWatch(), referee=going_on)
    return {name: median_interval(ratios).median for name, ratios in going_on.ratios.items()}


@pytest.mark.parametrize(("lasting", "is_slower"), [(0, False), (10, False), (200, True)])
def test_a_sample_that_begins_before_a_call_is_as_fast_as_it_becomes_is_told(lasting, is_slower):
    clock = FakeClock()
    calls = {name: SlowAfterRivals(clock, name, 50e-6) for name in ("eager", "rival")}
    for call in calls.values():
        call.lasting = lasting
    found = ratios_of(calls, clock=clock)
    assert (found["eager"] > 1.2) is is_slower
    assert is_slower or found["eager"] == pytest.approx(1.0, abs=1e-5)


class HeldUp(FakeClock):
    """Holds the first sample up for a while."""

    def timed(self, call, *, calls):
        found = super().timed(call, calls=calls)
        self.time_s, held_s = self.time_s + self.held_s, self.held_s
        self.held_s = 0.0
        return Timed(found.seconds + held_s, found.last_output)


@pytest.mark.parametrize("held_s", [0.0, 0.05])
def test_calls_go_on_for_as_long_where_the_first_sample_was_held_up(held_s):
    clock = HeldUp()
    clock.held_s = held_s
    policy = replace(POLICY, max_samples=2)
    ratios_of({"eager": Op(clock, "eager", 1e-3)}, clock=clock, policy=policy)
    warming_up, re_warming_calls, going_on = 25, 4, 20
    assert len(clock.log) == warming_up + 1 + 2 * (re_warming_calls + 1 + going_on)


def test_skewed_noise_alone_is_no_slowness():
    clock, random_ = FakeClock(), random.Random(4)
    # One call in three takes up to six times as long.
    noise = [1e-3 * (1 + 5 * max(0.0, random_.random() - 0.67) * 3) for _ in range(50_000)]
    policy = Policy(half_width=0.0, budget_s=math.inf, max_samples=900, least_s=math.inf)
    found = ratios_of({"eager": Op(clock, "eager", *noise)}, clock=clock, policy=policy)
    assert found["eager"] == pytest.approx(1.0, abs=0.03)


def test_whoever_the_referee_refuses_leaves_as_in_a_sweep():
    class Refusing(NoReferee):
        def after_sample(self, name, last_output):  # noqa: ARG002 - the protocol's
            if name == "cheat":
                raise Implausible("it computes nothing")

    clock = FakeClock()
    calls = {name: Op(clock, name, 1e-3) for name in ("eager", "cheat")}
    going_on = GoingOn(clock, Refusing(), calls)
    found = sample_group(calls, baseline="eager", clock=going_on, policy=POLICY, watch=CalmWatch(), referee=going_on)
    assert list(found) == ["eager"]


def row(low, high, *, call_s=100e-6):
    return Row(
        provider="fused", shape="mlp", call_s=call_s, ratio=MedianInterval(median=(low + high) / 2, low=low, high=high)
    )


@pytest.mark.parametrize(
    ("one", "word", "kind"),
    [
        (row(0.99, 1.02), "within", Kind.PASS),
        (row(1.031, 1.05), "beyond 3 %", Kind.FAIL),
        (row(0.93, 0.96), "beyond 3 %", Kind.FAIL),
        (row(1.01, 1.04), "cannot be told", Kind.UNDECIDED),
        (row(1.01, 1.04, call_s=10e-6), "within", Kind.PASS),
        (Row(provider="fused", shape="mlp", failure="crashed: it was killed"), "crashed: it was killed", Kind.FAIL),
    ],
)
def test_an_interval_wholly_on_one_side_of_the_limit_tells(one, word, kind):
    assert line_of(one).endswith(word)
    assert summary([one]).kind is kind


def test_turns_too_few_for_an_interval_are_refused():
    asked = CliRunner().invoke(self_check.main, ["re-warming", "--turns", str(LEAST_TURNS - 1)])
    assert asked.exit_code == 2
    assert f"x>={LEAST_TURNS}" in asked.stderr
    assert 2 * 0.5**LEAST_TURNS <= 0.05 < 2 * 0.5 ** (LEAST_TURNS - 1)


def raising(error, *, at_call, is_resting):
    """Set something of the process and raise, at so many calls of the workload's own input or of those that rotate."""

    def build(load):
        n_calls = 0

        def function(x):
            nonlocal n_calls
            n_calls += (x is load.x) is is_resting
            if n_calls == at_call:
                torch.set_num_threads(torch.get_num_threads() + 1)
                raise error
            return load.module(x)

        return function

    return build


@pytest.mark.parametrize(
    ("at_call", "is_resting", "error", "said"),
    [
        (3, True, ValueError("odd"), "crashed: ValueError: odd"),  # warming up, after two that attempt it
        (5, True, MemoryError("12 GiB"), "out_of_memory: MemoryError: 12 GiB"),  # re-warming, after two warming up
        (1, False, ValueError("odd"), "crashed: ValueError: odd"),  # in a sample
        (3, False, MemoryError("12 GiB"), "out_of_memory: MemoryError: 12 GiB"),  # going on
        (6, False, ValueError("odd"), "crashed: ValueError: odd"),  # being verified
    ],
)
def test_whoever_raises_has_failed_and_its_rivals_have_their_rows(shape, monkeypatch, at_call, is_resting, error, said):
    monkeypatch.setitem(registry.PROVIDERS, "raising", raising(error, at_call=at_call, is_resting=is_resting))
    monkeypatch.setattr(re_warming, "_GOES_ON_S", 0.0)
    threads = torch.get_num_threads()
    one_call = replace(POLICY, min_sample_s=1e-9, warm_up_s=0.0, warming_calls=1, max_samples=2)
    providers = ("raising", "eager", "addmm-activation")
    found = list(re_warming._rows_of(shape, providers, policy=one_call, instrument=Instrument()))
    assert (torch.get_num_threads(), gc.isenabled()) == (threads, True)
    assert [row.provider for row in found] == list(providers)
    assert [row.failure for row in found] == [said, None, None]
    assert all(row.call_s > 0 and row.ratio for row in found[1:])
    assert line_of(found[0]).endswith(said)
    assert summary(found).kind is Kind.FAIL


def test_where_a_shape_is_too_large_for_the_check_itself_each_of_its_rows_says_so(shape, monkeypatch):
    def too_large(*_, **__):
        raise torch.OutOfMemoryError("Tried to allocate 12 GiB")

    monkeypatch.setattr(re_warming, "workload", too_large)
    found = list(re_warming._rows_of(shape, ("eager", "fused"), policy=POLICY, instrument=Instrument()))
    assert [row.provider for row in found] == ["eager", "fused"]
    assert all("out_of_memory: the referee ran out of memory before any" in row.failure for row in found)


SMALL = """
from dataclasses import replace
from benchmarks.ruler.checks import company
from benchmarks.ruler.checks.self_check import main
company.AXES = replace(company.AXES, providers=("eager", "fused"), batches=(1, 4), hiddens=(64,))
main(["re-warming", "--turns", "6"])
"""


def test_the_check_runs_with_real_providers():
    # In a process of its own, whose allocator, threads and garbage collector it sets.
    ended = subprocess.run([sys.executable, "-c", SMALL], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = ended.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["eager", "fused"] * 2, ended
    assert all("µs" in line and " to " in line for line in lines[1:5]), ended.stdout
    assert lines[5].split(":")[0] in {*Kind}
