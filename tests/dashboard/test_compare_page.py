"""Page Compare: commits, providers, machines and environments against the first of them, as the gate judges them."""

from __future__ import annotations

import math

import pytest
from dash import html
from dash.exceptions import PreventUpdate

from dashboard.app import create_app
from dashboard.looks import look_of
from dashboard.pages.compare import OUTPUTS, PICKED, asked_query, page_props
from dashboard.tables.comparison import MOST_IN_SIGHT, MOST_ROWS, answer_of, ratios_table, short_name
from dashboard.tables.ratios import Mean, mean_of, ratio_of, rows_from_values
from dashboard.views.compare_choice import compare_choice_of, query_from_compare_choice
from dashboard.views.compare_drawing import compare_drawing_of
from results.store import open_store
from tests.made_values import failed, row

BY = 1.3


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals):
    """Three commits on two machines; at the last one mlp's fused is 30 % slower on the first, and linear is missing."""
    sweeps = journals.history(3, operations=("linear", "mlp"))
    sweeps[2] = journals.replace(
        sweeps[2], slowdowns={("mlp", "fused"): BY}, states={("linear", "compiled"): "crashed"}
    )
    others = journals.history(3, operations=("linear", "mlp"), machine="bench-02",
                              slowdowns={(operation, provider): 2.0 for operation in ("linear", "mlp")
                                         for provider in ("eager", "compiled", "fused")})  # fmt: skip
    folder = tmp_path_factory.mktemp("compared")
    journals.write_journals(folder, [*sweeps, *others])
    with open_store(str(folder / "fusebench.db")) as opened:
        opened.ingest([folder])
        yield opened


def shown(store, query=""):
    props = page_props(compare_drawing_of(store, query=query), is_from_url=False)
    assert props.keys() == OUTPUTS.keys()
    return props


def test_only_axes_with_two_sides_are_offered_and_without_two_nothing_is_drawn(tmp_path, journals):
    journals.write_journals(tmp_path, journals.history(2, operations=("linear",)))
    with open_store(str(tmp_path / "one.db")) as store:
        store.ingest([tmp_path])
        props = shown(store)
        assert [one["value"] for one in props["along"]["data"]] == ["commit", "provider"]
        assert props["found"] == {}
        alone = shown(store, "?along=machine")
        assert [one["value"] for one in alone["along"]["data"]] == ["commit", "provider", "machine"]
        assert alone["answer"] == "Choose two sides to compare."
        assert alone["found"] == {"display": "none"}
        assert alone["means"] == []


def test_empty_selectors_say_what_they_mean_and_metrics_have_their_names(store):
    sides = shown(store)["sides"]
    assert {name: sides[name]["placeholder"] for name in ("provider", "commit")} == {"provider": "any", "commit": ""}
    chosen = shown(store, "?provider=fused")["sides"]["provider"]
    assert (chosen["value"], chosen["placeholder"]) == (["fused"], "")
    metrics = {one["value"]: one["label"] for one in shown(store)["metric"]["data"]}
    assert metrics["latency_s"] == "latency"


@pytest.mark.parametrize(
    ("n", "in_sight", "folded"),
    [(MOST_IN_SIGHT + 4, MOST_IN_SIGHT + 4, 0), (MOST_IN_SIGHT + 5, MOST_IN_SIGHT, 5), (200, MOST_IN_SIGHT, 40)],
)
def test_the_first_points_are_in_sight_and_the_others_folded(n, in_sight, folded):
    base = {number: row(1.0 + number, batch=number) for number in range(n)}
    parts = ratios_table(rows_from_values([base, base]), ["one", "other"])
    bodies = [len(one.children) for part in parts for one in part._traverse() if isinstance(one, html.Tbody)]
    assert bodies == [in_sight, *([folded] if folded else [])]
    assert isinstance(parts[1], html.Details) if folded else len(parts) == 1
    assert any("140 points that changed less or have no ratio: save" in str(part) for part in parts) is (n > MOST_ROWS)


