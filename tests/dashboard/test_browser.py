"""The dashboard in headless Chromium, as a person uses it."""

from __future__ import annotations

import pytest

from dashboard.app import PAGES
from results.store import open_store
from tests.in_chromium import figure, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LINES = """() => document.querySelector('#explore-graph .js-plotly-plot').data.map(trace => trace.name)"""

SLOW_CHARTS = """() => {
  const react = window.Plotly.react;
  window.Plotly.react = async (...given) => {
    await new Promise(done => setTimeout(done, 1_500));
    return react(...given);
  };
}"""


def pick(page, selector, value):
    page.click(f"#throughput-{selector}")
    before = page.url
    page.get_by_role("option", name=value, exact=True).click()
    page.wait_for_function("before => location.href !== before", arg=before)
    settle(page)


def test_a_copied_url_shows_the_same_curve_in_a_fresh_page(visit, journals):
    page = visit()
    at_first = figure(page, "commits")
    pick(page, "operation", "linear")
    pick(page, "hidden", "256")
    chosen = {name: figure(page, name) for name in ("batch", "commits")}
    assert chosen["commits"] != at_first
    bars = next(trace for trace in chosen["batch"] if trace["name"] == "fused")
    sweep = journals.history(5)[-1]
    expected = [batch / journals.latency_s(sweep, "linear", "fused", batch, 256) for batch in (1, 64)]
    assert bars["x"] == pytest.approx(expected)

    fresh = visit(page.url)
    assert {name: figure(fresh, name) for name in ("batch", "commits")} == chosen
    fresh.reload()
    settle(fresh)
    assert {name: figure(fresh, name) for name in ("batch", "commits")} == chosen


def test_a_page_has_settled_once_its_charts_are_drawn_on_a_machine_however_slow(visit):
    page = visit("/throughput?operation=mlp")
    page.evaluate(SLOW_CHARTS)
    pick(page, "operation", "linear")
    assert figure(page, "commits") == figure(visit(page.url), "commits")


def test_hiding_a_provider_is_in_the_url_and_undone_by_going_back(visit):
    page = visit("/throughput?operation=mlp")
    assert "compiled" in {trace["name"] for trace in figure(page, "batch")}
    page.locator("#page").get_by_text("compiled", exact=True).first.click()
    page.wait_for_url("**providers=eager,fused**")
    settle(page)
    assert "compiled" not in {trace["name"] for trace in figure(page, "batch")}
    page.go_back()
    page.wait_for_function("() => !location.href.includes('providers')")
    page.wait_for_function(
        "() => document.querySelector('#throughput-batch-graph .js-plotly-plot').data.some(t => t.name === 'compiled')"
    )


def test_a_click_on_a_commit_takes_the_other_curve_there(visit, journals):
    page = visit("/throughput?operation=mlp")
    mark = page.locator("#throughput-commits-graph .scatterlayer .points path").first
    box = mark.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url(f"**commit={journals.commit_hash(0)[:12]}**")
    page.wait_for_function("() => document.querySelector('#throughput-batch-note').innerText.includes('number 0')")


def test_what_crashed_is_told_with_its_reason(visit):
    page = visit("/throughput?operation=gated_mlp")
    assert "compiled is crashed in this test" in page.inner_text("#throughput-winners")


def test_the_page_is_readable_in_the_dark(visit):
    page = visit("/throughput", color_scheme="dark")
    colours = page.evaluate("""() => [
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('#throughput-commits-graph .xtick text')).fill]""")
    page_light, text_light = (sum(map(int, c.removeprefix("rgb(").removesuffix(")").split(","))) for c in colours)
    assert text_light - page_light > 300


