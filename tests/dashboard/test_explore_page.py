from __future__ import annotations

import plotly.graph_objects as go
import pytest
from dash import dcc, html
from dash.exceptions import PreventUpdate

from dashboard.app import create_app, page_and_links
from dashboard.looks import DASHES, PLACED_LOOKS, look_at, look_of
from dashboard.pages.explore import OUTPUTS, PICKED, asked_query, page_props
from dashboard.quantities import MetricFormat
from dashboard.tables.name_tree import name_tree
from dashboard.views.explore_choice import explore_view_of, query_from_explore_choice
from dashboard.views.explore_drawing import explore_drawing_of
from results.queries import judged_commits
from results.store import open_store

NUMBERS = [4e-6, 8e-6, 4.1e-6]


@pytest.fixture
def suite(tmp_path, write_asv_tree):
    """Another project's asv suite: a timing with two parameters over three commits, and a track without any."""
    folder = write_asv_tree(
        tmp_path / "results",
        times=[[[number * size for size in (1, 10)] for number in NUMBERS][i] for i in range(len(NUMBERS))],
        tracked=[10.0, 12.0, 11.0],
    )
    with open_store(str(tmp_path / "suite.db")) as store:
        store.ingest([folder])
        yield store


def shown(store, query=""):
    return page_props(explore_drawing_of(store, query=query), is_from_url=True)


def line_of(props, name):
    return next(trace for trace in go.Figure(props["figure"]).data if trace.name == name)


def asked(store, *, query="", triggered, clicked=None, **changes):
    props = shown(store, query)
    picked = {name: props["selects"][name]["value"] for name in props["selects"]}
    picked |= {"lines": props["lines"]["value"], "commit": props["commit"]["value"]}
    picked |= {"spacing": props["spacing"], "scale": props["scale"]}
    picked |= {name: props[name]["value"] for name in ("colour", "group", "relative")}
    picked |= {f"parameter-{number}": one["value"] for number, one in enumerate(props["parameters"])}
    assert set(picked) == set(PICKED)
    return asked_query(
        query, picked={**picked, **changes}, clicked=clicked, shown=props["shown"], triggered=f"explore-{triggered}"
    )


def test_the_callback_returns_what_it_declares(suite):
    assert set(shown(suite)) == set(OUTPUTS)


def test_any_asv_benchmark_is_drawn_over_commits_with_its_interval(suite):
    props = shown(suite, "?benchmark=ops.time_sort&line=size=10, kind=a")
    assert line_of(props, "size=10").y == pytest.approx([10 * number for number in NUMBERS])
    band = line_of(props, "size=10, 99 % interval")
    assert band.y[:3] == pytest.approx([11 * number for number in NUMBERS])
    assert band.y[3:6] == pytest.approx([9 * number for number in reversed(NUMBERS)])
    assert go.Figure(props["figure"]).layout.yaxis.title.text == "Time (lower is better)"
    assert "3 commits" in props["note"]
    assert "99 % interval" in props["note"]


def test_the_card_says_how_much_a_commit_changed_either_way(suite):
    notes = line_of(shown(suite, "?benchmark=ops.time_sort"), "size=1").hovertext
    assert "+100 % against the commit before" in notes[1]
    assert "-48.8 % against the commit before" in notes[2]


def test_a_value_of_which_nobody_said_what_is_better_does_not_claim_a_direction(suite):
    props = shown(suite, "?benchmark=ops.track_size")
    assert go.Figure(props["figure"]).layout.yaxis.title.text == "Value, cells"
    assert "better direction unknown" in props["note"]
    # A single number without noise; in neither direction.
    assert "1 undecided" in props["changes_note"]


@pytest.mark.parametrize(("commit", "word"), [("b", "slower"), ("c", "faster")])
def test_what_a_commit_changed_is_told_in_both_directions(suite, commit, word):
    props = shown(suite, f"?benchmark=ops.time_sort&commit={commit * 12}")
    assert f"2 {word}" in props["changes_note"]
    assert str(props["changes"]).count(f"'{word}'") == 2


def test_the_first_commit_has_none_to_be_compared_with(suite):
    assert "no earlier commit" in shown(suite, f"?commit={'a' * 12}")["changes_note"]


def test_a_misspelt_benchmark_shows_the_one_spelled_most_like_it_and_says_so(suite):
    props = shown(suite, "?benchmark=ops.time_sotr")
    assert props["selects"]["benchmark"]["value"] == "ops.time_sort"
    assert "No benchmark ops.time_sotr is stored" in str(props["problems"])


def test_what_else_is_wrong_in_the_url_is_said_on_the_page(suite):
    problems = str(shown(suite, "?hue=red&line=size=7&commit=123&scale=cubic")["problems"])
    for part in ("hue", "size=7", "No commits measured here begin with 123", "scale is cubic"):
        assert part in problems


