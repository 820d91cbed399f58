"""How far visits usually lie apart: what a run of one shape knows of the machine it runs on."""

import json
import random
import statistics
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.measure.statistics import USUAL, WEIGHT_OF_USUAL, Spread
from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.record.outcome import State, TimingOutcome, Visit
from benchmarks.ruler.sweep.machine_file import BestProbe, KeptUsual, keep_probe, keep_usual, kept_probe, kept_usual
from benchmarks.ruler.sweep.machine_spreads import MachineSpreads
from benchmarks.ruler.sweep.usual_spreads import NOTHING_KNOWN, Usual, usual_beside, usual_of
from benchmarks.ruler.sweep.visits import with_visit

HERE = {"machine": "box", "environment": "py3.11-cpu-t2"}
EAGER = Contender(provider="eager")


@pytest.fixture
def known(tmp_path):
    """What the next sweep on the machine knows of it."""
    return lambda **changes: MachineSpreads(tmp_path, **{**HERE, **changes})


@pytest.fixture
def of_visits(timing_line):
    """A line of a point whose visits' medians, in seconds, are given."""

    def line(*medians_s):
        visits = tuple(
            Visit(measured_at=f"2026-01-{number:02}", n_samples=20, median_s=each)
            for number, each in enumerate(medians_s, start=1)
        )
        return replace(timing_line, outcome=TimingOutcome(state=State.OK, latency_s=1.0, visits=visits))

    return line


def relative_width(outcome):
    return (outcome.latency_ci_high_s - outcome.latency_ci_low_s) / outcome.latency_s


def of_three_processes(rng, sd, usual):
    """A point's outcome after three visits, and the median of ten later processes."""
    outcomes, later = {}, [rng.lognormvariate(0, sd) for _ in range(10)]
    for number in range(3):
        sample_s = rng.lognormvariate(0, sd)
        new = {EAGER: TimingOutcome(state=State.OK, latency_s=sample_s, samples_s=(sample_s,) * 20)}
        outcomes = with_visit(outcomes, new, measured_at=f"2026-01-0{number + 1}", conditions={}, usual=usual)
    return outcomes[EAGER], statistics.median(later)


@pytest.mark.parametrize("sd", [0.005, 0.03, 0.06])
def test_a_run_of_one_shape_is_no_surer_than_the_machine_allows(known, timing_line, sd):
    rng = random.Random(0)
    swept = [of_three_processes(rng, sd, NOTHING_KNOWN)[0] for _ in range(12)]
    known().learn([replace(timing_line, outcome=outcome) for outcome in swept])
    usual = known().usual([])
    assert usual.latency.sd == pytest.approx(sd, rel=0.5)
    later = [of_three_processes(rng, sd, usual) for _ in range(400)]
    n_held = sum(found.latency_ci_low_s <= median <= found.latency_ci_high_s for found, median in later)
    assert n_held >= 0.9 * 400


@pytest.mark.parametrize("sd", [0.015, 0.03, 0.05, 0.1])
def test_a_run_of_one_shape_on_a_new_machine_is_no_surer_than_its_own_visits_allow(sd):
    rng = random.Random(0)
    found = [of_three_processes(rng, sd, NOTHING_KNOWN)[0] for _ in range(1000)]
    assert sum(each.latency_ci_low_s <= 1.0 <= each.latency_ci_high_s for each in found) >= 0.9 * 1000


@pytest.mark.parametrize(("sd", "widest"), [(0.005, 0.025), (0.015, 0.035)])
def test_on_a_calm_new_machine_an_interval_is_not_wide(sd, widest):
    rng = random.Random(0)
    found = [of_three_processes(rng, sd, NOTHING_KNOWN)[0] for _ in range(200)]
    assert statistics.median(relative_width(each) / 2 for each in found) < widest


def test_a_guess_stays_one_until_something_was_measured(known, of_visits):
    known().learn([of_visits(1.0, 1.1, 1.2)])
    usual = known().usual([])
    assert usual.latency.dof > USUAL.dof
    assert usual.slow_latency == usual.speedup == USUAL


def test_a_point_is_no_part_of_what_is_usual_beside_it(of_visits):
    near, far = of_visits(1.0, 1.01, 1.02), of_visits(1.0, 1.1, 1.2)
    shapes = [near.head.shape, replace(near.head.shape, batch=near.head.shape.batch + 1)]
    outcomes = dict(zip([(shape, EAGER) for shape in shapes], [near.outcome, far.outcome], strict=True))
    beside = usual_beside(shapes, outcomes)
    assert beside == {shapes[0]: usual_of([far.outcome]), shapes[1]: usual_of([near.outcome])}
    assert usual_beside(shapes[:1], {(shapes[0], EAGER): near.outcome}) == {shapes[0]: NOTHING_KNOWN}


