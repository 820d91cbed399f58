"""Pages over PostgreSQL while another session has a table to itself: they stay readable, say so, and come back."""

from __future__ import annotations

import pytest

from results.store import OpenMode, open_store
from tests.in_chromium import settle
from tests.postgresql import locked

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOK = "() => window.fusebenchLooksNow()"
# Less than who is not told how long to wait for a lock waits.
LONGEST_MS = 60_000
SAID = "Another program has the database to itself just now"


@pytest.fixture
def shown_store(tmp_path, databases, journals):
    journals.write_journals(tmp_path, journals.history(5))
    with databases("postgresql", tmp_path) as url:
        with open_store(url) as written:
            written.ingest([tmp_path])
        with open_store(url, mode=OpenMode.READ, lock_wait_s=0.3) as store:
            yield store


@pytest.mark.parametrize("table", ["value", "project"])
def test_a_page_that_is_open_stays_says_what_is_the_matter_and_comes_back(opened, shown_store, table):
    before = opened.inner_text("#throughput-answer")
    with locked(shown_store, table):
        opened.click("#throughput-operation")
        opened.get_by_role("option", name="linear", exact=True).click()
        opened.wait_for_selector(f"#fault:has-text('{SAID}')", timeout=LONGEST_MS)
        opened.evaluate(LOOK)
        opened.wait_for_selector(f"#stale:has-text('{SAID}')", timeout=LONGEST_MS)
        assert opened.inner_text("#throughput-answer") == before
    for name in ("fault", "stale"):
        opened.wait_for_function("id => document.getElementById(id).innerText === ''", arg=name)
    settle(opened)
    assert opened.input_value("#throughput-operation") == "linear"


def test_a_page_that_is_opened_meanwhile_has_its_frame_and_is_drawn_afterwards(opened, address, shown_store):
    with locked(shown_store, "project"):
        opened.goto(f"{address}/explore")
        opened.wait_for_selector("#page h1:has-text('Explore cannot be shown just now')", timeout=LONGEST_MS)
    opened.wait_for_selector("#explore-graph .main-svg")
