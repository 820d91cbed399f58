"""Take screenshots of every page of the dashboard, light and dark, at three widths, in headless Chromium.

`make screenshots` shows what is published; STORE is another database, or a folder of journals or asv results.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from chromium import browser, served

from dashboard.app import PAGES
from dashboard.command import opened

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

ROOT = Path(__file__).parents[1]
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
    folder, database = (options.store, None) if is_folder else (None, str(options.store))
    with opened(folder, database) as store, served(store) as address:
        return take(
            address,
            paths=options.path or [page.path for page in PAGES],
            widths=options.width or WIDTHS,
            schemes=options.scheme or SCHEMES,
            out=options.out,
        )


def take(address: str, *, paths: list[str], widths: tuple[int, ...], schemes: tuple[str, ...], out: Path) -> int:
    """Write a picture of each path at each width and scheme below `out`; return the number of faults."""
    out.mkdir(parents=True, exist_ok=True)
    n_faults = 0
    with browser() as chromium:
        for path, width, scheme in product(paths, widths, schemes):
            context = chromium.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
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
