"""Pages over an SQLite file that another program has to itself: they say so, stay readable, and come back after it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager

import pytest

from dashboard.app import create_app
from dashboard.command import LOCK_WAIT_S
from results.store import OpenMode, open_store
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOK = "() => window.fusebenchLooksNow()"
SAID = "Another program has the database to itself just now"
ADVICE = "wait until it is done, or end it if it hangs"
ANSWERS = "#page h1:visible, #throughput-commits-graph .main-svg"
PATHS = ("/", "/throughput?operation=mlp&hidden=1024", "/regressions", "/compare", "/explore")


@pytest.fixture
def shown_store(journal_store, journals):
    """As `fusebench dashboard` opens it."""
    written = journal_store(journals.history(5))
    name = written.name
    written.close()
    with open_store(name, mode=OpenMode.READ, lock_wait_s=LOCK_WAIT_S) as store:
        yield store


def lock_readers_out(store):
    """Give up the write-ahead log, with which readers pass by any lock: as on a disk of the network, or by a tool."""
    store.close()
    with closing(sqlite3.connect(store.name)) as other:
        assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)


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
        opened.wait_for_load_state("networkidle")
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


@pytest.mark.parametrize("path", PATHS)
def test_a_page_that_is_opened_meanwhile_says_so_and_is_drawn_when_the_lock_ends(opened, address, shown_store, path):
    lock_readers_out(shown_store)
    with held(shown_store):
        opened.goto(address + path)
        is_said(opened)
        opened.wait_for_selector(f"#fault:has-text('{SAID}')")
        opened.reload()
        is_said(opened)
    is_over(opened)
    opened.wait_for_selector("#nav a")


def test_what_is_asked_of_the_server_meanwhile_is_answered_in_words(shown_store):
    lock_readers_out(shown_store)
    client = create_app(shown_store).server.test_client()
    with held(shown_store):
        state, saved = client.get("/store-state"), client.get("/throughput.csv")
    assert (state.status_code, state.json) == (503, {"state": None, "why": "locked"})
    assert saved.status_code == 503
    assert SAID in saved.text
