"""Fingerprint of a database's state: equal ones promise equal rows, and it costs less than any question."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.transactions import VERSION_TABLE, reading
from results.database.urls import LOG

if TYPE_CHECKING:
    from collections.abc import Hashable

    from sqlalchemy.engine import URL, Engine

POSTGRESQL_STATE = f"SELECT CAST(pg_current_snapshot() AS text), CAST(to_regclass('{VERSION_TABLE}') AS oid)"


class StateWatch:
    """Watch over the database of an engine. On SQLite it keeps a connection of its own; `close` releases it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._connection: Any = None

    def fingerprint(self) -> Hashable:
        """Return a value that differs once anybody, this process too, may have changed a row.

        On a busy PostgreSQL server it differs more often than that. Raises: an error of the driver.
        """
        if self._engine.dialect.name == "postgresql":
            with reading(self._engine) as connection:
                return tuple(connection.execute(sa.text(POSTGRESQL_STATE)).one())
        with self._lock:
            if self._connection is None:
                # It never writes, so that the count of others' changes is the count of all.
                self._connection = self._engine.raw_connection()
                # Reads a page, so that the log is there, and stays the same one, as long as this connection is.
                self._connection.driver_connection.execute("PRAGMA user_version").fetchone()
            version = self._connection.driver_connection.execute("PRAGMA data_version").fetchone()[0]
        # A file that is read without a lock reports no changes, but shows them.
        return version, *_stat(self._engine.url)

    def close(self) -> None:
        """Release the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def file_identity(url: URL) -> Hashable:
    """Return which file an SQLite database is in, None if it is gone; of another database always the same."""
    if url.get_backend_name() != "sqlite":
        return ""
    found = _stat(url)
    return found[:2] if found else None


def log_identity(url: URL) -> Hashable:
    """Return which file an SQLite database's write-ahead log is in, None without one; of another database None."""
    if url.get_backend_name() != "sqlite":
        return None
    return _stat(url, LOG)[:2] or None


def holds_log_of(url: URL, identity: Hashable) -> bool:
    """Return whether the very log `identity` lies, with content, beside an SQLite database that is there."""
    log = _stat(url, LOG)
    return bool(log) and log[:2] == identity and log[3] > 0 and file_identity(url) is not None


def _stat(url: URL, suffix: str = "") -> tuple[int, ...]:
    try:
        found = Path(f"{url.database}{suffix}").stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
