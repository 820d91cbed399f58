"""Whose turn it is, and what is compared with what, on a clock that the test turns."""

import itertools
import math
import random

import pytest

from benchmarks.ruler.measure.clock import ColdClock
from benchmarks.ruler.measure.policy import Policy, warming_calls
from benchmarks.ruler.measure.statistics import paired_ratios, paired_speedup
from benchmarks.ruler.measure.timing import sample_group
from benchmarks.ruler.record.outcome import Stop
from tests.benchmarks.measure.turned_clock import CalmWatch, Disturbed, FakeClock, Op


@pytest.fixture
def clock():
    return FakeClock()


def turns_of(clock, *names, policy=None, durations_s=None):
    """The order in which `names` were sampled, after the warm-up's turns."""
    turns = []
    calls = {name: Op(clock, name, *(durations_s or {}).get(name, [1e-3])) for name in names}
    found = sample_group(
        calls,
        baseline="eager",
        clock=clock,
        policy=policy or Policy(),
        watch=CalmWatch(),
        announce=turns.append,
    )
    return turns[len(names) :], found


def test_in_a_round_the_baseline_comes_first_and_the_rivals_turn_round(clock):
    rounds, _ = turns_of(clock, "eager", "a", "b")
    assert rounds[:6] == ["eager", "a", "b", "eager", "b", "a"]


WILD = [1e-3 * (1 + 0.9 * ((7 * i) % 11 - 5) / 5) for i in range(10_000)]


@pytest.mark.parametrize("rivals", [("a",), ("a", "b"), ("a", "b", "c", "d")])
@pytest.mark.parametrize("noisy", ["eager", "a", "none"])
def test_the_baseline_never_follows_itself_whoever_is_done_first(clock, rivals, noisy):
    rounds, found = turns_of(
        clock, "eager", *rivals, policy=Policy(budget_s=0.1, max_samples=64), durations_s={noisy: WILD}
    )
    assert ("eager", "eager") not in set(itertools.pairwise(rounds))
    n_rounds = len(found["eager"].samples_s)
    assert n_rounds == rounds.count("eager")
    assert all(len(found[name].samples_s) <= n_rounds for name in rivals)


def test_the_baseline_goes_on_alone_beside_a_rival_far_slower_than_its_budget(clock):
    rounds, found = turns_of(
        clock, "eager", "slow", policy=Policy(budget_s=1.0), durations_s={"eager": WILD, "slow": [10.0]}
    )
    assert rounds.count("slow") == 2, "its sample, and a call that tells whether it is still as slow"
    assert len(found["eager"].samples_s) > 100


def test_re_warming_is_as_many_calls_as_four_milliseconds_hold_up_to_eighty_and_four_if_eight_hold_them():
    calls_s = (1e-6, 49e-6, 51e-6, 250e-6, 0.9e-3, 1.1e-3, 1.9e-3, 2.1e-3, 3.9e-3, 4.1e-3, 2.0)
    assert [warming_calls(s, policy=Policy()) for s in calls_s] == [80, 80, 78, 16, 4, 4, 4, 3, 2, 1, 1]


class Evicted(Op):
    """A call that rivals' turns slow down: tenfold at first, less with each call in a row, for `lasting` calls."""

    lasting = 1

    def __call__(self):
        self.clock.log.append(self.name)
        in_a_row = sum(1 for _ in itertools.takewhile(lambda name: name == self.name, reversed(self.clock.log)))
        base = next(self.durations_s)
        self.clock.time_s += base * (1 + 9 * max(0, self.lasting + 1 - in_a_row) / self.lasting)


@pytest.mark.parametrize(("base_s", "lasting"), [(1e-3, 3), (50e-6, 72), (10e-6, 80)])
def test_what_rivals_evicted_is_not_charged_to_a_sample(clock, base_s, lasting):
    calls = {name: Evicted(clock, name, base_s) for name in ("eager", "rival")}
    for call in calls.values():
        call.lasting = lasting
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(), watch=CalmWatch())
    assert found["rival"].latency.median == pytest.approx(base_s, rel=0.04)


def test_re_warming_counts_against_the_budget(clock):
    calls = {name: Op(clock, name, *[s * 50e-6 for s in WILD]) for name in ("eager", "rival")}
    before = clock.time_s
    sample_group(calls, baseline="eager", clock=clock, policy=Policy(budget_s=0.1, warm_up_s=0.0), watch=CalmWatch())
    assert clock.time_s - before < 2 * 0.1 * 1.2


def test_a_drift_that_meets_all_alike_leaves_the_speedup_alone(clock):
    class Drifting(Op):
        def __call__(self):
            self.clock.log.append(self.name)
            base = next(self.durations_s)
            self.clock.time_s += base * (1 + len(self.clock.log) / 2000)

    calls = {"eager": Drifting(clock, "eager", 2e-3), "rival": Drifting(clock, "rival", 1e-3)}
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(budget_s=0.1), watch=CalmWatch())
    assert found["rival"].speedup.median == pytest.approx(2.0, rel=0.005)
    assert found["eager"].speedup is None


def test_a_speedup_is_paired_round_by_round():
    assert paired_speedup([2.0, 20.0, 4.0], [1.0, 10.0]).median == 2.0
    assert paired_ratios([3.0, 5.0, 7.0, 11.0, 13.0, 17.0], [1.0] * 6) == [3.0, 5.0, 11.0, 13.0, 13.0, 17.0]
    assert paired_ratios([3.0, 5.0, 7.0, 11.0], [1.0] * 4) == [3.0, 5.0, 11.0, 11.0]
    assert paired_speedup([], [1.0]) is None


