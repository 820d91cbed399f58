"""Transactions: one writer at a time, readers that see one state throughout."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from results.database.schema import Base
from results.database.snapshot_cache import clear_cache
from results.database.urls import displayed
from results.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection, Engine

VERSION_TABLE = "fusebench_version"
LOCK_WAIT_S = "lock_wait_s"  # execution option of an engine: how long a reader waits for a lock

# Any number nobody else uses: the name of our lock among PostgreSQL's advisory locks.
WRITER_LOCK = 0x66757365
# The generation of each engine's database when it was opened; a --rebuild makes another.
_GENERATIONS: WeakKeyDictionary[Engine, object] = WeakKeyDictionary()


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction during which nobody else writes; readers go on. It is kept whole or not at all.

    Raises: StoreError if another process has rebuilt the database since it was opened: ids known from before no
    longer hold.
    """
    with engine.connect().execution_options(is_writer=True) as connection, connection.begin():
        clear_cache(connection)
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": WRITER_LOCK})
        if engine in _GENERATIONS and _generation(connection) != _GENERATIONS[engine]:
            raise StoreError(
                f"{displayed(engine.url)} was rebuilt by another process meanwhile. It is whole; run this again to "
                "bring it up to date"
            )
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that sees one state of the database throughout."""
    if engine.dialect.name == "sqlite":
        options, first = {}, None
    elif engine in _GENERATIONS:
        # The driver then begins nothing by itself, and ends all the same what was begun.
        options, first = {"isolation_level": "AUTOCOMMIT"}, begin_reading(engine.get_execution_options()[LOCK_WAIT_S])
    else:  # while it is opened, there may be no table yet
        options, first = {"isolation_level": "REPEATABLE READ"}, _wait(engine.get_execution_options()[LOCK_WAIT_S])
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if first is not None:
            connection.exec_driver_sql(first)
        yield connection


@cache
def begin_reading(lock_wait_s: float) -> str:
    """Return what begins a reading transaction in PostgreSQL, in one round trip; the same object for the same wait.

    lock_wait_s: how long it waits for each lock.
    """
    # The first lock comes before the first look at anything and is held to the end: a --rebuild swaps before this or
    # after it.
    return f"""BEGIN ISOLATION LEVEL REPEATABLE READ;
{_wait(lock_wait_s)};
LOCK TABLE {VERSION_TABLE} IN ACCESS SHARE MODE;
SELECT CAST(pg_current_snapshot() AS text)"""


def _wait(lock_wait_s: float) -> str:
    return f"SET LOCAL lock_timeout = '{1000 * lock_wait_s:.0f}ms'"


def check_readable(engine: Engine) -> None:
    """Return once nobody has a table of PostgreSQL to himself. Raises: an error of the driver if the wait is over.

    In SQLite a lock is of the whole file, and whoever looks at it meets it.
    """
    if engine.dialect.name != "postgresql":
        return
    with reading(engine) as connection:
        for table in Base.metadata.sorted_tables:
            # Let go at once: a migration that has this table's and wants the last one's lock would wait for us.
            with connection.begin_nested() as savepoint:
                connection.exec_driver_sql(f"LOCK TABLE {table.name} IN ACCESS SHARE MODE")
                savepoint.rollback()


def note_generation(engine: Engine) -> None:
    """Keep which generation of the database was opened, for `writing` to compare with."""
    with engine.connect() as connection:
        _GENERATIONS[engine] = _generation(connection)


def _generation(connection: Connection) -> object:
    """Return a value that differs between a database and the one that a --rebuild puts in its place."""
    if connection.dialect.name == "postgresql":
        return connection.execute(sa.text("SELECT to_regclass(:name)::oid"), {"name": VERSION_TABLE}).scalar()
    try:
        stat = Path(connection.engine.url.database or "").stat()
    except OSError:
        return None  # removed under our feet
    return stat.st_dev, stat.st_ino, connection.exec_driver_sql("PRAGMA user_version").scalar()


def refresh_statistics(engine: Engine) -> None:
    """Have PostgreSQL count its rows now: before autovacuum comes by, its plans take minutes.

    It also notes which pages of `value` every reader may see, without which it looks at the rows beside their index.
    SQLite plans well from the keys alone.
    """
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM value")
            connection.exec_driver_sql("ANALYZE")
