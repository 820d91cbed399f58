"""Benchmark the dashboard as its users meet it: `make bench-dashboard CORPUS=PATH`.

PATH is an asv results tree; without it only a made store of 1,200 series × `--commits` commits is measured. Times are a
client's, of a dashboard in a process of its own. Each figure stands beside its aim, with pass or FAIL; the exit code
counts the FAILs. No question is asked twice. asv's page of the same values is opened in the same browser.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).parent))  # run as a file, not as a module of a package

from asv_page.compare import bench_beside_asv
from chromium import browser
from figures import Figures, paced
from page_questions import Client, dependency_of, payload_of

from dashboard.app import PAGES
from dashboard.pages import explore
from results.queries import benchmarks, commits, point_choices
from results.store import OpenMode, open_store
from results.upkeep.generated import OPERATIONS, PROVIDERS, fill_with_sweeps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, ViewportSize

    from results.store import Store

ROOT = Path(__file__).parents[1]
N_QUESTIONS, N_READERS = 60, 30
WINDOW: ViewportSize = {"width": 1440, "height": 900}
# Of what each reader asks for: like others, most look at a few curves, and now and then at any.
N_POPULAR = 20
SHARE_POPULAR = 0.8
KINDS = {  # the callback that most of a page comes from
    "Throughput": "throughput-answer",
    "Overview": "overview-maps",
    "Explore": "explore-changes",
    "Regressions": "regressions-answer",
    "Compare": "compare-answer",
    "Profile": "profile-answer",
    "Roofline": "roofline-answer",
}
POINT = ("operation", "machine", "hidden", "batch")
# What a page asks for besides, the same for every reader: once for each state of the store.
ONCE = {"Overview, the last commits": "overview-changes", "Overview, who leads since when": "overview-flips"}


@dataclass
class Bench:
    """Dashboard being measured: its process, its address, and what is measured of it."""

    figures: Figures
    column: str
    address: str
    pid: int
    reading_s: float
    n_failed: int = 0

    def judge(self, line: str, value: float, aim: float, unit: str, *, is_least: bool = False) -> None:
        """Keep a figure with its aim: at most that, or at least that."""
        is_passed = value >= aim if is_least else value <= aim
        self.n_failed += not is_passed
        sign = "≥" if is_least else "≤"
        verdict = "pass" if is_passed else "FAIL"
        self.figures.add(f"{line} ({sign} {aim:g} {unit})", self.column, f"{value:,.4g} {unit}  {verdict}")


@contextlib.contextmanager
def served(db: Path) -> Iterator[tuple[str, int]]:
    """Run `fusebench dashboard` on the database; yield its address and process id."""
    command = [sys.executable, str(ROOT / "fusebench.py"), "dashboard", "--db", str(db), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        try:
            line = (process.stdout or sys.stdin).readline().split()
            if len(line) < 5:
                sys.exit("the dashboard did not start; its error stands above")
            yield line[4].rstrip("/"), process.pid
        finally:
            process.terminate()


def queries_of(store: Store) -> dict[str, list[str]]:
    """Return queries of distinct URLs by page, in a fixed random order."""
    points = sorted({(row.operation, row.machine, row.hidden, row.batch) for row in point_choices(store)})
    throughput = [urlencode(dict(zip(POINT, point, strict=True))) for point in points]
    names = dict.fromkeys((row.project, row.benchmark) for row in benchmarks(store))
    measured = [row.commit[:12] for row in commits(store)]
    found = {
        "Explore": [urlencode({"project": project, "benchmark": name}) for project, name in names],
        "Regressions": [urlencode({"contains": name}) for _, name in names],
        "Compare": [urlencode([("commit", a), ("commit", b)]) for a, b in pairwise(measured)],
    }
    if points:
        found["Throughput"] = throughput
        found["Overview"] = [urlencode({"machine": one}) for one in {machine: 0 for _, machine, _, _ in points}]
        found["Profile"] = [f"{query}&provider={PROVIDERS[0]}" for query in throughput]
        found["Roofline"] = [urlencode({"operation": o, "commit": c}) for o in OPERATIONS for c in measured[-20:]]
    for queries in found.values():
        random.Random(0).shuffle(queries)  # noqa: S311 - the same each time
    return {page: [f"?{query}" for query in queries[:N_QUESTIONS]] for page, queries in found.items()}


def bench_callbacks(bench: Bench, queries: dict[str, list[str]]) -> None:
    """Measure each page's callback on questions that were not asked before, and again on the same."""
    client = Client(bench.address)
    dependencies = client.dependencies()
    first: list[float] = []
    again: list[float] = []
    cpu_s = 0.0
    for page, searches in queries.items():
        dependency = dependency_of(dependencies, KINDS[page])
        # A process's first: imports, files, statements; of what tells of changes, reading all histories.
        warm_up = client.call(payload_of(dependency, search="?machine=warm-up"))
        asked = [payload_of(dependency, search=search) for search in searches]
        used_s = cpu_seconds(bench.pid)
        replies = [client.call(payload) for payload in asked]
        cpu_s += cpu_seconds(bench.pid) - used_s
        wrong = [reply.status for reply in replies if reply.status != 200]
        if wrong:
            sys.exit(f"{page}: {len(wrong)} of {len(replies)} callbacks were answered with {wrong[0]}")
        times = [reply.wall_s * 1e3 for reply in replies]
        first += times
        again += [client.call(payload).wall_s * 1e3 for payload in asked]
        told = f"{statistics.median(times):.0f}, {p95(times):.0f}; {warm_up.wall_s * 1e3:,.0f} ms"
        bench.figures.add(f"{page}, callback: p50, p95; a process's first", bench.column, told)
        if page in {"Throughput", "Explore"}:
            bench.judge(
                f"{page}, an answer with its curves", statistics.median(r.n_bytes for r in replies) / 1e3, 100, "kB"
            )
    for line, component in ONCE.items():
        reply = client.call(payload_of(dependency_of(dependencies, component), search=""))
        bench.figures.add(f"{line}: once", bench.column, f"{reply.wall_s * 1e3:.0f} ms")
    bench.judge("callbacks, p50", statistics.median(first), 150, "ms")
    bench.judge("callbacks, p95", p95(first), 300, "ms")
    bench.figures.add("callbacks, CPU of the server", bench.column, f"{cpu_s / len(first) * 1e3:.0f} ms each")
    bench.figures.add("the same again: p50, p95", bench.column, f"{statistics.median(again):.1f}, {p95(again):.1f} ms")


