"""A store of two rulers: what one of them measured is never told as a change from the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.tables.standings import failing_from
from dashboard.views.comparison import comparisons_of
from dashboard.views.explore_drawing import explore_drawing_of
from dashboard.views.winner_flips import winner_flips_of
from results.queries import commits, failures

N, AT = 4, 2


@pytest.fixture
def two_rulers(journal_store, journals):
    """Four commits; from the third on by ruler 5, by which compiled is faster, and the fastest."""
    sweeps = journals.history(N, operations=("mlp",), batches=(16,), hiddens=(256,), ruler_version="4")
    faster = {("mlp", "compiled"): 0.7}
    return journal_store(sweeps[:AT] + [replace(one, ruler_version="5", slowdowns=faster) for one in sweeps[AT:]])


def test_another_leader_by_a_newer_ruler_is_not_listed_as_of_a_commit(two_rulers):
    assert winner_flips_of(two_rulers) == ()


@pytest.mark.parametrize(("base", "drawn", "other"), [(0, {0, 1}, "5"), (AT, {2, 3}, "4")])
def test_values_by_another_ruler_are_not_told_as_so_many_times_those_at_a_commit(
    two_rulers, journals, base, drawn, other
):
    commit = journals.commit_hash(base)
    query = f"?benchmark=mlp&metric=latency_s&relative={commit[:12]}"
    drawing = explore_drawing_of(two_rulers, query=query)
    marks = [mark for curve in drawing.chart.curves for piece in curve.pieces for mark in piece]
    assert {mark.key for mark in marks} == {journals.commit_hash(one) for one in drawn}
    assert [mark.reading.value for mark in marks] == pytest.approx([1.0] * len(marks))
    assert f"other versions than at {commit[:8]}, which do not compare, left out: {other}" in drawing.left_out


def test_what_fails_by_a_newer_ruler_alone_is_answered_perhaps(journal_store, journals):
    before, after = journals.history(2, operations=("mlp",), providers=("eager", "fused"), ruler_version="4")
    newer = replace(after, run_id="new", providers=("fused",), ruler_version="5", states={("mlp", "fused"): "wrong"})
    store = journal_store([before, replace(after, providers=("eager",)), newer])
    [answer] = [one.answer for one in comparisons_of(store, commits=commits(store))]
    assert answer == "Perhaps: 4 series fail now and were ok before, by another ruler or version"
    [failing] = failing_from(failures(store))
    assert failing.was_ok
