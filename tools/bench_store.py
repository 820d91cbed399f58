"""How fast the store fills and answers: `make bench-store CORPUS=PATH [REPOSITORY=PATH] [POSTGRESQL=URL]`.

PATH is an asv results tree; `--made N` makes one of N commits instead, with its repository. Filling is measured on
the real command in processes of its own, by the CPU time and memory the kernel counts (of the command, not of a
PostgreSQL server), indexes live but for SQLite's of histories, whose making at an ingest's end is in the figure
(docs/adr/0006); `asv publish` on the same tree in the same way; answering on a generated store of 1,200 series ×
1,000 commits, by the median of many calls. Beside both stands how fast the machine was at work of its own: where that
differs between two runs, so does everything else.
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
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from tabulate import tabulate

from results.database.schema import Series, Value
from results.queries import (
    benchmark_names,
    benchmarks,
    commits,
    failures,
    freshness,
    history_of,
    known_changes,
    latest_points,
    parameter_names,
    places,
    point_choices,
    profile_of,
    projects,
    series_where,
    stacks_of,
    throughput_by_batch,
    throughput_by_commit,
    values_at,
)
from results.store import open_store
from results.upkeep.generated import fill_with_sweeps

sys.path.insert(0, str(Path(__file__).parent))  # run as a file, not as a module of a package

from made_history import make_history
from process_cost import Cost, Together, cost_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from results.store import Store

    Question = Callable[[Store, int], object]  # the second: which of the things it may be asked about
    Databases = Callable[[], AbstractContextManager[str]]  # each call gives a new, empty one for a while

ROOT = Path(__file__).parents[1]
SERVER = os.environ.get("FUSEBENCH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/test")
N_CALLS = 100
N_CALLS_WITHOUT_AIM = 20
N_ROUNDS = 10
N_READERS = 2  # processes that parse ahead


@dataclass
class Figures:
    """What was measured: by line and then by column of the table; said aloud as it comes."""

    cells: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, line: str, column: str, text: str) -> None:
        """Keep one figure."""
        self.cells.setdefault(line, {})[column] = text
        print(f"  {column}: {line}: {text}", file=sys.stderr)

    def table(self) -> str:
        """Everything, a line for each figure and a column for each thing measured."""
        columns = list(dict.fromkeys(column for cells in self.cells.values() for column in cells))
        rows = [[line, *(cells.get(column, "–") for column in columns)] for line, cells in self.cells.items()]
        return tabulate(rows, headers=["", *columns], disable_numparse=True)


def pace_s() -> float:
    """CPU seconds of a fixed piece of work that has nothing to do with us: a slow machine or moment shows in it too."""
    text = json.dumps([[i, str(i), i / 7, None] for i in range(2_000)])
    took = []
    for _ in range(25):
        used = time.process_time()
        {row[0]: tuple(row) for row in json.loads(text)}
        took.append(time.process_time() - used)
    return statistics.median(took)


@contextmanager
def paced(figures: Figures, line: str, column: str) -> Iterator[None]:
    """Keep beside what is measured inside how fast the machine was before and after it."""
    before = pace_s()
    yield
    figures.add(f"{line}: fixed work before, after", column, f"{before * 1e3:.2f}, {pace_s() * 1e3:.2f} ms CPU")


def ingest(tree: Path, db: str, *options: str, together: Together | None = None) -> Cost:
    """What `fusebench ingest` costs."""
    command = [sys.executable, str(ROOT / "fusebench.py"), "ingest", str(tree), "--db", db, *options]
    return cost_of(command, together=together)


def n_entries(db: str) -> int:
    """Result entries that are not null in the files: everything but what failed."""
    with open_store(db) as store, store.reading() as connection:
        query = sa.select(sa.func.count()).select_from(Value).where(Value.state != "failed")
        return connection.execute(query).scalar() or 0


def linked(files: list[Path], *, tree: Path, to: Path) -> None:
    """Put links to `files` of `tree` where they belong below `to`; copies where links cannot go."""
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
    """Cold, again, rebuilt, by several processes, incremental, one file more."""
    files = sorted(corpus.rglob("*.json"))
    described = [path for path in files if path.name in {"machine.json", "benchmarks.json"}]
    results = [path for path in files if path not in described]

    (nothing := scratch / "nothing").mkdir(exist_ok=True)
    with new_database() as db:
        ingest(nothing, db)
        idle_s = statistics.median(ingest(nothing, db).wall_s for _ in range(3))
        figures.add("start-up, wall", column, f"{idle_s:.2f} s")
        cold = ingest(corpus, db, "--project", "corpus")
        n_all = n_entries(db)
        add_rate(figures, "cold", column, n_all, cold)
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
        linked([*described, *half], tree=corpus, to=parts)
        ingest(parts, db, "--project", "corpus")
        before = n_entries(db)
        linked(results[:-1], tree=corpus, to=parts)
        more = ingest(parts, db, "--project", "corpus")
        add_rate(figures, "incremental", column, n_entries(db) - before, more)
        linked([last], tree=corpus, to=parts)
        one = ingest(parts, db, "--project", "corpus")
        figures.add("one file added (≤ 1 s)", column, f"{one.wall_s - idle_s:.2f} s beyond start-up")
        shutil.rmtree(parts)


def add_rate(figures: Figures, line: str, column: str, n_values: int, cost: Cost) -> None:
    """Keep how many values went in for each second of CPU, and what it took."""
    limit = " (≥ 50,000)" if line.startswith("incremental") else " (≥ 150,000)"
    figures.add(f"{line}, values per CPU second{limit}", column, f"{n_values / cost.cpu_s:,.0f}")
    figures.add(f"{line}, cost (≤ 500 MB)", column, f"{n_values:,} values: {cost}")


def bench_publish(figures: Figures, corpus: Path, repository: Path | None, scratch: Path) -> None:
    """What `asv publish` costs on the same tree; it needs a repository that has its commits."""
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


def bench_answers(figures: Figures, column: str, new_database: Databases, *, n_commits: int) -> None:
    """Medians of the questions on 1,200 series × `n_commits` commits."""
    with new_database() as db, open_store(db) as store:
        fill_with_sweeps(store, n_commits=n_commits)
        with store.reading() as connection:
            ids = list(connection.execute(sa.select(Series.id).order_by(Series.id)).scalars())
        for name, times in asked_in_turns(store, questions_to(store, ids)).items():
            wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
            figures.add(f"{len(ids)} × {n_commits}: {name}", column, f"{wall * 1e3:.1f} ms (CPU {cpu * 1e3:.1f} ms)")


def questions_to(store: Store, ids: list[int]) -> dict[str, Question]:
    """Every question that the dashboard and the judgement may ask, its aim beside it where there is one."""
    points = latest_points(store)
    shape = {"operation": "mlp", "hidden": 1024}
    return {
        "history of one series (≤ 5 ms)": lambda s, i: history_of(s, series_ids=[ids[i * 37 % len(ids)]]),
        "latest of all (≤ 50 ms)": lambda s, _: latest_points(s),
        "throughput by commit, one shape (≤ 50 ms)": lambda s, _: throughput_by_commit(s, **shape, batch=64),
        "throughput by commit, what its chart shows (≤ 50 ms)": lambda s, _: throughput_by_commit(
            s, metrics=("latency_s", "speedup_vs_eager"), **shape, batch=64
        ),
        "throughput by batch": lambda s, _: throughput_by_batch(s, **shape),
        "every value of a commit": lambda s, i: values_at(s, commit=points[i % len(points)].commit),
        "profile of a point": lambda s, i: profile_of(s, point=points[i % len(points)]),
        "stacks of a point": lambda s, i: stacks_of(s, point=points[i % len(points)]),
        "freshness": lambda s, _: freshness(s),
        "failures": lambda s, _: failures(s),
        "known changes": lambda s, _: known_changes(s),
        "every series": lambda s, _: series_where(s),
        "projects": lambda s, _: projects(s),
        "machines and environments": lambda s, _: places(s),
        "commits": lambda s, _: commits(s),
        "points to choose": lambda s, _: point_choices(s),
        "names of benchmarks": lambda s, _: benchmark_names(s),
        "benchmarks and their parameters": lambda s, _: benchmarks(s),
        "names of parameters": lambda s, _: parameter_names(s),
    }


def asked_in_turns(store: Store, questions: dict[str, Question]) -> dict[str, list[tuple[float, float]]]:
    """Wall and CPU seconds of many calls of each question, in rounds: a slow moment of the machine meets them all."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in questions}
    for number in range(N_ROUNDS):
        for name, ask in questions.items():
            n_calls = (N_CALLS if "≤" in name else N_CALLS_WITHOUT_AIM) // N_ROUNDS
            for i in range(-2, n_calls):  # the first open files and prepare statements
                started, used = time.perf_counter(), time.process_time()
                ask(store, number * n_calls + i)
                if i >= 0:
                    times[name].append((time.perf_counter() - started, time.process_time() - used))
    return times


def sqlite_databases(scratch: Path) -> Databases:
    """New SQLite files below `scratch`."""

    @contextmanager
    def new() -> Iterator[str]:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        yield str(folder / "store.db")
        shutil.rmtree(folder)

    return new


def postgresql_databases(server: str) -> Databases:
    """New databases on a PostgreSQL server, dropped afterwards. Raises: OperationalError if it does not answer."""
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 3})
    engine.connect().close()

    @contextmanager
    def new() -> Iterator[str]:
        name = f"fusebench_bench_{uuid.uuid4().hex[:8]}"
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        try:
            yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
        finally:
            with engine.connect() as connection:
                connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")

    return new


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
    if corpus is not None:
        print("incremental: indexes live, but SQLite's of histories, made at its end and counted (docs/adr/0006)")


if __name__ == "__main__":
    main()
