"""Measure what comparisons take and what is kept of them: `python tools/comparisons/kept_sides.py [DATABASE]`.

Two commits at a time are judged until nothing more fits; without a database a made store of 1,200 series × 100 commits
is asked.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

from dashboard.views import judged_sides as kept
from dashboard.views.compare_drawing import compare_drawing_of
from results.queries import commits
from results.store import OpenMode, open_store
from results.upkeep.generated import fill_with_sweeps

N_COMMITS = 100
MOST_COMMITS = 40  # asked for: more than are kept


def main() -> int:
    """Print how much is kept, of how many rows, and what is left of it once it is forgotten."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", nargs="?", type=Path, help="a database with two commits at least")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = chosen.database or Path(folder) / "made.db"
        if chosen.database is None:
            with open_store(str(database)) as store:
                fill_with_sweeps(store, n_commits=N_COMMITS)
        print(measured(database))
    return 0


def measured(database: Path) -> str:
    """Return what is kept of the database's comparisons, in words; bytes as Python's allocator counts them."""
    with open_store(str(database), mode=OpenMode.READ) as store:
        pairs = list(pairwise(row.commit for row in commits(store)[-MOST_COMMITS:]))
        compare_drawing_of(store, query="?commit={}&commit={}".format(*pairs[0]))  # a process's first: imports
        entries = kept.kept_of(store)
        times_s = []
        for base, head in pairs[1:]:
            entries.clear()
            started = time.process_time()
            compare_drawing_of(store, query=f"?commit={base}&commit={head}")
            times_s.append(time.process_time() - started)
        entries.clear()
        gc.collect()
        tracemalloc.start()
        for base, head in pairs:
            compare_drawing_of(store, query=f"?commit={base}&commit={head}")
        gc.collect()
        whole = tracemalloc.get_traced_memory()[0]
        n_entries, n_rows = len(entries), sum(n for _, n in entries.values())
        entries.clear()
        gc.collect()
        n_bytes = whole - tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    p50, p95 = statistics.median(times_s), statistics.quantiles(times_s, n=20, method="inclusive")[-1]
    return (
        f"{len(times_s)} first comparisons: p50 {p50 * 1e3:.0f} ms, p95 {p95 * 1e3:.0f} ms of processor time\n"
        f"{n_entries} entries of {n_rows:,} rows: {n_bytes / 1e6:.1f} MB ({n_bytes / max(n_rows, 1):.0f} bytes a row)"
    )


if __name__ == "__main__":
    sys.exit(main())
