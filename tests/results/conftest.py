"""What the store's tests share: a database of each kind, and asv trees that nobody measured."""

from __future__ import annotations

import itertools
import os
import uuid
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

POSTGRESQL = os.environ.get("FUSEBENCH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/test")


@contextmanager
def new_database(kind, folder):
    """The URL of a new, empty database of a kind, gone afterwards; skips the test where there is no server."""
    if kind == "sqlite":
        yield str(folder / "store.db")
        return
    sa = pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    server = sa.create_engine(POSTGRESQL, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 2})
    name = f"fusebench_{uuid.uuid4().hex[:12]}"
    try:
        with server.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
    except sa.exc.OperationalError:
        server.dispose()
        pytest.skip("no PostgreSQL at FUSEBENCH_TEST_POSTGRESQL or on this machine")
    yield sa.make_url(POSTGRESQL).set(database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    server.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The URL of a new, empty database: each test that asks runs once on each kind."""
    with new_database(request.param, tmp_path) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def make_database(request, tmp_path):
    """A function that makes another new, empty database; each test that asks runs once on each kind."""

    def make():
        folder = tmp_path / f"database{next(numbers)}"
        folder.mkdir()
        return opened.enter_context(new_database(request.param, folder))

    numbers = itertools.count()
    with ExitStack() as opened:
        yield make


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_database(request, tmp_path_factory):
    """As `database`, one for all tests of a module that ask: for those that only read."""
    with new_database(request.param, tmp_path_factory.mktemp("shared")) as url:
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

    from results.database.connection import VERSION_TABLE
    from results.database.schema import Base

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
