"""A page that is open while its store fails, comes back, is replaced or shrinks: it says so, and draws itself anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from results.store import open_store
from results.upkeep.housekeeping import prune_missing_files

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTE = "() => document.querySelector('#throughput-commits-note')?.innerText ?? ''"
LOOK = "() => window.fusebenchLooksNow()"


def is_said(page, words):
    page.wait_for_function("words => document.querySelector('#stale')?.innerText.includes(words) ?? false", arg=words)


def is_drawn(page, words):
    page.wait_for_function("() => document.querySelector('#stale').innerText === ''")
    page.wait_for_function(f"words => ({NOTE})().includes(words)", arg=words)
    assert page.inner_text("#fault") == ""


def test_while_the_server_is_away_the_page_says_that_it_may_be_old(opened):
    opened.route("**/store-state", lambda route: route.abort())
    opened.evaluate(LOOK)
    is_said(opened, "does not answer; what is shown may be old")
    opened.unroute("**/store-state")
    is_drawn(opened, "5 commits")  # by itself, soon


def test_a_page_that_cannot_tell_when_it_is_opened_says_so_and_is_drawn_anew(opened):
    faults = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.route("**/store-state", lambda route: route.fulfill(status=503, json={"state": None}))
    opened.reload(wait_until="commit")  # the first look comes before anything is drawn
    is_said(opened, "The database cannot be read just now")
    opened.unroute("**/store-state")
    is_drawn(opened, "5 commits")
    assert faults == []


def test_while_the_database_is_gone_the_page_says_so_and_then_shows_the_one_in_its_place(
    opened, shown_store, journals, tmp_path
):
    path = Path(shown_store.name)
    journals.write_journals(tmp_path / "other", journals.history(3))
    with open_store(str(tmp_path / "other.db")) as other:
        other.ingest([tmp_path / "other"])
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    opened.evaluate(LOOK)
    is_said(opened, "The database cannot be read just now; what is shown may be old")
    opened.click("#throughput-operation")
    opened.get_by_role("option", name="linear", exact=True).click()  # what is chosen meanwhile fails in words
    opened.wait_for_selector("#fault:has-text('The database is gone, or holds nothing')")
    shutil.move(tmp_path / "other.db", path)
    is_drawn(opened, "3 commits")


def test_the_page_follows_a_store_that_shrinks(opened, shown_store, journals):
    folder = Path(shown_store.name).parent
    [gone] = folder.glob(f"journal/*/{journals.commit_hash(4)[:8]}-*.jsonl")
    gone.unlink()
    with open_store(shown_store.name) as other:
        assert prune_missing_files(other, [folder]) == 1
    opened.evaluate(LOOK)
    is_drawn(opened, "4 commits")
