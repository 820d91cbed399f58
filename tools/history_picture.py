"""Draw the pictures of README, of the published journals, in headless Chromium: the Overview, and curves over commits.

`make history-picture` writes docs/overview.png and docs/history.png; the query is that of the dashboard's page
*Throughput*.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from chromium import browser, served

from results.store import open_store

ROOT = Path(__file__).parents[1]
# What the picture leaves out: the answer, the other chart, the winners, the chosen point, and the buttons.
OTHERS = (
    "#throughput-answer, #throughput-batch-card, .card:has(#throughput-winners), #throughput-point-card, .saving "
    "{ display: none !important; }"
)
SIZE = {"width": 1100, "height": 900}
OVERVIEW_SIZE = {"width": 1280, "height": 1420}  # down to the first maps


def draw(address: str, query: str, out: Path) -> None:
    """Write a picture of the selectors and the curves over commits at `address`."""
    with browser() as chromium:
        page = chromium.new_context(viewport=SIZE, device_scale_factor=1.5).new_page()
        page.goto(f"{address}/throughput?{query}")
        page.wait_for_selector("#throughput-commits-graph .js-plotly-plot .scatterlayer")
        page.wait_for_load_state("networkidle")
        page.add_style_tag(content=OTHERS)
        page.evaluate("window.dispatchEvent(new Event('resize'))")
        page.wait_for_timeout(1000)
        out.parent.mkdir(parents=True, exist_ok=True)
        page.locator(".page").screenshot(path=out)


def draw_overview(address: str, out: Path) -> None:
    """Write a picture of what one sees first at `address`."""
    with browser() as chromium:
        page = chromium.new_context(viewport=OVERVIEW_SIZE).new_page()
        page.goto(f"{address}/")
        for part in ("#overview-changes .answer", "#overview-maps table"):
            page.wait_for_selector(part)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1000)
        page.screenshot(path=out)


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, default=ROOT / "results" / "data" / "published")
    parser.add_argument("--query", default="operation=mlp&pass=forward&hidden=256&batch=16&quantity=speedup")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "history.png", help="the Overview's lies beside it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, open_store(str(Path(name) / "drawn.db")) as store:
        report = store.ingest([options.published])
        if not report.n_values:
            sys.exit(f"{options.published}: no journal there has a value to draw; make history measures some")
        with served(store) as address:
            draw(address, options.query, options.out)
            overview = options.out.with_name("overview.png")
            draw_overview(address, overview)
    print(options.out, overview, sep="\n")


if __name__ == "__main__":
    main()
