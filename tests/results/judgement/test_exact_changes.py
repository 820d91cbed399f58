"""Changes of what is counted: each for the worse is one, whatever came before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from results.judgement.changes.exact import exact_changes
from results.metrics import SWEEP_METRICS, metric_of

LAUNCHES = SWEEP_METRICS["kernel_launches"]


def test_a_count_that_returns_is_recovered():
    found = exact_changes(np.array([3.0, 3.0, np.nan, 5.0, 5.0, 3.0, 4.0]), row=0, metric=LAUNCHES)
    assert [(one.last_good, one.first_bad, one.ended_at) for one in found] == [(1, 3, 5), (5, 6, None)]
    assert [one.jump for one in exact_changes(np.array([0.0, 2.0]), row=0, metric=LAUNCHES)] == [np.inf]


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
