"""Permission to write: who may acknowledge a change, decided from the request alone."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dashboard.serving.authentication import is_authenticated

if TYPE_CHECKING:
    from flask import Request

LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain"})
# Headers that a proxy adds: behind one, the address that is seen is the proxy's.
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")
NOT_FROM_HERE = (
    "only a browser on the machine that serves this page, or one that gave its password, may change what is stored; "
    "elsewhere, run `fusebench store acknowledge` there"
)
NOT_OF_THIS_PAGE = "the request does not come from a page of this dashboard; reload the page and try again"


def may_write(request: Request) -> str | None:
    """Return why `request` may not change what is stored; None if it may.

    It may if it comes from a page of this dashboard (its origin is the host it asks, which a form or a script of
    another site cannot forge), and either with the right credentials or from this machine: the address it comes from
    and the host it names are both loopback, so that neither a proxy nor a name rebound to 127.0.0.1 passes.
    """
    if is_authenticated():
        # Behind a proxy that adds TLS the origin's scheme differs from ours; the browser itself says where it is from.
        is_ours = request.headers.get("Sec-Fetch-Site") == "same-origin" or is_same_origin(request)
        return None if is_ours else NOT_OF_THIS_PAGE
    if any(name in request.headers for name in FORWARDED) or not is_loopback(request.remote_addr or ""):
        return NOT_FROM_HERE
    if not is_loopback(urlsplit(f"//{request.host}").hostname or ""):
        return NOT_FROM_HERE
    return None if is_same_origin(request) else NOT_OF_THIS_PAGE


def is_same_origin(request: Request) -> bool:
    """Tell whether a page of this very host sent the request; one that names no origin is none's."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return False
    return request.headers.get("Origin") == request.host_url.rstrip("/")


def is_loopback(host: str) -> bool:
    """Tell whether a host's name or address means the machine itself."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
