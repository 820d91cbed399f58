"""Axes of curves and of ratios: labels at the newest commit, of any range, from 0 either way; infinite values."""

from __future__ import annotations

import math

import plotly.graph_objects as go
import pytest

from dashboard.figures.axes import MOST_DECADES, decade_ticks
from dashboard.figures.chart import Across, Chart, Curve, Mark
from dashboard.figures.drawing import figure_from_chart
from dashboard.figures.ratios import RatioMark, RatioSide, scatter_of_ratios
from dashboard.looks import Look
from dashboard.quantities import MetricFormat, Ordinate, Reading
from dashboard.scales import Scale
from dashboard.views.explore_drawing import explore_drawing_of, note_of_lines
from dashboard.widgets import sparkline
from results.store import open_store

SECONDS = MetricFormat(metric="latency_s", unit="s").ordinate
PLAIN = Look(colour="#2a8bd8", symbol="square")


def axes_of(values, *, scale=Scale.LOG):
    layout = figure_of(values, scale=scale)["layout"]
    return layout["xaxis"], layout["yaxis"]


def figure_of(values, *, scale=Scale.LOG, low=None):
    marks = tuple(
        Mark(
            at=f"c{i}", key=f"{i:040x}", text="", note="", is_disturbed=False,
            reading=Reading(value=value, low=low, high=None if low is None else 2 * value),
        )
        for i, value in enumerate(values)
    )  # fmt: skip
    chart = Chart(
        ordinate=Ordinate(title="Value", better="", has_prefix=False), across=Across.COMMITS,
        positions=tuple((mark.at, mark.key) for mark in marks), absences=(),
        curves=(Curve(name="line", look=PLAIN, pieces=(marks,)),),
    )  # fmt: skip
    return figure_from_chart(chart, scale=scale, chosen=None, keeps_zoom_of="")


def scatter(values):
    marks = tuple(RatioMark(value=value, ratio=1.01, name="", word="", is_significant=False) for value in values)
    sides = [RatioSide(name="b", marks=marks)]
    return go.Figure(scatter_of_ratios(sides, ordinate=SECONDS, base="a", are_providers=False))


@pytest.mark.parametrize("n", [2, 19, 30, 60])
def test_the_newest_commit_has_a_label(n):
    across, _ = axes_of([1.0] * n)
    # As plotly counts, from the first place of a label in sight, which it takes for 0 where it would be before it.
    first = math.ceil((across["range"][0] - across["tick0"]) / across["dtick"]) * across["dtick"] + across["tick0"]
    assert first >= 0
    assert (n - 1 - first) % across["dtick"] == 0


@pytest.mark.parametrize("scale", [Scale.LOG, Scale.FIT, Scale.ZERO])
@pytest.mark.parametrize("values", [[1.0, 1.2e6], [1e6, 1.2e6]])
def test_labels_without_a_prefix_have_separators_of_thousands(scale, values):
    assert axes_of(values, scale=scale)[1]["tickformat"] == ",.12~g"


def test_labels_between_decades_keep_their_suffix():
    times = Ordinate(title="Speedup", better="", suffix="×", has_prefix=False)
    aliases = decade_ticks(3, times)["labelalias"]
    assert (aliases["0.5"], aliases["2,000"]) == ("0.5×", "2,000×")


def test_an_axis_of_any_range_has_few_labels():
    low, high = 1e-300, 1e300
    _, up = axes_of([low, high])
    assert 600 / up["dtick"] <= MOST_DECADES
    assert all(map(math.isfinite, up["range"]))
    assert 600 / scatter([low, high]).layout.xaxis.dtick <= MOST_DECADES


@pytest.mark.parametrize(
    ("values", "ends"), [([2.0, 4.0], (0, 4.24)), ([-4.0, -2.0], (-4.24, 0)), ([0.0, 0.0], (0, 1))]
)
def test_from_0_holds_the_values_on_either_side_of_it(values, ends):
    assert axes_of(values, scale=Scale.ZERO)[1]["range"] == pytest.approx(ends)


def test_an_interval_that_reaches_below_zero_leaves_the_axis_logarithmic():
    figure = figure_of([4e-5, 8.0], low=-3.0)
    assert figure["layout"]["yaxis"]["type"] == "log"
    band, _ = figure["data"]
    assert [value for value in band["y"] if value is not None] == [8e-5, 16.0, 4e-5, 4e-5]
    assert figure_of([4e-5, 0.0], low=-3.0)["layout"]["yaxis"].get("type") is None


def test_values_within_a_decade_have_more_labels_than_one():
    axis = scatter([3e-6, 47e-6]).layout.xaxis
    assert axis.dtick == "D2"
    assert axis.labelalias["20µ"] == "20µs"


def test_what_is_infinite_is_marked_and_told_as_what_has_no_place_among_the_values(tmp_path, write_asv_tree):
    folder = write_asv_tree(tmp_path / "results", times=[[1e-3, 1e-2]] * 3, tracked=[2.0, math.inf, 3.0])
    with open_store(str(tmp_path / "suite.db")) as store:
        store.ingest([folder])
        chart = explore_drawing_of(store, query="?benchmark=ops.track_size").chart
    [curve] = chart.curves
    assert [len(piece) for piece in curve.pieces] == [1, 1]
    [absence] = chart.absences
    assert absence.note.startswith("<b>inf</b>")


def test_a_small_curve_is_of_what_is_finite():
    assert "nan" not in sparkline([1.0, math.inf, 2.0], kind="").src
    assert sparkline([1.0, math.inf], kind="").to_plotly_json()["type"] == "Span"


@pytest.mark.parametrize(("dates", "told"), [([1, None, None], "1 commit · "), ([None] * 3, "3 commits without")])
def test_by_date_it_is_said_how_many_commits_have_none(tmp_path, write_asv_run, dates, told):
    for i, date in enumerate(dates):
        results = {"one": {"result": [3.0 + i], "params": [], "version": "v"}}
        moment = date and 1_700_000_000_000
        write_asv_run(tmp_path / "results", results, commit="abc"[i] * 40, date=moment)
    with open_store(str(tmp_path / "dates.db")) as store:
        store.ingest([tmp_path / "results"])
        note = note_of_lines(explore_drawing_of(store, query="?spacing=date"))
        assert note.startswith(told)
        assert f"{dates.count(None)} commits without a date left out" in note
        assert "without a date" not in note_of_lines(explore_drawing_of(store, query=""))


@pytest.mark.parametrize(
    ("dates", "n_unordered"), [([1, 2, 3], 0), ([1, 1, 3], 2), ([1, None, 3], 1), ([None] * 3, 3), ([None], 0)]
)
def test_of_how_many_commits_the_order_is_a_guess_is_said(tmp_path, write_asv_run, dates, n_unordered):
    for i, date in enumerate(dates):
        results = {"one": {"result": [3.0 + i], "params": [], "version": "v"}}
        write_asv_run(
            tmp_path / "results", results, commit="abc"[i] * 40, date=date and 1_700_000_000_000 + date * 1000
        )
    with open_store(str(tmp_path / "dates.db")) as store:
        store.ingest([tmp_path / "results"])
        note = note_of_lines(explore_drawing_of(store, query=""))
    assert ("the order of " in note) is (f"the order of {n_unordered} commit" in note) is bool(n_unordered)