def test_the_history_of_a_line_is_chosen_and_copied_by_its_url(visit):
    page = visit()
    page.get_by_role("link", name="Explore").click()
    page.wait_for_selector("#explore-graph .js-plotly-plot .scatterlayer .js-line")
    page.click("#explore-lines")
    page.get_by_role("option", name="provider=fused").first.click()
    page.wait_for_function("() => new URLSearchParams(location.search).getAll('line').length === 2")
    settle(page, graph="#explore-graph")
    names = page.evaluate(LINES)
    assert any("provider=fused" in name for name in names)
    fresh = visit(page.url, graph="#explore-graph")
    assert fresh.evaluate(LINES) == names


def test_from_the_overview_one_click_leads_to_the_answer_at_a_shape(visit):
    page = visit("/", graph=None)
    page.wait_for_selector("text=Did the last commit make it slower?")
    page.wait_for_selector(".answer")
    page.get_by_role("link", name="batch 64, hidden 1024: fused").first.click()  # the name that is heard
    page.wait_for_selector("#throughput-answer h1")
    assert "Run fused at 64" in page.inner_text("#throughput-answer h1").replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "batch=64" in page.url


def test_on_a_narrow_page_speedups_are_short_cards_and_the_map_keeps_its_hidden_dims(visit):
    page = visit("/", graph=None, viewport={"width": 400, "height": 900})
    page.wait_for_selector(".headlines tbody tr")
    heights = page.evaluate("() => [...document.querySelectorAll('.headlines tbody tr')].map(one => one.offsetHeight)")
    assert max(heights) <= 150
    box = page.locator(".maps .scrolls").first
    box.evaluate("one => { one.scrollLeft = 60 }")
    head = box.locator("tbody th").first
    assert head.bounding_box()["x"] >= box.bounding_box()["x"] - 1
    assert page.locator(".map .down").first.bounding_box()["height"] <= 24


def test_in_a_card_of_a_narrow_page_the_name_of_a_provider_is_whole(visit):
    page = visit("/throughput?operation=mlp", viewport={"width": 400, "height": 900})
    for name in page.locator(".winners td .provider").all():
        assert name.bounding_box()["height"] <= 24, name.inner_text()


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_a_first_visit_loads_two_megabytes_at_most(browser, address, path):
    page = browser.new_context().new_page()
    sizes = []
    page.on("requestfinished", lambda asked: sizes.append(asked.sizes()["responseBodySize"]))
    page.goto(address + path)
    page.wait_for_selector("#overview-maps table" if path == "/" else ".js-plotly-plot .main-svg", state="attached")
    settle(page, graph=None)
    page.context.close()
    assert 0 < sum(sizes) < 2e6


def test_a_chart_is_saved_with_its_title_and_units_and_its_values_as_csv(visit, tmp_path):
    page = visit("/throughput?operation=mlp&hidden=1024")
    card = page.locator("#throughput-commits-card")
    with page.expect_download() as saving:
        card.get_by_role("button", name="SVG").click()
    saving.value.save_as(tmp_path / "chart.svg")
    picture = (tmp_path / "chart.svg").read_text()
    assert "Over commits" in picture
    assert "Throughput, rows/s" in picture
    assert "fused" in picture
    assert saving.value.suggested_filename.startswith("fusebench-over-commits")
    with page.expect_download() as saving:
        card.get_by_role("link", name="CSV").click()
    saving.value.save_as(tmp_path / "values.csv")
    assert (tmp_path / "values.csv").read_text().startswith("project,commit,")


def test_a_page_draws_itself_anew_when_the_store_grows(visit, shown_store, journals, tmp_path):
    page = visit("/throughput?operation=mlp&hidden=1024")
    assert "5 commits" in page.inner_text("#throughput-commits-note")
    journals.write_journals(tmp_path / "more", journals.history(7))
    with open_store(shown_store.name) as other:
        other.ingest([tmp_path / "more"])
    page.evaluate("() => window.fusebenchLooksNow()")
    page.wait_for_function("() => document.querySelector('#throughput-commits-note')?.innerText.includes('7 commits')")
    assert "hidden=1024" in page.url
