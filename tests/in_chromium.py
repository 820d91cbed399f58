"""Pages of the dashboard in headless Chromium: how it is started, and when a page has drawn."""

from __future__ import annotations

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
FIGURE = """id => {
  const graph = document.querySelector(`#${id} .js-plotly-plot`);
  if (!graph || !graph.data) return null;
  const plain = values => Array.from(values ?? []);
  return graph.data.map(trace => ({name: trace.name, x: plain(trace.x), y: plain(trace.y)}));
}"""


def settle(page, *, graph="#throughput-batch-graph"):
    """Wait until the page has drawn, and draws no more."""
    if graph is None:
        page.wait_for_load_state("networkidle")
        return
    page.wait_for_selector(f"{graph} .js-plotly-plot .main-svg")
    page.wait_for_load_state("networkidle")
    before = None
    while (now := [figure(page, name) for name in ("batch", "commits")]) != before:
        before = now
        page.wait_for_timeout(300)


def figure(page, name):
    return page.evaluate(FIGURE, f"throughput-{name}-graph")
