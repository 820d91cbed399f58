"""A page that is printed: dark on white whatever the screen shows, its charts and tables no wider than the paper."""

from __future__ import annotations

import pytest

from dashboard.pages import compare, profile, throughput
from tests.in_chromium import FILLED

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Paper is narrower than the window, and nothing hears of it: measured at once, before anything could draw anew.
ON_PAPER = """() => {
  dispatchEvent(new Event("beforeprint"));
  document.querySelector("#page").style.width = "640px";
  const [right, bottom] = ["right", "bottom"].map(side => element => element.getBoundingClientRect()[side]);
  const drawn = [...document.querySelectorAll(".js-plotly-plot .main-svg")].filter(one => right(one) > 0);
  return {
    n: drawn.length,
    cut: drawn.filter(one => right(one) > right(one.closest(".card")) + 1).length,
    lower: drawn.filter(one => bottom(one) > bottom(one.closest(".card"))).length,
    ink: getComputedStyle(document.querySelector("h1")).color,
    pressed: [...document.querySelectorAll(".saving, header button")].filter(one => one.offsetParent).length,
  };
}"""
LOOK = """() => [document.documentElement.getAttribute("data-mantine-color-scheme"),
  [...document.querySelectorAll(".main-svg")].some(one => one.hasAttribute("viewBox"))]"""


def test_a_dark_page_prints_dark_on_white_and_no_chart_is_cut(visit):
    page = visit(throughput.PAGE.path, color_scheme="dark")
    page.emulate_media(media="print")
    found = page.evaluate(ON_PAPER)
    assert found["n"] > 0
    assert (found["cut"], found["lower"], found["pressed"]) == (0, 0, 0)
    assert found["ink"] in {"rgb(0, 0, 0)", "rgb(33, 37, 41)"}
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(LOOK) == ["dark", False]


def test_a_small_chart_is_not_enlarged(visit):
    page = visit("/explore?benchmark=mlp&group=batch", graph="#explore-panels")
    page.emulate_media(media="print")
    widths = page.evaluate("""() => {
      const wide = () => document.querySelector("#explore-panels .main-svg").getBoundingClientRect().width;
      const before = wide();
      dispatchEvent(new Event("beforeprint"));
      document.querySelector("#explore-panels").style.display = "block";
      return [before, wide()];
    }""")
    assert widths[0] == widths[1]


TABLES = """() => {
  dispatchEvent(new Event("beforeprint"));
  document.querySelector("#page").style.width = "640px";
  const box = element => element.getBoundingClientRect();
  const cells = [...document.querySelectorAll("#page th, #page td")].filter(one => box(one).width > 0);
  const boxes = [...document.querySelectorAll(".scrolls")];
  return {
    n: cells.length,
    cut: cells.filter(one => box(one).right > box(one.closest(".card")).right + 1).map(one => one.textContent),
    hidden: boxes.filter(one => getComputedStyle(one).overflowX !== "visible").length,
  };
}"""


@pytest.mark.parametrize("path", [f"{compare.PAGE.path}?along=provider", throughput.PAGE.path])
def test_no_column_of_a_wide_table_is_cut(visit, path):
    page = visit(path, graph=None)
    page.emulate_media(media="print")
    found = page.evaluate(TABLES)
    assert found["n"] > 0
    assert (found["cut"], found["hidden"]) == ([], 0)


def test_a_grid_is_printed_as_a_table_of_all_its_rows_and_columns(visit):
    page = visit(profile.PAGE.path, graph=None)
    page.wait_for_selector(".grid .ag-cell")
    page.wait_for_function(FILLED, arg="#page")
    page.emulate_media(media="print")
    found = page.evaluate(TABLES)
    assert (found["cut"], found["hidden"]) == ([], 0)
    printed, wanted, seen = page.evaluate("""() => [
      [...document.querySelectorAll(".on-paper")]
        .map(one => [one.tHead.rows[0].cells.length, one.tBodies[0].rows.length]),
      [...document.querySelectorAll(".grid-slot .grid")].map(one => dash_ag_grid.getApi(one.id))
        .map(api => [api.getAllDisplayedColumns().length, api.getDisplayedRowCount()]),
      [...document.querySelectorAll(".grid")].filter(one => one.getBoundingClientRect().height > 0).length,
    ]""")
    assert printed
    assert (printed, seen) == (wanted, 0)
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.locator(".on-paper, .off-paper").count() == 0
