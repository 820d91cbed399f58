"""Figure of the page Explore: reduced where it would be slow, relative to a commit, coloured, change points marked."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go
import pytest

from dashboard.figures.chart import Absence, Across, Chart, Curve, Mark
from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.history import looks_of
from dashboard.figures.reduction import MOST_POINTS, MOST_TRACES, reduced
from dashboard.lines import lines_from
from dashboard.looks import Look
from dashboard.pages.explore import page_props
from dashboard.quantities import MetricFormat, Ordinate, Reading
from dashboard.scales import Scale
from dashboard.views.explore_drawing import explore_drawing_of, note_of_lines
from dashboard.views.judged_histories import judged_histories
from results.rows import ParameterValue, SeriesRow
from results.store import open_store

N, AT, BY = 40, 25, 1.06
PLAIN = Look(colour="#2a8bd8", symbol="square")


def curve(n, *, name="line", spike=None, has_interval=True):
    values = [1.0 + (i == spike) * 5 + (i * 7919) % 101 / 1e4 for i in range(n)]
    marks = tuple(
        Mark(at=f"c{i}", key=f"{i:040x}", text="", note="", is_disturbed=False,
             reading=Reading(value=value, low=value - 0.1, high=value + 0.1) if has_interval else Reading(value=value))
        for i, value in enumerate(values)
    )  # fmt: skip
    return Curve(name=name, look=PLAIN, pieces=(marks[: n // 2], marks[n // 2 :]))


def chart(*curves, absences=()):
    n = max(len(one.marks) for one in curves)
    return Chart(
        ordinate=Ordinate(title="Time", better=""), across=Across.COMMITS, curves=curves, absences=absences,
        positions=tuple((f"c{i}", f"{i:040x}") for i in range(n)),
    )  # fmt: skip


def drawn(one):
    return go.Figure(figure_from_chart(one, scale=Scale.FIT, chosen=None, keeps_zoom_of=""))


def test_a_figure_of_a_usual_size_is_left_as_it_is():
    usual = chart(*(curve(100, name=f"l{i}") for i in range(7)))
    assert reduced(usual) == (usual, [])


def test_many_lines_lose_their_intervals_first_then_the_last_ones_go():
    some, notes = reduced(chart(*(curve(20, name=f"l{i}") for i in range(30))))
    assert len(drawn(some).data) == 30
    assert notes == ["intervals are left out"]
    most, notes = reduced(chart(*(curve(20, name=f"l{i}") for i in range(70))))
    assert len(drawn(most).data) == MOST_TRACES
    assert "20 lines are not drawn" in notes


def test_marks_of_what_has_no_value_go_before_lines_do():
    absences = tuple(Absence(name=f"l{i}", look=PLAIN, at="c0", key="0", state="crashed", note="") for i in range(20))
    found, notes = reduced(chart(*(curve(20, name=f"l{i}") for i in range(40)), absences=absences))
    assert len(drawn(found).data) == 40
    assert "what has no value is not marked" in notes


def test_on_a_chart_of_one_line_missing_values_are_named_as_such_and_not_by_a_cut_name():
    name = "a.benchmark.of.another.project.with_a_long_name"
    absences = tuple(Absence(name=one, look=PLAIN, at="c0", key="0", state="crashed", note="") for one in (name,))
    alone = drawn(chart(curve(3, name=name), absences=absences))
    assert (alone.layout.yaxis2.tickvals, alone.layout.yaxis2.ticktext) == ((name,), ("no value",))
    beside = drawn(chart(curve(3, name=name), curve(3, name="other"), absences=absences))
    assert beside.layout.yaxis2.ticktext[0].endswith("with_a_long_name")


@pytest.mark.parametrize("sizes", [(20000,), (3000, 3000, 40), (900,) * 12])
def test_a_figure_has_five_thousand_points_at_most_its_ends_and_extremes_among_them(sizes):
    spike = sizes[0] // 3
    before = chart(*(curve(n, name=f"l{i}", spike=spike if not i else None) for i, n in enumerate(sizes)))
    found, notes = reduced(before)
    marks = [len(one.marks) for one in found.curves]
    assert 0.4 * MOST_POINTS < sum(marks) <= MOST_POINTS or sum(marks) == sum(sizes)
    assert sum(len(trace.x) for trace in drawn(found).data) <= MOST_POINTS + 10
    assert any("points are drawn" in note for note in notes)
    first = found.curves[0]
    assert (first.marks[0].at, max(mark.reading.value for mark in first.marks)) == ("c0", pytest.approx(6, abs=0.1))


@pytest.fixture(scope="module")
def planted(tmp_path_factory, journals):
    """Forty commits; mlp's fused is 6 % slower from the 26th on."""
    sweeps = journals.history(N, operations=("mlp",), batches=(1, 16, 64), hiddens=(256,))
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        sweep.slowdowns.update({("mlp", provider): wobble for provider in sweep.providers})
        if number >= AT:
            sweep.slowdowns["mlp", "fused"] = BY * wobble
    folder = tmp_path_factory.mktemp("explored")
    journals.write_journals(folder, sweeps)
    with open_store(str(folder / "fusebench.db")) as store:
        store.ingest([folder])
        yield store


