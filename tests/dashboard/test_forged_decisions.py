"""Decisions that no page of this dashboard sends now: refused with one line of log, and nothing is written."""

from __future__ import annotations

import hashlib
import logging
from base64 import b64encode
from pathlib import Path

import pytest

from dashboard.app import create_app
from dashboard.pages.acknowledging import LONGEST, PATH, decision_form
from dashboard.serving.authentication import Credentials
from dashboard.views.regressions_drawing import regressions_drawing_of
from results.queries import taken_back_of

HERE = {"base_url": "http://localhost", "headers": {"Origin": "http://localhost"}}
ASKED = Credentials(user="ada", password="secret")  # noqa: S106 - of this test
GIVEN = {"Authorization": f"Basic {b64encode(b'ada:secret').decode()}"}
ORIGIN = "http://localhost"


def fields_of(component):
    """Return what a browser sends of a form's hidden fields."""
    found = {}
    for one in component._traverse():
        if getattr(one, "type", None) == "hidden":
            found[one.name] = one.value
    return found


def form_of(store, query="", **changes):
    [found, *_] = regressions_drawing_of(store, query=query).found
    hidden = fields_of(decision_form(found, refusal=None, taken_back=taken_back_of(store, found.finding)))
    return {**hidden, "by": "Ada", "note": "pays for accuracy", "decision": "accepted", **changes}


def content_of(store, file):
    path = Path(store.name)
    parts = [path, path.with_name(f"{path.name}-wal"), file]
    return [hashlib.sha256(part.read_bytes()).hexdigest() if part.exists() else None for part in parts]


@pytest.fixture
def refused(own, tmp_path, caplog):
    """Send a request to where decisions go: it must be refused with one line of log, and change nothing."""
    file = tmp_path / "decisions.toml"

    def check(*statuses, credentials=None, method="POST", **sent):
        client = create_app(own, decisions=file, credentials=credentials).server.test_client()
        sent = {"base_url": ORIGIN, **sent}
        if "data" not in sent:
            sent["data"] = form_of(own)
        before = content_of(own, file)
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="dashboard"):
            answer = client.open(PATH, method=method, **sent)
        assert answer.status_code in statuses, answer.text
        assert content_of(own, file) == before
        [line] = [record.getMessage() for record in caplog.records]
        assert len(line) < 500
        assert "\n" not in line
        return answer

    return check


@pytest.mark.parametrize("credentials", [None, ASKED], ids=["open", "asked"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:9"},
     {"Origin": "https://localhost"}, {"Referer": "http://localhost/regressions"},
     {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}, {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
     {"Origin": ORIGIN, "Sec-Fetch-Site": "none"}],
    ids=str,
)  # fmt: skip
def test_a_form_of_another_site_is_refused(refused, credentials, headers):
    refused(403, credentials=credentials, headers={**headers, **(GIVEN if credentials else {})})


def test_a_form_without_a_password_is_refused(refused):
    refused(401, credentials=ASKED, headers={"Origin": ORIGIN})


def test_a_form_with_a_wrong_password_is_refused(refused):
    refused(401, credentials=ASKED, headers={"Origin": ORIGIN, "Authorization": "Basic YWRhOng="})


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost@evil.example"])
def test_a_form_to_another_name_is_refused(refused, host):
    refused(421, base_url=f"http://{host}", headers={"Origin": f"http://{host}", "Host": host})


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_another_method_is_refused(refused, method):
    refused(405, method=method, headers={"Origin": ORIGIN})


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/xml", ""])
def test_another_kind_of_body_is_refused(refused, own, kind):
    form = form_of(own)
    body = "&".join(f"{name}={value}" for name, value in form.items())
    refused(415, data=body, content_type=kind, headers={"Origin": ORIGIN})


@pytest.mark.parametrize("uid", ["", "0" * 16, "../x", "'; DROP TABLE value; --", b"\xed\xa0\x80", "x" * 5_000])
def test_a_finding_that_there_is_not_is_refused(refused, own, uid):
    refused(404, data=form_of(own, finding=uid), headers={"Origin": ORIGIN})


@pytest.mark.parametrize("name", ["by", "note"])
def test_a_name_or_reason_without_end_is_refused_and_not_cut(refused, own, name):
    answer = refused(400, data=form_of(own, **{name: "x" * (LONGEST + 1)}), headers={"Origin": ORIGIN})
    assert f"{LONGEST} characters" in answer.text
    refused(413, data=form_of(own, **{name: "x" * (2 << 20)}), headers={"Origin": ORIGIN})


def test_a_double_click_acknowledges_once(own, tmp_path, refused):
    file, form = tmp_path / "decisions.toml", form_of(own)
    client = create_app(own, decisions=file).server.test_client()
    assert client.post(PATH, data=form, **HERE).status_code == 303
    answer = refused(409, data=form, headers={"Origin": ORIGIN})
    assert "reload" in answer.text
    assert file.read_text().count("[[acknowledgement]]") == 1


def test_a_form_of_before_it_was_taken_back_acknowledges_nothing(own, tmp_path, refused):
    file, form = tmp_path / "decisions.toml", form_of(own)
    client = create_app(own, decisions=file).server.test_client()
    assert client.post(PATH, data=form, **HERE).status_code == 303
    back = form_of(own, f"?turn=all&state=acknowledged&class=all&finding={form['finding']}", decision="take_back")
    assert back["finding"] == form["finding"]
    assert client.post(PATH, data=back, **HERE).status_code == 303
    refused(409, data=form, headers={"Origin": ORIGIN})
    refused(409, data=back, headers={"Origin": ORIGIN})
    assert "[[acknowledgement]]" not in file.read_text()
