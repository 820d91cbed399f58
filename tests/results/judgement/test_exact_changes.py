"""Changes of what is counted: each for the worse is one, whatever came before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from results.judgement.changes.exact import exact_changes
from results.judgement.changes.from_histories import changes_of_place
from results.judgement.findings import FindingState
from results.metrics import SWEEP_METRICS, metric_of
from tests.results.judgement.test_changes_of_place import commit, series, table

LAUNCHES = SWEEP_METRICS["kernel_launches"]


def test_a_count_that_returns_is_recovered():
    found = exact_changes(np.array([3.0, 3.0, np.nan, 5.0, 5.0, 3.0, 4.0]), row=0, metric=LAUNCHES)
    assert [(one.last_good, one.first_bad, one.ended_at) for one in found] == [(1, 3, 5), (5, 6, None)]


@pytest.mark.parametrize(
    ("before", "after", "jump"),
    [(0.0, 2.0, np.inf), (2.0, 0.0, -np.inf), (1.0, 2.0, np.log(2)), (2.0, 1.0, -np.log(2))],
)
def test_a_jump_is_the_logarithm_of_the_ratio_and_endless_from_or_to_0(before, after, jump):
    [found] = exact_changes(np.array([np.nan, before, after]), row=7, metric=LAUNCHES)
    assert found.jump == pytest.approx(jump)
    assert (found.row, found.confirmed_at, found.interval, found.p) == (7, 2, None, None)
    assert found.state is FindingState.CONFIRMED


def test_nothing_measured_and_one_value_are_no_change():
    assert exact_changes(np.array([]), row=0, metric=LAUNCHES) == []
    assert exact_changes(np.array([np.nan, 3.0]), row=0, metric=LAUNCHES) == []


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([5, 1, 5], [(1, "faster", 2), (2, "slower", None)]),  # a fusion gained and lost
        ([1, 5, 1], [(1, "slower", 2)]),  # a regression that is mended
        ([1, 5, 1, 5], [(1, "slower", 2), (3, "slower", None)]),  # and made again
        ([5, 1, 5, 1], [(1, "faster", 2), (2, "slower", 3)]),
        ([5, 1, 3], [(1, "faster", None), (2, "slower", None)]),  # lost in part
        ([5, 3, 1, 5], [(1, "faster", 3), (2, "faster", 3), (3, "slower", None)]),
    ],
)
def test_every_count_for_the_worse_is_a_finding_whatever_came_before(counts, expected):
    found = exact_changes(np.array(counts, dtype=float), row=0, metric=LAUNCHES)
    assert [(one.first_bad, "slower" if one.jump > 0 else "faster", one.ended_at) for one in found] == expected
    mirrored = exact_changes(6 - np.array(counts, dtype=float), row=0, metric=replace(LAUNCHES, direction="higher"))
    assert [(one.first_bad, one.ended_at) for one in mirrored] == [(first, end) for first, _, end in expected]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # 0.4 % a commit, with a tolerance of 1 %: three of them are more than that.
        ([100.0, 100.4, 100.8, 101.2, 101.2], [(0, 3, 1.012, None)]),
        ([100.0, 100.4, 100.8, 101.2, 101.6, 102.0, 102.4], [(0, 3, 1.012, None), (3, 6, 102.4 / 101.2, None)]),
        ([100.0, 99.6, 99.2, 98.8], [(0, 3, 0.988, None)]),
        # From the latest commit that it differs from.
        ([100.0, 100.0, np.nan, 100.0, 100.6, 101.2], [(3, 5, 1.012, None)]),
        # Back by the same way, and a jump after a creep: the jump is what its commit did.
        ([100.0, 100.6, 101.2, 100.6, 100.0], [(0, 2, 1.012, 4)]),
        ([100.0, 100.5, 105.5], [(1, 2, 105.5 / 100.5, None)]),
        ([100.0, 100.5, 105.0, 100.5], [(1, 2, 105.0 / 100.5, 3)]),
        ([100.0, 100.9, 100.0, 99.1, 100.0], []),
        ([100.0, 99.3, 100.5], [(1, 2, 100.5 / 99.3, None)]),
    ],
)
def test_memory_that_creeps_within_its_tolerance_is_found_where_it_has_left_it(values, expected):
    metric = SWEEP_METRICS["peak_memory_bytes"]
    assert metric.tolerance == 0.01
    found = exact_changes(np.array(values), row=0, metric=metric)
    assert [(one.last_good, one.first_bad, one.ended_at) for one in found] == [
        (last, first, end) for last, first, _, end in expected
    ]
    assert [one.jump for one in found] == pytest.approx([np.log(ratio) for *_, ratio, _ in expected])


@pytest.mark.parametrize(
    ("dtype", "before", "after", "n"),
    [
        ("float32", 0.0, 1e-16, 0),
        ("float32", 0.0, 5e-8, 0),
        ("float32", 0.0, 1e-6, 1),
        ("float32", 1e-7, 1.9e-7, 0),
        ("float32", 1e-7, 2.1e-7, 1),
        ("bfloat16", 1e-4, 3e-3, 0),
        ("bfloat16", 1e-3, 5e-3, 1),
        ("bfloat16", 5e-3, 8e-3, 0),
    ],
)
def test_an_error_below_what_its_dtype_rounds_is_none(dtype, before, after, n):
    metric = metric_of("error_rel", unit="", dtype=dtype)
    assert len(exact_changes(np.array([before, before, after]), row=0, metric=metric)) == n


@pytest.mark.parametrize(
    ("counts", "ranges"),
    [([3, 3, 4, 3, 3, 3], []), ([3, 3, 4, 4, 3, 3], [(1, 2)]), ([3, 3, 4, 3, 4, 4], [(1, 3)])],
)
def test_a_count_that_differs_between_runs_of_a_commit_is_no_change_at_it(counts, ranges):
    """The third commit has two runs."""
    commits = [commit(i) for i in (0, 1, 2, 2, 3, 4)]
    measured = table([series(1, metric="operator_count", unit="operators")], [counts], commits=commits)
    found = changes_of_place(measured).findings
    assert [(one.last_good, one.first_bad) for one in found] == [(commit(a), commit(b)) for a, b in ranges]
