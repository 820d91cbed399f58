"""The timing logic, on a clock that the test turns."""

import itertools
import math
import random

import pytest

from benchmarks.ruler.measure.clock import Timed
from benchmarks.ruler.measure.referee import Implausible
from benchmarks.ruler.measure.statistics import median_interval, paired_ratios
from benchmarks.ruler.measure.timing import (
    Policy,
    calls_per_sample,
    paired_speedup,
    sample_group,
    warm_up,
    warming_calls,
)
from benchmarks.ruler.record.outcome import Stop


class FakeClock:
    """Time passes only while a call runs, as much as the call says."""

    def __init__(self):
        self.time_s = 0.0
        self.log = []

    def now(self):
        return self.time_s

    def wall(self, call, *, calls):
        start = self.time_s
        for _ in range(calls):
            call()
        return self.time_s - start

    def timed(self, call, *, calls):
        start, last_output = self.time_s, None
        for _ in range(calls):
            last_output = call()
        return Timed(self.time_s - start, last_output)


class Op:
    """A call that takes the durations it is given, the last one for ever."""

    def __init__(self, clock, name, *durations_s):
        self.clock, self.name = clock, name
        self.durations_s = itertools.chain(durations_s[:-1], itertools.repeat(durations_s[-1]))

    def __call__(self):
        self.clock.log.append(self.name)
        self.clock.time_s += next(self.durations_s)


class CalmWatch:
    def start(self):
        pass

    def disturbance(self, _):
        return None


class Disturbed(CalmWatch):
    """Disturbed as often as the list says, then calm."""

    def __init__(self, reasons):
        self.reasons = iter(reasons)

    def disturbance(self, _):
        return next(self.reasons, None)


@pytest.fixture
def clock():
    return FakeClock()


def noisy(clock, name, *, base_s, spread):
    values = [base_s * (1 + spread * ((7 * i) % 11 - 5) / 5) for i in range(10_000)]
    return Op(clock, name, *values)


def test_a_sample_groups_enough_calls_for_the_clock():
    policy = Policy(min_sample_s=200e-6)
    assert calls_per_sample(10e-6, policy=policy) == 20
    assert calls_per_sample(150e-6, policy=policy) == 2
    assert calls_per_sample(3.0, policy=policy) == 1


def test_every_sample_lasts_as_long_as_the_policy_says(clock):
    sampling = sample_group(
        {"eager": Op(clock, "eager", 7e-6)}, baseline="eager", clock=clock, policy=Policy(), watch=CalmWatch()
    )["eager"]
    assert sampling.calls_per_sample * 7e-6 >= 200e-6
    assert (sampling.calls_per_sample - 1) * 7e-6 < 200e-6


def test_warm_up_goes_on_until_the_time_of_a_call_settles(clock):
    slow_start = Op(clock, "eager", *[1e-3] * 20, 1e-4)
    settled = warm_up(slow_start, clock=clock, policy=Policy(warm_up_s=10.0))
    assert settled == pytest.approx(1e-4)
    assert len(clock.log) > 20


def test_warm_up_of_a_call_that_never_settles_ends_with_its_budget(clock):
    wild = Op(clock, "eager", *[1e-3, 5e-3] * 1000, 1e-3)
    warm_up(wild, clock=clock, policy=Policy(warm_up_s=0.1, settled=0.0))
    assert clock.time_s < 0.2


def test_a_steady_call_stops_with_precision_and_a_wild_one_with_its_budget(clock):
    calls = {
        "eager": noisy(clock, "eager", base_s=1e-3, spread=0.001),
        "wild": noisy(clock, "wild", base_s=1e-3, spread=0.9),
    }
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(budget_s=0.2), watch=CalmWatch())
    assert found["eager"].stop is Stop.PRECISION
    assert found["wild"].stop is Stop.BUDGET
    # One untimed call re-warms each sample of one call.
    assert 2 * sum(found["wild"].samples_s) * found["wild"].calls_per_sample == pytest.approx(0.2, rel=0.1)
    assert found["eager"].latency.relative_half_width <= 0.01


def test_no_point_stops_with_precision_before_the_least_number_of_rounds(clock):
    sampling = sample_group(
        {"eager": Op(clock, "eager", 1e-3)},
        baseline="eager",
        clock=clock,
        policy=Policy(min_rounds=12),
        watch=CalmWatch(),
    )["eager"]
    assert sampling.stop is Stop.PRECISION
    assert len(sampling.samples_s) >= 12


def test_a_record_never_holds_more_samples_than_the_policy_says(clock):
    sampling = sample_group(
        {"eager": noisy(clock, "eager", base_s=1e-4, spread=0.9)},
        baseline="eager",
        clock=clock,
        policy=Policy(budget_s=1e9, max_samples=50),
        watch=CalmWatch(),
    )["eager"]
    assert len(sampling.samples_s) == 50
    assert sampling.stop is Stop.BUDGET


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
        clock, "eager", "slow", policy=Policy(budget_s=0.5), durations_s={"eager": WILD, "slow": [10.0]}
    )
    assert rounds.count("slow") == 1
    assert len(found["eager"].samples_s) > 100


def test_re_warming_is_one_call_or_as_many_as_a_millisecond_holds_up_to_twenty():
    policy = Policy()
    assert [warming_calls(s, policy=policy) for s in (1e-6, 49e-6, 51e-6, 250e-6, 0.9e-3, 1.1e-3, 2.0)] == [
        20,
        20,
        19,
        4,
        1,
        1,
        1,
    ]


