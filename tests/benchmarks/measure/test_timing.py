"""Warm-up, samples, stopping and disturbances, on a clock that the test turns."""

import itertools

import pytest

from benchmarks.ruler.measure.policy import Policy, calls_per_sample, warm_up
from benchmarks.ruler.measure.referee import Implausible
from benchmarks.ruler.measure.statistics import median_interval
from benchmarks.ruler.measure.timing import sample_group
from benchmarks.ruler.record.outcome import Stop
from tests.benchmarks.measure.turned_clock import CalmWatch, Disturbed, FakeClock, Op, noisy


@pytest.fixture
def clock():
    return FakeClock()


def test_a_sample_groups_enough_calls_for_the_clock():
    policy = Policy(min_sample_s=200e-6)
    assert calls_per_sample(10e-6, policy=policy) == 20
    assert calls_per_sample(150e-6, policy=policy) == 2
    assert calls_per_sample(3.0, policy=policy) == 1


def test_every_sample_lasts_as_long_as_the_policy_says(clock):
    sampling = sample_group(
        {"eager": Op(clock, "eager", 7e-6)}, baseline="eager", clock=clock, policy=Policy(), watch=CalmWatch()
    )["eager"]
    assert (sampling.calls_per_sample - 1) * 7e-6 < Policy().min_sample_s <= sampling.calls_per_sample * 7e-6


def test_warm_up_goes_on_until_the_time_of_a_call_settles(clock):
    slow_start = Op(clock, "eager", *[1e-3] * 20, 1e-4)
    settled = warm_up(slow_start, clock=clock, policy=Policy(warm_up_s=10.0))
    assert settled == pytest.approx(1e-4)
    assert len(clock.log) > 20


def test_warm_up_of_a_call_that_never_settles_ends_with_its_budget(clock):
    wild = Op(clock, "eager", *[1e-3, 5e-3] * 1000, 1e-3)
    warm_up(wild, clock=clock, policy=Policy(warm_up_s=0.1, settled=0.0))
    assert clock.time_s < 0.2


@pytest.mark.parametrize("n_before", [0, 9, 40])
def test_one_call_that_is_held_up_for_longer_than_warm_up_makes_no_lone_calls_of_the_samples(clock, n_before):
    held_up = Op(clock, "eager", *[60e-6] * n_before, 0.25, 60e-6)
    per_call_s = warm_up(held_up, clock=clock, policy=Policy())
    assert per_call_s == pytest.approx(60e-6)
    assert calls_per_sample(per_call_s, policy=Policy()) == 17


@pytest.mark.parametrize(
    "slow_s", [[0.25, 5e-4], [0.25, 2e-3], [25e-3] * 16, [1e-4] * 300], ids=["stall", "cold", "tuned", "slow machine"]
)
def test_calls_that_get_faster_after_warm_up_are_counted_anew(clock, slow_s):
    calls = {"eager": Op(clock, "eager", 2e-5), "late": Op(clock, "late", *slow_s, 2e-5)}
    watch = Disturbed([])
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(max_samples=200), watch=watch)
    assert watch.n_times_all_forgotten >= 1
    for sampling in found.values():
        assert set(sampling.samples_s) == {2e-5}
        assert 0.98e-3 <= sampling.calls_per_sample * 2e-5 < 1.1e-3
    assert len(found["eager"].samples_s) == len(found["late"].samples_s)
    assert found["late"].speedup.median == 1


def test_calls_are_counted_anew_only_while_there_is_time_for_it_and_never_where_their_number_is_given(clock):
    def late():
        return {"late": Op(clock, "late", *[2e-2] * 16, 2e-5)}

    options = {"baseline": "eager", "clock": clock, "watch": Disturbed([])}
    assert sample_group(late(), policy=Policy(budget_s=0.1), **options)["late"].calls_per_sample == 1
    assert sample_group(late(), policy=Policy(), n_calls={"late": 2}, **options)["late"].calls_per_sample == 2


def test_time_of_which_nothing_is_kept_makes_no_point_precise(clock):
    policy = Policy(least_s=0.3, warm_up_s=0.0, budget_s=1.0)
    watch = Disturbed(["a burst"] * 5)
    call = Op(clock, "eager", 1e-3)
    sampling = sample_group({"eager": call}, baseline="eager", clock=clock, policy=policy, watch=watch)["eager"]
    assert watch.n_forgotten == 5
    assert sampling.stop is Stop.PRECISION
    # A turn of a call of a millisecond has four that re-warm.
    assert 5e-3 * len(sampling.samples_s) >= 0.3 - 5e-3


def test_a_steady_call_stops_with_precision_and_a_wild_one_with_its_budget(clock):
    calls = {
        "eager": noisy(clock, "eager", base_s=1e-3, spread=0.001),
        "wild": noisy(clock, "wild", base_s=1e-3, spread=0.9),
    }
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(budget_s=0.2), watch=CalmWatch())
    assert found["eager"].stop is Stop.PRECISION
    assert found["wild"].stop is Stop.BUDGET
    # Four untimed calls re-warm each sample of one call.
    assert 5 * sum(found["wild"].samples_s) * found["wild"].calls_per_sample == pytest.approx(0.2, rel=0.1)
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


