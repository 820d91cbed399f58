"""Security headers of every answer: what a browser may do with it, and that nobody may frame it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from flask import request

if TYPE_CHECKING:
    from dash import Dash
    from werkzeug.wrappers import Response

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # To this page's own forms it says where they come from; nobody else is told.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A window that we open, such as a viewer of traces, may still be sent a trace.
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# plotly and mantine write style attributes and elements, which no hash can name beforehand.
POLICY = (
    "default-src 'none'", "script-src 'self' {hashes}", "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:", "font-src 'self' data:", "connect-src 'self'", "worker-src 'self' blob:",
    "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
)  # fmt: skip
# Scripts and style sheets carry a hash or a time of change in their URL; anything else is asked for again.
KEPT_PATHS = ("/_dash-component-suites/", "/assets/", "/_favicon.ico")


def secure_headers(app: Dash) -> None:
    """Send the headers with every answer of `app`, and let nobody keep what it says of the store.

    Scripts run from our own address, inline ones by their hash only: no eval.
    """

    @cache
    def policy() -> str:
        # Asked for at the first answer, when all callbacks that run in the browser are known.
        return "; ".join(POLICY).format(hashes=" ".join(app.csp_hashes()))

    def add(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy()
        for name, value in HEADERS.items():
            response.headers[name] = value
        if not request.path.startswith(KEPT_PATHS):
            response.headers["Cache-Control"] = "no-store"
        return response

    app.server.after_request(add)