def test_the_url_of_a_view_shows_the_same_view(suite):
    first = shown(suite, "?benchmark=ops.time_sort&line=size=10, kind=a&spacing=date&scale=fit&commit=bbbb")
    again = shown(suite, first["shown"]["query"])
    assert {name: str(again[name]) for name in again} == {name: str(first[name]) for name in first}
    view = explore_view_of(suite, query=first["shown"]["query"])
    assert query_from_explore_choice(view.choice) == first["shown"]["query"]


def test_no_line_chosen_is_a_choice(suite):
    props = shown(suite, asked(suite, triggered="lines", lines=[]))
    assert go.Figure(props["figure"]).data == ()
    assert "choose parameters" in props["note"]


def test_another_benchmark_brings_its_own_parameters(suite):
    query = asked(
        suite, query="?benchmark=ops.time_sort&line=size=10, kind=a", triggered="benchmark", benchmark="ops.track_size"
    )
    props = shown(suite, query)
    assert (props["problems"], props["lines"]["value"]) == ([], ["no parameters"])


def test_a_click_on_a_commit_asks_what_it_changed(suite):
    click = {"points": [{"customdata": "b" * 40}]}
    assert "commit=" + "b" * 12 in asked(suite, triggered="graph", clicked=click)


def test_the_url_we_wrote_ourselves_draws_nothing_again(suite):
    with pytest.raises(PreventUpdate):
        asked(suite, query=shown(suite)["shown"]["query"], triggered="url")


def test_metrics_are_called_as_on_the_axis(journal_store, journals):
    props = shown(journal_store(journals.history(2)))["selects"]["metric"]
    assert {"value": "latency_s", "label": "latency"} in props["data"]
    assert props["value"] == "latency_s"


def test_our_own_sweep_has_a_history_too(journal_store):
    store = journal_store()
    props = shown(store, "?benchmark=mlp")
    assert props["selects"]["metric"]["value"] == "latency_s"
    assert "95 % interval" in props["note"]
    shown_links = [link.children for link in page_and_links("/explore", store)[1] if link.className == "link here"]
    assert shown_links == ["Explore"]
    explained = shown(store, "?benchmark=mlp&metric=speedup_vs_eager")
    assert "is not judged" in explained["changes_note"]


def test_a_sweeps_operation_is_judged_with_all_others_as_by_the_gate(tmp_path, journals):
    sweeps = journals.history(2, operations=("linear", "mlp"))
    sweeps[1] = journals.replace(sweeps[1], slowdowns={("linear", "eager"): 1.2, ("linear", "fused"): 1.2})
    journals.write_journals(tmp_path, sweeps)
    with open_store(str(tmp_path / "fusebench.db")) as store:
        store.ingest([tmp_path])
        gate = judged_commits(store, base=journals.commit_hash(0), head=journals.commit_hash(1), metric="latency_s")
        told = explore_drawing_of(store, query="?benchmark=mlp&metric=latency_s").judgement
    ratios = {one.head.series_id: one.ratio for one in gate.verdicts if one.head.benchmark == "mlp"}
    assert {one.head.series_id: one.ratio for one in told.verdicts} == ratios


def test_another_version_of_a_benchmark_starts_another_line(tmp_path, write_asv_tree):
    folder = write_asv_tree(tmp_path / "results", times=[[1e-3, 1e-2]] * 4, versions=["v1", "v1", "v2", "v2"])
    with open_store(str(tmp_path / "suite.db")) as store:
        store.ingest([folder])
        chart = explore_drawing_of(store, query="?benchmark=ops.time_sort").chart
    assert [len(piece) for piece in chart.curves[0].pieces] == [2, 2]


def test_what_was_skipped_or_failed_breaks_the_line_and_is_marked(tmp_path, write_asv_tree):
    times = [[1e-3, 1e-2], [None, float("nan")], [1e-3, 1e-2]]
    folder = write_asv_tree(tmp_path / "results", times=times)
    with open_store(str(tmp_path / "suite.db")) as store:
        store.ingest([folder])
        chart = explore_drawing_of(store, query="?benchmark=ops.time_sort").chart
    assert [(absence.name, absence.state) for absence in chart.absences] == [
        ("size=1", "failed"), ("size=10", "skipped"),
    ]  # fmt: skip
    assert [len(piece) for piece in chart.curves[0].pieces] == [1, 1]


def test_lines_side_by_side_differ_in_colour_and_marker():
    looks = [look_at(i) for i in range(len(PLACED_LOOKS))]
    assert len({look.colour for look in looks}) == len({look.symbol for look in looks}) == len(PLACED_LOOKS)
    assert {look.dash for look in looks} == {DASHES[0]}


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("seconds", "1.50\N{NARROW NO-BREAK SPACE}ms"),
        ("bytes", "1.50\N{NARROW NO-BREAK SPACE}mB"),
        ("cells", "0.0015\N{NARROW NO-BREAK SPACE}cells"),
        ("unit", "0.0015"),
    ],
)
def test_only_seconds_and_bytes_take_a_prefix(unit, text):
    assert MetricFormat(metric="track", unit=unit).text(1.5e-3) == text


