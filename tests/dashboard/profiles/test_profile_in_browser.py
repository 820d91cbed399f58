"""Page *Profile* in headless Chromium: links, going back, dark and narrow pages, and nothing asked for elsewhere."""

from __future__ import annotations

import threading

import pytest
from werkzeug.serving import make_server

from dashboard.app import create_app
from tests.in_chromium import FILLED, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

URL = "/profile?machine=gpu-01&batch=16&provider=eager"
COMPARED = f"{URL}&against=none&base=a1a1a1a1"
GRAPH = "#profile-times-graph"
OVERFLOWING = """() => [...document.querySelectorAll('#page *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scrolls, .js-plotly-plot'))
  .map(one => `${one.tagName}.${one.className}`)"""

CALLS = """() => {
  const linear = one => { one /= 255; return one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4; };
  const luminance = colour => {
    const [red, green, blue] = colour.match(/[0-9.]+/g).slice(0, 3).map(Number).map(linear);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const bar = document.querySelector('#profile-flames-graph .barlayer .point');
  const key = [...document.querySelectorAll('.provider')].find(one => one.innerText === 'calls the frames below it');
  const [fill, text] = ['path', 'text'].map(one => getComputedStyle(bar.querySelector(one)).fill);
  const isAsInTheKey = fill === getComputedStyle(key.querySelector('.square')).backgroundColor;
  return {fill: luminance(fill), text: luminance(text), isAsInTheKey};
}"""


@pytest.fixture
def address(profiled_store):
    server = make_server("127.0.0.1", 0, create_app(profiled_store()).server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


def opened(visit, url=URL, **options):
    page = visit(url, graph=None, **options)
    page.wait_for_selector(f"{GRAPH} .js-plotly-plot .main-svg", state="attached")
    page.wait_for_selector("#profile-operators .ag-row")
    settle(page, graph=None)
    page.wait_for_function(FILLED, arg="#page")
    return page


def answer_of(page):
    return page.inner_text("#profile-answer h1").replace("\N{NARROW NO-BREAK SPACE}", " ")


def pick(page, selector, value):
    before = page.url
    page.click(f"#profile-{selector}")
    page.get_by_role("option", name=value, exact=True).click()
    page.wait_for_function("before => location.href !== before", arg=before)


def test_a_copied_url_shows_the_same_comparison_and_going_back_undoes_it(visit):
    page = opened(visit)
    assert answer_of(page).startswith("eager takes 112 µs")
    pick(page, "against", "fused")
    page.wait_for_function("() => document.querySelector('#profile-answer h1').innerText.includes('fused')")
    answer = answer_of(page)
    assert "against=fused" in page.url
    assert answer_of(opened(visit, page.url)) == answer
    page.go_back()
    page.wait_for_function("() => document.querySelector('#profile-answer h1').innerText.startsWith('eager takes 112')")


def test_a_changed_shape_travels_to_the_next_page(visit):
    page = opened(visit)
    pick(page, "batch", "256")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#nav a')].some(one => one.href.includes('/roofline?')) &&"
        " [...document.querySelectorAll('#nav a')].every(one => !one.href.includes('batch=16'))"
    )
    page.get_by_role("link", name="Throughput").click()
    page.wait_for_url("**/throughput?**batch=256**")


def test_tables_sort_by_their_headings_and_filter(visit):
    page = opened(visit)
    cells = page.locator("#profile-kernels .ag-row [col-id=device_time_s]")
    assert [text.strip() for text in cells.all_inner_texts()] == ["52.0 µs", "30.0 µs", "10.0 µs", "6.00 µs"]
    page.locator("#profile-kernels .ag-header-cell[col-id=device_time_s] .ag-header-cell-text").click()
    page.wait_for_function(
        """() => document.querySelector('#profile-kernels .ag-row[row-index="0"] [col-id=device_time_s]')
                 .innerText.trim() === '6.00 µs'"""
    )


def test_a_trace_and_a_table_are_saved(visit, tmp_path):
    page = opened(visit)
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save the trace").click()
    assert saving.value.suggested_filename.endswith("eager.json.gz")
    with page.expect_download() as saving:
        page.locator("#profile-kernels-csv").click()
    saving.value.save_as(tmp_path / "kernels.csv")
    assert (tmp_path / "kernels.csv").read_text().startswith("words,count,device_time_s,")


def test_the_table_of_a_difference_says_of_each_change_which_way_it_went(visit):
    page = opened(visit, COMPARED)
    page.wait_for_selector(".ag-cell[col-id=change_s]")
    changes = page.locator(".ag-cell[col-id=change_s]").all_inner_texts()
    assert {one[0] for one in changes} == {"+", "0"}
    written = page.evaluate("[-1.2e-6, 1.2e-6, 0, null].map(one => dashAgGridFunctions.change(one, 's'))")
    assert written == ["\N{MINUS SIGN}1.20 µs", "+1.20 µs", "0 s", "–"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_of_a_narrow_page(visit, scheme):
    page = opened(visit, COMPARED, color_scheme=scheme, viewport={"width": 400, "height": 900})
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_tables_are_readable_in_the_dark(visit):
    page = opened(visit, color_scheme="dark")
    sums = page.evaluate("""() => {
        const sum = colour => colour.match(/[0-9]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b);
        const row = document.querySelector('#profile-operators .ag-row');
        const cell = row.querySelector('.ag-cell');
        return [sum(getComputedStyle(row).backgroundColor), sum(getComputedStyle(cell).color)];
    }""")
    assert sums[1] - sums[0] > 300


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_frame_that_only_calls_is_no_lamp_in_the_dark_and_is_read_in_either(visit, scheme):
    page = opened(visit, color_scheme=scheme)
    page.wait_for_selector("#profile-flames-graph .barlayer .point text")
    found = page.evaluate(CALLS)
    assert found["isAsInTheKey"]
    assert (found["fill"] < 0.2) == (scheme == "dark")
    lighter, darker = sorted((found["fill"] + 0.05, found["text"] + 0.05), reverse=True)
    assert lighter / darker >= 4.5


def test_the_side_of_the_flame_graph_is_in_the_url(visit):
    page = opened(visit)
    page.locator("#profile-side").get_by_text("device", exact=True).click()
    page.wait_for_url("**side=device**")
    page.wait_for_function(
        "() => document.querySelector('#profile-flames-graph .js-plotly-plot').data[0].name === 'device stacks'"
    )


def test_a_first_visit_of_a_page_with_tables_loads_two_megabytes_at_most(browser, address):
    page = browser.new_context().new_page()
    sizes = []
    page.on("requestfinished", lambda asked: sizes.append(asked.sizes()["responseBodySize"]))
    page.goto(address + URL)
    page.wait_for_selector("#profile-operators .ag-row")
    settle(page, graph=None)
    page.context.close()
    assert 0 < sum(sizes) < 2e6


@pytest.mark.parametrize("width", [1440, 1920])
def test_what_was_expected_is_beside_what_was_seen_without_scrolling(visit, address, width):
    page = opened(visit, viewport={"width": width, "height": 900})
    page.evaluate("""() => {
      const [name, , , told] = document.querySelector('#profile-expected tbody tr').children;
      name.innerText = 'Device idle between kernels, profiled';
      told.innerText = 'other operators than expected';
    }""")
    box = page.query_selector("#profile-expected .scrolls")
    assert box.evaluate("one => one.scrollWidth - one.clientWidth") == 0
