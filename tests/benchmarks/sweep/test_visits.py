"""What follows from the visits of a group, and the plan's ways through its groups."""

import random
import statistics
from dataclasses import replace

import pytest

from benchmarks.ruler.measure.statistics import USUAL, Spread
from benchmarks.ruler.plan.axes import QUICK, groups
from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep
from benchmarks.ruler.sweep.visits import Usual, counted_samples, usual_of, visits_samples, with_visit

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
            outcomes, new, measured_at=f"2026-01-0{number + 1}", machine_speed=1.0, usual=usual or Usual()
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


@pytest.mark.parametrize("n_harmed", [1, 2])
def test_with_fewer_undisturbed_visits_all_count_and_the_point_is_disturbed(n_harmed):
    calm, harmed = {EAGER: sampled(1.0, 1.0)}, {EAGER: sampled(3.0, 3.0, disturbed="someone compiled")}
    found = visited(calm, *[harmed] * n_harmed)[EAGER]
    assert found.disturbed == "someone compiled"
    assert found.latency_s == {1: 2.0, 2: 3.0}[n_harmed]


SLOW = "the machine ran at {}% of its best (one core's arithmetic)"
WAITED = "other processes used {} cores while this was measured, which waited for a processor {}% of the time"
THROTTLED = "the GPU was throttled by its temperature ({} MHz, 83 °C, 300 W)"


@pytest.mark.parametrize(
    ("causes", "told"),
    [
        ([SLOW.format(share) for share in (89, 74, 100)], SLOW.format(74)),
        ([WAITED.format("0.8", 35), WAITED.format("1.4", 9), WAITED.format("1.4", 12)], WAITED.format("1.4", 12)),
        ([THROTTLED.format(1400), THROTTLED.format(990)], THROTTLED.format(990)),
        (
            [SLOW.format(60), WAITED.format("1.0", 20), SLOW.format(58)],
            f"{SLOW.format(58)}; {WAITED.format('1.0', 20)}",
        ),
        (["someone compiled"] * 3, "someone compiled"),
    ],
)
def test_of_causes_that_differ_in_numbers_alone_the_worst_is_told(causes, told):
    found = visited(*({EAGER: sampled(3.0, 3.0, disturbed=cause)} for cause in causes))[EAGER]
    assert found.disturbed == told
    assert [one.disturbed for one in found.visits] == causes


def test_what_fails_at_a_later_visit_has_failed_and_says_when():
    crashed = TimingOutcome(state=State.CRASHED, reason="it raised")
    found = visited({EAGER: sampled(1.0), FUSED: sampled(1.0)}, {EAGER: sampled(1.0), FUSED: crashed})
    assert found[FUSED] == replace(crashed, reason="it raised (visit 2 of the group)")
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
    later = {"measured_at": "2026-01-02", "machine_speed": 1.0, "usual": Usual()}
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


def test_device_times_are_medians_over_visits_with_the_hull_of_their_intervals():
    def on_gpu(seconds):
        return sampled(
            1.0,
            device_time_s=seconds,
            device_time_ci_low_s=0.9 * seconds,
            device_time_ci_high_s=1.1 * seconds,
            host_time_s=2 * seconds,
        )

    found = visited(*({EAGER: on_gpu(s)} for s in (1.0, 3.0, 2.0)))[EAGER]
    assert (found.device_time_s, found.host_time_s) == (2.0, 4.0)
    assert (found.device_time_ci_low_s, found.device_time_ci_high_s) == (pytest.approx(0.9), pytest.approx(3.3))


def test_what_is_usual_is_learnt_from_undisturbed_visits():
    assert usual_of([]).latency == USUAL
    wide = [visited({EAGER: sampled(1.0)}, {EAGER: sampled(1.2)})[EAGER]] * 100
    assert usual_of(wide).latency.sd == pytest.approx(statistics.stdev([1.0, 1.2]) / 1.1, rel=0.05)
    harmed = [visited({EAGER: sampled(1.0)}, {EAGER: sampled(9.0, disturbed="load")})[EAGER]] * 100
    assert usual_of(harmed).latency == USUAL


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


@pytest.fixture
def sweep(run, tmp_path):
    chosen = tuple(group for name in Operation for group in groups(QUICK, operation=name, device=DeviceKind.CPU))
    return empty_sweep(Plan(run=run, path=tmp_path / "j", device=DeviceKind.CPU, threads=1, axes=QUICK, groups=chosen))


@pytest.fixture
def lines(timing_line):
    """The lines of a group's contenders after so many visits, with other states and another group id where asked."""

    def of(group, n_visits, *, states=None, group_id="abcdef01", only=None):
        outcome = visited(*[{EAGER: sampled(1.0)}] * n_visits)[EAGER]
        return [
            replace(
                timing_line,
                head=replace(timing_line.head, shape=group.shape, contender=contender),
                group=group_id,
                outcome=outcome if state is State.OK else TimingOutcome(state=state, reason="so"),
            )
            for contender in group.contenders
            if only is None or contender in only
            for state in [(states or {}).get(contender, State.OK)]
        ]

    return of


def test_all_groups_are_visited_once_then_again_on_the_way_back_then_again(sweep, lines):
    plan, ways = sweep.plan.groups, []
    for visit in (1, 2, 3):
        ways.append(sweep.due(visit))
        for group in sweep.due(visit):
            sweep = sweep.with_lines(lines(group, sweep.n_visits(group) + 1))
    assert ways == [plan, plan[::-1], plan]
    assert sweep.untimed() == ()


def test_an_interrupted_sweep_goes_on_at_the_visits_that_are_missing(sweep, lines):
    first, second, *others = sweep.plan.groups
    sweep = sweep.with_lines([*lines(first, 2), *lines(second, 1)])
    assert sweep.due(1) == tuple(others)
    assert sweep.due(2) == (*others[::-1], second)
    assert sweep.due(3) == sweep.plan.groups
    assert sweep.unprofiled() == ()


def test_a_group_of_which_a_visit_was_torn_is_visited_again_and_one_with_a_new_contender_begins_anew(sweep, lines):
    group = sweep.plan.groups[0]
    torn = sweep.with_lines([*lines(group, 1), *lines(group, 2, only={group.contenders[0]})])
    assert torn.n_visits(group) == 1
    assert len(torn.outcomes(group)) == 3
    newcomer = sweep.with_lines(lines(group, 3, only=set(group.contenders[:2])))
    assert (newcomer.n_visits(group), newcomer.outcomes(group)) == (0, {})
    apart = [*lines(group, 3, only=set(group.contenders[:2])), *lines(group, 1, group_id="12345678")[2:]]
    assert sweep.with_lines(apart).n_visits(group) == 0
    complete = [*lines(group, 3, only=set(group.contenders[:2])), *lines(group, 3, group_id="12345678")[2:]]
    assert sweep.with_lines(complete).n_visits(group) == 3


def test_what_has_failed_is_not_tried_again(sweep, lines):
    first, second, *_ = sweep.plan.groups
    sweep = sweep.with_lines(
        [
            *lines(first, 1, states={FUSED: State.CRASHED, COMPILED: State.UNAVAILABLE}),
            *lines(second, 1, states=dict.fromkeys(second.contenders, State.TIMED_OUT)),
        ]
    )
    assert (sweep.n_visits(first), sweep.n_visits(second)) == (1, 3)
    assert first in sweep.due(2)
    assert second not in sweep.due(3)
