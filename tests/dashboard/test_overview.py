from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from dash.exceptions import PreventUpdate

from dashboard.app import create_app
from dashboard.pages.overview import (
    HIDDEN,
    OUTPUTS,
    asked_query,
    change_cards,
    failing_cards,
    maps_view_after,
    page_props,
)
from dashboard.tables.map_drawing import map_card
from dashboard.tables.standings import failing_in_words, freshness_in_words
from dashboard.tables.surfaces import explore_link, surfaces_list
from dashboard.tables.winner_map import map_in_words, winner_maps_of
from dashboard.views.explore_drawing import explore_drawing_of
from dashboard.views.overview import MAP_AXES, maps_view_of, overview_of
from dashboard.views.throughput.drawing import throughput_drawing_of
from dashboard.views.throughput.notes import rankings_by_batch
from dashboard.views.url import ALL
from dashboard.widgets import command_code
from results.judgement.outcomes import ControlChange
from results.judgement.verdicts import exit_code
from results.store import open_store

START = datetime(2026, 3, 1, 12, tzinfo=UTC)  # of the plain point
SLOWER = {("mlp", "fused"): 1.3}


@pytest.fixture
def suite(tmp_path, write_asv_tree):
    """Another project's asv suite, whose last commit made one of its benchmarks slower and another fail."""
    folder = write_asv_tree(tmp_path / "results", times=[[1e-3, 1e-2], [1e-3, 1e-2], [2e-3, None]])
    with open_store(str(tmp_path / "suite.db")) as store:
        store.ingest([folder])
        yield store


def last_slower(journals, **changes):
    """Three commits, of which the last made the fused MLP slower."""
    *before, last = journals.history(3, **changes)
    return [*before, replace(last, slowdowns=SLOWER)]


def text_of(component):
    return json.dumps(component.to_plotly_json(), default=lambda child: child.to_plotly_json(), ensure_ascii=False)


def query_of(link):
    return "?" + urlsplit(link).query


def cells_of(view):
    return [(one, cell) for one in view.maps for cell in one.cells.values()]


def test_a_commit_that_made_something_slower_is_answered_yes_with_what_and_by_how_much(journal_store, journals):
    [comparison] = overview_of(journal_store(last_slower(journals))).comparisons
    assert comparison.tone.word == "Yes"
    assert "4 series worse" in comparison.answer
    [surface] = comparison.surfaces
    assert surface.title == "mlp · fused · forward · latency"
    assert (surface.n, surface.n_of, surface.is_worse) == (4, 4, True)
    assert surface.worst.ratio == pytest.approx(1.3)
    assert len(surface.course) == 3


def test_a_surface_leads_to_the_history_of_its_worst_series_at_the_judged_commit(journal_store, journals):
    store = journal_store(last_slower(journals))
    [comparison] = overview_of(store).comparisons
    worst = comparison.surfaces[0].worst
    drawing = explore_drawing_of(store, query=query_of(explore_link(worst)))
    assert drawing.view.problems == ()
    assert drawing.judgement.head_commit == comparison.head.commit
    [line] = drawing.view.chosen_lines
    assert worst.head.series_id in {row.series_id for row in line.series}


def test_what_is_left_out_is_counted_with_the_command_that_lists_it(journal_store, journals):
    [comparison] = overview_of(journal_store(last_slower(journals))).comparisons
    [listed] = surfaces_list(comparison, most=0)
    assert "… and 1 more" in text_of(listed)
    command = f"fusebench gate --base {comparison.base.commit[:12]} --head {comparison.head.commit[:12]}"
    assert text_of(command_code(command)) in text_of(listed)


def test_a_large_change_is_a_factor_as_on_the_other_pages(journal_store, journals):
    [comparison] = overview_of(journal_store(last_slower(journals))).comparisons
    [surface] = comparison.surfaces
    worst = surface.worst._replace(ratio=20.5)
    large = replace(comparison, surfaces=(replace(surface, worst=worst, n=1234, n_of=2045),))
    [listed] = surfaces_list(large, most=1)
    assert "1,234 of 2,045 series, × 20.5 where it is largest" in text_of(listed)


def test_of_a_single_series_there_is_no_largest_change(journal_store, journals):
    [comparison] = overview_of(journal_store(last_slower(journals))).comparisons
    [surface] = comparison.surfaces
    faster = replace(surface, worst=surface.worst._replace(ratio=0.652), n=1, n_of=1)
    [listed] = surfaces_list(replace(comparison, surfaces=(faster,)), most=1)
    assert 'at its only series, -34.8 %"' in text_of(listed)


def test_a_commit_that_changed_nothing_is_answered_no(journal_store, journals):
    [comparison] = overview_of(journal_store(journals.history(2))).comparisons
    assert comparison.tone.word == "No"
    assert comparison.surfaces == ()


