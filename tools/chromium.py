"""Headless Chromium, and the dashboard of a store for it to visit: what the tools that draw pictures share.

FUSEBENCH_CHROMIUM names a Chromium that is not on the path.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
import threading
from typing import TYPE_CHECKING

from playwright.sync_api import Error, sync_playwright
from werkzeug.serving import make_server

from dashboard.app import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from socketserver import BaseServer

    from playwright.sync_api import Browser

    from results.store import Store

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium without a window and yield it. Exit if there is none."""
    path = os.environ.get("FUSEBENCH_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        except Error as error:
            sys.exit(f"no Chromium to draw with ({error.message.splitlines()[0]}); FUSEBENCH_CHROMIUM names one")
        with contextlib.closing(found):
            yield found


@contextlib.contextmanager
def served(store: Store, *, decisions: Path | None = None) -> Iterator[str]:
    """Serve the dashboard of `store` on a free port of this machine; yield its address. decisions: as of create_app."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    with serving(make_server("127.0.0.1", 0, create_app(store, decisions=decisions).server, threaded=True)) as address:
        yield address


@contextlib.contextmanager
def serving(server: BaseServer) -> Iterator[str]:
    """Let a server of this machine answer meanwhile; yield its address."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
