"""Visits of one curve in Chromium, on the dashboard and on asv's page alike."""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chromium import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, ViewportSize

WINDOW: ViewportSize = {"width": 1440, "height": 900}
SETTLED_MS = 2_000  # what a page loads after its curve
# Scripts that tell how many lines are drawn; nothing until there is one.
DASHBOARD_LINES = "() => document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length"
ASV_LINES = """() => {
    const plot = window.jQuery && jQuery('#main-graph').data('plot');
    return plot ? plot.getData().filter(line => line.data.length).length : 0;
}"""
COMPRESSED = (".html", ".js", ".css", ".json")


@dataclass(frozen=True)
class Visits:
    """Seconds to the curve of a browser that knows nothing yet, and of one that was there; the first one's bytes."""

    first_s: float
    warm_s: float
    n_bytes: int
    n_lines: int


def visit(chromium: Browser, addresses: Sequence[str], *, lines: str) -> Visits:
    """Open the first address in a browser that knows nothing yet, then the others, each in a tab of its own.

    lines: script that tells how many lines are drawn; a page has its curve when it tells any.
    """
    context = chromium.new_context(viewport=WINDOW)
    sizes: list[int] = []
    context.on("requestfinished", lambda asked: sizes.append(asked.sizes()["responseBodySize"]))
    first_s, n_lines = _open(context, addresses[0], lines)
    n_bytes = sum(sizes)
    warm = [_open(context, address, lines)[0] for address in addresses[1:] or addresses]
    context.close()
    return Visits(first_s=first_s, warm_s=statistics.median(warm), n_bytes=n_bytes, n_lines=n_lines)


def _open(context: BrowserContext, address: str, lines: str) -> tuple[float, int]:
    tab = context.new_page()
    started = time.perf_counter()
    tab.goto(address, wait_until="commit")
    tab.wait_for_function(lines, timeout=60_000, polling="raf")
    took_s = time.perf_counter() - started
    tab.wait_for_timeout(SETTLED_MS)
    n_lines = tab.evaluate(lines)
    tab.close()
    return took_s, int(n_lines)


class _Compressing(http.server.SimpleHTTPRequestHandler):
    """Files as a host of static pages sends them: compressed, and fresh for ten minutes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.translate_path(self.path)
        if not path.endswith(COMPRESSED):
            super().do_GET()
            return
        try:
            body = _compressed(path)
        except OSError:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@functools.cache
def _compressed(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - as the server names it
        return gzip.compress(file.read())


@contextlib.contextmanager
def served(pages: Path) -> Iterator[str]:
    """Serve the folder on a free port of this machine; yield the address."""
    handler = functools.partial(_Compressing, directory=str(pages))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, serving(server) as address:
        yield address
