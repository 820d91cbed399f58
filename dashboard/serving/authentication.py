"""Basic authentication by a user name and a password from the environment."""

from __future__ import annotations

import hmac
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
        is_user = hmac.compare_digest(user.encode(errors="replace"), self.user.encode())
        is_password = hmac.compare_digest(password.encode(errors="replace"), self.password.encode())
        return is_user and is_password


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
        given = request.authorization
        if credentials is None or request.path == HEALTH_PATH:
            return None
        if given is not None and given.type == "basic":
            user, password = given.username or "", given.password or ""
            g.is_authenticated = credentials.match(user=user, password=password)
        if g.is_authenticated:
            return None
        refusal = in_words("This dashboard asks for a user name and a password.", status=401)
        refusal.headers["WWW-Authenticate"] = 'Basic realm="fusebench", charset="UTF-8"'
        return refusal

    server.before_request(refuse)


def is_authenticated() -> bool:
    """Return whether the request being answered came with the right credentials."""
    return bool(g.get("is_authenticated", False))
