"""Benchmark filling and querying the store: `make bench-store CORPUS=PATH [REPOSITORY=PATH] [POSTGRESQL=URL]`.

PATH is an asv results tree; `--made N` makes one of N commits instead, with its repository. Filling is measured on
the real command in processes of its own, by the CPU time and memory the kernel counts (of the command, not of a
PostgreSQL server), and so is `asv publish` on the same tree; answering on a generated store of 1,200 series × 1,000
commits, by the median of many calls. A fixed piece of work beside both shows how fast the machine was meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import Value
from results.store import open_store

sys.path.insert(0, str(Path(__file__).parent))  # run as a file, not as a module of a package

from bench_answers import bench_answers
from figures import Figures, paced
from made_history import make_history
from process_cost import Cost, Together, cost_of
from scratch_databases import postgresql_databases, sqlite_databases

if TYPE_CHECKING:
    from scratch_databases import Databases

ROOT = Path(__file__).parents[1]
SERVER = os.environ.get("FUSEBENCH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/test")
N_READERS = 2  # processes that parse ahead


def ingest(tree: Path, db: str, *options: str, together: Together | None = None) -> Cost:
    """Run `fusebench ingest` without judging and return what it cost."""
    command = [sys.executable, str(ROOT / "fusebench.py"), "ingest", str(tree), "--db", db, "--no-judge", *options]
    return cost_of(command, together=together)


def changes(db: str) -> Cost:
    """Run `fusebench changes`, which judges every history and keeps it, and return what it cost."""
    return cost_of([sys.executable, str(ROOT / "fusebench.py"), "changes", "--db", db])


def n_entries(db: str) -> int:
    """Count the result entries that are not null in the files: all but the failed ones."""
    with open_store(db) as store, store.reading() as connection:
        query = sa.select(sa.func.count()).select_from(Value).where(Value.state != "failed")
        return connection.execute(query).scalar() or 0


def link_files(files: list[Path], *, tree: Path, to: Path) -> None:
    """Link `files` of `tree` to where they belong below `to`; copy across file systems."""
    for path in files:
        target = to / path.relative_to(tree)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except FileExistsError:
            continue
        except OSError:
            shutil.copy(path, target)


def bench_filling(figures: Figures, column: str, corpus: Path, new_database: Databases, scratch: Path) -> None:
    """Measure ingest: cold, judged, again, rebuilt, by several processes, incremental, one file more."""
    files = sorted(corpus.rglob("*.json"))
    described = [path for path in files if path.name in {"machine.json", "benchmarks.json"}]
    results = [path for path in files if path not in described]

    nothing = scratch / "nothing"  # but a machine: a folder without any record is an error
    (nothing / "machine").mkdir(parents=True, exist_ok=True)
    (nothing / "machine" / "machine.json").write_text('{"machine": "machine", "version": 1}')
    with new_database() as db:
        ingest(nothing, db)
        idle_s = statistics.median(ingest(nothing, db).wall_s for _ in range(3))
        figures.add("start-up, wall", column, f"{idle_s:.2f} s")
        cold = ingest(corpus, db, "--project", "corpus")
        n_all = n_entries(db)
        add_rate(figures, "cold", column, n_all, cold)
        for line in ("judging all of it: `changes`", "`changes` again, by what is kept"):
            figures.add(line, column, f"CPU {changes(db).cpu_s:.1f} s")
        again = ingest(corpus, db, "--project", "corpus")
        n_more = n_entries(db) - n_all
        figures.add(
            "again, nothing changed (≤ 1 s)", column, f"{n_more} values, {again.wall_s - idle_s:.2f} s beyond start-up"
        )
        add_rate(figures, "--rebuild", column, n_all, ingest(corpus, db, "--project", "corpus", "--rebuild"))

    with new_database() as db:
        together = Together()
        parallel = ingest(corpus, db, "--project", "corpus", "--processes", str(N_READERS), together=together)
        figures.add(
            f"cold, --processes {N_READERS}",
            column,
            f"wall {parallel.wall_s:.1f} s (without: {cold.wall_s:.1f} s), CPU {parallel.cpu_s:.1f} s, "
            f"all processes together {together.peak_bytes / 1e6:.0f} MB",
        )

    with new_database() as db:
        parts = scratch / f"parts-{column}"
        half, last = results[: len(results) // 2], results[-1]
        link_files([*described, *half], tree=corpus, to=parts)
        ingest(parts, db, "--project", "corpus")
        before = n_entries(db)
        link_files(results[:-1], tree=corpus, to=parts)
        more = ingest(parts, db, "--project", "corpus")
        add_rate(figures, "incremental", column, n_entries(db) - before, more)
        link_files([last], tree=corpus, to=parts)
        one = ingest(parts, db, "--project", "corpus")
        figures.add("one file added (≤ 1 s)", column, f"{one.wall_s - idle_s:.2f} s beyond start-up")
        shutil.rmtree(parts)


def add_rate(figures: Figures, line: str, column: str, n_values: int, cost: Cost) -> None:
    """Keep the values stored per second of CPU, and the cost."""
    limit = " (≥ 50,000)" if line.startswith("incremental") else " (≥ 150,000)"
    figures.add(f"{line}, values per CPU second{limit}", column, f"{n_values / cost.cpu_s:,.0f}")
    figures.add(f"{line}, cost (≤ 500 MB)", column, f"{n_values:,} values: {cost}")


def bench_publish(figures: Figures, corpus: Path, repository: Path | None, scratch: Path) -> None:
    """Measure `asv publish` on the same tree; it needs a repository that has its commits."""
    column, line = "asv publish", "whole tree, cost"
    if repository is None:
        figures.add(line, column, "not measured: needs a git repository of those commits (REPOSITORY=…, or --made N)")
        return
    tree = next(iter(sorted(corpus.rglob("benchmarks.json"))), corpus / "benchmarks.json").parent
    listed = subprocess.run(["git", "-C", str(repository), "rev-list", "--all"], capture_output=True, check=True)
    known = set(listed.stdout.decode().split())
    runs = [path for path in tree.glob("*/*.json") if path.name != "machine.json"]
    n_known = sum(json.loads(path.read_text())["commit_hash"] in known for path in runs)
    if not n_known:
        figures.add(line, column, f"not measured: {repository} has none of the {len(runs)} commits")
        return
    conf = {
        "version": 1,
        "project": "corpus",
        "repo": str(repository.resolve()),
        "branches": ["HEAD"],
        "results_dir": str(tree.resolve()),
        "html_dir": str(scratch / "html"),
    }
    (scratch / "asv.conf.json").write_text(json.dumps(conf))
    asv = str(Path(sys.executable).parent / "asv")
    cost = cost_of([asv, "publish", "--config", str(scratch / "asv.conf.json")])
    figures.add(line, column, f"{n_known} of {len(runs)} commits: {cost}")


def main() -> None:
    """Measure what was asked for, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", help="an asv results tree; left out: answers only")
    parser.add_argument("--repository", type=Path, help="a git repository of the corpus's commits, for asv publish")
    parser.add_argument("--made", type=int, metavar="N", help="a tree and repository of N commits, made here")
    parser.add_argument("--commits", type=int, default=1000, help="how many the generated store has for answering")
    parser.add_argument(
        "--postgresql", metavar="URL", default=SERVER, help="a server where databases can be made; or none"
    )
    chosen = parser.parse_args()
    beside = chosen.corpus.resolve().parent if chosen.corpus and os.access(chosen.corpus.parent, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=beside) as folder:
        scratch = Path(folder)
        corpus, repository = chosen.corpus, chosen.repository
        if chosen.made:
            made = make_history(scratch / "made", n_commits=chosen.made)
            corpus, repository = made.tree, made.repository
        databases = {"SQLite": sqlite_databases(scratch)}
        try:
            if chosen.postgresql != "none":
                databases["PostgreSQL"] = postgresql_databases(chosen.postgresql)
        except (sa.exc.OperationalError, ModuleNotFoundError) as error:
            print(f"PostgreSQL: not measured ({str(error).splitlines()[0]})", file=sys.stderr)
        figures = Figures()
        if corpus is not None:
            files = [path for path in corpus.rglob("*.json") if path.name not in {"machine.json", "benchmarks.json"}]
            if not files:
                parser.error(f"{corpus} holds no asv result files (*.json); if they are packed, unpack them first")
            size = sum(path.stat().st_size for path in files)
            print(f"{len(files)} asv result files, {size / 1e6:.0f} MB")
            for column, new_database in databases.items():
                with paced(figures, "filling", column):
                    bench_filling(figures, column, corpus, new_database, scratch)
            bench_publish(figures, corpus, repository, scratch)
        else:
            print("no CORPUS: filling is not measured, only answering", file=sys.stderr)
        for column, new_database in databases.items():
            print(f"  {column}: making 1,200 series × {chosen.commits:,} commits, a minute or two", file=sys.stderr)
            with paced(figures, "answering", column):
                bench_answers(figures, column, new_database, n_commits=chosen.commits)
    print(figures.table())


if __name__ == "__main__":
    main()
