"""Pages on a phone and on a large screen: nothing is cut off unsaid, no command is broken, no row spans a void."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N, AT = 30, 20
NARROW, WIDE = {"width": 400, "height": 900}, {"width": 2560, "height": 1300}
HINT = """map => getComputedStyle(map.querySelector('.detail'), '::after').content"""
LINES = """pre => {
  const style = getComputedStyle(pre);
  const height = pre.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  return [Math.round(height / parseFloat(style.lineHeight)), pre.innerText.trim().split('\\n').length];
}"""


@pytest.fixture
def shown_store(journal_store, journals):
    """Commits of mlp at six batches and of linear at two; mlp is slower from the 21st on."""
    sweeps = journals.history(N, operations=("mlp",), batches=(1, 8, 16, 64, 256, 512), hiddens=(256,))
    few = journals.history(N, operations=("linear",), batches=(1, 64), hiddens=(256,))
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        sweep.slowdowns.update({("mlp", provider): wobble for provider in sweep.providers})
        if number >= AT:
            sweep.slowdowns["mlp", "fused"] = 1.3 * wobble
    return journal_store([*sweeps, *few])


def opened(visit, path, selector, **options):
    page = visit(path, graph=None, **options)
    page.wait_for_selector(selector)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    return page


def test_a_map_that_is_cut_off_says_that_it_scrolls_and_one_that_is_not_says_nothing(visit):
    page = opened(visit, "/", ".map-box", viewport=NARROW)
    maps = {one.inner_text().split()[0]: one for one in page.locator(".map-box").all()}
    assert "sideways" in maps["mlp"].evaluate(HINT)
    assert "sideways" not in maps["linear"].evaluate(HINT)
    box = maps["mlp"].locator(".scrolls")
    assert box.get_attribute("data-more") is not None
    box.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    page.wait_for_function("() => !document.querySelector('.map-box .scrolls[data-more]')")
    last = maps["mlp"].locator("tbody tr td").last.bounding_box()
    assert last["x"] + last["width"] <= NARROW["width"]
    page.set_viewport_size(WIDE)
    page.wait_for_function("() => !document.querySelector('.scrolls[data-scrolls]')")
    assert "sideways" not in maps["mlp"].evaluate(HINT)


def test_commands_keep_their_lines_on_a_narrow_page(visit):
    page = opened(visit, "/throughput?operation=mlp", ".commands", viewport=NARROW)
    drawn, written = page.locator(".commands").evaluate(LINES)
    assert drawn == written
    assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW["width"]


def test_an_option_of_a_command_is_in_one_line(visit):
    page = opened(visit, "/regressions", "#regressions-facts code", viewport=NARROW)
    words = page.locator("#regressions-facts code .word")
    assert "--oneline" in words.all_inner_texts()
    for width in range(320, 480, 10):
        page.set_viewport_size({"width": width, "height": 900})
        assert words.evaluate_all("all => all.every(one => one.getClientRects().length === 1)"), width


@pytest.mark.parametrize(("path", "row"), [("/compare", ".ratios tbody tr"), ("/regressions", ".findings tbody tr")])
def test_on_a_wide_page_chart_and_list_stand_side_by_side(visit, path, row):
    page = opened(visit, path, row, viewport=WIDE)
    chart, listed = (card.bounding_box() for card in page.locator(".pair > *").all())
    assert chart["y"] == listed["y"]
    assert chart["x"] + chart["width"] < listed["x"]


def test_without_a_finding_the_list_has_the_whole_width(visit):
    page = opened(visit, "/regressions?contains=nothing", "#regressions-answer:has-text('No')", viewport=WIDE)
    [listed] = (card.bounding_box() for card in page.locator(".pair > *").all() if card.is_visible())
    assert listed["width"] > 0.9 * WIDE["width"]
