"""How often intervals hold what they should, on made visits."""

import math
import random
import statistics
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.ruler.checks import coverage, self_check
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.coverage import Speedup, held, report, report_of_equals
from benchmarks.ruler.measure.disturbances import contention, theft, throttling
from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.record import part_speed
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.sweep.usual_spreads import Usual, usual_of
from benchmarks.ruler.sweep.visits import valued, with_visit
from results.files import disturbances

SLOW = "the machine ran at {} % of its best (reading memory)"
EAGER, FUSED = Contender(provider="eager"), Contender(provider="fused")


def kinds(found):
    return [each.kind for each in report(found)[1]]


@pytest.fixture
def visited(shape):
    """Points of some shapes after 13 visits whose processes differ by `sd`; of the later ones, by `drift` as well."""

    def points(sd, *, drift=0.0, disturbed=None, n_shapes=8):
        rng, found = random.Random(0), {}
        for number in range(n_shapes):
            outcomes = {}
            for visit in range(13):
                new = {}
                for contender, truth in ((EAGER, 2.0), (FUSED, 1.0)):
                    of_process = truth * rng.lognormvariate(0, sd) * (1 + drift * (visit >= 3) * (contender == FUSED))
                    samples = tuple(of_process * (1 + 0.01 * rng.expovariate(1)) for _ in range(30))
                    new[contender] = TimingOutcome(
                        state=State.OK, latency_s=statistics.median(samples), samples_s=samples, disturbed=disturbed
                    )
                outcomes = with_visit(outcomes, new, measured_at=f"{visit:02}", conditions={}, usual=Usual())
            at = replace(shape, batch=number + 1)
            found |= {(at, contender): outcome for contender, outcome in outcomes.items()}
        return found

    return points


def test_every_few_consecutive_visits_are_held_against_the_other_ten(visited):
    found = list(held(visited(0.01)))
    assert len(found) == 8 * 11 * 3  # two latencies and one speedup
    assert {one.quantity for one in found} == {"latency", "speedup"}
    assert kinds(found) == [Kind.PASS, Kind.PASS]


def test_who_asks_to_keep_the_visits_finds_them_recorded_there(visited, monkeypatch, tmp_path):
    folders = []

    def visited_often(settings):
        folders.append(settings.data_dir)
        return visited(0.01)

    monkeypatch.setattr(coverage, "visited_often", visited_often)
    ended = CliRunner().invoke(self_check.main, ["coverage", "--keep", str(tmp_path)])
    assert (folders, ended.exit_code) == ([tmp_path], 0), ended.output


@pytest.mark.parametrize("n_shapes", [1, 2])
def test_intervals_are_those_of_a_sweep_to_which_a_point_s_own_visits_are_not_usual(visited, n_shapes):
    points = visited(0.05, n_shapes=n_shapes)
    first = {
        key: replace(outcome, visits=outcome.visits[:3], samples_s=outcome.samples_s[:90])
        for key, outcome in points.items()
    }
    expected = []
    for (shape, _), outcome in first.items():
        usual = usual_of([one for (other, _), one in first.items() if other != shape])
        found = valued(outcome, first[shape, EAGER], usual=usual)
        expected.append((found.latency_ci_high_s - found.latency_ci_low_s) / 2 / found.latency_s)
    latencies = [one.half_width for one in held(points) if one.quantity == "latency"]
    assert latencies[: len(expected)] == pytest.approx(expected)


def test_intervals_that_miss_the_other_visits_fail(visited):
    assert kinds(list(held(visited(0.001, drift=0.5, n_shapes=1)))[:3]) == [Kind.FAIL, Kind.FAIL]
    assert kinds([]) == [Kind.UNDECIDED] * 2


def test_what_was_disturbed_is_told_and_not_counted(visited):
    lines, (of_latency, of_speedup) = report(list(held(visited(0.01, disturbed="load"))))
    assert any(line.startswith("latency, disturbed") and "intervals hold" in line for line in lines)
    assert (of_latency.kind, of_speedup.kind) == (Kind.UNDECIDED, Kind.UNDECIDED)
    assert "the machine was disturbed, 176 of 176 cases not counted" in of_latency.words


