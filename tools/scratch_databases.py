"""New, empty databases for as long as a measurement needs them."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Databases = Callable[[], AbstractContextManager[str]]  # each call gives a new, empty one for a while


def sqlite_databases(scratch: Path) -> Databases:
    """Return what makes SQLite files below `scratch`."""

    @contextmanager
    def new() -> Iterator[str]:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        yield str(folder / "store.db")
        shutil.rmtree(folder)

    return new


def postgresql_databases(server: str) -> Databases:
    """Return what makes databases on a PostgreSQL server. Raises: OperationalError if it does not answer."""
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