def test_of_many_sides_the_sentence_names_the_ends():
    counts = {"low": None, "high": None, "n": 9, "n_without": 0, "n_only": 0, "n_worse": 4, "n_better": 1}
    means = [Mean(mean=value, **counts) for value in (1.1, 0.5, 1.3)]
    names = ("eager", "one", "two", "three")
    assert answer_of(names, means) == (
        "Against eager, 3 sides: from two -50.0 % (4 worse, 1 better beyond the noise) "
        "to three +30.0 % (4 worse, 1 better beyond the noise)"
    )
    assert answer_of(names[:3], means[:2]).startswith(
        "Against eager, one: 4 worse and 1 better beyond the noise, of 9 points, geometric mean +10.0 %; two: 4 worse"
    )


def test_of_two_sides_the_difference_comes_first_and_then_what_was_compared():
    counts = {"low": None, "high": None, "n": 9, "n_without": 0, "n_only": 0, "n_worse": 4, "n_better": 1}
    names = ("ea9b3f1c 2026-11-22 Tests: each visit", "fa6c3a38 2026-11-22 Tests of whole runs")
    assert answer_of(names, [Mean(mean=1.1, **counts)]) == (
        "4 worse and 1 better beyond the noise, of 9 points, geometric mean +10.0 %: "
        "fa6c3a38 2026-11-22 Tests of whole runs against ea9b3f1c 2026-11-22"
    )
    assert answer_of(names, [Mean(mean=None, **counts)]).startswith(
        "No point has a value on both sides by one ruler or version: fa6c3a38"
    )


def test_a_commit_is_headed_by_its_hash_and_date_where_there_is_little_room():
    assert short_name("ea9b3f1c 2026-11-22 Tests: each visit") == "ea9b3f1c 2026-11-22"
    assert short_name("ea9b3f1c") == "ea9b3f1c"
    assert short_name("py3.11 of another kind") == "py3.11 of another kind"


def test_the_axis_of_the_first_side_is_short_enough_for_a_narrow_window(store):
    title = shown(store, "?machine=bench-01")["figure"]["layout"]["xaxis"]["title"]["text"]
    assert title.startswith("Latency at ")
    assert len(title) < 40


def test_at_first_the_newest_two_commits_are_compared_as_the_gate_does(store, journals):
    drawing = compare_drawing_of(store, query="?machine=bench-01")
    assert drawing.choice.commit == (journals.commit_hash(1), journals.commit_hash(2))
    slower = [one for one in drawing.rows if one.ratios[0] and one.ratios[0].is_significant and one.ratios[0].ratio]
    assert slower
    assert all("mlp" in one.name and "provider=fused" in one.name for one in slower)
    assert all(one.ratios[0].ratio == pytest.approx(BY, rel=0.02) for one in slower)
    assert {one.ratios[0].word for one in slower} == {"slower"}


def test_the_mean_is_geometric_and_says_what_it_does_not_cover(store):
    drawing = compare_drawing_of(store, query="?machine=bench-01")
    [mean] = drawing.means
    n_fused, n = 4, 4 * 3 + 4 * 2
    assert (mean.n, mean.n_without) == (n, 4)
    assert mean.mean == pytest.approx(math.exp(n_fused * math.log(BY) / n), rel=0.01)
    cells = str(shown(store, "?machine=bench-01")["means"])
    assert "4 without a ratio" in cells


def test_machines_are_compared_by_their_intervals(store):
    drawing = compare_drawing_of(store, query="?along=machine&machine=bench-01&machine=bench-02&contains=mlp")
    assert drawing.names == ("bench-01", "bench-02")
    of_eager = [one for one in drawing.rows if "provider=eager" in one.name]
    assert of_eager
    for one in of_eager:
        [ratio] = one.ratios
        assert ratio.ratio == pytest.approx(2.0, rel=0.02)
        assert ratio.low < 2 < ratio.high
        assert (ratio.is_significant, ratio.kind) == (True, "bad")


