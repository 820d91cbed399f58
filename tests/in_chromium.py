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


# No callback waits, no chart is being drawn and nothing moves, for ten frames in a row: between an answer and the chart
# that is drawn of it, or the question that follows it, each is over for a moment.
QUIET = """() => {
  const {stored, completed, ...waiting} = window.store?.getState().callbacks ?? {};
  const moves = one => one.playState === 'running' && one.effect.getComputedTiming().endTime !== Infinity;
  const isQuiet = window.store && document.querySelector('#page')?.children.length > 0
    && Object.values(waiting).flat().length === 0
    && !document.querySelector('.dash-graph--pending')
    && !document.getAnimations().some(moves);
  window.nQuietFrames = isQuiet ? (window.nQuietFrames ?? 0) + 1 : 0;
  if (window.nQuietFrames < 10) return false;
  window.nQuietFrames = 0;  // of the next wait
  return true;
}"""
# Each row that a grid shows has its cells, and each cell its text, if it has any.
FILLED = """selector => [...document.querySelectorAll(`${selector} .grid`)].every(grid => {
  const api = window.dash_ag_grid?.getApi(grid.id), n = api?.getRenderedNodes().length;
  const rows = [...grid.querySelectorAll('.ag-center-cols-container .ag-row')];
  const isFilled = (cell, rowNode) => Boolean(cell.innerText.trim())
    === Boolean(api.getCellValue({rowNode, colKey: cell.getAttribute('col-id'), useFormatter: true}));
  return n > 0 && rows.length === n && rows.every(row => {
    const node = api.getDisplayedRowAtIndex(Number(row.getAttribute('row-index')));
    return row.children.length === api.getAllDisplayedVirtualColumns().length
      && [...row.children].every(cell => isFilled(cell, node));
  });
})"""


def settle(page, *, graph="#throughput-batch-graph"):
    """Wait until the page has drawn, and draws no more. graph: a selector of what it draws; None for any page.

    Playwright's own waiting for a quiet network is over at once when only a part of the page is drawn anew.
    """
    if graph is not None:
        page.wait_for_selector(f"{graph} .js-plotly-plot .main-svg")
    page.wait_for_load_state("networkidle")
    page.wait_for_function(QUIET)


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