def test_a_disturbed_chunk_is_measured_again(clock):
    call = Op(clock, "eager", 1e-3)
    watch = Disturbed(["someone compiled"])
    sampling = sample_group({"eager": call}, baseline="eager", clock=clock, policy=Policy(), watch=watch)["eager"]
    assert sampling.disturbed is None
    assert watch.n_forgotten == 1
    assert clock.log.count("eager") > 2 * len(sampling.samples_s)


def test_what_stays_disturbed_is_kept_and_says_so(clock):
    sampling = sample_group(
        {"eager": Op(clock, "eager", 1e-3)},
        baseline="eager",
        clock=clock,
        policy=Policy(budget_s=0.1),
        watch=Disturbed(["someone compiled"] * 10_000),
    )["eager"]
    assert sampling.disturbed == "someone compiled"
    assert len(sampling.samples_s) >= 12


def test_every_cause_of_what_stays_disturbed_is_kept_with_its_numbers_once(clock):
    sampling = sample_group(
        {"eager": noisy(clock, "eager", base_s=1e-3, spread=0.9)},
        baseline="eager",
        clock=clock,
        policy=Policy(budget_s=0.5, chunk_s=0.1),
        watch=Disturbed(itertools.cycle(["it ran at 90% of its best", "it ran at 51% of its best"])),
    )["eager"]
    assert set(sampling.disturbed.split("; ")) == {"it ran at 90% of its best", "it ran at 51% of its best"}


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

    def __init__(self, log, *, after_warm_up=(), begin_turn=(), after_last_samples=()):
        self.log = log
        self.refused_after_warm_up, self.refused_at_turn = after_warm_up, begin_turn
        self.refused_after_last_samples = after_last_samples

    def after_warm_up(self, name):
        self.log.append(f"after {name}'s warm-up")
        if name in self.refused_after_warm_up:
            raise Implausible("it changed the clock")

    def after_last_samples(self, names, *, announce):
        for name in names:
            announce(name)
            self.log.append(f"after {name}'s last sample")
        return [name for name in names if name in self.refused_after_last_samples]

    def begin_turn(self, name):
        self.log.append(f"{name}'s turn")
        if name in self.refused_at_turn and self.log.count(f"{name}'s turn") == 3:
            raise Implausible("it is bad")

    def before_sample(self, name, *, calls, warming_calls=1):  # noqa: ARG002 - the protocol's
        self.log.append(f"before {name}'s sample")
        return calls + 1

    def before_last_warming(self, name):
        self.log.append(f"before {name}'s last warming")

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
    policy = Policy(max_samples=1, warm_up_s=0.0, least_warming_calls=1, warming_s=1e-3)
    found = sample_group(
        {"eager": op}, baseline="eager", clock=clock, policy=policy, watch=CalmWatch(), referee=Refusing(clock.log)
    )
    assert clock.log[2:] == [
        "after eager's warm-up",
        "eager's turn",
        "before eager's sample",
        "before eager's last warming",
        "call",
        "before eager's timing",
        *["call"] * 2,
        "after eager's sample",
        "after eager's last sample",
    ]
    assert found["eager"].samples_s == (1e-3,)


def test_what_the_referee_reads_of_the_system_is_two_calls_away_from_the_clock(clock):
    op = Op(clock, "call", 1e-4)
    referee = Refusing(clock.log)
    policy = Policy(max_samples=1, warm_up_s=0.0)
    sample_group({"eager": op}, baseline="eager", clock=clock, policy=policy, watch=CalmWatch(), referee=referee)
    turn = clock.log[clock.log.index("before eager's sample") :]
    read, timed = (turn.index(f"before eager's {what}") for what in ("last warming", "timing"))
    assert turn[1:read] == ["call"] * 38
    assert turn[read + 1 : timed] == ["call"] * 2


@pytest.mark.parametrize("cheat", ["fused", "eager"])
def test_a_contender_found_implausible_leaves_the_rounds_and_the_others_go_on(clock, cheat):
    calls = {name: answering(Op(clock, name, 1e-3), "good") for name in ("eager", "fused", "compiled")}
    calls[cheat] = answering(Op(clock, cheat, 1e-3), *["good"] * 60, "bad")
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(), watch=CalmWatch(), referee=Refusing([]))
    assert set(found) == set(calls) - {cheat}
    assert all(len(sampling.samples_s) >= 12 for sampling in found.values())
    assert (found["compiled"].speedup is None) == (cheat == "eager")


@pytest.mark.parametrize(
    ("refused", "n_samples"), [("after_warm_up", 0), ("begin_turn", 2), ("after_last_samples", 12)]
)
def test_a_contender_found_implausible_before_or_after_its_samples_has_none(clock, refused, n_samples):
    calls = {name: Op(clock, name, 1e-3) for name in ("eager", "fused")}
    referee = Refusing([], **{refused: ("fused",)})
    found = sample_group(calls, baseline="eager", clock=clock, policy=Policy(), watch=CalmWatch(), referee=referee)
    assert set(found) == {"eager"}
    assert referee.log.count("after fused's sample") == n_samples
