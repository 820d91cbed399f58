"""Findings in words, and the marks where their levels begin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.figures.change_points import LEAST_APART, with_change_points
from dashboard.figures.chart import Across, ChangePoint, Chart
from dashboard.figures.notes import cut_short, escaped
from dashboard.finding_words import change_of, largest_change_of, title_of
from dashboard.quantities import MetricFormat, Ordinate
from dashboard.tables.changes import HOW_CHANGES_ARE_MADE, ORDER, changes_table
from dashboard.tables.findings import findings_table
from dashboard.views.compare_drawing import compare_drawing_of
from dashboard.views.explore_drawing import answer_of_changes, explore_drawing_of
from dashboard.views.judged_histories import judged_histories
from dashboard.views.regressions_drawing import regressions_drawing_of
from dashboard.widgets import TONE_COLOURS, unbroken
from results.judgement.changes.ranked import RankedFinding
from results.store import open_store
from tests.made_findings import finding, judgement

go = pytest.importorskip("plotly.graph_objects")
N = 100


def marked(*points):
    chart = Chart(
        ordinate=Ordinate(title="Time", better=""), across=Across.COMMITS, curves=(), absences=(),
        positions=tuple((f"c{i}", f"{i:040x}") for i in range(N)), change_points=points,
    )  # fmt: skip
    return go.Figure(layout=with_change_points({}, chart))


def point(at, text="+6.0 %", kind="bad"):
    return ChangePoint(at=f"c{at}", text=text, kind=kind, note="confirmed")


def test_a_change_point_is_a_line_in_the_colour_of_its_kind_with_its_size_above():
    figure = marked(point(40), point(80, "-9.0 %", "good"))
    assert [(shape.x0, shape.x1, shape.line.color) for shape in figure.layout.shapes] == [
        ("c40", "c40", TONE_COLOURS["bad"]), ("c80", "c80", TONE_COLOURS["good"]),
    ]  # fmt: skip
    assert [(one.x, one.text) for one in figure.layout.annotations] == [("c40", "+6.0 %"), ("c80", "-9.0 %")]


def test_a_commit_whose_hash_reads_as_a_number_is_marked_by_its_rank():
    """Plotly takes a number on an axis of names for a rank, so that the mark would lie far outside."""
    names = ("a1b2c3d", "9393939", "1234e56", "12e3456")
    chart = Chart(
        ordinate=Ordinate(title="Time", better=""), across=Across.COMMITS, curves=(), absences=(),
        positions=tuple((name, name) for name in names),
        change_points=tuple(ChangePoint(at=name, text="+6.0 %", kind="bad", note="") for name in names),
    )  # fmt: skip
    layout = with_change_points({}, chart)
    assert [one["x0"] for one in layout["shapes"]] == ["a1b2c3d", 1, 2, "12e3456"]
    assert {one["x"] for one in layout["annotations"]} <= {"a1b2c3d", 1, 2, "12e3456"}
    at_left = replace(chart, positions=chart.positions[1:])
    assert [one["x0"] for one in with_change_points({}, at_left, frame=chart)["shapes"]] == [1, 2, "12e3456"]


def test_texts_that_would_overlap_are_left_out_the_newest_stays():
    near = int(LEAST_APART * N) - 1
    figure = marked(point(40), point(40 + near, "later"))
    assert len(figure.layout.shapes) == 2
    assert [one.text for one in figure.layout.annotations] == ["later"]


def test_a_change_point_beyond_the_axis_is_not_drawn():
    assert marked(ChangePoint(at="elsewhere", text="+1 %", kind="bad", note="")).layout.shapes == ()


@pytest.mark.parametrize(("ratio", "is_explained"), [(1.2, False), (1.202, False), (1.3, True), (None, False)])
def test_a_change_unlike_the_values_beside_it_is_explained(ratio, is_explained):
    found = judgement()
    verdict = next(one for one in found.verdicts if one.ratio is not None and one.outcome in ORDER)
    verdict = verdict._replace(
        ratio=ratio, base=verdict.base._replace(value=1.0), head=verdict.head._replace(value=1.2)
    )
    seconds = MetricFormat(metric="latency_s", unit="s")
    table = changes_table(replace(found, verdicts=(verdict,)), metric_format=seconds, labels={})
    assert (HOW_CHANGES_ARE_MADE in str(table)) is is_explained


def test_no_name_turns_the_words_around_it_around(tmp_path, write_asv_run):
    name, turned = "suite.time_\u202e_a", "suite.time_\\u202e_a"
    for i in range(12):
        seconds = 1.0 if i < 6 else 2.0
        results = {name: {"result": [seconds], "params": [], "version": "v", "stats_ci_99_a": [0.99 * seconds],
                          "stats_ci_99_b": [1.01 * seconds]}}  # fmt: skip
        write_asv_run(tmp_path / "results", results, commit=f"{i:x}" * 40, date=1_700_000_000_000 + i * 86_400_000)
    with open_store(str(tmp_path / "turned.db")) as store:
        store.ingest([tmp_path / "results"])
        assert answer_of_changes(explore_drawing_of(store, query="")).startswith(f"{turned}, time: ")
        assert [row.name for row in compare_drawing_of(store, query="").rows] == [turned]
        assert [title_of(one.finding) for one in judged_histories(store)] == [f"{turned} · time"]
    assert cut_short("a\u202eb", longest=20) == "a\\u202eb"
    assert escaped("<\u202e\n") == "&lt;\\u202e\n"


def test_a_number_and_its_sign_stay_in_one_line_of_a_large_answer():
    assert unbroken("mean +2.0 %, from × 20.5 to ÷ 3") == "mean +2.0\xa0%, from ×\xa020.5 to ÷\xa03"


def test_of_several_points_that_changed_the_one_size_told_is_said_to_be_the_largest(planted):
    drawing = regressions_drawing_of(planted, query="")
    finding = drawing.found[0].finding
    assert len(finding.points) > 1
    assert largest_change_of(finding) == f"up to {change_of(finding)}"
    assert largest_change_of(finding) in drawing.answer
    alone = replace(finding, points=finding.points[:1])
    assert largest_change_of(alone) == change_of(alone)
    assert largest_change_of(replace(finding, ratio=None)) == "from 0"


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ([{}, {}], [[], []]),
        ([{}, {"machine": "n"}], [["m"], ["n"]]),
        ([{}, {"machine": "n", "environment": "f"}], [["m", "e"], ["n", "f"]]),
    ],
)
def test_findings_of_several_places_are_told_apart_in_their_list(places, told):
    nothing = {"series": None, "commits": (), "course": (), "last_good": None, "first_bad": None}
    found = [
        RankedFinding(finding=finding(surface=finding().surface._replace(**place)), weight=1.0, uid=f"{i}", **nothing)
        for i, place in enumerate(places)
    ]
    table = findings_table(found, link_to=str, chosen=None)[0].children
    titles = [row.children[1].children for row in table.children[1].children]
    assert [[part.children for part in title[1:] if part != " "] for title in titles] == told
