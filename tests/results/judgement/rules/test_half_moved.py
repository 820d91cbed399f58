"""Half of all series moved: not more than half; and more than half, of one benchmark: not everything."""

from __future__ import annotations

import pytest

from results.exit_codes import ExitCode
from results.judgement.changes.from_histories import changes_of_place
from results.judgement.findings import FindingClass
from results.judgement.outcomes import Outcome
from results.judgement.verdicts import exit_code
from tests.made_values import A, B, row
from tests.results.judgement import test_changes_of_place as histories
from tests.results.judgement.rules.test_judge_rules import judged, suite


@pytest.mark.parametrize("n", [10, 20, 40])
def test_a_half_that_is_slower_does_not_pass_though_each_was_measured_once(n):
    """How far all moved tells their noise, not what is halfway between those that did and those that did not."""
    before = [one._replace(processes=()) for one in suite(A, [1.0] * 2 * n)]
    after = [one._replace(processes=()) for one in suite(B, [2.0] * n + [1.001] * n)]
    assert judged(before, after).count()[Outcome.REGRESSION] == n


@pytest.mark.parametrize("n", [10, 20, 40])
def test_so_it_is_of_one_benchmark(n):
    before, after = (of_benchmarks(at, counts=(2 * n,)) for at in (A, B))
    before = [one._replace(processes=()) for one in before]
    after = [one._replace(value=(2.0 if place < n else 1.001), processes=()) for place, one in enumerate(after)]
    found = judged(before, after)
    assert not found.shifts
    assert found.count()[Outcome.REGRESSION] == n


@pytest.mark.parametrize("other", [0.7, 1.01])
def test_what_moved_the_other_way_or_hardly_did_not_move_as_all_did(other):
    before = of_benchmarks(A, counts=(20, 3, 3, 3))
    after = of_benchmarks(B, counts=(20, 3, 3, 3), slow=4, factors=(1.3, other, other, other))
    found = judged(before, after)
    assert not found.shifts
    assert found.count()[Outcome.REGRESSION] == 20


def of_benchmarks(commit, *, counts, slow=0, factors=(1.3, 1.3, 1.3, 1.3)):
    """A benchmark of each count of parameters, of which the first ones are slower, by a factor each."""
    return [
        row([factors[place] * one if place < slow else one for one in (1.0, 1.002, 0.998)], commit=commit,
            metric="time", benchmark=f"s.time_{place}", parameters={"n": n})
        for place, count in enumerate(counts)
        for n in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "slow", "is_shift"),
    [
        ((20, 3, 3, 3), 1, False),
        ((20, 3, 3, 3), 2, False),
        ((20, 3, 3, 3), 3, True),
        ((20, 3), 1, False),
        ((20,), 1, True),
    ],
)
def test_one_benchmark_of_many_parameters_is_slower_and_not_the_machine(counts, slow, is_shift):
    before, after = (of_benchmarks(at, counts=counts, slow=n) for at, n in ((A, 0), (B, slow)))
    found = judged(before, after)
    assert bool(found.shifts) is is_shift
    assert exit_code(found) is (ExitCode.NOTHING_COMPARABLE if is_shift else ExitCode.REGRESSION)
    assert found.count()[Outcome.REGRESSION] == (0 if is_shift else sum(counts[:slow]))


@pytest.mark.parametrize(
    ("counts", "slow", "is_everything"),
    [((20, 3, 3, 3), 1, False), ((20, 3, 3, 3), 3, True), ((20, 3), 1, False), ((20,), 1, False)],
)
def test_so_it_is_in_a_history(counts, slow, is_everything):
    series = [
        histories.series(20 * place + n, benchmark=f"s.time_{place}", metric="time", n=n)
        for place, count in enumerate(counts)
        for n in range(count)
    ]
    is_slow = [i for i, one in enumerate(series) if int(one.benchmark.removeprefix("s.time_")) < slow]
    found = changes_of_place(histories.table(series, histories.times(len(series), slow=is_slow))).findings
    if is_everything:
        assert [one.class_ for one in found] == [FindingClass.MACHINE]
    else:
        assert [(one.benchmark, len(one.points), one.class_) for one in found] == [("s.time_0", 20, None)]
