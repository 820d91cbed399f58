"""What follows from the visits of a group."""

import random
import statistics
from dataclasses import replace

import pytest

from benchmarks.ruler.measure.statistics import USUAL, Spread
from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.sweep.usual_spreads import Usual, usual_of
from benchmarks.ruler.sweep.visits import counted_samples, visits_samples, with_visit

EAGER, FUSED, COMPILED = (Contender(provider=name) for name in ("eager", "fused", "compiled"))


def sampled(*samples_s, **others):
    return TimingOutcome(
        state=State.OK,
        latency_s=statistics.median(samples_s),
        samples_s=samples_s,
        stop="precision",
        calls_per_sample=3,
        **others,
    )


def visited(*visits, usual=None, known=None):
    """The outcomes of a group after `visits`, each a mapping from contender to what its process found."""
    outcomes = known or {}
    for number, new in enumerate(visits):
        outcomes = with_visit(
            outcomes,
            new,
            measured_at=f"2026-01-0{number + 1}",
            conditions={"machine_speed": 1.0},
            usual=usual or Usual(),
        )
    return outcomes


def test_a_value_is_the_median_of_the_visits_medians_and_not_of_all_samples():
    found = visited(*({EAGER: sampled(*[s] * n)} for s, n in ((1.0, 9), (1.2, 1), (1.5, 1))))[EAGER]
    assert found.latency_s == 1.2
    assert [one.median_s for one in found.visits] == [1.0, 1.2, 1.5]
    assert found.latency_between_sd_s == pytest.approx(statistics.stdev([1.0, 1.2, 1.5]), rel=1e-5)
    assert len(found.samples_s) == 11
    assert visits_samples(found) == {"2026-01-01": (1.0,) * 9, "2026-01-02": (1.2,), "2026-01-03": (1.5,)}


def test_an_interval_over_more_visits_is_narrower_and_never_narrower_than_the_samples_own():
    steady = [{EAGER: sampled(*[1.0] * 50)}] * 3
    widths = [
        (found.latency_ci_high_s - found.latency_ci_low_s) / found.latency_s
        for found in (visited(*steady[:n])[EAGER] for n in (1, 2, 3))
    ]
    assert widths[0] > widths[1] > widths[2] > 0
    wild = visited(*[{EAGER: sampled(*[0.5, 1.5] * 10)}] * 3, usual=Usual(latency=Spread(sd=1e-9, dof=4)))[EAGER]
    assert (wild.latency_ci_low_s, wild.latency_ci_high_s) == (0.5, 1.5)


def test_speedups_are_paired_within_a_visit():
    # The second process is twice as slow for both: the ratio stays what it was.
    slow = {EAGER: sampled(4.0, 4.2, 4.4, 4.6), FUSED: sampled(2.0, 2.1, 2.2, 2.3)}
    fast = {EAGER: sampled(2.0, 2.1, 2.2, 2.3, 2.4), FUSED: sampled(1.0, 1.05)}
    found = visited(slow, fast, fast)
    assert [one.speedup_vs_eager for one in found[FUSED].visits] == [
        pytest.approx(statistics.median([2.0, 2.0, 4.6 / 2.2, 2.0])),
        pytest.approx(2.0),
        pytest.approx(2.0),
    ]
    assert found[FUSED].speedup_vs_eager == pytest.approx(2.0)
    assert found[FUSED].speedup_ci_low < 2.0 < found[FUSED].speedup_ci_high
    assert found[FUSED].speedup_between_sd == pytest.approx(0.0, abs=1e-3)
    assert found[EAGER].speedup_vs_eager is None


def test_with_two_undisturbed_visits_a_disturbed_one_does_not_count_but_is_kept():
    calm, harmed = {EAGER: sampled(1.0, 1.0)}, {EAGER: sampled(3.0, 3.0, disturbed="someone compiled")}
    found = visited(calm, harmed, calm)[EAGER]
    assert (found.latency_s, found.disturbed) == (1.0, None)
    assert found.latency_ci_high_s < 1.2
    assert [one.disturbed for one in found.visits] == [None, "someone compiled", None]
    assert len(found.samples_s) == 6
    assert counted_samples(found) == (1.0,) * 4


