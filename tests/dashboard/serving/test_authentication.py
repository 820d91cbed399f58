from __future__ import annotations

import os
from base64 import b64encode

import click
import pytest
from flask import Flask, g, request

from dashboard.app import create_app
from dashboard.serving.authentication import Credentials, credentials_from
from dashboard.serving.permissions import may_write

KEY = Credentials(user="ada", password="pass:wörd")  # noqa: S106 - made up


@pytest.fixture(scope="module")
def asking(store):
    return create_app(store, credentials=KEY).server.test_client()


@pytest.mark.parametrize("path", ["/", "/throughput.csv", "/store-state", "/_dash-layout", "/assets/dashboard.css"])
def test_without_credentials_nothing_is_answered(asking, path):
    answer = asking.get(path)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic")


def test_with_them_everything_is(asking):
    assert asking.get("/", auth=(KEY.user, KEY.password)).status_code == 200


@pytest.mark.parametrize("wrong", [("ada", "other"), ("eve", KEY.password), ("", ""), ("ada", ""), ("ada", "\ud800")])
def test_wrong_ones_are_refused(asking, wrong):
    assert not KEY.match(user=wrong[0], password=wrong[1])
    if "\ud800" not in wrong[1]:
        assert asking.get("/", auth=wrong).status_code == 401


@pytest.mark.parametrize(
    "header", ["Basic", "Basic !!!", "Basic " + "A" * 9000, "Bearer x", "Basic gICA", "Basic caf\xe9", ""]
)
def test_no_header_is_a_fault(asking, header):
    assert asking.get("/", headers={"Authorization": header}).status_code == 401


def test_a_password_may_be_any_bytes_of_the_environment(store, monkeypatch):
    monkeypatch.setitem(os.environb, b"FUSEBENCH_DASHBOARD_USER", b"ada")
    monkeypatch.setitem(os.environb, b"FUSEBENCH_DASHBOARD_PASSWORD", b"caf\xe9")
    client = create_app(store, credentials=credentials_from(os.environ)).server.test_client()

    def answered(given):
        return client.get("/", headers={"Authorization": f"Basic {b64encode(given).decode()}"}).status_code

    assert [answered(b"ada:" + given) for given in (b"caf\xe9", b"caf\xc3\xa9", b"caf", b"caf\xe8")] == [
        200,
        401,
        401,
        401,
    ]


def test_what_is_refused_for_wrong_credentials_is_one_line_of_the_log_without_them(asking, caplog):
    asking.get("/", headers={"Authorization": "Basic caf\xe9"})
    asking.get("/", auth=("ada", "wr0ng"))
    assert len(caplog.messages) == 2
    assert "wr0ng" not in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("headers", "may"),
    [
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://bench.example"}, True),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Origin": "https://evil.example"}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("is_right", [True, False])
def test_who_gave_the_password_may_write_from_elsewhere_but_only_from_a_page_of_ours(headers, may, is_right):
    with Flask(__name__).test_request_context(
        "/", method="POST", headers=headers, environ_base={"REMOTE_ADDR": "10.0.0.7"}
    ):
        g.is_authenticated = is_right
        assert (may_write(request) is None) == (may and is_right)


def test_the_health_is_told_to_a_supervisor_without_them(asking):
    assert asking.get("/healthz").json == {"status": "ok", "store": "filled"}


@pytest.mark.parametrize(
    "environment",
    [
        {"FUSEBENCH_DASHBOARD_USER": "ada"},
        {"FUSEBENCH_DASHBOARD_PASSWORD": "x"},
        {"FUSEBENCH_DASHBOARD_USER": "ada", "FUSEBENCH_DASHBOARD_PASSWORD": ""},
        {"FUSEBENCH_DASHBOARD_USER": "a:da", "FUSEBENCH_DASHBOARD_PASSWORD": "x"},
    ],
)
def test_half_of_the_credentials_is_wrong_usage(environment):
    with pytest.raises(click.UsageError, match="FUSEBENCH_DASHBOARD_PASSWORD"):
        credentials_from(environment)


def test_the_environment_sets_them():
    assert credentials_from({}) is None
    set_ones = {"FUSEBENCH_DASHBOARD_USER": KEY.user, "FUSEBENCH_DASHBOARD_PASSWORD": KEY.password}
    assert credentials_from(set_ones) == KEY
