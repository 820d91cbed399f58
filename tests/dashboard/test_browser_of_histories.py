"""Regressions, Compare and Explore in headless Chromium, as a person uses them."""

from __future__ import annotations

import threading
import tomllib

import pytest
from werkzeug.serving import make_server

from dashboard.app import create_app
from results.store import open_store
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N, AT, BY = 30, 20, 1.06
PAGES = {"/regressions": "Regressions", "/compare": "Compare", "/explore": "Explore"}
ANSWERS = {
    "/regressions": "#regressions-answer:not(:has-text('Judging'))",
    "/compare": "#compare-answer:not(:has-text('Comparing'))",
    "/explore": "#explore-answer:not(:empty)",
}
OVERFLOWING = """() => [...document.querySelectorAll('#page *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scrolls, .js-plotly-plot'))
  .map(one => `${one.tagName.toLowerCase()}.${one.className}`)"""
SELECTED = """() => { const one = document.querySelector('#explore-benchmark');
  return one.value !== '' && one.selectionEnd - one.selectionStart === one.value.length }"""
MARKS = """() => document.querySelector('#explore-graph .js-plotly-plot')?.layout?.shapes
  ?.filter(one => (one.name ?? '').startsWith('change point')).length ?? 0"""


@pytest.fixture
def shown_store(journal_store, journals):
    """Thirty commits; mlp's fused is 6 % slower from the 21st on."""
    sweeps = journals.history(N, operations=("mlp",), batches=(1, 16, 64), hiddens=(256,))
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        sweep.slowdowns.update({("mlp", provider): wobble for provider in sweep.providers})
        if number >= AT:
            sweep.slowdowns["mlp", "fused"] = BY * wobble
    return journal_store(sweeps)


