"""What the store's tests share: a database of each kind, and asv trees that nobody measured."""

from __future__ import annotations

import itertools
import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

FOLDED_STACKS = ["device;forward;aten::addmm;gemm 900", "host;backward;MmBackward0 70", "host;forward;aten::addmm 500"]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, databases):
    """The URL of a new, empty database: each test that asks runs once on each kind."""
    with databases(request.param, tmp_path) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def make_database(request, tmp_path, databases):
    """A function that makes another new, empty database; each test that asks runs once on each kind."""

    def make():
        folder = tmp_path / f"database{next(numbers)}"
        folder.mkdir()
        return opened.enter_context(databases(request.param, folder))

    numbers = itertools.count()
    with ExitStack() as opened:
        yield make


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_database(request, tmp_path_factory, databases):
    """As `database`, one for all tests of a module that ask: for those that only read."""
    with databases(request.param, tmp_path_factory.mktemp("shared")) as url:
        yield url


@pytest.fixture
def opened(database):
    """An open store on `database`."""
    from results.store import open_store

    with open_store(database) as store:
        yield store


@pytest.fixture(scope="session")
def differences_from_the_code():
    """A function: what a connection's tables lack, or have, that those of results.database.schema have not, or lack."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from results.database.schema import Base
    from results.database.transactions import VERSION_TABLE

    def differences(connection):
        of_postgresql = {"ix_value_series_id_run_id", "ix_value_series_id_run_id_explained"}
        left_out = of_postgresql if connection.dialect.name == "sqlite" else ()
        options = {
            "compare_type": True,
            "version_table": VERSION_TABLE,
            "include_object": lambda _, name, *_rest: name not in left_out,
        }
        return compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)

    return differences


@pytest.fixture(scope="session")
def timed():
    """The columns of a benchmark without parameters that took `value` seconds, give or take `noise`."""

    def columns(value, *, noise=0.01, **others):
        return {
            "result": [value], "params": [], "version": "v1", "started_at": 1_700_000_100_000, "duration": 1.5,
            "stats_ci_99_a": [value * (1 - noise)], "stats_ci_99_b": [value * (1 + noise)],
            "stats_q_25": [value * (1 - noise / 2)], "stats_q_75": [value * (1 + noise / 2)],
            "stats_number": [1], "stats_repeat": [10], **others,
        }  # fmt: skip

    return columns


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """SciPy's asv results, unpacked; skipped where the archive is not at hand."""
    import tarfile

    root = Path(os.environ.get("FUSEBENCH_CORPUS", Path(__file__).parents[2].parent / "shared" / "corpus"))
    archive = root / "scipy-asv-i7.tar.xz"
    if not archive.exists():
        pytest.skip(f"no {archive.name} under FUSEBENCH_CORPUS ({root})")
    folder = tmp_path_factory.mktemp("corpus")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / "results"


@pytest.fixture(scope="session")
def executions():
    """A function: the stored benchmark, version, start and duration of what asv ran at a commit."""
    import sqlalchemy as sa

    from results.database.schema import Benchmark, Commit, Execution, Run

    def ask(store, commit):
        query = (
            sa.select(Benchmark.name, Benchmark.version, Execution.started_at, Execution.duration_s)
            .join(Execution, Execution.benchmark_id == Benchmark.id)
            .join(Run, Run.id == Execution.run_id)
            .join(Commit, Commit.id == Run.commit_id)
            .where(Commit.hash == commit)
        )
        with store.reading() as connection:
            return connection.execute(query).all()

    return ask


@pytest.fixture
def stored(journal_store, journals, tmp_path):
    """A function: the name of a store whose profiles all hold FOLDED_STACKS, and whatever else is given."""

    def store(device="cpu", **others):
        (path,) = journals.write_journals(tmp_path / "stacks", [journals.Sweep(device=device)])
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        added = {"timing": {}, "profile": {"stacks": FOLDED_STACKS, **others}}
        path.write_text("".join(json.dumps(line | added[line["kind"]]) + "\n" for line in lines))
        opened = journal_store([])
        opened.ingest([path])
        return opened.name

    return store
