"""Values of the page Explore that are 0 or below: nothing is divided by them, and no logarithmic axis holds them."""

from __future__ import annotations

import pytest

from dashboard.pages.explore import page_props
from dashboard.views.explore_drawing import explore_drawing_of, note_of_lines
from results.store import open_store


@pytest.fixture
def drawn(tmp_path, write_asv_tree):
    """Draw a benchmark of another project's results, whose commits are a, b, c …, as a URL's query asks."""
    stores = []

    def draw(query, **values):
        folder = write_asv_tree(tmp_path / "results", **values)
        stores.append(open_store(str(tmp_path / "suite.db")))
        stores[0].ingest([folder])
        return explore_drawing_of(stores[0], query=query)

    yield draw
    for store in stores:
        store.close()


@pytest.mark.parametrize("base", [0.0, -5.0, float("nan"), float("inf"), None])
def test_a_baseline_without_a_value_to_divide_by_is_told_and_values_are_shown_as_they_are(drawn, base):
    drawing = drawn(f"?benchmark=ops.track_size&relative={'a' * 12}", times=[[1.0, 1.0]] * 3, tracked=[base, 4.0, 6.0])
    assert drawing.view.problems == ("No line has a value above 0 at aaaaaaaa; values are shown as they are.",)
    assert drawing.view.choice.relative is None
    assert [mark.reading.value for curve in drawing.chart.curves for mark in curve.marks][-2:] == [4.0, 6.0]
    assert page_props(drawing, is_from_url=False)["relative"]["value"] == ""


def test_a_line_without_a_value_at_the_baseline_is_counted(drawn):
    drawing = drawn(f"?benchmark=ops.time_sort&relative={'b' * 12}", times=[[1.0, 2.0], [None, 4.0], [3.0, 6.0]])
    assert [mark.reading.value for curve in drawing.chart.curves for mark in curve.marks] == [0.5, 1.0, 1.5]
    assert "1 of 2 lines have no value above 0 at bbbbbbbb" in note_of_lines(drawing)


@pytest.mark.parametrize(("tracked", "scale", "is_told"), [
    ((1.0, 0.0), "log", True), ((-2.0, 3.0), "log", True), ((1.0, 0.0), "fit", False), ((1.0, 2.0), "log", False),
])  # fmt: skip
def test_an_axis_that_cannot_be_logarithmic_as_was_chosen_is_told(drawn, tracked, scale, is_told):
    drawing = drawn(f"?benchmark=ops.track_size&scale={scale}", times=[[1.0, 1.0]] * 2, tracked=tracked)
    assert ("not logarithmic, as not all is above 0" in note_of_lines(drawing)) == is_told
    axis = page_props(drawing, is_from_url=False)["figure"]["layout"]["yaxis"]
    assert (axis.get("type") == "log") == (scale == "log" and not is_told)