def test_providers_are_matched_by_everything_but_the_provider(store):
    drawing = compare_drawing_of(
        store, query="?along=provider&machine=bench-02&provider=eager&provider=fused&contains=mlp"
    )
    assert drawing.names == ("eager", "fused")
    assert all(one.ratios[0].ratio == pytest.approx(1 / 1.6, rel=0.02) for one in drawing.rows)
    assert all("provider" not in one.name for one in drawing.rows)
    props = shown(store, "?along=provider&machine=bench-02&provider=eager&provider=fused")
    assert {trace["marker"]["color"] for trace in props["figure"]["data"]} == {look_of("fused").colour}


def test_only_what_changed_is_listed_on_request_and_counted(store):
    props = shown(store, "?machine=bench-01&show=significant")
    assert "8 of 24 points changed beyond the noise" in props["note"]
    drawing = compare_drawing_of(store, query="?machine=bench-01&show=significant")
    assert sorted(one.ratios[0].word for one in drawing.rows) == ["fails now"] * 4 + ["slower"] * 4
    assert drawing.means[0].n_worse == 8
    assert drawing.n_points == 24


def test_up_to_eight_commits_stand_side_by_side(store, journals):
    query = "?machine=bench-01&" + "&".join(f"commit={journals.commit_hash(i)[:12]}" for i in (2, 0, 1))
    drawing = compare_drawing_of(store, query=query)
    assert drawing.choice.commit == tuple(journals.commit_hash(i) for i in range(3))
    assert [len(one.ratios) for one in drawing.rows] == [2] * len(drawing.rows)
    assert len(shown(store, query)["figure"]["data"]) == 2


def test_the_conditions_that_differ_stand_beside(store):
    props = shown(store, "?machine=bench-01")
    assert "Conditions that differ" in str(props["means"])
    assert all(one is not None for one in compare_drawing_of(store, query="?machine=bench-01").conditions)


def test_the_url_of_a_view_shows_the_same_view(store):
    first = shown(store, "?along=machine&contains=linear&show=significant")
    again = shown(store, first["shown"])
    assert {name: str(again[name]) for name in again} == {name: str(first[name]) for name in first}
    choice, _ = compare_choice_of(store, query=first["shown"], problems=[])
    assert query_from_compare_choice(choice) == first["shown"]


def test_wrong_values_in_the_url_are_named(store):
    problems = str(shown(store, "?along=moon&commit=123&machine=none&metric=x&provider=y&colour=red")["problems"])
    for part in ("along is moon", "no measured commit begins", "No machine none", "No metric x", "colour"):
        assert part in problems


def test_another_project_forgets_the_sides(store):
    picked = dict.fromkeys(PICKED, "") | {"project": "other", "along": "commit", "commit": ["abc"], "machine": ["m"]}
    picked["metric"] = "latency_s"
    assert asked_query("?a", picked=picked, shown="?a", triggered="compare-project") == "?project=other&along=commit"
    assert "commit=abc" in asked_query("?a", picked=picked, shown="?a", triggered="compare-show")
    with pytest.raises(PreventUpdate):
        asked_query("?a", picked=picked, shown="?a", triggered="compare-url")


def test_all_ratios_are_saved_as_csv(store):
    text = create_app(store).server.test_client().get("/compare.csv?machine=bench-01").text
    heading, *lines = text.splitlines()
    assert heading.endswith(
        "shared_parameters,unit,base,base_value,side,value,ratio,ratio_low,ratio_high,outcome,base_commit,side_commit"
    )
    assert len(lines) == 24


def test_a_value_that_failed_has_no_ratio_and_counts_as_missing():
    base, head = row(1.0), failed("timed_out")
    one = ratio_of(base, head)
    assert (one.ratio, one.word, one.is_significant, one.kind) == (None, "timed out", True, "bad")
    rows = rows_from_values([{1: base, 2: row(2.0, batch=2)}, {1: head, 2: row(4.0, batch=2)}])
    mean = mean_of(rows, 0, n_only=3)
    assert (mean.mean, mean.n, mean.n_without, mean.n_only) == (pytest.approx(2.0), 1, 1, 3)


