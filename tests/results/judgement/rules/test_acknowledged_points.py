"""Findings whose change a person declared known: all points of one, at its commit."""

from __future__ import annotations

import numpy as np
import pytest

from results.judgement.changes.from_histories import changes_of_place
from results.judgement.findings import FindingState
from tests.results.judgement import test_changes_of_place as histories
from tests.results.judgement.rules.test_surface_rules import N, acknowledged, commit, found_in, member


@pytest.mark.parametrize("at", [10, 11])
@pytest.mark.parametrize("jump", [0.1, 0.3])
def test_at_the_commit_of_another_point_of_the_same_finding(at, jump):
    """A finding has one commit, at which all its points are acknowledged; some were found a commit beside it."""
    beside = {"last_good": 10, "first_bad": 11, "jump": jump}
    known = [acknowledged(i, commit(at), "on purpose") for i in range(3)]
    [found] = found_in(member(0), member(1), member(2, **beside), known=known)
    assert (found.state, found.why) == (FindingState.ACKNOWLEDGED, f"accepted at {commit(at)[:8]}: on purpose")
    [found] = found_in(member(0), member(1), member(2, **beside), known=known[:2])
    assert found.state is FindingState.CONFIRMED


def test_with_the_points_that_were_not_measured_there():
    values = np.ones((2, N))
    values[1, 10] = np.nan
    members = member(0), member(1, last_good=9, first_bad=11)
    [found] = found_in(*members, values=values, known=[acknowledged(0, commit(10), "on purpose")])
    assert found.state is FindingState.ACKNOWLEDGED
    [found] = found_in(*members, values=values)
    assert found.state is FindingState.CONFIRMED


@pytest.mark.parametrize(("at", "is_known"), [(6, False), (7, True), (9, True), (10, True), (11, False)])
def test_by_a_decision_on_a_commit_of_the_range(at, is_known):
    known = [acknowledged(0, commit(at), "on purpose")]
    [found] = found_in(member(last_good=6), known=known)
    assert (found.state is FindingState.ACKNOWLEDGED, "on purpose" in found.why) == (is_known, is_known)


def test_only_if_each_of_its_points_is():
    known = [acknowledged(i, commit(10), f"reason {i}") for i in range(2)]
    members = member(0), member(1, jump=0.4)
    [whole] = found_in(*members, known=known)
    assert (whole.state, "reason 1" in whole.why) == (FindingState.ACKNOWLEDGED, True)
    [part] = found_in(*members, known=known[1:])
    assert (part.state, part.why) == (FindingState.CONFIRMED, "certain 2 measured commits later")


def test_a_point_that_was_not_measured_there_is_the_findings_and_not_another_series():
    """Where the machine's part is taken out, rows of what is judged are not those of the table."""
    given = {"batch": 1, "weights": "plain", "pass": "forward"}
    controls = [histories.series(i, provider="eager", **given | {"batch": i}) for i in range(8)]
    values = histories.times(9, slow=[8])
    values[:8, 60] = np.nan  # the commit that is to blame was measured in part
    measured = histories.table([*controls, histories.series(8, provider="fused", **given)], values)
    known = acknowledged(8, histories.commit(60), "on purpose")
    [found] = changes_of_place(measured, known=[known]).findings
    assert (found.first_bad, found.state) == (histories.commit(60), FindingState.ACKNOWLEDGED)
