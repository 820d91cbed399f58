"""Pages served from PostgreSQL read word for word as from SQLite."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from werkzeug.serving import make_server

from dashboard.app import create_app
from results.store import open_store
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Of each page: its path, and what it has drawn when it is done.
PAGES = {
    "Overview": ("/", "#overview-maps .map a, #overview-failing .card"),
    "Throughput": ("/throughput?operation=mlp", "#throughput-commits-graph .main-svg"),
    "Regressions": ("/regressions", "#regressions-findings tbody tr"),
    "Compare": ("/compare", "#compare-graph .main-svg"),
    "Explore": ("/explore?benchmark=mlp&metric=latency_s", "#explore-graph .main-svg"),
}
# What a person reads: without the chart's own letters, of which its place on the page decides some.
WORDS = """() => [...document.querySelectorAll('header nav, #page, #footer')].map(one => one.innerText).join('\\n')"""


@contextmanager
def served(store):
    server = make_server("127.0.0.1", 0, create_app(store).server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def addresses(tmp_path_factory, databases, journals):
    """Of each database the address of a dashboard over it; both are filled from the same files, with a change."""
    folder = tmp_path_factory.mktemp("same")
    states = {("linear", "compiled"): "crashed"}
    sweeps = journals.history(40, operations=("linear", "mlp"), batches=(1, 64), hiddens=(256,), states=states)
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        for provider in sweep.providers:
            sweep.slowdowns["mlp", provider] = wobble * (1.06 if provider == "fused" and number >= 25 else 1)
    journals.write_journals(folder, sweeps)
    with (
        databases("sqlite", folder) as file,
        databases("postgresql", folder) as server,
        open_store(file) as sqlite,
        open_store(server) as postgresql,
    ):
        for store in (sqlite, postgresql):
            assert store.ingest([folder]).problems == ()
        with served(sqlite) as one, served(postgresql) as other:
            yield {"sqlite": one, "postgresql": other}


@pytest.fixture(scope="module")
def address(addresses):
    """The address of the one whose pages may not complain; what is asked of the other stays apart."""
    return addresses["postgresql"]


def words_of(page, drawn):
    page.wait_for_selector(drawn, state="attached")
    settle(page, graph=None)
    assert page.inner_text("#fault") == ""
    return page.evaluate(WORDS)


@pytest.mark.parametrize(("path", "drawn"), PAGES.values(), ids=PAGES)
def test_a_page_reads_the_same_from_either_database(visit, browser, addresses, path, drawn):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    expected = context.new_page()
    expected.goto(addresses["sqlite"] + path)
    words = words_of(expected, drawn)
    context.close()
    assert len(words) > 300
    assert words_of(visit(path, graph=None), drawn) == words
