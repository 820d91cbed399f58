"""Take screenshots of every page of the dashboard, light and dark, at three widths, in headless Chromium.

`make screenshots` shows what is published; STORE is another database, or a folder of journals or asv results.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import threading
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Error, sync_playwright
from werkzeug.serving import make_server

from dashboard.app import PAGES, create_app
from dashboard.command import opened

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

ROOT = Path(__file__).parents[1]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
WIDTHS = (400, 1440, 2560)
SCHEMES = ("light", "dark")
HEIGHT = 1000
# Elements that stick out of the window to the right, but for what scrolls by itself.
OVERFLOWING = """() => [...document.querySelectorAll('#page *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scrolls, .js-plotly-plot'))
  .map(one => `${one.tagName.toLowerCase()}.${one.className}`).slice(0, 5)"""


def main() -> int:
    """Take the pictures; return how many pages had complaints or stick out of their window."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=ROOT / "results" / "data" / "published")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screenshots")
    parser.add_argument("--path", action="append", help="URL path with its query; by default every page")
    parser.add_argument("--width", type=int, action="append")
    parser.add_argument("--scheme", action="append", choices=SCHEMES)
    options = parser.parse_args()
    if not options.store.exists():
        sys.exit(f"{options.store}: there is no such database or folder; --store names one")
    is_folder = options.store.is_dir()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    with opened(options.store if is_folder else None, None if is_folder else str(options.store)) as store:
        server = make_server("127.0.0.1", 0, create_app(store).server, threaded=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            return take(
                f"http://127.0.0.1:{server.server_port}",
                paths=options.path or [page.path for page in PAGES],
                widths=options.width or WIDTHS,
                schemes=options.scheme or SCHEMES,
                out=options.out,
            )
        finally:
            server.shutdown()
            thread.join()


def take(address: str, *, paths: list[str], widths: tuple[int, ...], schemes: tuple[str, ...], out: Path) -> int:
    """Write a picture of each path at each width and scheme below `out`; return the number of faults."""
    chromium = os.environ.get("FUSEBENCH_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    out.mkdir(parents=True, exist_ok=True)
    n_faults = 0
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        except Error as error:
            sys.exit(f"no Chromium to draw with ({error.message.splitlines()[0]}); FUSEBENCH_CHROMIUM names one")
        for path, width, scheme in product(paths, widths, schemes):
            context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
            page = context.new_page()
            faults: list[str] = []
            page.on("console", lambda said, into=faults: into.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error, into=faults: into.append(str(error)))
            pending: set[Request] = set()
            page.on("request", lambda asked, into=pending: into.add(asked))
            for end in ("requestfinished", "requestfailed"):
                page.on(end, lambda asked, of=pending: of.discard(asked))
            page.goto(address + path)
            settle(page, pending)
            name = f"{path.strip('/').partition('?')[0] or 'overview'}-{width}-{scheme}.png"
            page.screenshot(path=out / name, full_page=True)
            faults += [f"sticks out: {one}" for one in page.evaluate(OVERFLOWING)]
            print(out / name, *faults, sep="\n    ")
            n_faults += len(faults)
            context.close()
        browser.close()
    return n_faults


def settle(page: Page, pending: set[Request]) -> None:
    """Wait until the page waits for no answer and changes no more."""
    page.wait_for_selector("#page > *")
    before = None
    while pending or (now := page.evaluate("() => document.querySelector('#page').innerHTML.length")) != before:
        before = None if pending else now
        page.wait_for_timeout(500)


if __name__ == "__main__":
    sys.exit(main())