def line_of(store, provider):
    lines = explore_drawing_of(store, query="?benchmark=mlp").view.lines
    return next(one.name for one in lines if one.contender == provider)


def test_curves_do_not_wait_for_the_judgement_and_are_marked_once_it_is_there(planted, journals):
    query = f"?benchmark=mlp&line={line_of(planted, 'fused')}"
    at_once = explore_drawing_of(planted, query=query)
    assert (at_once.is_marked, at_once.chart.change_points) == (False, ())
    waited = explore_drawing_of(planted, query=query, waits=True)
    [point] = waited.chart.change_points
    assert journals.commit_hash(AT).startswith(point.at)
    assert point.kind == "bad"
    assert float(point.text[1:-2]) == pytest.approx(6, abs=1)
    later = page_props(explore_drawing_of(planted, query=query), is_from_url=False)
    assert later["shown"]["marked"] == "yes"
    assert "1 change point" in later["note"]
    assert [shape.name for shape in go.Figure(later["figure"]).layout.shapes if shape.name] == [
        f"change point {point.text}"
    ]
    assert judged_histories(planted)


def test_a_line_that_did_not_change_has_no_mark(planted):
    query = f"?benchmark=mlp&line={line_of(planted, 'eager')}"
    assert explore_drawing_of(planted, query=query, waits=True).chart.change_points == ()


def test_values_relative_to_a_commit_are_one_there(planted, journals):
    base = journals.commit_hash(AT - 1)
    query = f"?benchmark=mlp&line={line_of(planted, 'fused')}&relative={base[:10]}"
    drawing = explore_drawing_of(planted, query=query)
    values = {mark.key: mark.reading for one in drawing.chart.curves for mark in one.marks}
    assert values[base].value == pytest.approx(1)
    assert values[base].low < 1 < values[base].high
    assert values[journals.commit_hash(AT)].value == pytest.approx(BY, rel=0.02)
    figure = go.Figure(page_props(drawing, is_from_url=False)["figure"])
    assert figure.layout.yaxis.title.text == f"Latency over that at {base[:8]} (lower is better)"
    assert "relative=" + base[:12] in page_props(drawing, is_from_url=False)["shown"]["query"]


def test_a_baseline_that_is_not_stored_is_named(planted):
    drawing = explore_drawing_of(planted, query="?benchmark=mlp&relative=123456&colour=moon")
    assert "No commits begin with 123456" in str(drawing.view.problems)
    assert "No parameter moon" in str(drawing.view.problems)
    assert drawing.chart.ordinate.reference is None


def row(number, **parameters):
    return SeriesRow(
        series_id=number, project="p", machine="m", environment="e", benchmark="b", metric="time", unit="s",
        version="1", interval_level=0.95,
        parameters=tuple(ParameterValue(name=name, value=value) for name, value in parameters.items()),
    )  # fmt: skip