def test_beside_very_many_shapes_all_have_the_same_at_the_cost_of_one(of_visits):
    spreads = {(number, EAGER): of_visits(1.0, 1.01, 0.99 + number / 1e4).outcome for number in range(100)}
    assert usual_beside(range(100), spreads) == dict.fromkeys(range(100), usual_of(spreads.values()))


def test_a_guess_that_an_older_run_noted_as_learnt_is_a_guess():
    noted, learnt = Spread(sd=USUAL.sd, dof=4), Spread(sd=0.01, dof=4)
    found = usual_of([], before=Usual(latency=learnt, slow_latency=noted, speedup=learnt))
    assert (found.latency, found.slow_latency) == (learnt, USUAL)


def test_what_a_run_learnt_is_of_its_machine_and_environment(known, of_visits):
    known().learn([of_visits(1.0, 1.1, 1.2)])
    assert known().usual([]).latency.sd > USUAL.sd
    assert known(environment="py3.11-cpu-t1").usual([]) == NOTHING_KNOWN
    assert known(machine="another").usual([]) == NOTHING_KNOWN


def test_a_run_of_single_visits_teaches_nothing(known, of_visits, tmp_path):
    known().learn([of_visits(1.0), of_visits(2.0)])
    assert kept_usual(tmp_path, **HERE) is None


def test_earlier_runs_weigh_little_beside_the_visits_of_a_run(known, of_visits):
    for _ in range(3):
        known().learn([of_visits(1.0, 1.1, 1.2)] * 50)
    calm = known().usual([of_visits(1.0, 1.001, 1.002).outcome] * 50)
    assert known().usual([]).latency.dof == WEIGHT_OF_USUAL
    assert calm.latency.sd < 0.25 * known().usual([]).latency.sd


@pytest.mark.parametrize(
    ("age", "holds"), [(timedelta(days=29), True), (timedelta(days=31), False), (timedelta(days=-2), False)]
)
def test_what_is_old_or_of_a_wrong_clock_is_not_usual(known, tmp_path, age, holds):
    usual = Usual(latency=Spread(sd=0.05, dof=4))
    measured_at = (datetime.now(UTC) - age).isoformat()
    keep_usual(tmp_path, KeptUsual(usual=usual, measured_at=measured_at), **HERE)
    assert known().usual([]) == (usual if holds else NOTHING_KNOWN)


def test_it_lies_beside_the_best_times_of_the_probe_and_neither_loses_the_other(known, of_visits, tmp_path):
    probe = BestProbe(seconds={"core": 1e-4}, measured_at="2026-01-01T00:00:00+00:00", conditions={})
    keep_probe(tmp_path, probe, **HERE)
    known().learn([of_visits(1.0, 1.1, 1.2)])
    keep_probe(tmp_path, replace(probe, seconds={"core": 2e-4}), **HERE)
    assert kept_probe(tmp_path, **HERE).seconds == {"core": 2e-4}
    assert kept_usual(tmp_path, **HERE).usual == known().usual([])


def test_where_a_run_has_no_visits_to_go_by_what_was_known_before_is_usual():
    before = Usual(latency=Spread(sd=0.05, dof=4), speedup=Spread(sd=0.01, dof=4))
    assert usual_of([], before=before) == before


def of_a_run_at(speed, rng, usual, *, is_known=True, **changes):
    """A point's outcome after three visits of a run, through which the machine keeps its `speed`, known or not."""
    outcomes = {}
    for number in range(3):
        sample_s = rng.lognormvariate(0, 0.002) / speed
        new = TimingOutcome(state=State.OK, latency_s=sample_s, samples_s=(sample_s,) * 20, **changes)
        about = {"measured_at": f"2026-01-0{number + 1}", "usual": usual}
        about["conditions"] = {"machine_speed": speed} if is_known else {}
        outcomes = with_visit(outcomes, {EAGER: new}, **about)
    return outcomes[EAGER]


KNOWN_AS_STEADY = Usual(speeds={f"2026-01-{day:02}": 0.97 for day in range(1, 31)})