def test_a_disturbed_visit_that_is_left_out_widens_the_interval_and_leaves_no_other_trace_in_it():
    calm, harmed = {EAGER: sampled(1.0, 1.0)}, {EAGER: sampled(3.0, 3.0, disturbed="someone compiled")}
    left_out, twice, thrice = (visited(*visits)[EAGER] for visits in ([calm, harmed, calm], [calm] * 2, [calm] * 3))
    bounds = [(each.latency_ci_low_s, each.latency_ci_high_s) for each in (left_out, twice, thrice)]
    assert bounds[0] == bounds[1]
    assert bounds[0][0] < bounds[2][0] < bounds[2][1] < bounds[0][1]


@pytest.mark.parametrize("n_harmed", [1, 2])
def test_with_fewer_undisturbed_visits_all_count_and_the_point_is_disturbed(n_harmed):
    calm, harmed = {EAGER: sampled(1.0, 1.0)}, {EAGER: sampled(3.0, 3.0, disturbed="someone compiled")}
    found = visited(calm, *[harmed] * n_harmed)[EAGER]
    assert found.disturbed == "someone compiled"
    assert found.latency_s == {1: 2.0, 2: 3.0}[n_harmed]


@pytest.mark.parametrize(
    ("causes", "kept"),
    [
        (["it ran at 89%", "it ran at 74%; stolen", "it ran at 89%; stolen"], "it ran at 89%; it ran at 74%; stolen"),
        (["someone compiled"] * 3, "someone compiled"),
    ],
)
def test_what_disturbed_the_visits_is_kept_each_cause_once(causes, kept):
    found = visited(*({EAGER: sampled(3.0, 3.0, disturbed=cause)} for cause in causes))[EAGER]
    assert found.disturbed == kept
    assert [one.disturbed for one in found.visits] == causes


def test_what_fails_at_a_later_visit_has_failed_and_says_when_and_keeps_what_was_measured_before():
    crashed = TimingOutcome(state=State.CRASHED, reason="it raised")
    first = visited({EAGER: sampled(1.0), FUSED: sampled(1.0, 2.0)})
    found = with_visit(
        first,
        {EAGER: sampled(1.0), FUSED: crashed},
        measured_at="2026-01-02",
        conditions={"machine_speed": 1.0},
        usual=Usual(),
    )
    before = {"visits": first[FUSED].visits, "samples_s": (1.0, 2.0)}
    assert found[FUSED] == replace(crashed, reason="it raised (visit 2 of the group)", **before)
    assert (found[FUSED].latency_s, counted_samples(found[FUSED])) == (None, ())
    assert found[EAGER].latency_s == 1.0
    assert visited({EAGER: crashed})[EAGER] == crashed


def test_rivals_of_a_baseline_that_has_failed_have_no_speedup():
    crashed = TimingOutcome(state=State.CRASHED, reason="it raised")
    pair = {EAGER: sampled(2.0), FUSED: sampled(1.0)}
    found = visited(pair, {EAGER: crashed, FUSED: sampled(1.0)})
    assert found[FUSED].speedup_vs_eager is None
    assert found[FUSED].latency_s == 1.0


def test_a_visit_that_the_baseline_was_filtered_out_of_leaves_the_speedup_what_it_was():
    both = visited({EAGER: sampled(2.0, 2.0), FUSED: sampled(1.0, 1.0)})
    later = {"measured_at": "2026-01-02", "conditions": {"machine_speed": 1.0}, "usual": Usual()}
    alone = with_visit({FUSED: both[FUSED]}, {FUSED: sampled(3.0, 3.0)}, **later)[FUSED]
    assert alone.latency_s == 2.0
    assert [one.speedup_vs_eager for one in alone.visits] == [2.0, None]
    for name in ("speedup_vs_eager", "speedup_ci_low", "speedup_ci_high"):
        assert getattr(alone, name) == getattr(both[FUSED], name)
    never = visited({FUSED: sampled(1.0)}, {FUSED: sampled(1.0)})[FUSED]
    assert never.speedup_vs_eager is None


