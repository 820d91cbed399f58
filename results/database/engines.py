"""SQLAlchemy engines, each database configured for short questions and one writer."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event

from results.database.error_translation import BUSY_TIMEOUT_S
from results.database.snapshot_cache import begin_snapshot
from results.database.transactions import LOCK_WAIT_S, begin_reading
from results.database.urls import LOG
from results.errors import NoStore, NotAStore, StoreError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Connection, Engine

BINARY_FORMAT = 1  # of PostgreSQL's protocol


def sqlite_engine(url: URL, *, must_exist: bool, lock_wait_s: float = BUSY_TIMEOUT_S) -> Engine:
    """Return an engine on an SQLite file; one that may not be written is opened read-only.

    lock_wait_s: how long a reader waits for a lock; a writer waits BUSY_TIMEOUT_S.
    Raises: NoStore, NotAStore, StoreError.
    """
    _check_file(url, must_exist=must_exist)
    if must_exist and not _is_writable(Path(url.database or "")):
        engine = _immutable_sqlite_engine(url)
    else:
        # The connection used last is used again: its caches are the warmest.
        engine = sa.create_engine(url, connect_args={"timeout": lock_wait_s}, pool_use_lifo=True)

    path = Path(url.database or "")
    was_there = path.exists()

    @event.listens_for(engine, "do_connect")
    def _check_still_there(*_: object) -> None:
        # SQLite would create an empty file, which looks like a store that nothing was put into.
        if was_there and not path.exists():
            raise NoStore(f"there is no database at {path} any more; put it back, or make it anew from its files")

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own type
        nonlocal was_there
        was_there = True
        # None: the driver begins nothing by itself, so that we may begin as we need (see writing).
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        # With WAL this loses no consistency when the machine dies, at most the last transactions; the files
        # they came from are then ingested again.
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute("PRAGMA cache_size = -65536")
        # A third off every question that looks up many keys, for 256 MB of address space.
        cursor.execute("PRAGMA mmap_size = 268435456")
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.execute("PRAGMA wal_autocheckpoint = 4000")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        is_writer = connection.get_execution_options().get("is_writer", False)
        if lock_wait_s != BUSY_TIMEOUT_S:
            connection.exec_driver_sql(
                f"PRAGMA busy_timeout = {1000 * (BUSY_TIMEOUT_S if is_writer else lock_wait_s):g}"
            )
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")

    return engine


def postgresql_engine(url: URL, namespace: str | None, *, lock_wait_s: float = BUSY_TIMEOUT_S) -> Engine:
    """Return an engine on a PostgreSQL database; `namespace`: the schema to live in, default the search path's first.

    lock_wait_s: how long a reader waits for a lock; a writer waits as long as it takes.
    Raises: ModuleNotFoundError if psycopg is not installed.
    """
    # Compiling a plan, or sharing it out among processes, takes longer than any of our questions; and a plan that
    # serves lists of keys of any length serves none of them well.
    options = "-c timezone=UTC -c jit=off -c plan_cache_mode=force_custom_plan -c max_parallel_workers_per_gather=0"
    options += f" -c search_path={namespace}" if namespace else ""
    engine = sa.create_engine(url, connect_args={"options": options}, execution_options={LOCK_WAIT_S: lock_wait_s})
    first = begin_reading(lock_wait_s)

    @event.listens_for(engine, "before_cursor_execute")
    def _choose_format(
        _connection: Connection,
        cursor: Any,  # noqa: ANN401 - the driver's own type
        _statement: str,
        _parameters: object,
        context: Any,  # noqa: ANN401
        _is_many: bool,  # noqa: FBT001
    ) -> None:
        if context is not None and context.execution_options.get("is_binary", False):
            cursor.format = BINARY_FORMAT

    @event.listens_for(engine, "after_cursor_execute")
    def _note_snapshot(
        connection: Connection,
        cursor: Any,  # noqa: ANN401
        statement: str,
        _parameters: object,
        _context: object,
        _is_many: bool,  # noqa: FBT001
    ) -> None:
        if statement is first:
            while cursor.nextset():
                pass
            begin_snapshot(connection, cursor.fetchone()[0])

    return engine


def _check_file(url: URL, *, must_exist: bool) -> None:
    path = Path(url.database or "")
    if path.is_dir():
        raise NotAStore(f"{path} is a folder, not a database file")
    if path.exists():
        return
    if must_exist:
        raise NoStore(
            f"there is no database at {path} yet; `make bench` measures and fills it, "
            "`fusebench ingest PATH` fills it from files"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create the folder of {path} ({error.strerror}); name another --db") from error


def _is_writable(path: Path) -> bool:
    """Return whether SQLite may write the file and its folder, where it keeps the write-ahead log."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _immutable_sqlite_engine(url: URL) -> Engine:
    """Return an engine that reads the file as it is, without a lock.

    Raises: StoreError if its newest transactions are in a log beside it, which cannot be read that way.
    """
    path = Path(url.database or "").absolute()
    log = path.with_name(path.name + LOG)
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} may not be written, and its newest content is in {log.name} beside it; nothing was changed. "
            "Copy both to a folder of yours and name that --db"
        )
    if not os.access(path, os.R_OK):
        raise StoreError(f"{path} may not be read by this user; nothing was changed. Mend its permissions")
    name = f"file:{quote(str(path))}?mode=ro&immutable=1"
    return sa.create_engine(url, creator=lambda: sqlite3.connect(name, uri=True, check_same_thread=False))
