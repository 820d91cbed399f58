"""Winner maps by the keyboard: each is one stop, arrows go from cell to cell, Enter and a click follow its link."""

from __future__ import annotations

import pytest

from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BATCHES, HIDDENS = (1, 8, 64), (256, 1024)
CELLS = "table.map a.cell"
STOPS = "table.map a.cell:not([tabindex='-1'])"
# Of the cell that has the focus: which map, row and column it is in, counted from 0; null of anything else.
AT = """() => {
  const cell = document.activeElement.closest('table.map a.cell');
  if (!cell) return null;
  const map = cell.closest('table.map'), column = cell.closest('td').cellIndex - 1;
  return [[...document.querySelectorAll('table.map')].indexOf(map), cell.closest('tr').sectionRowIndex, column];
}"""
MOST_STOPS = 60


@pytest.fixture
def shown_store(journal_store, journals):
    return journal_store(journals.history(3, operations=("linear", "mlp"), batches=BATCHES, hiddens=HIDDENS))


@pytest.fixture
def page(visit):
    page = visit("/", graph=None)
    page.wait_for_selector(CELLS)
    settle(page, graph=None)
    n_maps = page.locator("table.map").count()
    assert page.locator(CELLS).count() == n_maps * len(BATCHES) * len(HIDDENS)
    page.wait_for_function("([stops, n]) => document.querySelectorAll(stops).length === n", arg=[STOPS, n_maps])
    return page


def keys(page, *names):
    for name in names:
        page.keyboard.press(name)
    return page.evaluate(AT)


def come_to_the_first_map(page):
    for _ in range(MOST_STOPS):
        if keys(page, "Tab") is not None:
            return
    pytest.fail("the keyboard does not reach a map")


def test_a_map_is_one_stop_and_left_by_the_next(page):
    come_to_the_first_map(page)
    seen = [page.evaluate(AT)]
    while (at := keys(page, "Tab")) is not None:
        seen.append(at)
    assert [at[0] for at in seen] == list(range(page.locator("table.map").count()))
    keys(page, "Shift+Tab", "ArrowRight", "ArrowDown", "Tab")
    assert keys(page, "Shift+Tab") == [len(seen) - 1, 1, 1]  # where one was before


def test_arrows_go_from_cell_to_cell_and_stop_at_the_edges(page):
    come_to_the_first_map(page)
    assert page.evaluate(AT) == [0, 0, 0]
    assert keys(page, "ArrowLeft") == keys(page, "ArrowUp") == [0, 0, 0]
    assert keys(page, "ArrowRight") == [0, 0, 1]
    assert keys(page, "ArrowDown") == [0, 1, 1]
    assert keys(page, "ArrowDown") == [0, 1, 1]
    assert keys(page, "End") == [0, 1, 2]
    assert keys(page, "ArrowRight") == [0, 1, 2]
    assert keys(page, "Home") == [0, 1, 0]
    assert keys(page, "Control+End") == [0, 1, 2]
    assert keys(page, "Control+Home") == [0, 0, 0]
    assert page.locator(STOPS).count() == page.locator("table.map").count()
    hint = page.evaluate("() => getComputedStyle(document.querySelector('.map-box'), '::after').content")
    assert "Arrow keys" in hint


def test_enter_opens_the_cells_link(page):
    come_to_the_first_map(page)
    keys(page, "ArrowRight", "ArrowDown")
    link = page.evaluate("() => document.activeElement.getAttribute('href')")
    assert "hidden=1024" in link
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{link}")
    page.wait_for_selector("#throughput-batch-graph .main-svg")


def test_a_click_opens_it_too_and_going_back_leaves_one_stop_a_map(page):
    cell = page.locator(CELLS).nth(len(BATCHES) + 1)  # the second hidden dim, the second batch
    link, n_maps = cell.get_attribute("href"), page.locator("table.map").count()
    assert "hidden=1024" in link
    cell.click()
    page.wait_for_url(f"**{link}")
    page.wait_for_selector("#throughput-batch-graph .main-svg")
    page.go_back()
    page.wait_for_function("([stops, n]) => document.querySelectorAll(stops).length === n", arg=[STOPS, n_maps])


def test_shapes_that_were_not_measured_are_passed_over(page):
    come_to_the_first_map(page)
    page.evaluate("() => document.querySelectorAll('table.map td')[1].replaceChildren('not measured')")
    assert keys(page, "ArrowRight") == [0, 0, 2]
    assert keys(page, "ArrowLeft") == [0, 0, 0]
