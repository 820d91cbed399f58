"""Pages on a phone and on a large screen: nothing is cut off unsaid, no command is broken, no row spans a void."""

from __future__ import annotations

import pytest

from dashboard.app import PAGES
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N, AT = 30, 20
NARROW, WIDE = {"width": 400, "height": 900}, {"width": 2560, "height": 1300}
HINT = """map => getComputedStyle(map.querySelector('.detail'), '::after').content"""
HINTS = """map => [...map.querySelectorAll('.detail')]
  .map(each => getComputedStyle(each, '::after').content)"""
LINES = """pre => {
  const style = getComputedStyle(pre);
  const height = pre.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  return [Math.round(height / parseFloat(style.lineHeight)), pre.innerText.trim().split('\\n').length];
}"""

MEANS = (
    "- fa6c3a38 2026-11-22 Tests of whole runs, documents …", "-1.3 %", "-8.5 % to +4.7 %", "54",
    "6 without a ratio, 360 on this side only", "0", "0", "none that are recorded",
)  # fmt: skip
LONG_NAME = (
    "linear [provider=compiled, pass=forward_backward, activation=None, batch=16, hidden=4096, dim=1024, weights=plain]"
)
LONGER = """() => document.querySelectorAll('.beside .mantine-Pill-label')
  .forEach(one => { one.textContent += ' A subject that is as long as subjects become, and goes on for a while'; })"""


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
    settle(page, graph=None)
    return page


def test_a_map_that_is_cut_off_says_that_it_scrolls_and_one_that_is_not_says_nothing(visit):
    page = opened(visit, "/", ".map-box .scrolls[data-more]", viewport=NARROW)
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


def test_of_two_paragraphs_over_a_map_the_nearer_one_says_that_it_scrolls(visit):
    """As over the map of a GPU, which tells of its clocks, too."""
    page = opened(visit, "/", ".map-box .scrolls[data-more]", viewport=NARROW)
    one = page.locator(".map-box", has_text="mlp").first
    one.evaluate("map => map.insertBefore(map.querySelector('.detail').cloneNode(true), map.querySelector('.detail'))")
    said = one.evaluate(HINTS)
    assert ["sideways" in each for each in said] == [False, True]


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


def test_on_a_wide_page_no_name_of_a_compared_point_wraps(visit):
    page = opened(visit, "/compare", ".ratios tbody tr", viewport=WIDE)
    names = page.locator(".ratios tbody td:first-child")
    before = names.first.bounding_box()["height"]
    names.evaluate_all("(all, name) => all.forEach(one => { one.innerText = name; })", LONG_NAME)
    page.locator(".ratios tbody td:last-child").evaluate_all(
        "(all, text) => all.forEach(one => { one.innerText = text; })", "+6.5 % [-16.7 % to +36.3 %] undecided"
    )
    assert names.first.bounding_box()["height"] == before


def test_the_means_of_two_commits_with_long_subjects_fit_a_window_of_1440(visit):
    page = opened(visit, "/compare", "#compare-means tbody td")
    page.locator("#compare-means tbody td").evaluate_all(
        "(all, texts) => all.forEach((one, i) => { (one.querySelector('.provider') ?? one).innerText = texts[i]; })",
        MEANS,
    )
    assert page.locator("#compare-means .scrolls").evaluate("one => one.scrollWidth - one.clientWidth") == 0


@pytest.mark.parametrize("width", [720, 900])
def test_at_twice_the_zoom_the_means_of_two_commits_fit_and_no_name_is_broken_letter_by_letter(visit, width):
    page = opened(visit, "/compare", "#compare-means tbody td", viewport={"width": width, "height": 450})
    page.locator("#compare-means tbody td").evaluate_all(
        "(all, texts) => all.forEach((one, i) => { (one.querySelector('.provider') ?? one).innerText = texts[i]; })",
        MEANS,
    )
    assert page.locator("#compare-means .scrolls").evaluate("one => one.scrollWidth - one.clientWidth") == 0
    assert page.locator("#compare-means tbody td").first.bounding_box()["width"] >= 100


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_on_a_phone_at_twice_the_zoom_nothing_is_beside_the_page(visit, path):
    page = opened(visit, path, "#page h1", viewport={"width": 200, "height": 400})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 200


def test_many_sides_have_the_whole_width_below_their_chart(visit, journals):
    query = "&".join(f"commit={journals.commit_hash(number)[:12]}" for number in range(20, 26))
    page = opened(visit, f"/compare?{query}", ".ratios tbody tr", viewport=WIDE)
    chart, listed = (card.bounding_box() for card in page.locator(".pair > *").all())
    assert listed["y"] > chart["y"] + chart["height"] - 1


def test_two_long_commits_leave_no_empty_line(visit, journals):
    *beside, newest = (journals.commit_hash(number)[:12] for number in (3, 4, N - 1))
    page = opened(
        visit, f"/throughput?operation=mlp&commit={newest}&commits={','.join(beside)}", ".beside .mantine-Pill-root"
    )
    page.evaluate(LONGER)
    boxes = [one.bounding_box() for one in page.locator(".beside .mantine-Pill-root").all()]
    assert boxes[0]["y"] < boxes[1]["y"]
    field = page.locator(".beside .mantine-MultiSelect-input").bounding_box()
    assert field["y"] + field["height"] - (boxes[1]["y"] + boxes[1]["height"]) < 12
