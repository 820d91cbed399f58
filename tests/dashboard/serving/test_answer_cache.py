from __future__ import annotations

import threading

import pytest

from dashboard.app import create_app
from dashboard.serving.answer_cache import LONGEST_KEPT_S, Answer, AnswerCache
from dashboard.views.overview import maps_view_of
from dashboard.views.settings import judge_by
from results.files.settings import Settings
from results.queries import commits
from results.store import open_store

PATH = "/_dash-update-component"


def answer(body):
    return Answer(body=body, headers=())


def test_an_answer_is_kept_for_its_state_only():
    cache = AnswerCache()
    cache.set("a", answer(b"1"), state=1)
    assert cache.get("a", state=1) == answer(b"1")
    assert cache.get("a", state=2) is None


def test_each_answer_grows_old_by_itself():
    """It tells how long ago things were; were all forgotten at once, all readers would wait for all pages."""
    now = [0.0]
    cache = AnswerCache(clock=lambda: now[0])
    cache.set("a", answer(b"1"), state=1)
    now[0] = LONGEST_KEPT_S - 1
    cache.set("b", answer(b"2"), state=1)
    assert cache.get("a", state=1) == answer(b"1")
    now[0] += 2
    assert (cache.get("a", state=1), cache.get("b", state=1)) == (None, answer(b"2"))
    cache.set("a", answer(b"3"), state=1)
    assert cache.get("a", state=1) == answer(b"3")


def test_memory_is_bounded_and_the_least_recently_used_goes():
    cache = AnswerCache(most_bytes=10)
    for name in "abc":
        cache.set(name, answer(b"1234"), state=1)
        cache.get("a", state=1)
    assert [cache.get(name, state=1) is not None for name in "abc"] == [True, False, True]
    cache.set("huge", answer(b"x" * 11), state=1)
    assert cache.get("huge", state=1) is None


def test_of_those_who_ask_at_once_one_makes_the_answer():
    cache, found = AnswerCache(), []
    assert cache.wait_or_begin("a", state=1) is None
    waiting = [threading.Thread(target=lambda: found.append(cache.wait_or_begin("a", state=1))) for _ in range(4)]
    for thread in waiting:
        thread.start()
    cache.set("a", answer(b"1"), state=1)
    cache.end("a", state=1)
    for thread in waiting:
        thread.join()
    assert found == [answer(b"1")] * 4


@pytest.fixture
def counted(journal_store, journals, monkeypatch):
    """A store, a client over it, and the number of times that its maps were made."""
    made = []
    store = journal_store(journals.history(2))

    def counting(*given, **named):
        made.append(1)
        return maps_view_of(*given, **named)

    monkeypatch.setattr("dashboard.pages.overview.maps_view_of", counting)
    return store, create_app(store).server.test_client(), made


def test_the_same_question_is_answered_once_until_the_store_changes(counted, payload, journals, tmp_path):
    store, client, made = counted
    asked = payload("overview-maps")
    first = client.post(PATH, json=asked)
    again = client.post(PATH, json=asked)
    assert (first.data, first.content_type, len(made)) == (again.data, again.content_type, 1)
    assert "Content-Security-Policy" in again.headers

    journals.write_journals(tmp_path / "more", journals.history(3))
    with open_store(store.name) as other:
        other.ingest([tmp_path / "more"])
    client.post(PATH, json=asked)
    assert (len(commits(store)), len(made)) == (3, 2)


def test_an_answer_is_none_under_other_settings(counted, payload):
    store, client, made = counted
    asked = payload("overview-maps")
    client.post(PATH, json=asked)
    judge_by(Settings(least_change=0.5), store=store)
    client.post(PATH, json=asked)
    assert len(made) == 2


def test_an_answer_is_not_given_to_who_may_do_less(counted, payload):
    _, client, made = counted
    asked = payload("overview-maps")
    client.post(PATH, json=asked)
    client.post(PATH, json=asked, environ_base={"REMOTE_ADDR": "10.0.0.7"})
    client.post(PATH, json=asked, headers={"Origin": "http://evil.example"})
    assert len(made) == 3


def test_a_browser_without_compression_gets_none_from_the_cache(counted, payload):
    _, client, _ = counted
    asked = payload("overview-maps")
    assert client.post(PATH, json=asked, headers={"Accept-Encoding": "br"}).headers["Content-Encoding"] == "br"
    assert client.post(PATH, json=asked, headers={"Accept-Encoding": "br"}).headers["Content-Encoding"] == "br"
    assert "Content-Encoding" not in client.post(PATH, json=asked).headers
