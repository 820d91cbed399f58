"""Visits that only a later best of the machine shows to have been slow."""

from dataclasses import replace

import pytest

from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import DeviceKind, Group
from benchmarks.ruler.record.outcome import State, TimingOutcome, Visit
from benchmarks.ruler.sweep.judged_visits import rejudged_lines
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep
from benchmarks.ruler.sweep.usual_spreads import NOTHING_KNOWN, Usual, usual_of
from benchmarks.ruler.sweep.visits import valued

CORE_S = 1e-4


@pytest.fixture
def swept(timing_line, tmp_path):
    """A sweep of one point, three visits of which took the seconds given; `core_s` the probe beside each."""

    def of(*medians_s, core_s):
        visits = tuple(
            Visit(
                measured_at=f"2026-01-0{number}", n_samples=20, median_s=median_s, machine_speed=1.0,
                slow_quarter_s={"core": of_visit},
            )
            for number, (median_s, of_visit) in enumerate(zip(medians_s, core_s, strict=True), start=1)
        )  # fmt: skip
        samples = tuple(each for each in medians_s for _ in range(20))
        outcome = TimingOutcome(state=State.OK, latency_s=medians_s[1], visits=visits, samples_s=samples)
        head = timing_line.head
        group = Group(shape=head.shape, contenders=(head.contender,))
        made = {"run": head.run, "path": tmp_path / "j", "axes": QUICK, "groups": (group,)}
        return empty_sweep(Plan(device=DeviceKind.CPU, threads=1, **made)).with_lines(
            [replace(timing_line, outcome=outcome)]
        )

    return of


def test_a_visit_that_a_later_best_shows_to_be_slow_no_longer_counts(swept):
    sweep = swept(2.0, 2.0, 1.0, core_s=(CORE_S, CORE_S, CORE_S))
    assert rejudged_lines(sweep, {"core": CORE_S}, before=NOTHING_KNOWN) == []
    sweep = swept(1.0, 1.1, 2.0, core_s=(CORE_S, CORE_S, 2 * CORE_S))
    (line,) = rejudged_lines(sweep, {"core": CORE_S}, before=NOTHING_KNOWN)
    assert [each.disturbed for each in line.outcome.visits] == [
        None, None, "the machine ran at 50 % of its best (one core's arithmetic)",
    ]  # fmt: skip
    assert line.outcome.visits[2].machine_speed == 0.5
    assert line.outcome.latency_s == pytest.approx(1.05)
    assert line.outcome.disturbed is None
    assert rejudged_lines(sweep.with_lines([line]), {"core": CORE_S}, before=NOTHING_KNOWN) == []


def test_where_most_visits_were_slow_the_point_is_disturbed_and_all_count(swept):
    sweep = swept(2.0, 2.0, 1.0, core_s=(2 * CORE_S, 2 * CORE_S, CORE_S))
    (line,) = rejudged_lines(sweep, {"core": CORE_S}, before=NOTHING_KNOWN)
    assert "50 % of its best" in line.outcome.disturbed
    assert line.outcome.latency_s == 2.0


def test_intervals_are_by_what_is_usual_of_visits_as_they_are_judged_now(swept):
    sweep = swept(1.0, 1.4, 1.2, core_s=(1.2 * CORE_S,) * 3)
    (line,) = sweep.recorded.timings.values()
    beside = replace(line.head.shape, batch=line.head.shape.batch + 1)
    sweep = sweep.with_lines([replace(line, head=replace(line.head, shape=beside))])
    (line,) = rejudged_lines(sweep, {"core": CORE_S}, before=NOTHING_KNOWN)
    assert line.outcome == valued(line.outcome, None, usual=usual_of([line.outcome])), "the other one's as judged now"
    assert line.outcome != valued(line.outcome, None, usual=Usual())


def test_a_point_alone_is_no_surer_by_its_own_visits(swept):
    (line,) = rejudged_lines(swept(1.0, 1.4, 1.2, core_s=(1.2 * CORE_S,) * 3), {"core": CORE_S}, before=NOTHING_KNOWN)
    assert line.outcome == valued(line.outcome, None, usual=NOTHING_KNOWN)


@pytest.mark.parametrize("best_s", [{}, {"memory": 1e-9}, {"core": CORE_S * 0.93}])
def test_what_is_not_known_to_have_been_slow_stays(swept, best_s):
    assert rejudged_lines(swept(1.0, 1.1, 1.2, core_s=(CORE_S,) * 3), best_s, before=NOTHING_KNOWN) == []


def test_what_failed_is_not_judged_again(swept):
    sweep = swept(1.0, 1.1, 2.0, core_s=(CORE_S, CORE_S, 2 * CORE_S))
    (line,) = sweep.recorded.timings.values()
    failed = replace(line, outcome=replace(line.outcome, state=State.CRASHED, latency_s=None))
    assert rejudged_lines(sweep.with_lines([failed]), {"core": CORE_S}, before=NOTHING_KNOWN) == []