def test_an_acknowledged_change_is_listed_as_known_with_its_reason(suite, tmp_path):
    query = f"?benchmark=ops.time_sort&commit={'b' * 12}"
    assert "2 slower" in shown(suite, query)["changes_note"]
    file = tmp_path / "decisions.toml"
    file.write_text(
        f'format = 1\n[[acknowledgement]]\nproject = "{shown(suite)["selects"]["project"]["value"]}"\n'
        f'commit = "{"b" * 40}"\ndecision = "accepted"\nnote = "pays for accuracy"\n'
    )
    suite.ingest([file])
    props = shown(suite, query)
    assert "2 known" in props["changes_note"]
    assert "slower" not in props["changes_note"]
    assert "pays for accuracy" in str(props["changes"])


def test_the_page_begins_with_what_the_commit_changed(suite):
    assert shown(suite, f"?benchmark=ops.time_sort&commit={'b' * 12}")["answer"] == (
        "ops.time_sort, time: 2 slower at bbbbbbbbbb."
    )
    assert "there is no earlier commit" in shown(suite, f"?commit={'a' * 12}")["answer"]


def test_a_line_of_a_provider_keeps_its_look_of_the_other_pages(journal_store):
    store = journal_store()
    query = "?benchmark=mlp&line=" + "&line=".join(
        line.name for line in explore_view_of(store, query="?benchmark=mlp").lines if line.contender == "fused"
    )
    lines = [trace for trace in go.Figure(shown(store, query)["figure"]).data if trace.fill != "toself"]
    assert {trace.line.color for trace in lines} == {look_of("fused").colour}
    assert len({trace.line.dash for trace in lines}) == len(lines) == 4


@pytest.mark.parametrize(("old", "new"), [("/history", "/explore"), ("/history.csv", "/explore.csv")])
def test_the_pages_old_address_leads_to_the_new_one_with_its_query(suite, old, new):
    answer = create_app(suite).server.test_client().get(f"{old}?benchmark=ops.time_sort&line=size%3D1")
    assert (answer.status_code, answer.location) == (302, f"{new}?benchmark=ops.time_sort&line=size%3D1")


def test_a_value_of_a_parameter_chooses_the_lines_that_have_it(suite):
    first = shown(suite, "?benchmark=ops.time_sort")
    assert [(one["label"], [each["value"] for each in one["data"]]) for one in first["parameters"] if one["data"]] == [
        ("size", ["size=1", "size=10"]),
    ]  # fmt: skip
    query = asked(suite, query="?benchmark=ops.time_sort", triggered="parameter-0", **{"parameter-0": ["size=10"]})
    props = shown(suite, query)
    assert props["lines"]["value"] == ["size=10, kind=a"]
    assert props["parameters"][0]["value"] == ["size=10"]
    assert shown(suite, props["shown"]["query"])["lines"]["value"] == ["size=10, kind=a"]
    back = asked(suite, query=query, triggered="lines", lines=["size=1, kind=a"])
    assert "where" not in back


def test_a_value_that_no_line_has_is_named(suite):
    assert "No line has size=7" in str(shown(suite, "?benchmark=ops.time_sort&where=size=7")["problems"])


def test_names_are_a_tree_that_is_open_at_the_chosen_one():
    tree = name_tree(
        ["a.B.time_x", "a.B.time_y", "a.time_z", "b.time_u", "mlp"], chosen="a.B.time_y", kept={"project": "p"}
    )
    found = [
        (part.children, part.href.partition("benchmark=")[2]) for part in tree._traverse() if isinstance(part, dcc.Link)
    ]
    assert found == [
        ("a", "a.B.time_x"), ("B", "a.B.time_x"), ("time_x", "a.B.time_x"), ("time_y", "a.B.time_y"),
        ("time_z", "a.time_z"), ("b", "b.time_u"), ("mlp", "mlp"),
    ]  # fmt: skip
    assert [part.children for part in tree._traverse() if isinstance(part, html.Span)] == [" 3", " 2", " 1"]
    open_ones = [part.children for part in tree._traverse() if isinstance(part, dcc.Link) and part.className == "here"]
    assert open_ones == ["a", "B", "time_y"]


def test_a_name_that_is_a_branch_too_leads_to_its_curves():
    tree = name_tree(["mlp", "mlp.fast"], chosen="mlp", kept={})
    assert [part.href for part in tree._traverse() if isinstance(part, dcc.Link)] == [
        "/explore?benchmark=mlp", "/explore?benchmark=mlp.fast",
    ]  # fmt: skip


def test_a_parameter_that_takes_every_value_says_any(suite):
    placeholders = [one["placeholder"] for one in shown(suite, "?benchmark=ops.time_sort&where=size=10")["parameters"]]
    assert placeholders[0] == ""
    assert shown(suite, "?benchmark=ops.time_sort")["parameters"][0]["placeholder"] == "any"


def test_who_sets_values_apart_sees_all_of_them(suite):
    query = asked(suite, query="?benchmark=ops.time_sort&line=size=1, kind=a", triggered="group", group="size")
    assert "group=size" in query
    assert "line=" not in query
    assert len(explore_view_of(suite, query=query).choice.lines) == 2
