"""Who may write: a page of this dashboard in a browser on this machine, and nobody else."""

from __future__ import annotations

import pytest
from flask import Flask, request

from dashboard.serving.permissions import NOT_FROM_HERE, NOT_OF_THIS_PAGE, is_loopback, may_write

HERE = "127.0.0.1"
OURS = {"Origin": "http://localhost:8050", "Sec-Fetch-Site": "same-origin"}


def answer(*, remote=HERE, host="localhost:8050", headers=None):
    with Flask(__name__).test_request_context(
        "/", method="POST", base_url=f"http://{host}", headers=OURS if headers is None else headers,
        environ_base={"REMOTE_ADDR": remote},
    ):  # fmt: skip
        return may_write(request)


@pytest.mark.parametrize("host", ["localhost:8050", "127.0.0.1:8050", "[::1]:8050"])
def test_a_page_of_this_dashboard_on_this_machine_may(host):
    assert answer(host=host, headers={"Origin": f"http://{host}"}) is None


@pytest.mark.parametrize("remote", ["192.168.1.7", "8.8.8.8", "", "::ffff:10.0.0.1"])
def test_another_machine_may_not(remote):
    assert answer(remote=remote) == NOT_FROM_HERE


@pytest.mark.parametrize("host", ["evil.example:8050", "127.0.0.1.evil.example", "0.0.0.0:8050"])
def test_a_name_that_was_rebound_to_this_machine_may_not(host):
    assert answer(host=host, headers={"Origin": f"http://{host}"}) == NOT_FROM_HERE


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Real-IP"])
def test_what_came_through_a_proxy_may_not(header):
    assert answer(headers={**OURS, header: HERE}) == NOT_FROM_HERE


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://localhost:9000"},
        {"Origin": "https://localhost:8050"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:8050", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://localhost:8050", "Sec-Fetch-Site": "same-site"},
        {"Referer": "http://localhost:8050/"},
    ],
)
def test_another_sites_page_may_not(headers):
    assert answer(headers=headers) == NOT_OF_THIS_PAGE


@pytest.mark.parametrize("host", ["127.8.9.1", "::1", "LOCALHOST"])
def test_loopback_has_several_names(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "128.0.0.1", "localhost.example", "fe80::1"])
def test_other_hosts_are_not_loopback(host):
    assert not is_loopback(host)
