"""A store of two rulers: what one of them measured is never told as a change from the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.pages.compare import page_props
from dashboard.tables.standings import failing_from
from dashboard.views.compare_drawing import compare_drawing_of
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


def texts_of(part):
    """Return what a part of a page says, its spaces as they are shown."""
    if isinstance(part, list | tuple):
        return "".join(map(texts_of, part))
    return part if isinstance(part, str) else texts_of(getattr(part, "children", None) or "")


@pytest.mark.parametrize("with_eager", [False, True])
def test_compare_says_which_points_another_ruler_measured_and_what_compares_them(journal_store, journals, with_eager):
    base, head = journals.history(2, operations=("mlp",), batches=(16,), hiddens=(256,), ruler_version="4")
    newer = replace(head, run_id="new", ruler_version="5", providers=("compiled", "fused"))
    old = replace(head, providers=("eager",))
    store = journal_store([base, *([old] if with_eager else []), newer])
    drawing = compare_drawing_of(store, query="")
    words = {row.name[4:]: row.ratios[0] and row.ratios[0].word for row in drawing.rows}
    assert words["[provider=compiled]"] == words["[provider=fused]"] == "by another ruler"
    props = page_props(drawing, is_from_url=True)
    at = head.commit[:8]
    assert (
        f"2 points by another ruler at {at} {head.commit_date:%Y-%m-%d}, not compared: "
        f"fusebench ab {base.commit[:10]} {head.commit[:10]} measures both by one."
    ) in texts_of(props["means"])
    assert props["found"] == {}
    assert drawing.means[0].n == int(with_eager)


def test_compare_names_no_next_step_where_nothing_needs_one(two_rulers):
    drawing = compare_drawing_of(two_rulers, query="")
    assert [n for n, _ in drawing.others] == [0]
    assert "not compared" not in texts_of(page_props(drawing, is_from_url=True)["means"])


def test_compare_takes_of_several_rulers_at_a_commit_the_one_that_both_have(journal_store, journals):
    first, second = journals.history(2, operations=("mlp",), batches=(16,), hiddens=(256,), ruler_version="4")
    again = replace(first, run_id="new", ruler_version="5")
    drawing = compare_drawing_of(journal_store([first, again, second]), query="")
    assert [one.has_ratio for one in drawing.rows] == [True] * 3
    assert {one.base.version for one in drawing.rows} == {"4"}


def test_providers_of_a_commit_are_compared_by_the_ruler_that_most_share(journal_store, journals):
    [both] = journals.history(1, operations=("mlp",), providers=("eager", "fused"), batches=(16,), ruler_version="4")
    slower = {("mlp", "eager"): 2.0}
    again = replace(both, run_id="again", ruler_version="5", providers=("eager",), slowdowns=slower)
    query = "?along=provider&provider=eager&provider=fused"
    by_one = compare_drawing_of(journal_store([both]), query=query).rows
    assert by_one
    assert compare_drawing_of(journal_store([both, again]), query=query).rows == by_one


@pytest.mark.parametrize("by_both", [True, False])
def test_machines_that_no_ruler_measured_both_have_no_ratio(journal_store, journals, by_both):
    [here] = journals.history(1, operations=("mlp",), providers=("eager",), batches=(16,), ruler_version="4")
    newer = replace(here, run_id="newer", ruler_version="5", slowdowns={("mlp", "eager"): 2.0})
    there = replace(here, run_id="there", machine="another")
    drawing = compare_drawing_of(
        journal_store([here, newer, there] if by_both else [newer, there]), query="?along=machine&show=all"
    )
    assert len(drawing.names) == 2
    ratios = {(one.ratio, one.word) for row in drawing.rows for one in row.ratios}
    assert ratios == ({(1.0, "no certain difference")} if by_both else {(None, "by another ruler")})
