"""What the pages say of commits at neither of which any point worked, and of those that measured other points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.pages.compare import page_props as compare_props
from dashboard.pages.roofline import HIDDEN
from dashboard.pages.roofline import page_props as roofline_props
from dashboard.tables.surfaces import commits_of
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.explore_drawing import answer_of_changes, explore_drawing_of
from dashboard.views.overview import overview_of
from dashboard.views.roofline import answer_of_roofline, details_of_roofline, roofline_view_of


@pytest.fixture
def failing(journal_store, journals):
    crashed = {("mlp", name): "crashed" for name in ("eager", "compiled", "fused")}
    return journal_store(journals.history(2, operations=("mlp",), states=crashed))


def test_the_overview_does_not_say_that_nothing_was_measured(failing):
    [comparison] = overview_of(failing).comparisons
    n = len(comparison.judgement.failing)
    assert n
    assert comparison.answer == (f"Not known: what the newest two commits both measured, {n} series, worked at neither")


def test_explore_names_both_commits(failing, journals):
    base, head = (journals.commit_hash(number)[:10] for number in range(2))
    drawing = explore_drawing_of(failing, query="?metric=latency_s")
    assert answer_of_changes(drawing) == f"mlp, latency: nothing worked at either commit, {base} and {head}"


def test_compare_says_that_no_point_has_a_value_and_draws_no_empty_chart(failing):
    props = compare_props(compare_drawing_of(failing, query=""), is_from_url=True)
    assert props["answer"].startswith("No point has a value on both sides by one ruler or version")
    assert (props["chart"], props["found"]) == (HIDDEN, {})


def test_the_roofline_says_that_no_point_has_a_value_and_draws_no_empty_chart(failing):
    view = roofline_view_of(failing, query="")
    assert answer_of_roofline(view) == "No point has a value with this choice"
    assert "12 points without a value, so without a place here." in details_of_roofline(view)
    assert roofline_props(view, is_from_url=True)["found"] == HIDDEN


def test_a_roofline_of_no_provider_says_that_none_is_chosen(journal_store):
    view = roofline_view_of(journal_store(), query="?providers=")
    assert view.points == ()
    assert answer_of_roofline(view) == "No provider is chosen; choose one above"


def test_of_several_that_fail_the_verb_is_plural(journal_store, journals):
    sweeps = journals.history(2, operations=("mlp",))
    sweeps[1] = replace(sweeps[1], states={("mlp", "fused"): "crashed"})
    drawing = explore_drawing_of(journal_store(sweeps), query="?metric=latency_s")
    assert "4 fail now" in answer_of_changes(drawing)


def test_where_parts_of_a_sweep_take_turns_the_last_commit_that_measured_the_same_is_compared(journal_store, journals):
    sweeps = journals.history(5, operations=("mlp",))
    sweeps = [replace(sweep, batches=(1,) if number in {1, 4} else (64,)) for number, sweep in enumerate(sweeps)]
    sweeps[4].slowdowns["mlp", "fused"] = 3.0
    [comparison] = overview_of(journal_store(sweeps)).comparisons
    assert comparison.answer.startswith("Yes: ")
    assert (comparison.base.commit, comparison.n_skipped) == (sweeps[1].commit, 2)
    assert "; 2 commits between measured nothing that the newest did" in str(commits_of(comparison))


def test_what_nobody_measured_before_is_compared_with_nothing(journal_store, journals):
    first, second, third = journals.history(3, operations=("mlp",), batches=(1,))
    [comparison] = overview_of(journal_store([first, second, replace(third, batches=(64,))])).comparisons
    assert comparison.answer == "Not known: nothing was measured at both of the newest commits"
    assert (comparison.base.commit, comparison.n_skipped) == (second.commit, 0)


def test_what_failed_already_before_is_not_blamed_on_the_newest_commit(journal_store, journals):
    crashed = {("mlp", name): "crashed" for name in ("eager", "compiled", "fused")}
    sweeps = journals.history(3, operations=("mlp",))
    sweeps[1:] = [replace(sweep, states=crashed) for sweep in sweeps[1:]]
    [comparison] = overview_of(journal_store(sweeps)).comparisons
    assert comparison.answer.endswith("worked at neither")
    assert (comparison.base.commit, comparison.n_skipped) == (sweeps[1].commit, 0)
