"""Half of all series moved: not more than half."""

from __future__ import annotations

import pytest

from results.judgement.outcomes import Outcome
from tests.made_values import A, B
from tests.results.judgement.rules.test_judge_rules import judged, suite


@pytest.mark.parametrize("n", [10, 20, 40])
def test_a_half_that_is_slower_does_not_pass_though_each_was_measured_once(n):
    """How far all moved tells their noise, not what is halfway between those that did and those that did not."""
    before = [one._replace(processes=()) for one in suite(A, [1.0] * 2 * n)]
    after = [one._replace(processes=()) for one in suite(B, [2.0] * n + [1.001] * n)]
    assert judged(before, after).count()[Outcome.REGRESSION] == n
