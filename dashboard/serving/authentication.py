"""Basic authentication by a user name and a password from the environment."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from flask import g, request

from dashboard.serving.answers import in_words
from dashboard.serving.health import HEALTH_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask
    from werkzeug.wrappers import Response

USER_VARIABLE, PASSWORD_VARIABLE = "FUSEBENCH_DASHBOARD_USER", "FUSEBENCH_DASHBOARD_PASSWORD"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """User name and password that a browser must send."""

    user: str
    password: str

    def match(self, *, user: str, password: str) -> bool:
        """Return whether both are right, in a time that does not tell how much of them is."""
        pairs = ((user, self.user), (password, self.password))
        is_equal = [hmac.compare_digest(_digest(given), _digest(wanted)) for given, wanted in pairs]
        return all(is_equal)


def credentials_from(environment: Mapping[str, str]) -> Credentials | None:
    """Return the credentials that the environment sets; None without any.

    Raises: UsageError if it sets one half, or an empty one.
    """
    if USER_VARIABLE not in environment and PASSWORD_VARIABLE not in environment:
        return None
    user, password = environment.get(USER_VARIABLE, ""), environment.get(PASSWORD_VARIABLE, "")
    if not user or not password or ":" in user:
        raise click.UsageError(
            f"set both {USER_VARIABLE} (without a colon) and {PASSWORD_VARIABLE}, or neither: "
            "a password without a user protects nothing"
        )
    return Credentials(user=user, password=password)


def require_credentials(server: Flask, credentials: Credentials | None) -> None:
    """Answer 401 to a request without them, but for the health of the server; None requires nothing."""

    def refuse() -> Response | None:
        g.is_authenticated = False
        header = request.headers.get("Authorization", "")
        if credentials is None or request.path == HEALTH_PATH:
            return None
        user, password = _given(header)
        g.is_authenticated = credentials.match(user=user, password=password)
        if g.is_authenticated:
            return None
        if header:  # a browser asks without any at first
            logging.getLogger(__name__).warning("refused a wrong user name or password from %s", request.remote_addr)
        refusal = in_words("This dashboard asks for a user name and a password.", status=401)
        refusal.headers["WWW-Authenticate"] = 'Basic realm="fusebench", charset="UTF-8"'
        return refusal

    server.before_request(refuse)


def _given(header: str) -> tuple[str, str]:
    """Return the user name and the password of a header; both empty where it holds none."""
    scheme, _, encoded = header.partition(" ")
    try:
        text = os.fsdecode(b64decode(encoded.strip())) if scheme.lower() == "basic" else ""
    except ValueError:  # not base64, not ASCII
        text = ""
    user, _, password = text.partition(":")
    return user, password


def _digest(text: str) -> bytes:
    """Hash a text of any bytes, as the environment and headers have them, so that its length does not show either."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def is_authenticated() -> bool:
    """Return whether the request being answered came with the right credentials."""
    return bool(g.get("is_authenticated", False))
