"""How fast the store fills and answers: `make bench-store CORPUS=PATH`, with PATH an asv results tree.

Filling is measured on the real command in processes of its own, by the CPU time and memory the kernel counts (of
the command, not of a PostgreSQL server);
answering on a generated store of 1,200 series × 1,000 commits, by the median of many calls.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from results.generated import fill_with_sweeps
from results.queries import history_of, latest_points, throughput_by_commit, winners_by_shape
from results.schema import Series, Value
from results.store import open_store

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Cost:
    """What a process used."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def cost_of(command: list[str]) -> Cost:
    """Run `command` silently and count what it used. Raises: SystemExit with its output if it fails."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        pid = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)],
        )
        _, status, used = os.wait4(pid, 0)
        wall_s = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status) != 0:
            output.seek(0)
            sys.exit(f"{' '.join(command)}\n{output.read().decode()}")
    return Cost(used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss * 1024)


def ingest(tree: Path, db: str, *options: str) -> Cost:
    """What `fusebench ingest` costs."""
    return cost_of([sys.executable, str(ROOT / "fusebench.py"), "ingest", str(tree), "--db", db, *options])


def n_entries(db: str) -> int:
    """Result entries that are not null in the files: everything but what failed."""
    with open_store(db) as store, store.reading() as connection:
        query = sa.select(sa.func.count()).select_from(Value).where(Value.state != "failed")
        return connection.execute(query).scalar() or 0


def linked(files: list[Path], *, tree: Path, to: Path) -> None:
    """Put links to `files` of `tree` where they belong below `to`."""
    for path in files:
        target = to / path.relative_to(tree)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            os.link(path, target)


def bench_filling(corpus: Path, db: str, scratch: Path) -> None:
    """Cold, incremental, nothing new, one file more."""
    files = sorted(corpus.rglob("*.json"))
    described = [path for path in files if path.name in {"machine.json", "benchmarks.json"}]
    results = [path for path in files if path not in described]
    size = sum(path.stat().st_size for path in files)
    print(f"{len(results)} result files, {size / 1e6:.0f} MB")
    copy = scratch / "copy"
    shutil.copytree(corpus, copy)
    idle = ingest_nothing(scratch, db)

    empty(db)
    cold = ingest(copy, db, "--project", "corpus")
    n_all = n_entries(db)
    report("cold", n_all, cold)

    again = ingest(copy, db, "--project", "corpus")
    extra = again.wall_s - idle.wall_s
    print(
        f"again, nothing changed: {n_entries(db) - n_all} rows, {extra:.2f} s beyond a start-up of {idle.wall_s:.2f} s"
    )

    if "://" not in db:
        report("--rebuild", n_all, ingest(copy, db, "--project", "corpus", "--rebuild"))

    empty(db)
    half, last = results[: len(results) // 2], results[-1]
    parts = scratch / "parts"
    linked([*described, *half], tree=corpus, to=parts)
    ingest(parts, db, "--project", "corpus")
    before = n_entries(db)
    linked(results[:-1], tree=corpus, to=parts)
    incremental = ingest(parts, db, "--project", "corpus")
    report("incremental, indexes live", n_entries(db) - before, incremental)
    linked([last], tree=corpus, to=parts)
    one = ingest(parts, db, "--project", "corpus")
    print(f"one file added: {one.wall_s - idle.wall_s:.2f} s beyond start-up")


def ingest_nothing(scratch: Path, db: str) -> Cost:
    """What the command costs when there is nothing to read: its start-up."""
    empty(db)
    folder = scratch / "empty"
    folder.mkdir()
    ingest(folder, db)
    return ingest(folder, db)


def report(name: str, n_values: int, cost: Cost) -> None:
    """Print one line of figures."""
    print(
        f"{name}: {n_values} values, {n_values / cost.cpu_s:,.0f} values per CPU second "
        f"(CPU {cost.cpu_s:.2f} s, wall {cost.wall_s:.2f} s, peak {cost.peak_bytes / 1e6:.0f} MB)"
    )


def empty(db: str) -> None:
    """Make the database one that has never been used."""
    if "://" not in db:
        for suffix in ("", "-wal", "-shm"):
            Path(db + suffix).unlink(missing_ok=True)
        return
    engine = sa.create_engine(db, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()


def bench_publish(corpus: Path, repository: Path | None, scratch: Path) -> None:
    """What `asv publish` costs on the same tree; it needs a repository that has its commits."""
    if repository is None:
        print("asv publish: not measured; it needs a git repository of those commits (--repository)")
        return
    conf = {
        "version": 1,
        "project": "corpus",
        "repo": str(repository.resolve()),
        "results_dir": str(corpus.resolve()),
        "html_dir": str(scratch / "html"),
    }
    (scratch / "asv.conf.json").write_text(json.dumps(conf))
    asv = str(Path(sys.executable).parent / "asv")
    cost = cost_of([asv, "publish", "--config", str(scratch / "asv.conf.json")])
    print(f"asv publish: CPU {cost.cpu_s:.2f} s, wall {cost.wall_s:.2f} s, peak {cost.peak_bytes / 1e6:.0f} MB")


def bench_answers(db: str) -> None:
    """Medians of the questions on 1,200 series × 1,000 commits."""
    empty(db)
    with open_store(db) as store:
        fill_with_sweeps(store, n_commits=1000)
        with store.reading() as connection:
            ids = list(connection.execute(sa.select(Series.id).order_by(Series.id)).scalars())
        print(f"{len(ids)} series × 1000 commits on {db.split(':', maxsplit=1)[0] if '://' in db else 'sqlite'}")
        questions = {
            "history of one series": lambda i: history_of(store, series_ids=[ids[i * 37 % len(ids)]]),
            "latest of all": lambda _: latest_points(store),
            "winners by shape": lambda _: winners_by_shape(store),
            "throughput by commit, one shape": lambda _: throughput_by_commit(
                store, operation="mlp", hidden=1024, batch=64
            ),
        }
        for name, ask in questions.items():
            times = []
            for i in range(30):
                started = time.perf_counter()
                n_rows = len(ask(i))
                times.append(time.perf_counter() - started)
            print(f"{name}: {statistics.median(times) * 1e3:.1f} ms ({n_rows} rows)")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", help="an asv results tree; left out: answers only")
    parser.add_argument("--db", action="append", help="where to measure; default: a new SQLite file; may be repeated")
    parser.add_argument("--repository", type=Path, help="a git repository of the corpus's commits, for asv publish")
    chosen = parser.parse_args()
    for db in chosen.db or [None]:
        with tempfile.TemporaryDirectory(dir=chosen.corpus.parent if chosen.corpus else None) as folder:
            scratch = Path(folder)
            url = db or str(scratch / "store.db")
            print(f"== {url}")
            if chosen.corpus:
                bench_filling(chosen.corpus, url, scratch)
            bench_answers(url)
            empty(url)
    if chosen.corpus:
        with tempfile.TemporaryDirectory() as folder:
            bench_publish(chosen.corpus, chosen.repository, Path(folder))


if __name__ == "__main__":
    main()
