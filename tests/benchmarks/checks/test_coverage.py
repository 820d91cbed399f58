"""How often intervals hold what they should, on made visits."""

import random
import statistics
from dataclasses import replace

import pytest

from benchmarks.ruler.checks.coverage import Speedup, held, report, report_of_equals
from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.sweep.visits import Usual, with_visit

EAGER, FUSED = Contender(provider="eager"), Contender(provider="fused")


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
    lines, passes = report(found)
    assert passes
    assert lines[-1].startswith("pass")


def test_intervals_that_miss_the_other_visits_fail(visited):
    lines, passes = report(list(held(visited(0.001, drift=0.5, n_shapes=1)))[:3])
    assert not passes
    assert lines[-1].startswith("FAIL")
    assert report([])[1] is False


def test_what_was_disturbed_counts_and_is_told_apart(visited):
    lines, _ = report(list(held(visited(0.01, disturbed="load"))))
    assert any(line.startswith("latency, undisturbed") and "no interval" in line for line in lines)


@pytest.mark.parametrize(("n_holding", "passes"), [(19, True), (18, False), (0, False)])
def test_equal_contenders_pass_if_95_in_100_intervals_contain_one(n_holding, passes):
    holding, missing = (Speedup(median=m, low=m - 0.1, high=m + 0.1, disturbed=None) for m in (1.0, 1.2))
    lines, is_passed = report_of_equals([holding] * n_holding + [missing] * (20 - n_holding))
    assert is_passed is passes
    assert lines[-1].startswith("pass" if passes else "FAIL")
