"""Draw the picture of README: the dashboard's curves over commits, of the published journals, in headless Chromium.

`make history-picture` writes docs/history.png; the query is that of the dashboard's page *Throughput*.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Error, sync_playwright
from werkzeug.serving import make_server

from dashboard.app import create_app
from results.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
# What the picture leaves out: the answer, the other chart, the winners, and the buttons.
OTHERS = (
    "#throughput-answer, #throughput-batch-card, .card:has(#throughput-winners), .saving { display: none !important; }"
)
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
SIZE = {"width": 1100, "height": 900}


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the dashboard of what lies below `folder`; yield its address. Exit if nothing does."""
    with tempfile.TemporaryDirectory() as name, open_store(str(Path(name) / "drawn.db")) as store:
        report = store.ingest([folder])
        if not report.n_values:
            sys.exit(f"{folder}: no journal there has a value to draw; make history measures some")
        logging.getLogger("werkzeug").setLevel(logging.WARNING)
        server = make_server("127.0.0.1", 0, create_app(store).server, threaded=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def draw(address: str, query: str, out: Path) -> None:
    """Write a picture of the selectors and the curves over commits at `address`. Exit if there is no Chromium."""
    path = os.environ.get("FUSEBENCH_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        except Error as error:
            sys.exit(f"no Chromium to draw with ({error.message.splitlines()[0]}); FUSEBENCH_CHROMIUM names one")
        page = browser.new_context(viewport=SIZE, device_scale_factor=1.5).new_page()
        page.goto(f"{address}/throughput?{query}")
        page.wait_for_selector("#throughput-commits-graph .js-plotly-plot .scatterlayer")
        page.wait_for_load_state("networkidle")
        page.add_style_tag(content=OTHERS)
        page.evaluate("window.dispatchEvent(new Event('resize'))")
        page.wait_for_timeout(1000)
        out.parent.mkdir(parents=True, exist_ok=True)
        page.locator(".page").screenshot(path=out)
        browser.close()


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, default=ROOT / "results" / "data" / "published")
    parser.add_argument("--query", default="operation=mlp&pass=forward&hidden=256&batch=16&quantity=speedup")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "history.png")
    options = parser.parse_args()
    with served(options.published) as address:
        draw(address, options.query, options.out)
    print(options.out)


if __name__ == "__main__":
    main()