@pytest.fixture
def address(shown_store, tmp_path):
    app = create_app(shown_store, decisions=tmp_path / "decisions.toml")
    server = make_server("127.0.0.1", 0, app.server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


def opened(visit, path, **options):
    page = visit(path, graph=None, **options)
    page.wait_for_selector(ANSWERS[path.partition("?")[0]])
    settle(page, graph=None)
    return page


def test_from_the_overview_a_step_is_three_clicks_from_its_curve(visit, journals):
    page = visit("/", graph=None)
    page.wait_for_selector("#overview-open a")
    assert "+6" in page.inner_text("#overview-open") or "+5" in page.inner_text("#overview-open")
    page.locator("#overview-open .surfaces a").first.click()
    page.wait_for_selector(ANSWERS["/regressions"])
    settle(page, graph="#regressions-graph")
    assert "mlp · fused" in page.inner_text("#regressions-title")
    assert journals.commit_hash(AT)[:8] in page.inner_text("#regressions-facts")
    page.get_by_role("link", name="Curves of its points").click()
    page.wait_for_selector("#explore-graph .js-plotly-plot .main-svg")
    page.wait_for_function(f"() => ({MARKS})() === 1")


@pytest.mark.parametrize("path", PAGES)
def test_a_copied_url_shows_the_same_page_and_back_leads_back(visit, path):
    page = opened(visit, "/regressions")
    page.get_by_role("link", name=PAGES[path], exact=True).click()
    page.wait_for_selector(ANSWERS[path])
    settle(page, graph=None)
    answer = page.inner_text(ANSWERS[path])
    fresh = opened(visit, "/" + page.url.split("/", 3)[3])
    assert fresh.inner_text(ANSWERS[path]) == answer
    if path != "/regressions":
        page.go_back()
        page.wait_for_selector(ANSWERS["/regressions"])


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_of_a_narrow_page(visit, path, scheme):
    page = opened(visit, path, viewport={"width": 400, "height": 900}, color_scheme=scheme)
    assert page.evaluate(OVERFLOWING) == []


def height(page, selector):
    return page.evaluate("name => document.querySelector(name).getBoundingClientRect().height", selector)


def test_a_finding_is_a_short_card_on_a_narrow_page_with_its_name_on_top(visit):
    page = opened(visit, "/regressions", viewport={"width": 400, "height": 900})
    page.wait_for_selector(".listed tbody tr")
    assert height(page, ".listed tbody tr") <= 170
    assert page.locator(".listed td.course + td").first.bounding_box()["width"] >= 200


def test_a_long_name_in_the_answer_stays_on_a_narrow_page(visit):
    page = opened(visit, "/regressions", viewport={"width": 400, "height": 900})
    long = "stats.DistributionsAll.time_distribution_of_all"
    page.evaluate("name => { document.querySelector('.answer').textContent = name }", long)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_the_answer_and_the_open_regressions_share_a_line_of_a_wide_page(visit):
    page = visit("/", graph=None, viewport={"width": 2560, "height": 1400})
    page.wait_for_selector("#overview-open a")
    page.wait_for_selector("#overview-changes .answer")
    settle(page, graph=None)
    answer, regressions = (page.locator(name).bounding_box() for name in ("#overview-changes", "#overview-open"))
    assert answer["y"] == regressions["y"]
    assert answer["width"] == regressions["width"] >= 1000


def test_names_and_headings_wrap_only_where_there_is_no_room(visit):
    page = opened(visit, "/regressions")
    page.wait_for_selector(".finding-link")
    assert height(page, ".finding-link") <= 24
    page.goto(page.url.split("/regressions")[0] + "/compare")
    page.wait_for_selector(".findings.ratios thead th")
    settle(page, graph=None)
    for heading in page.locator(".findings thead th").all():
        assert heading.bounding_box()["height"] <= 36, heading.inner_text()


@pytest.mark.parametrize("path", PAGES)
def test_the_values_are_saved_as_csv(visit, path, tmp_path):
    page = opened(visit, path)
    with page.expect_download() as saving:
        page.get_by_role("link", name="CSV").first.click()
    saving.value.save_as(tmp_path / "values.csv")
    assert (tmp_path / "values.csv").read_text().count("\n") > 1


def test_a_filter_is_in_the_url_and_undone_by_going_back(visit):
    page = opened(visit, "/regressions")
    before = page.inner_text("#regressions-answer")
    page.fill("#regressions-contains", "no such benchmark")
    page.wait_for_url("**contains=no+such+benchmark**")
    page.wait_for_selector("#regressions-answer:has-text('No finding matches')")
    page.go_back()
    page.wait_for_function("text => document.querySelector('#regressions-answer').innerText === text", arg=before)


def test_a_finding_is_acknowledged_and_taken_back_in_the_browser(visit, tmp_path):
    page = opened(visit, "/regressions")
    for button, state in (("Accept it", "acknowledged"), ("Take the acknowledgement back", "confirmed")):
        page.fill("#decision-by", "Ada")
        page.fill("#decision-note", "pays for accuracy")
        page.get_by_role("button", name=button).click()
        page.wait_for_url("**finding=**")
        page.wait_for_selector(f"#regressions-badges:has-text('{state}')")
        settle(page, graph=None)
    assert "acknowledgement" not in tomllib.loads((tmp_path / "decisions.toml").read_text())


def test_the_fields_of_a_decision_are_as_dark_as_the_page(visit):
    page = opened(visit, "/regressions", color_scheme="dark")
    ground = "() => getComputedStyle(document.querySelector('.decision .dash-input-container')).backgroundColor"
    assert page.evaluate(ground) == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_on_a_finding_with_the_form_that_acknowledges_it(visit, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = opened(visit, "/regressions", color_scheme=scheme)
    page.wait_for_selector("#decision-by")
    page.wait_for_selector(".finding-link")
    assert [one["id"] for one in axe.Axe().run(page).response["violations"]] == []


def test_links_of_a_narrow_card_are_large_enough_to_hit(visit):
    page = opened(visit, "/regressions", viewport={"width": 400, "height": 900})
    page.wait_for_selector(".finding-link")
    assert all(one.bounding_box()["height"] >= 24 for one in page.locator(".finding-link").all())


def test_what_takes_a_side_away_is_large_enough_to_hit(visit):
    page = opened(visit, "/compare")
    page.wait_for_selector(".mantine-Pill-remove")
    shown = page.locator(".mantine-Pill-remove:visible").all()
    assert len(shown) == 2  # the commits that are compared
    for one in shown:
        assert min(one.bounding_box()["width"], one.bounding_box()["height"]) >= 24


def test_only_what_changed_is_a_click_on_compare(visit):
    page = opened(visit, "/compare")
    page.locator("#compare-show").get_by_text("only what changed").click()
    page.wait_for_url("**show=significant**")


def test_searching_begins_with_the_text_selected(visit):
    page = opened(visit, "/explore")
    page.click("#explore-benchmark")
    page.wait_for_function(SELECTED)


def test_an_empty_store_says_what_to_do(browser, tmp_path):
    with open_store(str(tmp_path / "empty.db")) as store:
        server = make_server("127.0.0.1", 0, create_app(store).server, threaded=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            page = browser.new_context().new_page()
            for path in PAGES:
                page.goto(f"http://127.0.0.1:{server.server_port}{path}")
                page.wait_for_selector("text=Nothing has been measured yet")
            page.context.close()
        finally:
            server.shutdown()
            thread.join()