def test_compile_times_are_those_of_the_first_visit_and_the_greatest_error_counts():
    first = sampled(1.0, recompile_time_s=0.5, compile_time_cold_s=9.0, error_rel=1e-7)
    found = visited({COMPILED: first}, {COMPILED: sampled(1.0, recompile_time_s=3.0, error_rel=2e-7)})[COMPILED]
    assert (found.recompile_time_s, found.compile_time_cold_s, found.error_rel) == (0.5, 9.0, 2e-7)


def test_calls_in_a_sample_and_faults_are_medians_over_the_visits_that_count():
    def visit(calls, faults, disturbed=None):
        return {
            EAGER: replace(sampled(1.0, 1.0, disturbed=disturbed), calls_per_sample=calls, minor_faults_per_call=faults)
        }

    found = visited(visit(10, 0.0), visit(30, 4.0), visit(11, 1.0))[EAGER]
    assert (found.calls_per_sample, found.minor_faults_per_call) == (11, 1.0)
    assert [(one.calls_per_sample, one.minor_faults_per_call) for one in found.visits] == [(10, 0), (30, 4), (11, 1)]
    found = visited(visit(10, 0.0), visit(30, 4.0, "load"), visit(12, 1.0))[EAGER]
    assert (found.calls_per_sample, found.minor_faults_per_call) == (10, 0.5)
    assert visited(visit(10, None))[EAGER].minor_faults_per_call is None


def test_a_failure_and_what_came_before_it_tell_nothing_of_what_is_usual():
    failed = [
        replace(visited({EAGER: sampled(1.0)}, {EAGER: sampled(1.2)})[EAGER], state=State.CRASHED, latency_s=None)
    ] * 100
    assert usual_of(failed).latency == USUAL


def test_device_times_are_medians_over_visits_with_the_hull_of_their_intervals():
    def on_gpu(seconds):
        return sampled(
            1.0,
            device_time_s=seconds,
            device_time_ci_low_s=0.9 * seconds,
            device_time_ci_high_s=1.1 * seconds,
            device_time_cold_s=10 * seconds,
            device_time_cold_ci_low_s=9 * seconds,
            device_time_cold_ci_high_s=11 * seconds,
            host_time_s=2 * seconds,
        )

    found = visited(*({EAGER: on_gpu(s)} for s in (1.0, 3.0, 2.0)))[EAGER]
    assert (found.device_time_s, found.host_time_s) == (2.0, 4.0)
    assert (found.device_time_ci_low_s, found.device_time_ci_high_s) == (pytest.approx(0.9), pytest.approx(3.3))
    assert found.device_time_cold_s == 20.0
    assert (found.device_time_cold_ci_low_s, found.device_time_cold_ci_high_s) == (9.0, 33.0)


def test_what_is_usual_is_learnt_from_undisturbed_visits():
    assert usual_of([]).latency == USUAL
    wide = [visited({EAGER: sampled(1.0)}, {EAGER: sampled(1.2)})[EAGER]] * 100
    assert usual_of(wide).latency.sd == pytest.approx(statistics.stdev([1.0, 1.2]) / 1.1, rel=0.05)
    harmed = [visited({EAGER: sampled(1.0)}, {EAGER: sampled(9.0, disturbed="load")})[EAGER]] * 100
    assert usual_of(harmed).latency == USUAL


SLOW = "the machine ran at 80 % of its best (one core's arithmetic)"


def test_what_is_usual_is_learnt_on_a_machine_that_was_slow_throughout_too():
    def group(factor):
        return {EAGER: sampled(1.0, disturbed=SLOW), FUSED: sampled(factor, disturbed=SLOW)}

    slow = [*visited(group(1.0), group(1.2)).values()] * 100
    assert usual_of(slow).speedup.sd == pytest.approx(statistics.stdev([1.0, 1 / 1.2]) / (11 / 12), rel=0.05)
    assert usual_of(slow).slow_latency.sd > USUAL.sd
    calm = [visited({EAGER: sampled(1.0)}, {EAGER: sampled(1.0)})[EAGER]]
    assert usual_of([*calm, *slow]).latency.sd < USUAL.sd, "where some were undisturbed, those tell it"


