"""Throughput as a person uses it: marks that come later, commits side by side, small charts, a narrow page."""

from __future__ import annotations

import pytest

from dashboard.views.throughput.drawing import throughput_drawing_of
from tests.in_chromium import choose_by_typing, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MARKS = """() => document.querySelector('#throughput-commits-graph .js-plotly-plot')?.layout?.shapes
  ?.filter(one => (one.name ?? '').startsWith('change point')).length ?? 0"""
COMMITS = "#throughput-commits"
GRAPHS = """() => [...document.querySelectorAll('#throughput-batch-card .js-plotly-plot')]
  .filter(graph => graph.offsetParent).length"""
OVERFLOW = "() => document.documentElement.scrollWidth > innerWidth"


@pytest.fixture
def shown_store(journal_store, journals):
    sweeps = journals.history(12, operations=("mlp",), batches=(1, 4, 16), hiddens=(256, 1024))
    for number, sweep in enumerate(sweeps):
        factor = 1.5 if number >= 6 else 1.0
        sweep.slowdowns.update({("mlp", p): 1 + 0.004 * (number * 7 % 5 - 2) for p in sweep.providers})
        sweep.slowdowns["mlp", "fused"] *= factor
    return journal_store(sweeps)


def test_the_marks_come_after_the_curves(visit, shown_store):
    page = visit("/throughput?operation=mlp&hidden=256")
    page.wait_for_function(f"() => ({MARKS})() === 1")
    drawing = throughput_drawing_of(shown_store, query="?operation=mlp&hidden=256", waits=True)
    assert len(drawing.commits_chart.change_points) == 1
    assert "changed: fused" in page.inner_text("#throughput-commits-note")


def test_a_commit_is_put_beside_by_keyboard_and_back_takes_it_away(visit, journals):
    page = visit("/throughput?operation=mlp&hidden=256")
    page.focus(COMMITS)
    choose_by_typing(page, journals.commit_hash(3)[:8])
    page.wait_for_url("**commits=*")
    page.wait_for_selector(".legend .keys .provider >> nth=1")
    settle(page)
    assert journals.commit_hash(3)[:7] in page.inner_text(".legend .keys")
    assert page.input_value("#throughput-colour") == "commit"
    page.go_back()
    page.wait_for_function("() => !location.search.includes('commits=')")


@pytest.mark.parametrize("width", [400, 1440])
def test_small_charts_fit_the_page_and_their_titles_lead_to_their_hidden_dim(visit, width):
    page = visit(
        "/throughput?operation=mlp&hidden=256&multiples=hidden",
        graph="#throughput-panels",
        viewport={"width": width, "height": 900},
    )
    page.wait_for_function(f"() => ({GRAPHS})() === 2")
    assert not page.evaluate(OVERFLOW)
    page.click("text=hidden dim 1024")
    page.wait_for_function(f"() => ({GRAPHS})() === 1")
    assert "hidden=1024" in page.url