def test_a_steady_drift_cancels_in_the_ratios_of_every_rival():
    # Four contenders in turn, each turn slower than the one before; rivals' order is reversed every other round.
    order = [name for n in range(4000) for name in ("eager", *("abc" if n % 2 == 0 else "cba"))]
    samples = {name: [1 + 1e-3 * turn for turn, who in enumerate(order) if who == name] for name in ("eager", *"abc")}
    for rival in "abc":
        ratios = paired_ratios(samples["eager"], samples[rival])
        logs = [math.log(ratio) for ratio in ratios[2000:2400]]
        assert abs(sum(logs) / len(logs)) < 1e-6


def test_skewed_noise_on_the_same_function_twice_leaves_a_speedup_of_one():
    rng = random.Random(1)
    first, second = ([1.0 + rng.expovariate(1.0) for _ in range(4000)] for _ in range(2))
    assert paired_speedup(first, second).median == pytest.approx(1.0, abs=0.02)


def test_without_the_baseline_rivals_are_measured_and_have_no_speedup(clock):
    found = sample_group(
        {"a": Op(clock, "a", 1e-3), "b": Op(clock, "b", 2e-3)},
        baseline="eager",
        clock=clock,
        policy=Policy(),
        watch=CalmWatch(),
    )
    assert found["b"].latency.median == pytest.approx(2e-3)
    assert found["a"].speedup is None


def cold_visit(clock, *, flush_s, policy):
    """Samples of three wild contenders, whose caches are flushed before each call."""

    def flush():
        clock.time_s += flush_s

    calls = {name: Op(clock, name, *WILD) for name in ("eager", "a", "b")}
    cold, n_calls = ColdClock(clock, flush), dict.fromkeys(calls, 1)
    return sample_group(calls, baseline="eager", clock=cold, policy=policy, watch=CalmWatch(), n_calls=n_calls)


def test_flushing_is_part_of_the_budget_once_there_are_as_many_rounds_as_an_interval_needs(clock):
    policy = Policy(budget_s=0.2)
    found = cold_visit(clock, flush_s=30e-3, policy=policy)
    assert {len(sampling.samples_s) for sampling in found.values()} == {policy.min_rounds}
    assert all(sampling.stop is Stop.BUDGET for sampling in found.values())
    few, before_s = found, clock.time_s
    found = cold_visit(clock, flush_s=4e-3, policy=policy)
    assert all(len(sampling.samples_s) > len(few[name].samples_s) for name, sampling in found.items())
    assert clock.time_s - before_s == pytest.approx(3 * policy.budget_s, rel=0.1)


def test_a_budget_that_calls_use_up_before_there_are_so_many_rounds_ends_them_flushed_or_not(clock):
    policy = Policy(budget_s=8e-3, max_samples=50)
    n_samples = [
        {name: len(sampling.samples_s) for name, sampling in cold_visit(clock, flush_s=flush_s, policy=policy).items()}
        for flush_s in (0.0, 30e-3)
    ]
    assert n_samples[0] == n_samples[1]
    assert max(n_samples[0].values()) < policy.min_rounds


def test_flushes_of_a_disturbed_chunk_that_is_measured_again_are_no_part_of_the_budget(clock):
    policy = Policy(budget_s=0.2, chunk_s=0.02, min_rounds=4)
    calls = {"eager": Op(clock, "eager", *WILD)}

    def sampled(watch):
        cold = ColdClock(clock, lambda: setattr(clock, "time_s", clock.time_s + 4e-3))
        return sample_group(calls, baseline="eager", clock=cold, policy=policy, watch=watch, n_calls={"eager": 1})

    calm, disturbed = (len(sampled(watch)["eager"].samples_s) for watch in (CalmWatch(), Disturbed(["a"] * 6)))
    assert disturbed == pytest.approx(calm, abs=3)


def test_time_that_a_watch_gives_to_other_processes_passes_as_well(clock):
    """As in turns: all processes end together, however little of the time each has for itself."""

    class InTurns(CalmWatch):
        def start(self):
            clock.time_s += 0.9

    policy = Policy(half_width=math.inf, budget_s=math.inf, chunk_s=0.1, least_s=6.0)
    sample_group(
        {"eager": Op(clock, "eager", 1e-3)},
        baseline="eager",
        clock=clock,
        policy=policy,
        watch=InTurns(),
        n_calls={"eager": 1},
    )
    assert 6.0 <= clock.time_s < 7.0
    assert clock.log.count("eager") == pytest.approx(600, abs=110)


@pytest.mark.parametrize("n_tuning", [3, 4])
def test_who_tunes_itself_over_calls_as_long_as_its_budget_is_told_what_a_call_takes_then(clock, n_tuning):
    calls = {"eager": Op(clock, "eager", 60e-6), "tuned": Op(clock, "tuned", *[0.3] * n_tuning, 55e-6)}
    policy = Policy(budget_s=0.17)
    found = sample_group(calls, baseline="eager", clock=clock, policy=policy, watch=Disturbed([]))
    assert set(found["tuned"].samples_s) == {55e-6}
    assert min(len(each.samples_s) for each in found.values()) >= 12


def test_who_has_calls_as_long_as_its_budget_has_one_more_and_keeps_its_samples(clock):
    found = sample_group(
        {"eager": Op(clock, "eager", 0.3)},
        baseline="eager",
        clock=clock,
        policy=Policy(budget_s=0.17),
        watch=CalmWatch(),
    )
    assert found["eager"].samples_s == (0.3,)
    assert clock.log.count("eager") == 5  # two that warm up, one that re-warms, the sample, and one that looks again
