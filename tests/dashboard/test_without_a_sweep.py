"""Pages over a store of another project's asv results alone."""

from __future__ import annotations

import pytest

from dashboard.app import PAGES, page_and_links
from dashboard.views.overview import maps_view_of
from results.store import open_store


@pytest.fixture
def suite(tmp_path, write_asv_tree):
    folder = write_asv_tree(tmp_path / "results", times=[[4e-6, 4e-5]], tracked=[10.0])
    with open_store(str(tmp_path / "suite.db")) as store:
        store.ingest([folder])
        yield store


def test_where_there_is_no_sweep_the_pages_that_need_none_are_left(suite):
    page, links = page_and_links("/explore", suite)
    assert "explore-graph" in str(page)
    assert {link.children for link in links} == {page.name for page in PAGES if not page.needs_sweep}
    assert [link.children for link in links if link.className == "link here"] == ["Explore"]
    assert "overview-maps" in str(page_and_links("/", suite)[0])


@pytest.mark.parametrize("name", ["Throughput", "Profile", "Roofline"])
def test_a_page_of_the_sweep_says_that_there_is_none_and_where_to_look(suite, name):
    page, links = page_and_links(f"/{name.lower()}", suite)
    text = str(page)
    assert f"{name} has nothing to show" in text
    assert "make bench" in text
    assert all(f"href='{link.href}'" in text for link in links)
    assert not [link for link in links if link.className == "link here"]


@pytest.mark.parametrize(("machine", "problems"), [
    ("laptop", ()), ("nowhere", ("Nothing was measured of machine nowhere; there are laptop. Showing all.",)),
])  # fmt: skip
def test_a_machine_of_another_store_is_told_on_the_overview(suite, machine, problems):
    assert maps_view_of(suite, query=f"?machine={machine}").problems == problems


@pytest.fixture
def shown_store(suite):
    return suite


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if not page.needs_sweep], ids=lambda page: page.name)
def test_a_page_asks_for_nothing_more_once_it_is_drawn(visit, page):
    shown = visit(page.path, graph=None)
    shown.wait_for_selector("#page h1")
    asked = []
    shown.on("request", lambda sent: asked.append(sent.post_data))
    for _ in range(10):  # on a busy machine the first questions come late
        asked.clear()
        shown.wait_for_timeout(2_000)
        if len(asked) <= 1:
            return
    pytest.fail(f"still asking: {asked}")
