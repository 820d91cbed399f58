"""Marks of every chart by the keyboard: each is reached in the order of x, shown and heard; where it can be, chosen."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_KEYS = 400
PROFILE = "/profile?machine=gpu-01&batch=16&provider=eager&against=none&base=a1a1a1a1"
# Of each page: the store, its path, and how many charts are shown.
CHARTS = {
    "curves over batch": ("swept", "/throughput?operation=mlp", 2),
    "bars of few batches": ("profiled", "/throughput", 2),
    "small charts over hidden dim": ("swept", "/throughput?operation=mlp&multiples=hidden", 3),
    "a line of Explore": ("swept", "/explore?benchmark=mlp&metric=latency_s", 1),
    "small charts of Explore": ("swept", "/explore?benchmark=mlp&metric=latency_s&group=hidden", 2),
    "ratios": ("swept", "/compare", 1),
    "a finding": ("planted", "/regressions", 1),
    "points without a roof": ("swept", "/roofline?operation=mlp", 1),
    "points below their roofs": ("profiled", "/roofline?machine=gpu-01", 1),
    "bars of a profile and its difference": ("profiled", PROFILE, 4),
}
# Texts of the marks that a chart shows, as they are heard; of what has one text for all its marks, its name.
TEXTS = """chart => {
  const heard = text => { const one = document.createElement('template');
    one.innerHTML = text.replaceAll('<br>', '; '); return one.content.textContent; };
  return chart.querySelector('.js-plotly-plot').data.filter(trace => trace.hoverinfo !== 'skip')
    .flatMap(trace => trace.hovertext ? Array.from(trace.hovertext).filter(Boolean) : [trace.name]).map(heard);
}"""
# Plotly takes twenty hovers a second at most.
SHOWN_AT = """async chart => {
  await new Promise(resolve => setTimeout(resolve, 60));
  const labels = [...chart.querySelectorAll('.hovertext')];
  const at = chart.querySelector('.js-plotly-plot')._hoverdata[0], bar = at.fullData.type === 'bar';
  const start = bar ? at.fullData.base?.[at.pointNumber] ?? 0 : at.x;
  return [labels.length, at.xaxis.d2p(start), at.yaxis.d2p(at.y)];
}"""
# Pages of small charts, and what the second of them is of.
OPENED = {
    "/throughput?operation=mlp&multiples=hidden": "hidden=1024",
    "/explore?benchmark=mlp&metric=latency_s&group=hidden": "where=hidden%3D1024",
}


@pytest.fixture
def shown_store(request):
    """Named by the test: points of four commits, where a contender crashes, profiles, or forty commits and a change."""
    match getattr(request, "param", "swept"):
        case "planted":
            return request.getfixturevalue("planted")
        case "profiled":
            return request.getfixturevalue("profiled_store")()
    journals, journal_store = map(request.getfixturevalue, ("journals", "journal_store"))
    states = {("mlp", "compiled"): "crashed"}
    return journal_store(journals.history(4, batches=(1, 8, 64), hiddens=(256, 1024), states=states))


def charts_of(page):
    page.wait_for_selector(".js-plotly-plot .main-svg", state="attached")
    settle(page, graph=None)
    assert page.locator(".js-plotly-plot").count() == page.locator(".by-keyboard .js-plotly-plot").count()
    return [chart for chart in page.locator(".by-keyboard").all() if chart.is_visible()]


def heard(page):
    return page.text_content(".only-heard")


def walk(page, chart):
    """Go to every mark by the arrow keys alone; return the texts heard, and where in which line each was shown."""
    has_bars = chart.evaluate("one => one.querySelector('.js-plotly-plot').data.some(trace => trace.type === 'bar')")
    chart.focus()
    found, n_keys = {}, 0
    while n_keys < MOST_KEYS:
        page.keyboard.press("Home" if not has_bars or not found else "ArrowRight")
        line, before = [], None
        while (now := (heard(page), *chart.evaluate(SHOWN_AT))) != before and n_keys < MOST_KEYS:
            before = now
            line.append(now)
            page.keyboard.press("ArrowRight")
            n_keys += 1
        if line[0][0] in found:
            break
        found |= {text: where for text, *where in line}
        assert all(n == 1 for _, n, _, _ in line)
        if not has_bars:
            assert all(one[2] <= other[2] for one, other in pairwise(line))
        else:  # as lines of a text are read
            assert all((one[3], one[2]) < (other[3], other[2]) for one, other in pairwise(line))
            break
        page.keyboard.press("ArrowDown")
    return found


def check_charts(page, *, n):
    charts = charts_of(page)
    assert len(charts) == n
    for chart in charts:
        texts = chart.evaluate(TEXTS)
        assert texts
        assert set(walk(page, chart)) == set(texts)
        page.keyboard.press("Escape")
        page.wait_for_function("() => !document.querySelector('.hovertext')")
        assert heard(page) == ""


@pytest.mark.parametrize(("shown_store", "path", "n"), CHARTS.values(), ids=CHARTS, indirect=["shown_store"])
def test_every_mark_is_reached_shown_and_heard(visit, path, n):
    check_charts(visit(path, graph=None), n=n)


def test_enter_leads_from_a_point_of_the_roofline_to_its_profile(visit):
    page = visit("/roofline?operation=mlp", graph=None)
    chart = charts_of(page)[0]
    chart.focus()
    page.keyboard.press("ArrowDown")
    while "fused" not in heard(page):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#roofline-picked a")
    assert "fused" in page.inner_text("#roofline-picked")


@pytest.mark.parametrize(("path", "chosen"), OPENED.items())
def test_enter_on_a_small_chart_opens_it_as_its_title_does(visit, path, chosen):
    page = visit(path, graph=None)
    chart = charts_of(page)[1]
    assert chart.get_attribute("aria-label").endswith("Arrow keys go from mark to mark, Enter opens it")
    href = chart.locator("xpath=../h3/a").get_attribute("href")
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => !document.querySelector('.panel')")
    assert chosen in href
    assert chosen in page.url
    page.go_back()
    page.wait_for_selector(".panel")


def test_where_nothing_can_be_chosen_enter_is_not_promised_and_does_nothing(visit):
    page = visit("/compare", graph=None)
    chart = charts_of(page)[0]
    chart.focus()
    page.keyboard.press("ArrowRight")
    told, before = heard(page), page.url
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert (heard(page), page.url) == (told, before)
    assert "Enter" not in chart.get_attribute("aria-label")