def bench_first_visits(bench: Bench, queries: dict[str, list[str]]) -> None:
    """Measure in Chromium what a first visit of each page loads, and how long a later one takes to its curve."""
    page, path = ("Throughput", "/throughput") if "Throughput" in queries else ("Explore", "/explore")
    with browser() as chromium:
        for one in PAGES if page == "Throughput" else (explore.PAGE,):
            bench.judge(f"first load, {one.name}", loaded_bytes(chromium, f"{bench.address}{one.path}") / 1e6, 2, "MB")
        tab = chromium.new_context(viewport=WINDOW).new_page()
        times = []
        for search in queries[page][:6]:
            started = time.perf_counter()
            tab.goto(f"{bench.address}{path}{search}")
            tab.wait_for_selector(".js-plotly-plot .main-svg .trace")
            times.append(time.perf_counter() - started)
        bench.judge(f"{page}, load to curve, warm", statistics.median(times[1:]), 1.5, "s")


def loaded_bytes(chromium: Browser, address: str) -> int:
    """Return the bytes of all answers' bodies that a browser which knows nothing yet is sent at an address."""
    context = chromium.new_context(viewport=WINDOW)
    tab = context.new_page()
    sizes: list[int] = []
    tab.on("requestfinished", lambda asked: sizes.append(asked.sizes()["responseBodySize"]))
    tab.goto(address)
    tab.wait_for_selector("#page h1")
    tab.wait_for_timeout(2_000)  # what loads after the curve; a judgement of all histories may go on for long
    context.close()
    return sum(sizes)