@pytest.mark.parametrize(("percent", "of_speedup"), [(84, Kind.PASS), (70, Kind.PASS), (69, Kind.UNDECIDED)])
def test_a_slow_machine_biases_latencies_and_no_ratio(visited, percent, of_speedup):
    lines, found = report(list(held(visited(0.01, disturbed=SLOW.format(percent)))))
    assert [each.kind for each in found] == [Kind.UNDECIDED, of_speedup]
    [line] = [line for line in lines if line.startswith("speedup, slow alone")]
    assert ("of 88 intervals hold" in line) == (of_speedup is Kind.PASS)


def test_later_visits_that_were_disturbed_say_nothing_of_an_interval(visited):
    """Visits 3 to 8 ran at half the speed, and say so: the interval of the first three is held against the others."""
    points = visited(0.01, n_shapes=1)
    slow = {
        key: replace(
            outcome,
            visits=tuple(
                replace(one, median_s=2 * one.median_s, disturbed="load") if 3 <= number < 8 else one
                for number, one in enumerate(outcome.visits)
            ),
        )
        for key, outcome in points.items()
    }
    first = [one for one in held(slow) if one.quantity == "latency"][:2]
    assert [(one.is_held, one.is_disturbed) for one in first] == [(True, False)] * 2
    few = {
        key: replace(
            outcome, visits=tuple(replace(one, disturbed="load") for one in outcome.visits[:9]) + outcome.visits[9:]
        )
        for key, outcome in points.items()
    }
    assert {one.is_disturbed for one in held(few)} == {True}


@pytest.mark.parametrize(
    "text",
    [SLOW.format(70), SLOW.format("69.5"), SLOW.format("less than 1"), f"{SLOW.format(80)}; load", "load", "x; y"],
)
def test_the_ruler_and_the_store_agree_on_what_disturbs_ratios(text):
    assert part_speed.disturbs_ratios(text) == disturbances.disturbs_ratios(text)
    assert part_speed.LEAST_ALIKE == disturbances.LEAST_ALIKE
    assert not part_speed.disturbs_ratios(None)


@pytest.mark.parametrize(("lost", "bias"), [(0.06, disturbances.BOUND), (0.19, disturbances.BOUND), (0.2, math.inf)])
def test_what_the_ruler_says_of_lost_time_has_a_bound_in_the_store(lost, bias):
    window = SimpleNamespace(stolen=lost, throttled=lost, lost=lost, others_cores=2.0, own_cores=1.0)
    long_samples = {"eager": [0.02] * 3}
    told = [
        theft(window, long_samples), throttling(window, long_samples), contention(window, long_samples, n_cpus=2),
    ]  # fmt: skip
    assert [disturbances.ratio_bias(each) for each in told] == [bias] * 3


@pytest.mark.parametrize(("n_holding", "passes"), [(19, True), (18, False), (0, False)])
def test_equal_contenders_pass_if_95_in_100_intervals_contain_one(n_holding, passes):
    holding, missing = (Speedup(median=m, low=m - 0.1, high=m + 0.1, disturbed=None) for m in (1.0, 1.2))
    found = report_of_equals([holding] * n_holding + [missing] * (20 - n_holding))[1]
    assert found.kind is (Kind.PASS if passes else Kind.FAIL)


def test_of_equals_what_was_disturbed_is_not_counted_and_a_failure_is_one():
    holding, slow = (Speedup(median=m, low=m - 0.1, high=m + 0.1, disturbed=d) for m, d in ((1.0, None), (1.2, "load")))
    assert report_of_equals([holding] * 5 + [slow] * 5)[1].kind is Kind.PASS
    few = report_of_equals([holding] * 4 + [slow] * 5)[1]
    assert few.kind is Kind.UNDECIDED
    assert "the machine was disturbed, 5 of 9 cases not counted" in few.words
    slow_alone = replace(slow, disturbed=SLOW.format(80))
    lines, found = report_of_equals([holding] * 5 + [slow_alone] * 5)
    assert found.kind is Kind.FAIL
    assert lines[1].startswith("slow alone: 0 % of 5 intervals contain 1.0; farthest median from it 20.00 %")
    lines, found = report_of_equals([holding] * 9 + [Speedup(failure="wrong: implausible")])
    assert lines[0] == "no speedup: wrong: implausible"
    assert found.kind is Kind.FAIL
    assert report_of_equals([])[1].kind is Kind.UNDECIDED
