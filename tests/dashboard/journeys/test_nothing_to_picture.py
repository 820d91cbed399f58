"""Where nothing is drawn, no button offers to save it as a picture; its values can be saved all the same."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tests.in_chromium import settle

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OFFERED = """() => [...document.querySelectorAll("[data-picture]")].filter(one => one.offsetParent).map(one => {
  const graphs = [...one.closest(".card").querySelectorAll(".js-plotly-plot")].filter(graph => graph.offsetParent);
  return {kind: one.dataset.picture, isDrawn: graphs.some(graph => graph.querySelector(".trace"))};
})"""


@pytest.fixture
def shown_store(journal_store, journals):
    """Two commits at which linear alone has values."""
    crashed = {("mlp", name): "crashed" for name in ("eager", "compiled", "fused")}
    return journal_store(journals.history(2, operations=("linear", "mlp"), states=crashed))


@pytest.mark.parametrize(
    ("url", "n_drawn"),
    [
        ("/compare?contains=linear", 1),
        ("/compare?contains=mlp", 0),
        ("/compare?contains=nothing", 0),
        ("/explore?benchmark=mlp&metric=latency_s", 1),  # what fails is marked there
        ("/explore?benchmark=linear&metric=latency_s", 1),
        ("/roofline?operation=mlp", 0),
        ("/throughput?operation=mlp", 2),
        ("/profile?operation=mlp", 0),
        ("/regressions", 0),
    ],
)
def test_only_what_is_drawn_is_offered_as_a_picture(visit, url, n_drawn):
    page = visit(url, graph=None)
    # What is drawn comes after what was asked for; the assertions say what is missing if it does not.
    with suppress(sync_api.TimeoutError):
        page.wait_for_function(f"n => ({OFFERED})().filter(one => one.isDrawn).length === n", arg=2 * n_drawn)
    settle(page, graph=None)
    offered = page.evaluate(OFFERED)
    assert [one for one in offered if not one["isDrawn"]] == []
    assert len(offered) == 2 * n_drawn
