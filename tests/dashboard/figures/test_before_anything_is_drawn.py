"""What a page shows before its first answer has come."""

from __future__ import annotations

import pytest
from dash import dcc

from dashboard.app import PAGES


def charts_of(component):
    return [one for one in component._traverse() if isinstance(one, dcc.Graph)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_a_chart_of_nothing_has_no_axes_with_numbers(page):
    for chart in charts_of(page.layout()):
        axes = chart.figure["layout"]
        assert (axes["xaxis"]["visible"], axes["yaxis"]["visible"]) == (False, False), chart.id