def test_intervals_that_touch_are_no_certain_difference():
    near = ratio_of(row([0.9, 1.0, 1.1]), row([1.0, 1.15, 1.3]))
    assert near.low < 1 < near.high
    assert (near.is_significant, near.kind) == (False, "")
    assert ratio_of(row([0.99, 1.0, 1.01]), row([1.02, 1.03, 1.04])).is_significant is False  # not relevant
    far = ratio_of(row([0.99, 1.0, 1.01]), row([0.5, 0.5, 0.5]))
    assert (far.is_significant, far.kind) == (True, "good")


def test_what_is_counted_differs_for_certain_without_an_interval():
    base, head = (row(each, metric="operator_count", unit="1", ci_low=None, ci_high=None) for each in (4.0, 3.0))
    assert (ratio_of(base, head).is_significant, ratio_of(base, head).word) == (True, "better")
    assert ratio_of(base, base).is_significant is False


def test_a_choice_that_takes_nothing_is_said_and_an_unknown_provider_named(store):
    assert shown(store, "?machine=bench-01&contains=nothing-like-it")["answer"].endswith("matches this choice.")
    drawing = compare_drawing_of(store, query="?machine=bench-01&provider=fused&provider=nope")
    assert drawing.choice.provider == ("fused",)
    assert drawing.problems == ("No provider nope was measured there.",)
    props = shown(store, "?machine=bench-02&show=significant&provider=fused")
    assert "0 of 8 points" in props["note"]
    assert [one.children for one in props["rows"]] == ["None changed beyond the noise."]


def test_what_all_points_share_is_told_once(store):
    drawing = compare_drawing_of(store, query="?machine=bench-01")
    assert "dtype=float32" in drawing.shared
    assert all("dtype" not in one.name for one in drawing.rows)
    assert "all with" in shown(store, "?machine=bench-01")["note"]


def test_never_more_points_are_worse_than_were_compared(journal_store, journals):
    sweeps = journals.history(2, operations=("mlp",), batches=(1,), hiddens=(256,))
    sweeps[1].states.update({("mlp", "fused"): "crashed", ("mlp", "compiled"): "crashed"})
    drawing = compare_drawing_of(journal_store(sweeps), query="")
    [mean] = drawing.means
    assert (mean.n, mean.n_worse, mean.n_counted) == (1, 2, 2)
    assert answer_of(drawing.names, drawing.means).startswith(
        "2 worse and 0 better beyond the noise, of 3 points, geometric mean 0.0 % of the 1 with a ratio: "
    )


@pytest.fixture
def left_behind(journal_store, journals):
    """Four commits on one machine, and the next one on another."""
    old = journals.history(4, operations=("mlp",), machine="bench-01")
    return journal_store([*old, *journals.history(5, operations=("mlp",), machine="bench-02")[-1:]])


def test_at_first_a_machine_with_two_commits_is_shown(left_behind, journals):
    drawing = compare_drawing_of(left_behind, query="")
    assert (drawing.options.machines[0], drawing.choice.machine) == ("bench-02", ("bench-01",))
    assert drawing.choice.commit == (journals.commit_hash(2), journals.commit_hash(3))
    assert drawing.n_points


def test_commits_are_shown_where_they_were_measured(left_behind, journals):
    named = (journals.commit_hash(0), journals.commit_hash(1))
    drawing = compare_drawing_of(left_behind, query=f"?commit={named[0][:12]}&commit={named[1][:12]}")
    assert (drawing.choice.machine, drawing.choice.commit, drawing.problems) == (("bench-01",), named, ())


def test_a_single_commit_is_told_with_what_else_can_be_compared(left_behind):
    props = shown(left_behind, "?machine=bench-02")
    assert props["answer"] == "Only one commit was measured on bench-02: choose another machine or compare providers."
