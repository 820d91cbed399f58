"""Two questions, each answered within three clicks from the Overview, as a person asks them in the browser."""

from __future__ import annotations

import threading

import pytest
from werkzeug.serving import make_server

from dashboard.app import create_app
from tests.in_chromium import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N, AT, BY = 12, 11, 1.5
MOST_CLICKS = 3


class Clicks:
    """Mouse of a person: it clicks what is seen, and counts."""

    def __init__(self, page):
        self.page, self.n = page, 0

    def on(self, target, then):
        target.click()
        self.n += 1
        self.page.wait_for_selector(then)
        settle(self.page, graph=None)

    def read(self, selector):
        return self.page.inner_text(selector).replace("\N{NARROW NO-BREAK SPACE}", " ")


@pytest.fixture
def shown_store(journal_store, journals):
    """Twelve commits; the last makes mlp's fused half as slow again."""
    sweeps = journals.history(N, operations=("mlp",), batches=(1, 16, 64), hiddens=(256, 1024))
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        sweep.slowdowns.update({("mlp", provider): wobble for provider in sweep.providers})
    sweeps[AT].slowdowns["mlp", "fused"] *= BY
    return journal_store(sweeps)


@pytest.fixture
def address(shown_store, tmp_path):
    app = create_app(shown_store, decisions=tmp_path / "decisions.toml")
    server = make_server("127.0.0.1", 0, app.server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


@pytest.fixture
def clicks(visit):
    page = visit("/", graph=None)
    page.wait_for_selector("#overview-maps table")
    page.wait_for_selector(".answer")
    return Clicks(page)


def test_which_provider_at_my_shape_since_when_and_why(clicks, journals):
    page = clicks.page
    clicks.on(page.get_by_role("link", name="Regressions", exact=True), then="#regressions-flips table")
    flip = page.locator("#regressions-flips tr", has_text="at batch 16, hidden 1024,").first
    words = flip.inner_text().replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert all(word in words for word in ("fused", "compiled", journals.commit_hash(AT)[:8])), words  # since when
    clicks.on(flip.get_by_role("link").first, then="#throughput-answer h1")
    answer = clicks.read("#throughput-answer")
    assert answer.startswith("Run compiled at 16 rows: 1.25× eager")  # which
    assert "Why: compiled takes" in answer  # why
    assert clicks.n <= MOST_CLICKS


def test_what_the_last_commit_broke(clicks, journals):
    page = clicks.page
    assert "Yes: 6 series worse, of 72 compared." in clicks.read("#overview-changes")
    worst = page.locator("#overview-changes a", has_text="mlp · fused").first
    clicks.on(worst, then="#explore-answer:not(:empty)")
    assert f"6 slower, 12 without a difference at {journals.commit_hash(AT)[:10]}" in clicks.read("#explore-answer")
    clicks.on(page.get_by_role("link", name="Compare", exact=True), then="#compare-rows table")
    assert "6 worse and 0 better" in clicks.read("#compare-answer")
    rows = page.locator("#compare-rows tbody tr").all_inner_texts()
    assert ["provider=fused" in row for row in rows[:7]] == [True] * 6 + [False]  # what
    assert all("+5" in row or "+4" in row for row in rows[:6])  # by how much
    assert clicks.n <= MOST_CLICKS