def test_what_looks_slower_but_was_disturbed_is_answered_perhaps(journal_store, journals):
    sweeps = last_slower(journals, disturbed="a neighbour")
    [comparison] = overview_of(journal_store(sweeps)).comparisons
    assert comparison.tone.word == "Perhaps"


def test_where_the_machine_itself_changed_no_commit_is_acquitted(journal_store, journals):
    [comparison] = overview_of(journal_store(journals.history(2))).comparisons
    control = ControlChange(machine="bench-01", environment="py3.11-cpu-t2", ratio=1.2, n_series=12, is_moved=True)
    moved = replace(comparison, judgement=replace(comparison.judgement, controls=(control,)))
    assert moved.tone.word == "Perhaps"
    assert "the machine or torch changed, as eager did (+20.0 % in py3.11-cpu-t2)" in moved.answer
    assert exit_code(moved.judgement) is not exit_code(comparison.judgement)


@pytest.mark.parametrize("slowdown", [0.7, 1.0, 1.3])
def test_the_answer_is_no_where_the_gate_passes_and_nowhere_else(journal_store, journals, slowdown):
    before, after = journals.history(2)
    store = journal_store([before, replace(after, slowdowns={("mlp", "fused"): slowdown})])
    [comparison] = overview_of(store).comparisons
    assert (comparison.tone.word == "No") == (exit_code(comparison.judgement).name == "FINE")


def test_a_first_commit_has_nothing_to_be_compared_with(journal_store, journals):
    [comparison] = overview_of(journal_store(journals.history(1))).comparisons
    assert comparison.answer.startswith("Not known: one commit has been measured here")


def test_each_machine_has_an_answer_of_its_own(journal_store, journals):
    store = journal_store([*last_slower(journals), *journals.history(2, machine="bench-02")])
    answers = {each.machine: each.tone.word for each in overview_of(store).comparisons}
    assert answers == {"bench-01": "Yes", "bench-02": "No"}
    assert len(change_cards(overview_of(store))) == 2


def test_any_asv_suite_has_an_overview_without_maps(suite):
    overview = overview_of(suite)
    [comparison] = overview.comparisons
    assert comparison.tone.word == "Yes"
    assert {surface.word for surface in comparison.surfaces} == {"slower", "fails now"}
    assert [(one.benchmark, one.contender, one.n, one.was_ok) for one in overview.failing] == [
        ("ops.time_sort", None, 1, True)
    ]
    props = page_props(maps_view_of(suite, query=""), is_from_url=True)
    assert props["sweep"] == HIDDEN
    assert props["maps"] == []


def test_a_failure_is_listed_once_per_provider_and_reason_with_since_when(journal_store, journals):
    sweeps = journals.history(3)
    sweeps[2] = replace(sweeps[2], states={("gated_mlp", "compiled"): "wrong"})
    overview = overview_of(journal_store(sweeps))
    [failing] = overview.failing
    assert (failing.benchmark, failing.contender, failing.state, failing.n) == ("gated_mlp", "compiled", "wrong", 4)
    assert failing.since == sweeps[2].commit
    assert failing.was_ok
    assert "4 of them worked before" in failing_in_words(overview.failing)
    assert "compiled is wrong in this test" in str(failing_cards(overview))
    assert failing_in_words(()) == "Every series has a value in its newest run."


def test_what_was_left_behind_at_an_older_commit_is_counted(journal_store, journals):
    first, second = journals.history(2)
    store = journal_store([first, replace(second, operations=("mlp",), batches=(1,))])
    [summary] = overview_of(store).freshness
    assert (summary.n_behind, summary.n_benchmarks, summary.n_points, summary.n_stale) == (2, 3, 36, 6)
    words = freshness_in_words(summary)
    assert "2 of 3 benchmarks up to 1 commit behind" in words
    assert "6 of 36 points at an older commit" in words


def test_every_cell_leads_to_the_page_that_ranks_its_shape_alike(journal_store, journals):
    first, second = journals.history(2)
    partly = replace(second, hiddens=(256,), slowdowns={("linear", "fused"): 2.0})
    store = journal_store([first, partly])
    cells = cells_of(maps_view_of(store, query=""))
    assert len(cells) == 12
    for _, cell in cells:
        assert urlsplit(cell.link).path == "/throughput"
        drawing = throughput_drawing_of(store, query=query_of(cell.link))
        assert drawing.view.problems == ()
        assert dict(rankings_by_batch(drawing.by_batch))[cell.batch] == cell.ranking


