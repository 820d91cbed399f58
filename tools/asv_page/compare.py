"""The same curves on the dashboard and on asv's page: seconds and bytes of each, and their ratio."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from chromium import browser

from asv_page.libraries import LibraryMissingError, place_libraries
from asv_page.site import Opened, publish
from asv_page.visits import ASV_LINES, DASHBOARD_LINES, served, visit
from results.queries import benchmarks

if TYPE_CHECKING:
    from figures import Figures

    from results.store import Store

N_OPENED = 6
KEPT = Path(tempfile.gettempdir()) / "fusebench-asv-page"


def bench_beside_asv(figures: Figures, column: str, store: Store, dashboard: str) -> None:
    """Open some benchmarks on the dashboard at the address `dashboard`, and on asv's page of the same values."""
    project, opened = _opened(store)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        pages = publish(store, opened, project=project, folder=Path(folder))
        try:
            place_libraries(pages, kept=KEPT)
        except LibraryMissingError as error:
            figures.add("Explore beside asv's page", column, f"not measured: {error}")
            return
        figures.add(f"asv publish of {len(opened)} benchmarks", column, f"{time.perf_counter() - started:.0f} s")
        queries = [urlencode({"project": project, "benchmark": one.benchmark, "metric": one.metric}) for one in opened]
        with served(pages) as asv, browser() as chromium:
            ours = visit(chromium, [f"{dashboard}/explore?{query}" for query in queries], lines=DASHBOARD_LINES)
            theirs = visit(chromium, [f"{asv}/#{one.name}" for one in opened], lines=ASV_LINES)
    for line, mine, other, unit in (
        ("load to curve, first", ours.first_s, theirs.first_s, "s"),
        ("load to curve, warm", ours.warm_s, theirs.warm_s, "s"),
        ("bytes of the first load", ours.n_bytes / 1e6, theirs.n_bytes / 1e6, "MB"),
    ):
        told = f"{mine:.3g} {unit} beside {other:.3g} {unit}: {mine / other:.2f} ×"
        figures.add(f"Explore beside asv's page, {line}", column, told)
    figures.add(
        "Explore beside asv's page, lines drawn of the first", column, f"{ours.n_lines} beside {theirs.n_lines}"
    )


def _opened(store: Store) -> tuple[str, list[Opened]]:
    """Return the project of most benchmarks, and some of them, the same each time."""
    rows = benchmarks(store)
    projects = [row.project for row in rows]
    project = max(sorted(set(projects)), key=projects.count)
    found = sorted({(row.benchmark, row.metric) for row in rows if row.project == project})
    return project, [
        Opened(*one)
        for one in random.Random(0).sample(found, min(N_OPENED, len(found)))  # noqa: S311 - the same each time
    ]
