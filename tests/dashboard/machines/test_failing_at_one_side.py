"""Page *Compare* of providers and machines: what works at one side alone is told, and whose fault it is."""

from __future__ import annotations

import pytest
from dash import html

from dashboard.tables.comparison import ratios_table
from dashboard.tables.ratios import ratio_of
from dashboard.views.compare_drawing import compare_drawing_of
from tests.made_values import failed, row


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        (failed("crashed"), row(1.0), ("works here", True, "good")),
        (row(1.0), failed("unavailable"), ("unavailable", False, "")),  # not offered there, which is no fault
        (row(1.0), failed("skipped"), ("skipped", False, "")),
        (failed("unavailable"), row(1.0), ("works here", False, "")),
        (failed("crashed"), failed("out_of_memory"), ("out of memory", False, "")),
        (row(0.0), row(1.0), ("no ratio", False, "")),
    ],
)
def test_what_fails_at_one_side_alone_is_worse_there(base, head, told):
    one = ratio_of(base, head)
    assert (one.ratio, (one.word, one.is_significant, one.kind)) == (None, told)


def test_what_fails_at_one_provider_alone_is_listed_as_changed(journal_store, journals):
    store = journal_store(journals.history(2, operations=("linear", "mlp"), states={("mlp", "compiled"): "crashed"}))
    query = "?along=provider&provider=eager&provider=compiled&contains=mlp&show=significant"
    drawing = compare_drawing_of(store, query=query)
    assert {one.ratios[0].word for one in drawing.rows} == {"crashed"}
    assert drawing.means[0].n_worse == len(drawing.rows) > 0
    cells = list(html.Div(ratios_table(drawing.rows, drawing.names))._traverse())
    assert "tone bad" in {getattr(cell, "className", None) for cell in cells}
