"""A page whose URL names no project, over a store of two: its links lead to the one it shows."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from results.store import open_store
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def shown_store(tmp_path, write_asv_tree):
    """Two projects, of which the first measured three commits and the second six."""
    with open_store(str(tmp_path / "two.db")) as store:
        for name, n in (("alpha", 3), ("beta", 6)):
            folder = write_asv_tree(tmp_path / name, times=[[1e-3, 2e-3]] * n)
            store.ingest([folder], project=name)
        yield store


@pytest.mark.parametrize(
    ("path", "other"), [("compare", "Explore"), ("explore", "Compare"), ("compare", "Regressions")]
)
def test_links_name_the_project_that_is_shown_where_the_url_leaves_it_open(visit, path, other):
    page = visit(f"/{path}", graph=None)
    page.wait_for_function(f"() => document.querySelector('#{path}-project')?.value")
    shown = page.input_value(f"#{path}-project")
    page.wait_for_selector(f"#nav a[href*='project={shown}']")
    page.get_by_role("link", name=other, exact=True).click()
    page.wait_for_url(f"**/{other.lower()}**")
    assert parse_qs(urlsplit(page.url).query)["project"] == [shown]
    page.wait_for_function(f"shown => document.querySelector('#{other.lower()}-project')?.value === shown", arg=shown)


def test_a_page_of_all_projects_hands_none_on(visit):
    page = visit("/compare", graph=None)
    page.wait_for_selector("#nav a[href*='project=']")
    page.goto(page.url.replace("/compare", "/regressions"))
    page.wait_for_selector("#regressions-answer:has-text('regression')")
    settle(page, graph=None)
    assert page.locator("#nav a[href*='project=']").count() == 0