def half_width_at(usual, *causes):
    """Half of the latency's interval of a point with equal visits, each disturbed by the cause that is given for it."""
    found = visited(*({EAGER: sampled(1.0, disturbed=cause)} for cause in causes), usual=usual)[EAGER]
    return (found.latency_ci_high_s - found.latency_ci_low_s) / 2


def test_one_calm_point_leaves_the_intervals_of_a_slow_machine_as_wide_as_they_were():
    slow = list(visited(*({EAGER: sampled(s, disturbed=SLOW)} for s in (1.0, 1.2))).values()) * 100
    calm = list(visited(*[{EAGER: sampled(1.0)}] * 2).values())
    alone, mixed = usual_of(slow), usual_of([*calm, *slow])
    for causes in ((SLOW, SLOW), (None, SLOW), (SLOW,)):
        assert half_width_at(mixed, *causes) == half_width_at(alone, *causes) > 2 * half_width_at(Usual(), *causes)


def test_a_group_of_which_a_visit_was_slow_leaves_the_intervals_of_calm_ones_as_they_were():
    half_slow = [visited({EAGER: sampled(1.0)}, {EAGER: sampled(1.2, disturbed=SLOW)})[EAGER]]
    for causes in ((None,), (None, None), ("load", "load")):
        assert half_width_at(usual_of(half_slow), *causes) == half_width_at(Usual(), *causes)


def test_of_disturbed_visits_those_of_a_merely_slow_machine_count_alone():
    causes = (SLOW, "other processes used 1.0 cores while this was measured", SLOW)
    found = visited(*({EAGER: sampled(s, disturbed=why)} for s, why in zip((1.0, 9.0, 1.1), causes, strict=True)))
    assert found[EAGER].latency_s == pytest.approx(1.05)
    assert found[EAGER].disturbed == SLOW
    alone = visited(*({EAGER: sampled(s, disturbed=why)} for s, why in zip((1.0, 9.0), causes, strict=False)))
    assert alone[EAGER].latency_s == pytest.approx(5.0)


def test_a_group_that_was_slow_at_one_visit_leaves_the_intervals_of_others_as_they_were():
    rng = random.Random(0)

    def points(n, *, slow=1.0):
        medians = [[rng.lognormvariate(0, 0.01) for _ in range(3)] for _ in range(n)]
        return [visited(*({EAGER: sampled(s)} for s in (one, slow * two, three)))[EAGER] for one, two, three in medians]

    calm = points(92)
    quiet, met = usual_of(calm).latency, usual_of([*calm, *points(4, slow=1.4)]).latency
    assert quiet.sd == pytest.approx(0.01, rel=0.2)
    assert quiet.sd < met.sd < 1.4 * quiet.sd
    assert usual_of(points(96, slow=1.4)).latency.sd > 0.15


@pytest.mark.parametrize("sd", [0.003, 0.015, 0.04])
def test_intervals_hold_the_median_of_ten_later_processes_nine_times_in_ten(sd):
    rng = random.Random(0)

    def visit(truth):
        of_process = truth * rng.lognormvariate(0, sd)
        return [of_process * (1 + 0.02 * rng.expovariate(1)) for _ in range(60)]

    usual, held, held_speedups, n = Usual(), 0, 0, 150
    points = []
    for _ in range(n):
        # Noise within a visit is of the clock, alike for both; what differs is the process.
        visits = [{EAGER: sampled(*visit(2.0)), FUSED: sampled(*visit(1.0))} for _ in range(3)]
        found = visited(*visits, usual=usual)
        points.append(found)
        if len(points) % 10 == 0:
            usual = usual_of(one for point in points for one in point.values())
        later = [{name: statistics.median(visit(t)) for name, t in (("e", 2.0), ("f", 1.0))} for _ in range(10)]
        fused = found[FUSED]
        held += fused.latency_ci_low_s <= statistics.median(one["f"] for one in later) <= fused.latency_ci_high_s
        ratio = statistics.median(one["e"] / one["f"] for one in later)
        held_speedups += fused.speedup_ci_low <= ratio <= fused.speedup_ci_high
    assert held / n >= 0.9
    assert held_speedups / n >= 0.9