@pytest.mark.parametrize(
    ("usual", "is_known"), [(NOTHING_KNOWN, True), (NOTHING_KNOWN, False), (KNOWN_AS_STEADY, True)]
)
def test_an_interval_holds_what_later_runs_find_at_any_speed_where_the_machines_is_known(usual, is_known):
    rng = random.Random(0)
    n_held = 0
    for _ in range(400):
        found = of_a_run_at(rng.uniform(0.92, 1), rng, usual, is_known=is_known)
        later = statistics.median(1 / rng.uniform(0.92, 1) for _ in range(10))
        n_held += found.latency_ci_low_s <= later <= found.latency_ci_high_s
    assert (n_held >= 0.95 * 400) is is_known


@pytest.fixture
def after_runs_at(tmp_path, timing_line):
    """What is usual on a machine after runs at these speeds, so far apart."""

    def usual(*speeds, apart):
        start = datetime.now(UTC) - len(speeds) * apart
        rng = random.Random(0)
        for number, speed in enumerate(speeds):
            line = replace(timing_line, outcome=of_a_run_at(speed, rng, NOTHING_KNOWN))
            MachineSpreads(tmp_path, **HERE).learn([line], now=start + number * apart)
        return MachineSpreads(tmp_path, **HERE).usual([])

    return usual


@pytest.mark.parametrize("n_runs", [1, 2, 20])
def test_after_runs_on_a_steady_machine_its_times_are_told_neither_more_nor_less_surely(after_runs_at, n_runs):
    steady = after_runs_at(*[0.97] * n_runs, apart=timedelta(hours=5))
    assert len(steady.speeds) == n_runs
    assert steady.drift() == NOTHING_KNOWN.drift()


def test_after_runs_on_a_machine_that_drifts_they_are_not(after_runs_at):
    drifting = after_runs_at(*[0.92, 1.0] * 10, apart=timedelta(hours=5))
    assert drifting.drift().sd > 1.2 * NOTHING_KNOWN.drift().sd


def test_runs_in_a_row_are_one_mood_of_the_machine(after_runs_at):
    assert len(after_runs_at(*[0.97] * 20, apart=timedelta(minutes=7)).speeds) == 3


def test_a_speed_that_no_machine_has_is_not_learnt_and_ends_no_run(after_runs_at):
    assert list(after_runs_at(3.0, 0.97, apart=timedelta(hours=5)).speeds.values()) == [0.97]


def test_a_speed_of_two_months_ago_or_of_a_wrong_clock_is_not_known_though_its_file_is_of_yesterday(known, tmp_path):
    moments = [(datetime.now(UTC) - timedelta(days=days)).isoformat() for days in (60, 1, -2)]
    usual = Usual(speeds=dict(zip(moments, (0.93, 0.97, 0.99), strict=True)))
    keep_usual(tmp_path, KeptUsual(usual=usual, measured_at=moments[1]), **HERE)
    assert list(known().before.speeds.values()) == [0.97]


def test_what_a_machine_did_two_months_ago_is_not_known(known, tmp_path, timing_line):
    now = datetime.now(UTC)
    long_ago, yesterday = ((now - timedelta(days=days)).isoformat() for days in (60, 1))
    usual = Usual(speeds={long_ago: 0.93, yesterday: 0.97})
    keep_usual(tmp_path, KeptUsual(usual=usual, measured_at=yesterday), **HERE)
    known().learn([replace(timing_line, outcome=of_a_run_at(0.98, random.Random(0), usual))], now=now)
    assert list(known().usual([]).speeds.values()) == [0.97, 0.98]


@pytest.mark.parametrize(
    "speeds", [{"yesterday": 0.97}, *({"2026-01-01": speed} for speed in (0.0, "fast", 1e300, True))]
)
def test_a_file_whose_speeds_are_none_is_damaged(known, tmp_path, timing_line, speeds):
    known().learn([replace(timing_line, outcome=of_a_run_at(0.98, random.Random(0), NOTHING_KNOWN))])
    path = tmp_path / "machines" / "box.json"
    content = json.loads(path.read_text())
    content["spreads"][HERE["environment"]]["usual"]["speeds"] = speeds
    path.write_text(json.dumps(content))
    with pytest.raises(JournalError, match=r"box\.json"):
        known()


def test_a_gpus_time_does_not_follow_its_hosts_speed():
    on_host, on_gpu = (
        of_a_run_at(0.97, random.Random(1), NOTHING_KNOWN, **more) for more in ({}, {"device_time_s": 1.0})
    )
    assert relative_width(on_gpu) < 0.7 * relative_width(on_host)