def bench_readers(bench: Bench, queries: dict[str, list[str]]) -> None:
    """Measure many readers at once: each goes on asking as soon as it is answered."""
    dependencies = Client(bench.address).dependencies()
    payloads = [
        payload_of(dependency_of(dependencies, KINDS[page]), search=search)
        for page, searches in queries.items()
        for search in searches
    ]
    random.Random(1).shuffle(payloads)  # noqa: S311
    before = resident_bytes(bench.pid)
    walls, n_wrong, wall_s = read_together(bench.address, payloads, bench.reading_s)
    half = resident_bytes(bench.pid)
    more, n_more_wrong, _ = read_together(bench.address, payloads, bench.reading_s)
    after = resident_bytes(bench.pid)
    if n_wrong or n_more_wrong:
        sys.exit(f"{n_wrong + n_more_wrong} of {len(walls) + len(more)} requests of {N_READERS} readers failed")
    bench.judge(f"{N_READERS} readers, p95", p95(walls), 1.5, "s")
    bench.judge(f"{N_READERS} readers, requests", len(walls) / wall_s, 40, "/s", is_least=True)
    bench.judge(
        f"{N_READERS} readers, memory after the second {bench.reading_s:g} s over the first", after / half, 1.1, "×"
    )
    sizes = " → ".join(f"{size / 1e6:.0f}" for size in (before, half, after))
    bench.figures.add(f"{N_READERS} readers, memory", bench.column, f"{sizes} MB")


def read_together(
    address: str, payloads: Sequence[dict[str, object]], reading_s: float
) -> tuple[list[float], int, float]:
    """Let the readers ask for so long; return the seconds of each answer, how many failed, and of all together."""
    walls: list[float] = []
    wrong: list[int] = []
    until = time.perf_counter() + reading_s

    def read(number: int) -> None:
        client, choose = Client(address), random.Random(number)  # noqa: S311
        while time.perf_counter() < until:
            popular = choose.random() < SHARE_POPULAR
            reply = client.call(choose.choice(payloads[:N_POPULAR] if popular else payloads))
            walls.append(reply.wall_s)
            if reply.status != 200:
                wrong.append(reply.status)

    readers = [threading.Thread(target=read, args=(number,)) for number in range(N_READERS)]
    started = time.perf_counter()
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return walls, len(wrong), time.perf_counter() - started


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Return the memory that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def p95(values: Sequence[float]) -> float:
    """Return the value that 95 % do not exceed."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def bench_store(figures: Figures, column: str, db: Path, *, reading_s: float) -> int:
    """Measure all of the dashboard on one database; return how many aims were missed."""
    with open_store(str(db), mode=OpenMode.READ) as store:
        queries = queries_of(store)
        with paced(figures, "all", column), served(db) as (address, pid):
            bench = Bench(figures, column, address, pid, reading_s)
            bench_callbacks(bench, queries)
            bench_readers(bench, queries)
            bench_first_visits(bench, queries)
            bench_beside_asv(figures, column, store, address)
    return bench.n_failed


def main() -> int:
    """Measure what was asked for, print one table, and return the number of aims that were missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", help="an asv results tree, or a database filled from one")
    parser.add_argument("--commits", type=int, default=1000, help="of the generated store; 0: none is generated")
    parser.add_argument("--seconds", type=float, default=15.0, help="how long the readers read, twice")
    parser.add_argument("--made", type=Path, help="a database to generate it in, kept for the next time")
    chosen = parser.parse_args()
    figures, n_failed = Figures(), 0
    with tempfile.TemporaryDirectory() as folder:
        if chosen.corpus is None or not chosen.corpus.exists():
            named = "none is named (CORPUS=PATH)" if chosen.corpus is None else f"{chosen.corpus} does not exist"
            print(f"asv corpus: not measured, {named}", file=sys.stderr)
        else:
            db = chosen.corpus
            if db.is_dir():
                db = Path(folder) / "corpus.db"
                with open_store(str(db)) as store:
                    store.ingest([chosen.corpus])
            n_failed += bench_store(figures, "asv corpus", db, reading_s=chosen.seconds)
        if chosen.commits:
            made = chosen.made or Path(folder) / "made.db"
            if not made.exists():
                print(f"  making 1,200 series × {chosen.commits:,} commits, a minute or two", file=sys.stderr)
                with open_store(str(made)) as store:
                    fill_with_sweeps(store, n_commits=chosen.commits)
            n_failed += bench_store(figures, f"1,200 × {chosen.commits:,}", made, reading_s=chosen.seconds)
    print(figures.table())
    return n_failed


if __name__ == "__main__":
    sys.exit(main())
