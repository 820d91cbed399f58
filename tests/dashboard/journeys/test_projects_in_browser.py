"""Two projects in one store, in headless Chromium: one is chosen once, and every page is about it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from results.store import open_store
from results.upkeep.housekeeping import prune_missing_files
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N, AT = 16, 10
OPTIONS = {"operations": ("mlp",), "batches": (1, 16), "hiddens": (256,)}
LONG = "p" * 200
PAGES = ("overview", "throughput", "profile", "roofline", "regressions", "compare", "explore")
OVERFLOWING = """() => [...document.querySelectorAll('#page *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scrolls, .js-plotly-plot'))
  .map(one => `${one.tagName.toLowerCase()}.${one.className}`)"""


def sweeps_of(journals, provider, **changes):
    """A history in which `provider` is a third slower since the 11th commit."""
    sweeps = [replace(one, **changes) for one in journals.history(N, **OPTIONS)]
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        slow = {("mlp", provider): 1.33 * wobble} if number >= AT else {}
        sweep.slowdowns.update({**{("mlp", name): wobble for name in sweep.providers}, **slow})
    return sweeps


@pytest.fixture
def shown_store(tmp_path, journals):
    """`fusebench`, whose fused got slower, and on another machine one with a long name, whose compiled did."""
    journals.write_journals(tmp_path / "own", sweeps_of(journals, "fused"))
    journals.write_journals(tmp_path / "other", sweeps_of(journals, "compiled", machine="far-01"))
    for path in (tmp_path / "other").rglob("*.jsonl"):
        path.write_text(path.read_text().replace('"project": "fusebench"', f'"project": {json.dumps(LONG)}'))
    with open_store(str(tmp_path / "fusebench.db")) as store:
        store.ingest([tmp_path / "own", tmp_path / "other"])
        yield store


SHOWN = "([selector, value]) => document.querySelector(selector)?.value === value"
NAMED_BY_LINKS = """is_named => {
  const links = Array.from(document.querySelectorAll('#nav a')).filter(link => !link.getAttribute('aria-current'));
  return links.some(link => link.href.includes('project=')) === is_named;
}"""


def choose(page, name, project):
    page.click(f"#{name}-project")
    page.get_by_role("option", name=project, exact=True).click()
    page.wait_for_url(f"**project={project}**" if project != "any project" else lambda url: "project=" not in url)
    # The other pages' links follow in an answer of their own.
    page.wait_for_function(NAMED_BY_LINKS, arg=project != "any project")
    settle(page, graph=None)


def shown_project(page):
    return parse_qs(urlsplit(page.url).query).get("project")


def go_to(page, name):
    page.locator("#nav").get_by_role("link", name=name.capitalize(), exact=True).click()
    page.wait_for_selector(f"#{name}-project:visible")
    page.wait_for_function("name => document.querySelector(`#${name}-project`)?.value", arg=name)
    settle(page, graph=None)


def test_a_project_that_is_chosen_once_is_that_of_every_page_until_another_one_is(visit):
    page = visit("/", graph=None)
    page.wait_for_selector("#overview-changes .answer")
    assert page.locator("#overview-changes .card").count() == 2
    assert page.input_value("#overview-project") == "any project"
    choose(page, "overview", "fusebench")
    page.wait_for_function("() => document.querySelectorAll('#overview-changes .card').length === 1")
    assert "bench-01" in page.inner_text("#overview-changes")
    assert "far-01" not in page.inner_text("#overview-open")
    for name in PAGES[1:]:
        go_to(page, name)
        assert page.input_value(f"#{name}-project") == "fusebench", name
    go_to(page, "roofline")
    choose(page, "roofline", LONG)
    page.wait_for_function("() => document.querySelector('#roofline-machine').value === 'far-01'")
    for name in ("regressions", "compare", "explore", "throughput", "profile", "overview"):
        go_to(page, name)
        assert page.input_value(f"#{name}-project") == LONG, name
        assert page.locator("#page .mantine-Alert-root").count() == 0, name
    page.wait_for_function("() => document.querySelector('#overview-changes').innerText.includes('far-01')")
    assert "bench-01" not in page.inner_text("#page")


def test_any_project_is_chosen_again_and_back_undoes_it(visit):
    page = visit("/regressions?project=fusebench", graph=None)
    page.wait_for_selector("#regressions-answer:has-text('1 open regression')")
    choose(page, "regressions", "any project")
    page.wait_for_selector("#regressions-answer:has-text('2 open regressions')")
    go_to(page, "overview")
    assert shown_project(page) is None
    page.wait_for_function(SHOWN, arg=["#overview-project", "any project"])
    page.go_back()
    page.wait_for_selector("#regressions-answer:has-text('2 open regressions')")
    settle(page, graph=None)
    page.go_back()
    page.wait_for_selector("#regressions-answer:has-text('1 open regression')")
    page.wait_for_function(SHOWN, arg=["#regressions-project", "fusebench"])


def test_a_link_to_a_finding_keeps_the_project(visit):
    page = visit("/?project=fusebench", graph=None)
    page.locator("#overview-open .surfaces a").first.click()
    settle(page, graph="#regressions-graph")
    assert shown_project(page) == ["fusebench"]
    assert page.locator(".finding-link").count() == 1


@pytest.mark.parametrize("width", [400, 1440])
def test_a_long_name_sticks_out_nowhere(visit, width):
    page = visit("/", graph=None, viewport={"width": width, "height": 900})
    for name in PAGES:
        go_to(page, name)
        assert page.evaluate(OVERFLOWING) == [], name
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize("name", ["overview", "throughput"])
def test_a_project_that_is_deleted_while_its_page_is_open_is_named_and_another_one_shown(
    visit, shown_store, tmp_path, name
):
    page = visit(f"/{name.removeprefix('overview')}?project={LONG}", graph=None)
    page.wait_for_function("name => document.querySelector(`#${name}-project`)?.value?.startsWith('pp')", arg=name)
    shutil.rmtree(tmp_path / "other")
    (tmp_path / "other").mkdir()
    with open_store(shown_store.name) as elsewhere:
        assert prune_missing_files(elsewhere, [tmp_path / "other"]) > 0
    page.evaluate("() => window.fusebenchLooksNow()")
    page.wait_for_selector("#page .mantine-Alert-root:has-text('roject pppp')")
    settle(page, graph=None)
    assert "fusebench" in page.inner_text("#page .mantine-Alert-root")
    assert page.locator(f"#{name}-project").is_hidden()  # of one there is no choice
    assert page.inner_text("#fault") == ""
    page.wait_for_function("name => document.querySelector(`#${name}-machine`).value === 'bench-01'", arg=name)
