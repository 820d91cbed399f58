"""What the referee of a group looks at, and whom it blames, on clocks that the test turns."""

import random

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.ruler.measure.referee import Implausible
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.referee.contender_record import ContenderRecord


def test_the_number_of_calls_differs_so_that_none_is_known_to_be_the_last(group, sampled):
    numbers = [sampled(found, "eager", calls=40) for found in [group()] for _ in range(40)]
    assert min(numbers) >= 40
    assert max(numbers) <= 50
    assert len(set(numbers)) > 4
    assert sampled(group(), "eager", calls=1) == 1


def keeping(clocks, *, new_s, known_s, hit=torch.equal):
    """Takes `known_s` for an input that it remembers, and `new_s` for any other."""

    def build(load):
        last = torch.empty(0)

        def function(x):
            nonlocal last
            clocks.passes(known_s if last.shape == x.shape and hit(x, last) else new_s)
            last = x.clone()
            return load.module(x)

        return function

    return build


def test_a_call_that_is_faster_on_what_it_has_just_seen_keeps_results(group, clocks, sampled):
    found = group(keeper=keeping(clocks, new_s=20e-6, known_s=5e-6))
    with pytest.raises(Implausible, match=r"could not know took 20.0 µs, one it had just seen 5.0: it keeps results"):
        sampled(found, "keeper")


def test_a_call_a_little_faster_on_what_is_in_the_caches_is_honest(group, clocks, sampled):
    found = group(warm=keeping(clocks, new_s=20e-6, known_s=15e-6))
    for _ in range(100):
        sampled(found, "warm")
    assert found.referee.findings == {}


def test_a_machine_that_slows_down_for_a_moment_convicts_nobody(group, clocks, sampled):
    n_calls = 0

    def build(load):
        def function(x):
            nonlocal n_calls
            n_calls += 1
            clocks.passes(20e-6 if n_calls % 100 < 30 else 100e-6)
            return load.module(x)

        return function

    found = group(bumpy=build)
    for _ in range(100):
        sampled(found, "bumpy")
    assert found.referee.findings == {}


def test_on_a_machine_that_others_use_nobody_is_convicted_for_a_few_long_calls(group, clocks, sampled):
    rng = random.Random(0)

    def build(load):
        def function(x):
            clocks.passes(rng.choice([10e-3, 20e-3]))
            return load.module(x)

        return function

    found = group(bumpy=build)
    for _ in range(200):
        # Each time as if it were the first sample, which is always checked.
        found.referee._records["bumpy"] = ContenderRecord()
        sampled(found, "bumpy", calls=1)
    assert found.referee.findings == {}


def test_on_a_machine_where_a_lone_call_costs_everybody_more_nobody_is_convicted_for_it(
    group, clocks, monkeypatch, sampled
):
    """As beside busy neighbours: the code of a call in a row is in the caches, that of a lone one is not."""

    def build(load):
        def function(x):
            clocks.passes(10e-6)
            return load.module(x)

        return function

    found = group(small=build, keeper=keeping(clocks, new_s=30e-6, known_s=10e-6))
    timed = found.referee._surprises.timer.timed

    def timed_beside_neighbours(call, n_calls):
        seconds, output = timed(call, n_calls)
        return seconds + (14e-6 if n_calls == 1 else 0), output

    monkeypatch.setattr(found.referee._surprises.timer, "timed", timed_beside_neighbours)
    for _ in range(50):
        sampled(found, "small")
    assert found.referee.findings == {}
    with pytest.raises(Implausible, match=r"one it had just seen 24\.0: it keeps results"):
        sampled(found, "keeper")


def test_one_who_keeps_results_of_long_calls_is_found_out(group, clocks, sampled):
    found = group(keeper=keeping(clocks, new_s=20e-3, known_s=10e-3))
    with pytest.raises(Implausible, match="it keeps results"):
        sampled(found, "keeper", calls=1)


class Caches(TorchDispatchMode):
    """What was just copied somewhere is in no cache until someone reads it."""

    def __init__(self):
        super().__init__()
        self.cold = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        places = [each.data_ptr() for each in args if isinstance(each, torch.Tensor)]
        if func is torch.ops.aten.copy_.default:
            self.cold.add(places[0])
        else:
            self.cold.difference_update(places)
        return func(*args, **(kwargs or {}))


def test_a_call_that_reads_a_new_input_from_memory_and_then_from_a_cache_is_honest(group, clocks, monkeypatch, sampled):
    caches = Caches()

    def build(load):
        def function(x):
            clocks.passes(30e-6 if x.data_ptr() in caches.cold else 10e-6)
            caches.cold.discard(x.data_ptr())
            return load.module(x)

        return function

    found = group(streaming=build)
    surprised = found.referee._surprises.timer.surprised

    def surprised_with_caches(*args, **kwargs):
        with caches:
            return surprised(*args, **kwargs)

    monkeypatch.setattr(found.referee._surprises.timer, "surprised", surprised_with_caches)
    sampled(found, "streaming", calls=1)
    assert found.referee.findings == {}


def test_checks_take_no_more_than_their_share_of_the_time(group, clocks, monkeypatch):
    found = group()
    n_checks = 0
    honest = found.referee._verification.why_wrong

    def slow(*args):
        nonlocal n_checks
        n_checks += 1
        clocks.passes(1.0)
        return honest(*args)

    monkeypatch.setattr(found.referee._verification, "why_wrong", slow)
    for _ in range(500):
        clocks.passes(0.1)
        group_turn = clocks.wall_s
        with torch.no_grad():
            n_calls = found.referee.before_sample("eager", calls=1)
            found.referee.before_last_warming("eager")
            found.referee.before_timing("eager")
            clocks.passes(0.1)
            output = found.calls["eager"]()
            found.referee.after_sample("eager", output)
        assert n_calls == 1
        assert clocks.wall_s > group_turn
    # 50 s of samples; a check takes 2 s.
    assert 2 <= n_checks <= 8


def test_the_first_sample_is_checked_for_there_may_be_no_other(group, sampled):
    def wrong_when_timed(load):
        n_calls = 0

        def function(x):
            nonlocal n_calls
            n_calls += 1
            return load.module(x) * (1 if n_calls < 5 else 2)

        return function

    found = group(later=wrong_when_timed)
    assert found.outcomes["later"].state is State.OK
    with pytest.raises(Implausible, match="in sample 1"):
        sampled(found, "later")


def test_whoever_spoils_what_all_share_is_blamed_and_nobody_else(group, sampled):
    def spoiler(load):
        n_calls = 0

        def function(x):
            nonlocal n_calls
            n_calls += 1
            out = load.module(x)
            if n_calls > 30:
                next(load.module.parameters()).data.mul_(0.5)
            return out

        return function

    found = group(spoiler=spoiler)
    weights = [weight.clone() for weight in found.load.module.parameters()]
    with pytest.raises(Implausible, match=r"wrote to the weights|the output is off"):  # noqa: PT012 - any of them
        for _ in range(200):
            for name in ("spoiler", "eager"):
                sampled(found, name)
    assert all(map(torch.equal, found.load.module.parameters(), weights))
    assert set(found.referee.findings) == {"spoiler"}


def test_what_a_contender_does_while_it_is_built_is_undone_before_the_next(group):
    def zeroing(load):
        for weight in load.module.parameters():
            weight.data.zero_()
        return load.module

    found = group(zeroing=zeroing, honest=lambda load: load.module)
    assert found.outcomes["zeroing"].state is State.WRONG
    assert "wrote to the weights" in found.outcomes["zeroing"].reason
    assert found.outcomes["honest"].state is State.OK