class Evicted(Op):
    """A call that rivals' turns slow down: tenfold at first, less with each call in a row, for `lasting` calls."""

    lasting = 1

    def __call__(self):
        self.clock.log.append(self.name)
        in_a_row = sum(1 for _ in itertools.takewhile(lambda name: name == self.name, reversed(self.clock.log)))
        base = next(self.durations_s)
        self.clock.time_s += base * (1 + 9 * max(0, self.lasting + 1 - in_a_row) / self.lasting)


@pytest.mark.parametrize(("base_s", "lasting"), [(1e-3, 1), (50e-6, 18), (10e-6, 20)])
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


def test_no_precision_is_enough_before_the_group_was_sampled_for_as_long_as_the_policy_says(clock):
    call = Op(clock, "eager", 1e-3)
    policy = Policy(least_s=0.3, warm_up_s=0.0)
    sampling = sample_group({"eager": call}, baseline="eager", clock=clock, policy=policy, watch=CalmWatch())["eager"]
    assert sampling.stop is Stop.PRECISION
    assert clock.time_s >= 0.3


def test_the_visits_of_a_point_share_its_time_and_samples():
    whole = Policy(budget_s=0.6, half_width=0.01, least_s=1.2, max_samples=90)
    one = whole.of_visit(n_visits=3)
    assert (one.budget_s, one.least_s, one.max_samples) == (pytest.approx(0.2), pytest.approx(0.4), 30)
    assert one.half_width == pytest.approx(0.01 * 3**0.5)
    assert one.min_sample_s == whole.min_sample_s


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


def test_a_disturbed_chunk_is_measured_again(clock):
    call = Op(clock, "eager", 1e-3)
    sampling = sample_group(
        {"eager": call},
        baseline="eager",
        clock=clock,
        policy=Policy(),
        watch=Disturbed(["someone compiled"]),
    )["eager"]
    assert sampling.disturbed is None
    assert clock.log.count("eager") > 2 * len(sampling.samples_s)


def test_what_stays_disturbed_is_kept_and_says_so(clock):
    sampling = sample_group(
        {"eager": Op(clock, "eager", 1e-3)},
        baseline="eager",
        clock=clock,
        policy=Policy(budget_s=0.05),
        watch=Disturbed(["someone compiled"] * 10_000),
    )["eager"]
    assert sampling.disturbed == "someone compiled"
    assert len(sampling.samples_s) >= 12


def test_a_short_disturbance_that_could_not_be_repeated_moves_no_median_and_is_not_said(clock):
    def sampled(n_disturbed):
        return sample_group(
            {"eager": noisy(clock, "eager", base_s=1e-3, spread=0.9)},
            baseline="eager",
            clock=clock,
            policy=Policy(budget_s=0.5, chunk_s=0.02),
            watch=Disturbed(["someone compiled"] * n_disturbed),
        )["eager"].disturbed

    # Repeats last as long as the budget; of what is disturbed after them, little is kept, or much.
    assert sampled(24) is None
    assert sampled(45) == "someone compiled"


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


def test_the_interval_of_a_sampling_is_that_of_its_samples(clock):
    sampling = sample_group(
        {"eager": noisy(clock, "eager", base_s=1e-3, spread=0.2)},
        baseline="eager",
        clock=clock,
        policy=Policy(budget_s=0.05),
        watch=CalmWatch(),
    )["eager"]
    assert sampling.latency == median_interval(sampling.samples_s)


class Refusing:
    """Refuses the result `bad`, and writes down what it was asked."""

    def __init__(self, log):
        self.log = log

    def before_sample(self, name, *, calls):
        self.log.append(f"before {name}'s sample")
        return calls + 1

    def before_timing(self, name):
        self.log.append(f"before {name}'s timing")

    def after_sample(self, name, last_output):
        self.log.append(f"after {name}'s sample")
        if last_output == "bad":
            raise Implausible("it is bad")


def answering(op, *outputs):
    answers = itertools.chain(outputs[:-1], itertools.repeat(outputs[-1]))

    def call():
        op()
        return next(answers)

    return call


def test_the_referee_is_asked_around_every_sample_and_none_of_it_is_timed(clock):
    op = Op(clock, "call", 1e-3)
    policy = Policy(max_samples=1, warm_up_s=0.0, min_sample_s=1e-3)
    found = sample_group(
        {"eager": op}, baseline="eager", clock=clock, policy=policy, watch=CalmWatch(), referee=Refusing(clock.log)
    )
    assert clock.log[1:] == [
        "before eager's sample",
        "call",
        "before eager's timing",
        *["call"] * 2,
        "after eager's sample",
    ]
    assert found["eager"].samples_s == (1e-3,)


@pytest.mark.parametrize("cheat", ["fused", "eager"])
def test_a_contender_found_implausible_leaves_the_rounds_and_the_others_go_on(clock, cheat):
    calls = {name: answering(Op(clock, name, 1e-3), "good") for name in ("eager", "fused", "compiled")}
    calls[cheat] = answering(Op(clock, cheat, 1e-3), *["good"] * 60, "bad")
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(), watch=CalmWatch(), referee=Refusing([]))
    assert set(found) == set(calls) - {cheat}
    assert all(len(sampling.samples_s) >= 12 for sampling in found.values())
    assert (found["compiled"].speedup is None) == (cheat == "eager")
