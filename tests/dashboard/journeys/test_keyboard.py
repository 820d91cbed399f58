"""Pages by the keyboard alone: what it is at is seen everywhere, and it comes out of everything."""

from __future__ import annotations

import pytest

from dashboard.app import PAGES
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_STOPS = 90
# What has the focus, and whether it, what stands for it or the field around it has an outline of 2 px on the page.
AT = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const seen = [at, at.nextElementSibling, at.closest('.mantine-Input-input')].filter(Boolean).some(one => {
    const style = getComputedStyle(one), width = one.getBoundingClientRect().width;
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && style.opacity !== '0' && width > 1;
  });
  const bars = [at.closest('.modebar-group'), at.closest('.modebar')].filter(Boolean);
  return {name: `${at.tagName} ${at.id || at.className.baseVal || at.className}`,
          seen: seen && bars.every(bar => getComputedStyle(bar).opacity === '1')};
}"""
ROOM = """() => {
  const input = document.querySelector('#compare-commit'), field = input.closest('.mantine-Input-input');
  const pills = [...field.querySelectorAll('.mantine-Pill-root')];
  return {n: pills.length, lines: new Set(pills.map(one => one.offsetTop)).size, height: field.offsetHeight,
          isBelow: input.offsetTop > pills.at(-1).offsetTop + pills.at(-1).offsetHeight - 4};
}"""


@pytest.fixture
def shown_store(journal_store, journals):
    """A store with more points than a grid shows at once, and subjects too long for a line."""
    sweeps = journals.history(3, batches=(1, 8, 64, 512), hiddens=(256, 1024, 4096), commit_subject="Word " * 30)
    return journal_store(sweeps)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_stop_is_seen_and_there_is_a_way_out(visit, page, scheme):
    shown = visit(page.path, graph=None, color_scheme=scheme)
    shown.wait_for_selector("#page h1")
    stops = []
    for _ in range(MOST_STOPS):
        shown.keyboard.press("Tab")
        settle(shown, graph=None)
        if (at := shown.evaluate(AT)) is None:
            break
        stops.append(at)
    assert 5 < len(stops) < MOST_STOPS
    assert [at["name"] for at in stops if not at["seen"]] == []


def test_two_long_commits_leave_no_empty_line_below_them(visit):
    page = visit("/compare", graph=None)
    page.wait_for_selector("#compare-answer:not(:has-text('Comparing'))")
    settle(page, graph=None)
    room = page.evaluate(ROOM)
    assert (room["n"], room["lines"], room["isBelow"]) == (2, 2, False)
    assert room["height"] < 70
    page.focus("#compare-commit")
    page.keyboard.type("Word Word Word Word Word")  # what one types has the room it needs
    page.wait_for_function("() => document.querySelector('#compare-commit').getBoundingClientRect().width > 100")


def focus(page, graph):
    """Go there by the keyboard: only then is it seen."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("graph => Boolean(document.activeElement.querySelector(`:scope > #${graph}`))", graph):
            return
    pytest.fail(f"the keyboard does not reach {graph}")


def heard(page):
    return page.inner_text(".only-heard")


@pytest.mark.parametrize("page", ["throughput", "explore"])
def test_arrows_go_along_the_curves_and_enter_chooses_a_commit(visit, journals, page):
    graph = "throughput-commits-graph" if page == "throughput" else "explore-graph"
    shown = visit(f"/{page}?operation=mlp&benchmark=mlp&metric=latency_s", graph=None)
    settle(shown, graph=f"#{graph}")
    focus(shown, graph)
    shown.keyboard.press("End")
    assert journals.commit_hash(2)[:10] in heard(shown)
    shown.wait_for_function("graph => document.querySelectorAll(`#${graph} .hovertext`).length === 1", arg=graph)
    first_curve = heard(shown)
    shown.keyboard.press("ArrowDown")
    assert journals.commit_hash(2)[:10] in heard(shown)
    assert (heard(shown) == first_curve) == (page == "explore")  # which has one line here
    shown.keyboard.press("ArrowLeft")
    assert journals.commit_hash(1)[:10] in heard(shown)
    shown.keyboard.press("Enter")
    shown.wait_for_url(f"**commit={journals.commit_hash(1)[:12]}**")
    settle(shown, graph=f"#{graph}")
    shown.keyboard.press("ArrowLeft")  # goes on from there, on the chart that was drawn anew
    assert journals.commit_hash(0)[:10] in heard(shown)
    shown.keyboard.press("Escape")
    shown.wait_for_function("graph => !document.querySelector(`#${graph} .hovertext`)", arg=graph)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_first_stop_leads_past_the_links_of_the_header_to_the_page(visit, page):
    shown = visit(page.path, graph=None)
    shown.wait_for_selector("#page h1")
    shown.wait_for_selector("#page :is(input, a, button):visible")
    before = shown.url
    shown.keyboard.press("Tab")
    assert shown.evaluate("() => document.activeElement.innerText") == "Skip to the page"
    shown.wait_for_function("() => document.activeElement.getBoundingClientRect().top >= 0")
    shown.keyboard.press("Enter")
    shown.keyboard.press("Tab")
    assert shown.evaluate("() => Boolean(document.activeElement.closest('#page'))")
    assert shown.url.partition("#")[::2] == (before.partition("#")[0], "")


def test_the_title_of_the_window_names_the_page(visit):
    shown = visit("/compare", graph=None)
    shown.wait_for_function("() => document.title === 'Compare · fusebench'")
    shown.get_by_role("link", name="Explore", exact=True).press("Enter")
    shown.wait_for_function("() => document.title === 'Explore · fusebench'")


def test_the_header_tells_which_page_is_open(visit):
    shown = visit("/compare", graph=None)
    open_page = (
        "name => [...document.querySelectorAll('[aria-current=page]')].map(one => one.innerText).join() === name"
    )
    shown.wait_for_function(open_page, arg="Compare")
    shown.get_by_role("link", name="Explore", exact=True).press("Enter")
    shown.wait_for_function(open_page, arg="Explore")
    shown.go_back()
    shown.wait_for_function(open_page, arg="Compare")
