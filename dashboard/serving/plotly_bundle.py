"""Plotly's script with the traces that our figures are made of, in place of the whole, which is four times as large."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Response, redirect
from plotly.offline import get_plotlyjs_version

if TYPE_CHECKING:
    from flask import Flask

BUNDLE = Path(__file__).parents[1] / "bundles" / "plotly-basic.min.js"  # made by `make plotly-bundle`
TRACES = frozenset({"scatter", "bar", "pie"})
WHOLE_PATH = "/_dash-component-suites/plotly/package_data/plotly.min.js"  # what Dash's pages ask for
KEEP_S = 365 * 24 * 3600


def serve_plotly_bundle(server: Flask) -> None:
    """Answer requests for plotly's script with BUNDLE, under a name that browsers may keep.

    Nothing is done where the installed plotly draws by another major version, which may take figures otherwise.
    """
    text = BUNDLE.read_bytes()
    if bundle_version(text).partition(".")[0] != get_plotlyjs_version().partition(".")[0]:
        return
    path = f"/_dash-component-suites/plotly-basic-{hashlib.sha256(text).hexdigest()[:16]}.min.js"

    def bundle() -> Response:
        return Response(
            text, mimetype="text/javascript", headers={"Cache-Control": f"public, max-age={KEEP_S}, immutable"}
        )

    server.add_url_rule(path, view_func=bundle)
    server.add_url_rule(WHOLE_PATH, view_func=lambda: redirect(path), endpoint="plotly_bundle_redirect")


def bundle_version(text: bytes) -> str:
    """Return the version that the bundle's first lines name."""
    return text[:200].partition(b"(basic - minified) v")[2].split()[0].decode()