def test_a_cell_never_mixes_commits_and_takes_the_newest_of_the_history_not_of_the_clock(point):
    new = {"commit": "b" * 40, "commit_date": START + timedelta(days=1)}
    rows = [
        point(provider="eager", **new),
        point(provider="fused", speedup_vs_eager=2.0, speedup_ci_low=1.98, speedup_ci_high=2.02, **new),
        point(
            provider="compiled", speedup_vs_eager=9.0, speedup_ci_low=8.9, speedup_ci_high=9.1,
            measured_at=START + timedelta(days=9),
        ),
    ]  # fmt: skip
    [one] = winner_maps_of(rows, order={"a" * 40: 0, "b" * 40: 1})
    [cell] = one.cells.values()
    assert cell.ranking.winner.provider == "fused"
    assert {row.commit for row in cell.ranking.candidates} == {"b" * 40}


def test_a_map_shows_who_wins_by_how_much_and_where_it_is_not_known(point):
    def fused(batch, speedup, **changes):
        ends = {"speedup_ci_low": 0.99 * speedup, "speedup_ci_high": 1.01 * speedup}
        return point(provider="fused", batch=batch, speedup_vs_eager=speedup, **{**ends, **changes})

    rows = [
        *(point(batch=batch) for batch in (1, 4, 16, 64)),
        fused(1, 1.5),
        fused(4, 1.005),
        fused(16, 1.5, disturbed="a neighbour"),
        point(batch=256, state="crashed"),
    ]
    [one] = winner_maps_of(rows, order={"a" * 40: 0})
    assert one.title == "mlp · gelu"
    assert map_in_words(one) == (
        "Fastest: fused at 1 of 5 shapes; tied at 1; undecided at 1 (least time: fused at 1); "
        "without a rival at 1 (eager at 1); nothing ok at 1."
    )
    told = text_of(map_card(one)).replace("\N{NARROW NO-BREAK SPACE}", " ")
    for part in (
        "+50 %",
        "fused = eager",
        "cell tied",
        "cell hatched",
        "fused\N{NO-BREAK SPACE}?",
        "no rival",
        "nothing ok",
    ):
        assert part in told


def test_a_shape_that_was_not_measured_is_an_empty_cell(point):
    rows = [point(batch=1, hidden=256, dim=64), point(batch=64, hidden=1024)]
    [one] = winner_maps_of(rows, order={"a" * 40: 0})
    assert set(one.cells) == {(1, 256), (64, 1024)}
    assert text_of(map_card(one)).count("not measured") == 2


def test_of_several_model_dims_a_map_takes_the_one_next_to_a_quarter(point):
    [one] = winner_maps_of([point(dim=dim) for dim in (64, 256, 1024)], order={"a" * 40: 0})
    [cell] = one.cells.values()
    assert parse_qs(urlsplit(cell.link).query)["dim"] == ["256"]


def test_the_activation_with_most_shapes_is_shown_and_the_others_are_named(point):
    rows = [point(activation=None), *(point(activation="silu", batch=batch) for batch in (1, 2))]
    [one] = winner_maps_of(rows, order={"a" * 40: 0})
    assert (one.activation, one.others) == ("silu", ("none",))


def test_the_machine_of_the_maps_is_in_the_url_and_an_unknown_one_is_named(journal_store, journals):
    store = journal_store([*journals.history(2), *journals.history(2, machine="gpu-01", device="cuda")])
    view = maps_view_of(store, query="?machine=gpu-01")
    assert (view.chosen["machine"], view.chosen["dtype"]) == ("gpu-01", "bfloat16")
    assert maps_view_of(store, query=view.query) == view
    assert "Machine nowhere was not measured" in str(maps_view_of(store, query="?machine=nowhere&x=1").problems)
    picked = {axis.name: str(view.chosen[axis.name]) for axis in MAP_AXES} | {"project": ALL}
    other = asked_query("", picked={**picked, "machine": "bench-01"}, shown="", triggered="overview-machine")
    assert maps_view_of(store, query=other).chosen["machine"] == "bench-01"
    assert any("bfloat16" in one for one in maps_view_after(store, query=other, triggered="overview-url").problems)
    assert maps_view_after(store, query=other, triggered="overview-machine").problems == ()


def test_the_url_we_wrote_ourselves_draws_nothing_again(journal_store):
    query = maps_view_of(journal_store(), query="").query
    with pytest.raises(PreventUpdate):
        asked_query(query, picked={}, shown=query, triggered="overview-url")


def test_the_callback_returns_what_it_declares(journal_store):
    assert set(page_props(maps_view_of(journal_store(), query=""), is_from_url=True)) == set(OUTPUTS)


def test_a_copied_url_from_before_the_page_moved_still_leads_to_it(journal_store):
    client = create_app(journal_store()).server.test_client()
    answer = client.get("/?operation=mlp&hidden=1024&batch=64")
    assert (answer.status_code, answer.location) == (302, "/throughput?operation=mlp&hidden=1024&batch=64")
    assert client.get("/").status_code == client.get("/?machine=bench-01").status_code == 200


def test_the_frame_names_its_language(journal_store):
    assert '<html lang="en">' in create_app(journal_store()).server.test_client().get("/").get_data(as_text=True)
