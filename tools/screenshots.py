"""Take screenshots of every page of the dashboard, light and dark, at three widths, in headless Chromium.

`make screenshots` shows what is published, and three states that a page may be in: the form that acknowledges a finding
(over a made history), an empty store, and one that fails. STORE is another database, or a folder of journals or asv
results, of which the pages are shown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from chromium import browser, served
from made_history import make_history

from dashboard.app import PAGES
from dashboard.command import opened
from results.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Request

ROOT = Path(__file__).parents[1]
WIDTHS = (400, 1440, 2560)
SCHEMES = ("light", "dark")
MADE_COMMITS = 60
FAILING = "failing"
HEIGHT = 1000
# Elements that stick out of the window to the right, but for what scrolls by itself.
OVERFLOWING = """() => [...document.querySelectorAll('#page *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scrolls, .js-plotly-plot'))
  .map(one => `${one.tagName.toLowerCase()}.${one.className}`).slice(0, 5)
  .concat(document.documentElement.scrollWidth > innerWidth + 1 ? ['the text of the page'] : [])"""


def main() -> int:
    """Take the pictures; return how many pages had complaints or stick out of their window."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=ROOT / "results" / "data" / "published")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screenshots")
    parser.add_argument("--path", action="append", help="URL path with its query; by default every page")
    parser.add_argument("--width", type=int, action="append")
    parser.add_argument("--scheme", action="append", choices=SCHEMES)
    parser.add_argument("--states", action="store_true", help="only the three states")
    options = parser.parse_args()
    if not options.store.exists():
        sys.exit(f"{options.store}: there is no such database or folder; --store names one")
    is_folder = options.store.is_dir()
    folder, database = (options.store, None) if is_folder else (None, str(options.store))
    widths, schemes, n_faults = options.width or WIDTHS, options.scheme or SCHEMES, 0
    if not options.states:
        # Somewhere else than the decisions that are kept, so that a picture writes nothing there.
        with (
            tempfile.TemporaryDirectory() as made,
            opened(folder, database) as store,
            served(store, decisions=None if database is None else Path(made) / "decisions.toml") as address,
        ):
            paths = {name_of(path): path for path in options.path or [page.path for page in PAGES]}
            n_faults += take(address, paths=paths, widths=widths, schemes=schemes, out=options.out)
    if options.states or not options.path:
        with tempfile.TemporaryDirectory() as made:
            for name, path, address in states(Path(made)):
                n_faults += take(address, paths={name: path}, widths=widths, schemes=schemes, out=options.out)
    return n_faults


def states(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the path and the address of each state, which lasts until the next one is asked for."""
    with open_store(str(folder / "made.db")) as store:
        store.ingest([make_history(folder / "made", n_commits=MADE_COMMITS).tree], project="made")
        with served(store, decisions=folder / "decisions.toml") as address:
            yield "acknowledging", "/regressions?turn=all&state=all&class=all", address
    with open_store(str(folder / "empty.db")) as store, served(store) as address:
        yield "empty", "/", address
    with open_store(str(folder / "gone.db")) as store, served(store) as address:
        store.close()
        (folder / "gone.db").unlink()
        yield FAILING, "/", address


def name_of(path: str) -> str:
    """Return what pictures of a page are called."""
    return path.strip("/").partition("?")[0] or "overview"


def take(address: str, *, paths: dict[str, str], widths: tuple[int, ...], schemes: tuple[str, ...], out: Path) -> int:
    """Write a picture of each path, by its name, at each width and scheme below `out`; return the number of faults.

    Requests that fail are none where the store is meant to.
    """
    out.mkdir(parents=True, exist_ok=True)
    n_faults = 0
    with browser() as chromium:
        for (state, path), width, scheme in product(paths.items(), widths, schemes):
            context = chromium.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
            page = context.new_page()
            faults: list[str] = []
            page.on("console", lambda said, into=faults: into.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error, into=faults: into.append(str(error)))
            pending: set[Request] = set()
            page.on("request", lambda asked, into=pending: into.add(asked))
            for end in ("requestfinished", "requestfailed"):
                page.on(end, lambda asked, of=pending: of.discard(asked))
            # A refusal whose body nobody reads never finishes.
            page.on("response", lambda told, of=pending: of.discard(told.request) if told.status >= 400 else None)
            page.goto(address + path)
            settle(page, pending)
            name = f"{state}-{width}-{scheme}.png"
            if state == FAILING:
                faults.clear()
            page.screenshot(path=out / name, full_page=True)
            faults += [f"sticks out: {one}" for one in page.evaluate(OVERFLOWING)]
            print(out / name, *faults, sep="\n    ")
            n_faults += len(faults)
            context.close()
    return n_faults


def settle(page: Page, pending: set[Request]) -> None:
    """Wait until the page waits for no answer and changes no more."""
    page.wait_for_selector("#page > *, #fault > *")
    before = None
    while pending or (now := page.evaluate("() => document.querySelector('#page').innerHTML.length")) != before:
        before = None if pending else now
        page.wait_for_timeout(500)


if __name__ == "__main__":
    sys.exit(main())
