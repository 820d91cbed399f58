"""Several commits side by side, curves coloured by an axis, and a small chart for each hidden dim."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import plotly.graph_objects as go
import pytest

from dashboard.figures.colouring import Colouring
from dashboard.figures.reduction import MOST_TRACES
from dashboard.looks import KNOWN_LOOKS, MARKERS, OTHER_LOOKS, look_of
from dashboard.pages.throughput import page_props
from dashboard.scales import Colour, Multiples
from dashboard.views.throughput.choice import query_from_choice
from dashboard.views.throughput.drawing import batch_chart_of, panel_charts_of, throughput_drawing_of
from dashboard.views.throughput.notes import note_of_beside, note_of_commit
from dashboard.views.throughput.sides import MOST_PANELS, nearest_panels, panels_of

SHAPE = "?operation=mlp&hidden=256&batch=4&machine=bench-01"


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals):
    """Ten commits on one machine, of which the newest three were measured on another, too, at three hidden dims."""
    from results.store import open_store

    options = {"operations": ("mlp",), "batches": (1, 4, 16), "hiddens": (64, 256, 1024)}
    sweeps = [*journals.history(10, **options), *journals.history(10, machine="bench-02", **options)[-3:]]
    folder = tmp_path_factory.mktemp("sides")
    journals.write_journals(folder, sweeps)
    with open_store(str(folder / "fusebench.db")) as opened:
        opened.ingest([folder])
        yield opened


def drawn(store, query=""):
    return throughput_drawing_of(store, query=SHAPE + query)


def problems(drawing):
    return " ".join(drawing.view.problems)


def names(chart):
    return {curve.name for curve in chart.curves}


def test_commits_of_the_url_stand_side_by_side_coloured_by_commit(store, journals):
    a, b, c = (journals.commit_hash(i)[:7] for i in (5, 2, 7))
    drawing = drawn(store, f"&commits={a},{b},{c}&providers=eager,fused")
    chart, left_out = batch_chart_of(drawing)
    assert names(chart) == {f"{name} · {commit}" for name in ("eager", "fused") for commit in (a, b, c)}
    assert left_out == []
    looks = {curve.name: curve.look for curve in chart.curves}
    assert len({looks[f"fused · {commit}"].colour for commit in (a, b, c)}) == 3
    assert looks[f"fused · {a}"].colour == looks[f"eager · {a}"].colour
    assert looks[f"fused · {a}"].symbol == look_of("fused").symbol
    assert [label for _, label in drawing.colouring.legend()] == [b, a, c]  # the oldest first
    assert {row.commit[:7] for row in drawing.by_batch} == {c}  # the answer is about the newest
    assert drawing.view.problems == ()


def test_curves_over_commits_keep_the_providers_colours_beside_commits_side_by_side(store, journals):
    drawing = drawn(store, f"&commits={journals.commit_hash(1)},{journals.commit_hash(2)}")
    assert {curve.name: curve.look for curve in drawing.commits_chart.curves} == {
        name: look_of(name) for name in ("eager", "compiled", "fused")
    }


def test_of_nine_commits_the_first_eight_are_drawn_and_that_is_said(store, journals):
    drawing = drawn(store, "&commits=" + ",".join(journals.commit_hash(i)[:12] for i in range(9)))
    shown = {row.commit for row in (*drawing.by_batch, *drawing.beside)}
    assert shown == {journals.commit_hash(i) for i in range(8)}
    assert "names 9 commits" in problems(drawing)


def test_an_unknown_commit_is_named_and_the_others_are_drawn(store, journals):
    drawing = drawn(store, f"&commits=nothing,{journals.commit_hash(3)}")
    assert "commit nothing" in problems(drawing)
    assert {row.commit for row in drawing.by_batch} == {journals.commit_hash(3)}


def test_by_provider_commits_differ_in_their_dashes_and_the_newest_has_its_own(store, journals):
    a, b = journals.commit_hash(2), journals.commit_hash(6)
    chart, _ = batch_chart_of(drawn(store, f"&commits={a},{b}&colour=provider"))
    looks = {curve.name: curve.look for curve in chart.curves}
    assert looks[f"fused · {b[:7]}"] == look_of("fused")
    assert looks[f"fused · {a[:7]}"].colour == look_of("fused").colour
    assert looks[f"fused · {a[:7]}"].dash != look_of("fused").dash


def test_coloured_by_commit_without_a_choice_the_newest_eight_are_drawn_and_that_is_said(store, journals):
    drawing = drawn(store, "&colour=commit")
    shown = {row.commit for row in (*drawing.by_batch, *drawing.beside)}
    assert shown == {journals.commit_hash(i) for i in range(2, 10)}
    assert "8 of 10 commits" in page_props(drawing, is_from_url=True)["batch_note"]


def test_a_point_that_one_commit_measured_is_not_coloured_by_commit(store, journals, journal_store):
    alone = journal_store([*journals.history(1, hiddens=(64,)), journals.history(2, hiddens=(256,))[1]])
    for query, said in (
        ("&colour=commit", "One commit measured"),
        (f"&commit=latest&commits={journals.commit_hash(0)}", ""),
    ):
        props = page_props(throughput_drawing_of(alone, query=SHAPE + query), is_from_url=True)
        assert {one["value"] for one in props["colour"]["data"]} == {"provider"} == {props["colour"]["value"]}
        assert said in str(props["problems"])
        assert {trace.marker.color for trace in go.Figure(props["batch_figure"]).data if trace.name == "fused"} == {
            look_of("fused").colour
        }


def test_commits_are_offered_where_they_measured_the_point(store, journals):
    data = page_props(drawn(store, "&machine=bench-02"), is_from_url=True)["commits"]["data"]
    assert [one["value"] for one in data] == [journals.commit_hash(i)[:12] for i in (9, 8, 7)]


def test_the_chips_have_the_colours_and_markers_of_the_curves(store):
    def chips(query):
        return {chip.value: chip for chip in page_props(drawn(store, query), is_from_url=True)["providers"]["children"]}

    plain, commit, machine = (chips(query)["fused"] for query in ("", "&colour=commit", "&colour=machine"))
    assert (plain.children[1], commit.children[1], machine.children) == ("fused", "◆ fused", "◆ fused")
    assert plain.color == commit.color == look_of("fused").colour != machine.color


def test_every_marker_of_a_provider_can_be_written():
    assert {look.symbol for look in KNOWN_LOOKS.values()} | {symbol for _, symbol in OTHER_LOOKS} <= set(MARKERS)


def test_a_machine_measured_at_another_commit_is_named_with_it(journal_store, journals):
    two = journal_store([*journals.history(2), journals.history(1, machine="bench-02")[0]])
    drawing = throughput_drawing_of(two, query=f"{SHAPE}&colour=machine")
    note = page_props(drawing, is_from_url=True)["batch_note"]
    assert f"beside it bench-02 at {journals.commit_hash(0)[:7]} Change number 0" in note


def test_coloured_by_machine_every_machine_of_the_shape_is_drawn_at_its_own_newest_commit(store):
    drawing = drawn(store, "&colour=machine&providers=fused")
    chart, _ = batch_chart_of(drawing)
    assert names(chart) == {"fused · bench-01", "fused · bench-02"}
    assert names(drawing.commits_chart) == names(chart)
    assert [len(curve.marks) for curve in drawing.commits_chart.curves] == [10, 3]
    assert {row.machine for row in drawing.by_batch} == {"bench-01"}


def test_the_selectors_offer_what_has_several_values_here(store):
    offered = [one["value"] for one in page_props(drawn(store), is_from_url=True)["colour"]["data"]]
    assert offered == ["provider", "machine", "commit"]


def test_types_of_a_shape_are_sides(point):
    from dashboard.views.throughput.choice import throughput_view_of
    from dashboard.views.throughput.sides import sides_of

    points = [point(), point(dtype="bfloat16"), point(dtype="float16", hidden=64), point(dtype="float64", batch=1)]
    choice = throughput_view_of("?dtype=float32&hidden=1024", points=points, commits=[]).choice
    assert [side.dtype for side in sides_of(points, choice, Colour.DTYPE)] == ["bfloat16", "float32", "float64"]


def test_colours_of_an_axis_differ_and_a_provider_keeps_its_marker(point):
    colouring = Colouring(by=Colour.DTYPE, values=tuple("abcdef"))
    looks = [colouring.look_of(point(dtype=dtype)) for dtype in "abcdef"]
    assert all(one.colour != other.colour for one, other in combinations(looks, 2))
    assert {look.symbol for look in looks} == {look_of("eager").symbol}
    packed = colouring.look_of(point(dtype="a", provider="fused", weights="packed"))
    assert packed.dash != colouring.look_of(point(dtype="a", provider="fused")).dash


def test_every_hidden_dim_has_a_small_chart_on_shared_axes(store):
    drawing = drawn(store, "&multiples=hidden")
    charts, left_out = panel_charts_of(drawing)
    assert (list(charts), left_out) == ([64, 256, 1024], [])
    assert {row.hidden for row in drawing.panels[64]} == {64}
    assert {row.dim for row in drawing.panels[64]} == {16}
    assert set(drawing.panels[256]) == set(drawing.by_batch)
    props = page_props(drawing, is_from_url=True)
    graphs = [panel.children[1].children for panel in props["panels"]]
    figures = [go.Figure(graph.figure) for graph in graphs]
    axes = {(*figure.layout.xaxis.range, *figure.layout.yaxis.range) for figure in figures}
    assert (len(graphs), len(axes)) == (3, 1)
    assert figures[0].layout.yaxis.title.text == "Throughput, rows/s"
    assert "higher is better" in props["batch_note"]
    low, high = figures[0].layout.yaxis.range
    values = [y for figure in figures for trace in figure.data for y in trace.y if y is not None]
    assert 10**low <= min(values) <= max(values) <= 10**high
    assert all("hidden=" in panel.children[0].children.href for panel in props["panels"])


def test_of_many_hidden_dims_the_nearest_have_charts(point):
    from dashboard.views.throughput.choice import throughput_view_of

    points = [point(hidden=16 * 2**i, dim=4 * 2**i) for i in range(15)]
    choice = throughput_view_of("?hidden=256", points=points, commits=[]).choice
    panels = panels_of(points, choice)
    assert [panel.dim for panel in panels] == [4 * 2**i for i in range(15)]
    kept = [panel.hidden for panel in nearest_panels(panels, 256)]
    assert len(kept) == MOST_PANELS
    assert kept == [16 * 2**i for i in range(MOST_PANELS)]


@pytest.mark.parametrize(
    "query", ["&colour=machine", "&colour=commit", "&multiples=hidden", "&commit=latest&colour=machine"]
)
def test_the_url_of_such_a_view_shows_the_same_view(store, query):
    choice = drawn(store, query).view.choice
    again = throughput_drawing_of(store, query=query_from_choice(choice)).view
    assert (again.choice, again.problems) == (choice, ())


def test_the_url_keeps_commits_side_by_side(store, journals):
    choice = drawn(store, f"&commits={journals.commit_hash(1)},{journals.commit_hash(4)}&multiples=hidden").view.choice
    assert choice.commits == (journals.commit_hash(1),)
    assert choice.multiples is Multiples.HIDDEN
    assert throughput_drawing_of(store, query=query_from_choice(choice)).view.choice == choice


def test_no_figure_has_more_curves_than_a_screen_can_show(store, journals):
    commits = ",".join(journals.commit_hash(i)[:12] for i in range(2, 10))
    drawing = drawn(store, f"&commits={commits}&colour=machine")
    chart, _ = batch_chart_of(drawing)
    assert len(chart.curves) <= MOST_TRACES
    assert "pairs of machine and commit are drawn" in page_props(drawing, is_from_url=True)["batch_note"]


def test_long_subjects_are_cut_in_the_note_which_names_each_commit_once(store, journals):
    drawing = drawn(store, f"&commits={','.join(journals.commit_hash(i)[:7] for i in range(6))}")
    rows = [row._replace(commit_subject="A subject that goes on and on " * 5) for row in drawing.by_batch]
    beside = [row._replace(commit_subject="Another one that goes on and on " * 5) for row in drawing.beside]
    long = replace(drawing, by_batch=tuple(rows), beside=tuple(beside))
    note = " · ".join([note_of_commit(long.by_batch), *note_of_beside(long)])
    assert len(note) < 500
    assert [note.count(journals.commit_hash(i)[:7]) for i in range(6)] == [1] * 6
    assert note.count("…") == 6
