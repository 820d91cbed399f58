"""Small charts of the page *Explore*: one for each value of a parameter, on shared axes."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from dashboard.pages.explore import page_props
from dashboard.views.explore_choice import explore_view_of
from dashboard.views.explore_drawing import explore_drawing_of
from results.store import open_store

NUMBERS = [4e-6, 8e-6, 4.1e-6]


@pytest.fixture
def suite(tmp_path, write_asv_tree):
    """Another project's asv suite: a timing with two parameters over three commits."""
    folder = write_asv_tree(tmp_path / "results", times=[[number, 10 * number] for number in NUMBERS])
    with open_store(str(tmp_path / "suite.db")) as store:
        store.ingest([folder])
        yield store


def shown(store, query=""):
    return page_props(explore_drawing_of(store, query=query), is_from_url=True)


def test_a_parameter_may_have_a_small_chart_for_each_of_its_values(suite):
    props = shown(suite, "?benchmark=ops.time_sort&group=size")
    links = [panel.children[0].children for panel in props["panels"]]
    assert [one.children for one in links] == ["size = 1", "size = 10"]
    assert [one.href.endswith(f"where=size%3D{n}") for one, n in zip(links, (1, 10), strict=True)] == [True, True]
    figures = [go.Figure(panel.children[1].children.figure) for panel in props["panels"]]
    names = [[trace.name for trace in one.data if "interval" not in trace.name] for one in figures]
    assert names == [["size=1"], ["size=10"]]
    assert figures[0].layout.yaxis.range == figures[1].layout.yaxis.range
    assert [tuple(one.layout.xaxis.range) for one in figures] == [(-0.5, len(NUMBERS) - 0.5)] * 2
    assert props["graph_style"] == {"display": "none"}
    # The colours are those of the lines in one chart.
    whole = {
        trace.name: trace.line.color for trace in go.Figure(shown(suite, "?benchmark=ops.time_sort")["figure"]).data
    }
    assert {trace.name: trace.line.color for one in figures for trace in one.data} == whole


def test_a_parameter_to_group_by_that_there_is_not_is_named(suite):
    view = explore_view_of(suite, query="?benchmark=ops.time_sort&group=colour")
    assert view.choice.group is None
    assert any("No parameter colour tells these lines apart" in one for one in view.problems)


def test_the_panels_of_a_parameter_with_many_values_are_limited_and_said(suite, monkeypatch):
    monkeypatch.setattr("dashboard.views.explore_drawing.MOST_PANELS", 1)
    drawing = explore_drawing_of(suite, query="?benchmark=ops.time_sort&group=size")
    assert list(drawing.panels) == ["size=1"]
    assert "1 of 2 values of size have a chart" in drawing.left_out
