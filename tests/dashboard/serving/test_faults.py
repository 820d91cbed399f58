from __future__ import annotations

import logging

import pytest

from dashboard.app import create_app
from results.errors import NoStore, StoreError

PATH = "/_dash-update-component"
SECRET = "/srv/secret/fusebench.db"  # noqa: S105 - a path


@pytest.fixture
def failing(store, payload, monkeypatch):
    """Answer the callback of the maps over a store whose questions raise the given error."""

    def ask(error):
        def fail():
            raise error

        app = create_app(store)
        monkeypatch.setattr(type(store), "reading", lambda _store: fail())
        client = app.server.test_client()
        return client.post(PATH, json=payload("overview-maps")), client.get("/throughput.csv"), client.get("/healthz")

    return ask


@pytest.mark.parametrize(
    "error", [StoreError(f"{SECRET}: disk I/O error"), ZeroDivisionError(SECRET), KeyError(SECRET)]
)
def test_a_fault_is_words_without_a_path_for_the_user_and_the_rest_is_in_the_log(failing, caplog, error):
    shown, saved, _ = failing(error)
    assert shown.status_code == 200
    words = shown.json["sideUpdate"]["fault"]["children"]["props"]["children"]
    number = words.split(" as fault ")[1].split(".")[0]
    assert "Reload" in words
    assert saved.status_code in {500, 503}
    for answer in (shown, saved):
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
    logged = next(record for record in caplog.records if number in record.getMessage())
    assert logged.levelno == logging.ERROR
    assert "secret" in logging.Formatter().format(logged)
    assert (logged.exc_info is None) == isinstance(error, StoreError)


def test_a_database_that_is_gone_or_emptied_says_how_to_get_it_back(failing):
    shown, saved, _ = failing(NoStore(SECRET))
    for answer in (shown, saved):
        assert "fusebench ingest PATH" in answer.text
        assert "secret" not in answer.text
    assert saved.status_code == 503


def test_what_failed_is_not_kept_as_an_answer(store, payload, monkeypatch):
    client = create_app(store).server.test_client()
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "reading", lambda _: (_ for _ in ()).throw(StoreError("locked")))
        assert "sideUpdate" in client.post(PATH, json=payload("overview-maps")).json
    assert "sideUpdate" not in client.post(PATH, json=payload("overview-maps")).json


def test_a_store_that_cannot_be_read_is_unhealthy(store, monkeypatch):
    def gone(_store):
        raise NoStore(SECRET)

    monkeypatch.setattr(type(store), "fingerprint", gone)
    for path in ("/healthz", "/store-state"):
        answer = create_app(store).server.test_client().get(path)
        assert answer.status_code == 503
        assert "secret" not in answer.text
