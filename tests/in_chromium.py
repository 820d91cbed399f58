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


# On a slow machine the network may rest while scripts are read: then callbacks wait, of which no request tells yet.
ANSWERED = """() => {
  if (!window.store || !document.querySelector("#page")?.children.length) return false;
  const {stored, completed, ...waiting} = window.store.getState().callbacks;
  return Object.values(waiting).flat().length === 0;
}"""


def settle(page, *, graph="#throughput-batch-graph"):
    """Wait until the page has drawn, and draws no more. graph: a selector of what it draws; None for any page."""
    if graph is not None:
        page.wait_for_selector(f"{graph} .js-plotly-plot .main-svg")
    page.wait_for_load_state("networkidle")
    page.wait_for_function(ANSWERED)
    if graph is None:
        return
    before = None
    while (now := [figure(page, name) for name in ("batch", "commits")]) != before:
        before = now
        page.wait_for_timeout(300)


def choose_by_typing(page, text):
    """Choose, with the keyboard alone, the one option of the focused selector that holds text."""
    page.keyboard.type(text)
    options = page.get_by_role("option")
    options.filter(has_not_text=text).first.wait_for(state="hidden")
    options.filter(has_text=text).wait_for()
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("[role=option][data-combobox-selected]")
    page.keyboard.press("Enter")


def figure(page, name):
    return page.evaluate(FIGURE, f"throughput-{name}-graph")
