"""Names of this dashboard: a request for any other host is refused, so that no page elsewhere can read it."""

from __future__ import annotations

import ipaddress
import logging
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flask import request

from dashboard.serving.answers import in_words
from dashboard.serving.permissions import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Flask
    from werkzeug.wrappers import Response

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
LONGEST_SHOWN = 80


@dataclass(frozen=True, kw_only=True)
class AllowedHosts:
    """Hosts that a request may name. `has_addresses`: any IP address, too, which no name server can redirect."""

    names: frozenset[str] = LOOPBACK_NAMES
    has_addresses: bool = False

    def allows(self, header: str) -> bool:
        """Return whether `header`, a request's Host with or without a port, names this dashboard."""
        name = _name_of(header)
        return name is not None and (name in self.names or (self.has_addresses and _is_address(name)))


LOOPBACK = AllowedHosts()


def allowed_hosts(listening_on: str, *, further: Iterable[str] = ()) -> AllowedHosts:
    """Return what a dashboard listening on that address is called: that, loopback names and the `further` ones.

    Off loopback also any IP address, and the name of this machine.
    """
    names = LOOPBACK_NAMES | {listening_on.lower()} | {name for name in map(_name_of, further) if name}
    if is_loopback(listening_on):
        return AllowedHosts(names=names)
    return AllowedHosts(names=names | {socket.gethostname().lower()}, has_addresses=True)


def refuse_foreign_hosts(server: Flask, hosts: AllowedHosts) -> None:
    """Answer 421, in words, to a request that names none of `hosts`."""

    def refuse() -> Response | None:
        named = request.environ.get("HTTP_HOST", "")
        if hosts.allows(named):
            return None
        logging.getLogger(__name__).warning("refused a request for the host %.80r", named)
        port = request.environ.get("SERVER_PORT", "")
        return in_words(
            f"This dashboard does not answer for that host. Open http://localhost:{port}/ on the machine it runs on, "
            "or start it with --allow-host NAME.",
            status=421,
        )

    server.before_request(refuse)


def _name_of(header: str) -> str | None:
    """Return the host of `header` in lower case without its port; None for what is no host."""
    try:
        parts = urlsplit(f"//{header}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    is_bare = parts.username is None and not (parts.path or parts.query or parts.fragment)
    return name.rstrip(".") if name and is_bare else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
