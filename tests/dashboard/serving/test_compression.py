from __future__ import annotations

import gc
import gzip
import warnings

import pytest

from dashboard.app import create_app
from dashboard.serving.compression import CompressedScripts


@pytest.fixture
def client(journal_store):
    return create_app(journal_store()).server.test_client()


def script_of(client):
    page = client.get("/").get_data(as_text=True)
    return next(part for part in page.split('"') if "dash_renderer" in part and part.endswith(".js"))


def test_a_script_is_compressed_as_the_browser_can_take_it_and_kept_for_a_year(client):
    script = script_of(client)
    plain = client.get(script)
    zipped = client.get(script, headers={"Accept-Encoding": "gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(zipped.data) == plain.data
    assert "max-age=31536000" in zipped.headers["Cache-Control"]
    best = client.get(script, headers={"Accept-Encoding": "gzip, br"})
    assert best.headers["Content-Encoding"] == "br"
    assert len(best.data) < len(zipped.data) < len(plain.data)


def test_a_script_is_compressed_once(client, monkeypatch):
    script, accept = script_of(client), {"Accept-Encoding": "gzip"}
    first = client.get(script, headers=accept).data
    monkeypatch.setattr("flask_compress.flask_compress._compress_data", None)
    assert client.get(script, headers=accept).data == first


def test_what_may_change_is_not_kept():
    kept = CompressedScripts()
    kept.set("br;", b"an answer")
    assert kept.get("br;") is None
    kept.set("br;/_dash-component-suites/a.js", b"a script")
    assert kept.get("br;/_dash-component-suites/a.js") == b"a script"


def test_a_file_of_ours_is_closed_when_it_was_sent(client):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = client.get("/assets/dashboard.css", headers={"Accept-Encoding": "gzip, br"})
        assert "--quiet" in answer.get_data(as_text=True)
        answer.close()
        gc.collect()