def test_lines_are_coloured_by_a_parameter_and_dashes_tell_those_of_one_colour_apart():
    lines = lines_from(row(10 * i + j, size=i, kind=j) for i in (1, 2) for j in (1, 2, 3))
    looks = looks_of(lines, colour="size")
    assert [len({look.colour for look in looks[start : start + 3]}) for start in (0, 3)] == [1, 1]
    assert looks[0].colour != looks[3].colour
    assert len({look.dash for look in looks[:3]}) == 3


def test_the_note_says_what_open_marks_are_where_there_are_some(journal_store, journals):
    calm, disturbed = journals.history(2)
    disturbed = replace(disturbed, disturbed="load")
    for sweeps in ([calm], [calm, disturbed]):
        note = note_of_lines(explore_drawing_of(journal_store(sweeps), query="?benchmark=mlp&metric=latency_s"))
        assert ("open marks: disturbed while measured" in note) == (len(sweeps) == 2)


@pytest.mark.parametrize("unit", ["ms", "mW", "rows/s"])
def test_a_unit_keeps_its_letters_as_a_capital_is_another_one(unit):
    assert MetricFormat(metric="track", unit=unit).ordinate.title == f"Value, {unit}"


def test_values_that_share_a_colour_as_there_are_more_than_colours_differ_in_their_dash():
    looks = looks_of(lines_from(row(i, size=i) for i in range(17)), colour="size")
    assert len({(look.colour, look.dash) for look in looks}) == 17


@pytest.mark.parametrize(("n", "is_named"), [(12, True), (13, False)])
def test_names_of_missing_values_are_left_out_where_they_would_overlap(n, is_named):
    absences = tuple(Absence(name=f"l{i}", look=PLAIN, at="c0", key="0", state="failed", note="") for i in range(n))
    axis = drawn(chart(curve(3, name="l0"), absences=absences)).layout.yaxis2
    assert (len(axis.tickvals), axis.ticktext[0]) == ((n, "l0") if is_named else (1, "no value"))


@pytest.mark.parametrize(("name", "is_small", "label"), [
    ("n=100, kind=a, flag=True", True, "no value"), ("n=100, kind=a, flag=True", False, "n=100, kind=a, flag=True"),
    ("fused:packed", True, "fused:packed"),
])  # fmt: skip
def test_a_small_chart_has_no_room_for_a_long_name_beside_what_has_no_value(name, is_small, label):
    one = chart(curve(3), absences=(Absence(name=name, look=PLAIN, at="c0", key="0", state="failed", note=""),))
    frame = replace(one) if is_small else None
    figure = go.Figure(figure_from_chart(one, scale=Scale.FIT, chosen=None, keeps_zoom_of="", frame=frame))
    assert figure.layout.yaxis2.ticktext == (label,)


@pytest.mark.parametrize(("n", "is_small", "n_markers"), [(118, False, 118), (130, False, 1), (60, True, 1)])
def test_where_marks_would_hide_their_line_only_those_stay_that_no_line_leads_to(n, is_small, n_markers):
    long = curve(n)
    broken = chart(replace(long, pieces=(long.marks[: n - 1], long.marks[n - 1 :])))
    options = {"scale": Scale.FIT, "chosen": None, "keeps_zoom_of": ""}
    (trace,) = [one for one in figure_from_chart(broken, frame=broken if is_small else None, **options)["data"]
                if "interval" not in one["name"]]  # fmt: skip
    size = trace["marker"]["size"]
    assert trace["mode"] == "lines+markers"
    assert (n if isinstance(size, int) else sum(one > 0 for one in size)) == n_markers
    unbroken = figure_from_chart(chart(replace(long, pieces=(long.marks,))), scale=Scale.FIT, chosen=None,
                                 keeps_zoom_of="", frame=broken if is_small else None)  # fmt: skip
    assert (unbroken["data"][-1]["mode"] == "lines") is (n_markers == 1)


def test_small_charts_say_in_the_note_which_direction_is_better(planted):
    assert "lower is better" in note_of_lines(explore_drawing_of(planted, query="?benchmark=mlp&group=provider"))
