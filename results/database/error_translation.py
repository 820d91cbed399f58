"""Database errors in words: what happened, what is safe, what to do."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DatabaseError, DBAPIError, InternalError, OperationalError

from results.database.urls import displayed
from results.errors import LockedStore, NotAStore, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL

BUSY_TIMEOUT_S = 120
LIMIT_EXCEEDED = "54"  # SQLSTATE class


@contextmanager
def translate_db_errors(url: URL) -> Iterator[None]:
    """Re-raise errors of the database at `url` as StoreError with advice."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise store_error_from(error, url=url) from error


def store_error_from(error: Exception, *, url: URL) -> StoreError:
    """Return the StoreError that says what went wrong, what is safe, and what to do."""
    origin = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    cause = " ".join(str(origin).split())
    name = displayed(url)
    if "not a database" in cause or "malformed" in cause:
        return NotAStore(
            f"{name} is damaged or no database ({cause}). If it was one of fusebench's, the files it was made from are "
            "untouched: move it away and run `fusebench ingest` again"
        )
    if "readonly" in cause or "read-only" in cause:
        return StoreError(f"{name} is read-only ({cause}); nothing was changed. Name another --db to write")
    if "unable to open" in cause:
        return StoreError(
            f"{name} cannot be opened or made ({cause}); nothing was changed. May this user read and write it and its "
            "folder? If not, name another --db"
        )
    if "full" in cause or "No space left" in cause or "disk I/O error" in cause:
        return StoreError(
            f"{name} could not be written ({cause}): is the disk full, or a limit reached? What was stored before is "
            "safe; free space and run it again"
        )
    if "locked" in cause or "lock timeout" in cause:
        return LockedStore(
            f"{name} was locked by another process for as long as we wait; what was stored before is safe, run it "
            "again when that process is done"
        )
    return StoreError(f"{name}: {cause}. What was stored before is safe")


def is_data_rejection(error: Exception) -> bool:
    """Return whether the database refused the data it was given, rather than failed to work at all."""
    if type(error) is DatabaseError or isinstance(error, InternalError):
        return False  # a damaged file
    if not isinstance(error, OperationalError):
        return True
    # PostgreSQL reports a text too long for an index as an operational error too.
    return str(getattr(error.orig, "sqlstate", None)).startswith(LIMIT_EXCEEDED)
