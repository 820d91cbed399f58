"""Pages over an SQLite file that another program has to itself: they say so, stay readable, and come back after it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager, suppress

import pytest

from dashboard.app import create_app
from results.store import OpenMode, open_store
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOK = "() => window.fusebenchLooksNow()"
SHORT_WAIT_S = 0.3
SAID = "Another program has the database to itself just now"
ADVICE = "wait until it is done, or end it if it hangs"
ANSWERS = "#page h1:visible, #throughput-commits-graph .main-svg"
PATHS = {
    "/": "Overview", "/throughput?operation=mlp&hidden=1024": "Throughput", "/regressions": "Regressions",
    "/compare": "Compare", "/explore": "Explore",
}  # fmt: skip
# Of each page: its path, a selector, what is chosen there, and what it has drawn when it is done.
CHOICES = {
    "Throughput": ("/throughput?operation=mlp", "#throughput-operation", "linear", "#throughput-batch-graph .main-svg"),
    "Profile": ("/profile?operation=mlp", "#profile-operation", "linear", "#profile-answer h1"),
    "Roofline": ("/roofline?operation=mlp", "#roofline-operation", "linear", "#roofline-graph .main-svg"),
    "Explore": ("/explore?benchmark=mlp", "#explore-benchmark", "linear", "#explore-graph .main-svg"),
    "Regressions": (
        "/regressions",
        "#regressions-state",
        "acknowledged",
        "#regressions-answer:not(:has-text('Judging'))",
    ),
    "Compare": ("/compare", "#compare-metric", "relative error", "#compare-graph .main-svg"),
}
# What the URL calls what a selector calls otherwise.
WORDS = {"relative error": "error_rel"}


def before_a_release(cases, *, but):
    """Mark all but the first as exhaustive: each waits out a lock in a browser, for many seconds."""
    return [pytest.param(*case, marks=[] if n < but else [pytest.mark.exhaustive]) for n, case in enumerate(cases)]


@pytest.fixture
def shown_store(journal_store, journals):
    """As `fusebench dashboard` opens it, but for how long it waits."""
    written = journal_store(journals.history(5))
    name = written.name
    written.close()
    with open_store(name, mode=OpenMode.READ, lock_wait_s=SHORT_WAIT_S) as store:
        yield store


def lock_readers_out(store):
    """Give up the write-ahead log, with which readers pass by any lock: as on a disk of the network, or by a tool."""
    for _ in range(50):
        store.close()
        with closing(sqlite3.connect(store.name)) as other, suppress(sqlite3.OperationalError):
            assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
            return
        time.sleep(0.1)  # a page is still being drawn
    pytest.fail("the store was in use all the time")


@contextmanager
def held(store):
    with closing(sqlite3.connect(store.name, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


def words_of(page):
    return page.inner_text("body")


def is_said(page):
    page.wait_for_function("words => document.querySelector('#stale')?.innerText.includes(words) ?? false", arg=SAID)
    assert ADVICE in page.inner_text("#stale")
    told = words_of(page)
    for secret in ("Traceback", "sqlite", "fusebench.db", "/tmp", "BEGIN"):  # noqa: S108 - no file
        assert secret not in told


def is_over(page):
    page.wait_for_function("() => document.querySelector('#stale')?.innerText === ''")
    page.wait_for_function("() => document.querySelector('#fault')?.innerText === ''")
    page.wait_for_selector(ANSWERS)


def test_beside_a_write_ahead_log_a_lock_keeps_no_reader_out(opened, shown_store):
    with held(shown_store):
        opened.reload()
        settle(opened)
        opened.evaluate(LOOK)
        settle(opened)
        assert opened.inner_text("#stale") == opened.inner_text("#fault") == ""
        assert "5 commits" in opened.inner_text("#throughput-commits-note")


def test_a_page_that_is_open_stays_readable_says_what_is_the_matter_and_comes_back(opened, shown_store):
    before = opened.inner_text("#page")
    lock_readers_out(shown_store)
    with held(shown_store):
        opened.evaluate(LOOK)
        is_said(opened)
        assert opened.inner_text("#page") == before
        opened.click("#throughput-operation")
        opened.get_by_role("option", name="linear", exact=True).click()
        opened.wait_for_selector(f"#fault:has-text('{SAID}')")
        is_said(opened)
        assert opened.locator("#throughput-commits-graph .main-svg").first.is_visible()
    is_over(opened)
    settle(opened)
    opened.wait_for_selector("#throughput-commits-note:has-text('5 commits')")


@pytest.mark.parametrize(("path", "name"), before_a_release(PATHS.items(), but=2))
def test_a_page_that_is_opened_meanwhile_has_its_frame_and_is_drawn_when_the_lock_ends(
    opened, address, shown_store, path, name
):
    lock_readers_out(shown_store)
    with held(shown_store):
        opened.goto(address + path)
        is_framed(opened, name)
        assert opened.inner_text("#fault") == ""  # it is said once
        opened.reload()
        is_framed(opened, name)
    is_over(opened)
    assert opened.inner_text("#nav a.here") == name


def is_framed(page, name):
    page.wait_for_selector(f"#page h1:has-text('{name} cannot be shown just now')")
    assert SAID in page.inner_text("#page")
    page.wait_for_selector(f"#nav a.here:has-text('{name}')")
    assert page.locator("#nav a").count() == 7
    page.wait_for_function("title => document.title === title", arg=f"{name} · fusebench")
    is_said(page)


@pytest.mark.exhaustive
def test_a_link_that_is_followed_meanwhile_leads_to_a_frame_and_then_to_its_page(opened, shown_store):
    lock_readers_out(shown_store)
    with held(shown_store):
        opened.click("#nav a:has-text('Roofline')")
        is_framed(opened, "Roofline")
    is_over(opened)
    opened.wait_for_selector("#roofline-graph .main-svg")


@pytest.mark.exhaustive
def test_a_page_that_failed_just_before_the_lock_ended_is_drawn_all_the_same(opened, address, shown_store):
    """Whoever looked whether the store can be read may have found that it can."""
    opened.route("**/store-state", lambda route: route.fulfill(json={"state": "as ever"}))
    lock_readers_out(shown_store)
    with held(shown_store):
        opened.goto(address + "/explore")
        opened.wait_for_selector("#page h1:has-text('cannot be shown')")
    is_over(opened)


@pytest.mark.parametrize("case", before_a_release(((case,) for case in CHOICES), but=2))
def test_what_is_chosen_meanwhile_is_shown_after_the_lock(opened, address, shown_store, case):
    path, selector, option, drawn = CHOICES[case]
    word = WORDS.get(option, option)
    opened.goto(address + path)
    opened.wait_for_selector(drawn)
    settle(opened, graph=None)
    lock_readers_out(shown_store)
    with held(shown_store):
        opened.click(selector)
        opened.get_by_role("option", name=option, exact=True).click()
        opened.wait_for_selector(f"#fault:has-text('{SAID}')")
        opened.wait_for_function("word => location.search.includes(`=${word}`)", arg=word)
        opened.evaluate(LOOK)
        is_said(opened)
    is_over(opened)
    opened.wait_for_function("([one, value]) => document.querySelector(one)?.value === value", arg=[selector, option])
    opened.wait_for_selector(drawn)
    assert f"={word}" in opened.url


def test_a_choice_made_meanwhile_is_one_step_back(opened, shown_store):
    before = opened.url
    lock_readers_out(shown_store)
    with held(shown_store):
        opened.click("#throughput-operation")
        opened.get_by_role("option", name="linear", exact=True).click()
        opened.wait_for_selector(f"#fault:has-text('{SAID}')")
        opened.evaluate(LOOK)
        is_said(opened)
    is_over(opened)
    settle(opened)
    opened.go_back()
    opened.wait_for_function("() => document.querySelector('#throughput-operation')?.value === 'mlp'")
    assert opened.url == before


def test_what_is_asked_of_the_server_meanwhile_is_answered_in_words(shown_store):
    lock_readers_out(shown_store)
    client = create_app(shown_store).server.test_client()
    with held(shown_store):
        state, saved = client.get("/store-state"), client.get("/throughput.csv")
    assert (state.status_code, state.json) == (503, {"state": None, "why": "locked"})
    assert saved.status_code == 503
    assert SAID in saved.text
