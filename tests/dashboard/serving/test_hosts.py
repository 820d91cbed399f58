from __future__ import annotations

import pytest

from dashboard.app import create_app
from dashboard.serving.hosts import LOOPBACK, allowed_hosts


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8050", "127.0.0.1:8050", "[::1]:8050", "LOCALHOST", "localhost."]
)
def test_loopback_names_are_allowed_with_any_port(host):
    assert LOOPBACK.allows(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8050", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2",
     "10.0.0.1", "user@localhost", "localhost:port", "localhost/x", "localhost, evil.example", "[::1"],
)  # fmt: skip
def test_any_other_host_is_refused(host):
    assert not LOOPBACK.allows(host)


def test_beyond_loopback_addresses_are_allowed_which_no_name_server_redirects():
    hosts = allowed_hosts("0.0.0.0")  # noqa: S104 - what is tested
    assert hosts.allows("192.168.1.7:8050")
    assert not hosts.allows("evil.example:8050")


@pytest.mark.parametrize("address", ["127.0.0.2", "localhost.localdomain"])
def test_the_address_it_was_told_to_listen_on_is_its_own(address):
    assert allowed_hosts(address).allows(f"{address}:8050")
    assert not allowed_hosts(address).allows("127.0.0.3:8050")


def test_further_names_are_allowed():
    hosts = allowed_hosts("127.0.0.1", further=["Bench.example"])
    assert hosts.allows("bench.example:443")
    assert not hosts.allows("192.168.1.7")


@pytest.mark.parametrize("path", ["/", "/throughput", "/healthz", "/store-state", "/_dash-layout", "/throughput.csv"])
def test_a_page_whose_name_was_rebound_to_this_machine_reads_nothing(client, path):
    answer = client.get(path, headers={"Host": "evil.example:8050"})
    assert answer.status_code == 421
    assert "--allow-host" in answer.text
    assert "fused" not in answer.text.replace("fusebench", "")


def test_a_callback_for_another_host_is_refused(client, payload):
    answer = client.post("/_dash-update-component", json=payload("overview-maps"), headers={"Host": "evil.example"})
    assert answer.status_code == 421


def test_an_allowed_host_is_answered(store):
    client = create_app(store, hosts=allowed_hosts("127.0.0.1", further=["bench.example"])).server.test_client()
    assert client.get("/", headers={"Host": "bench.example"}).status_code == 200
