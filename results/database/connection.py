"""Open a database of the current schema."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from results.database.engines import postgresql_engine, sqlite_engine
from results.database.error_translation import BUSY_TIMEOUT_S, store_error_from
from results.database.transactions import note_generation
from results.database.upgrade import drop_obsolete_index, upgrade

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Engine


def connect(url: URL, *, must_exist: bool, namespace: str | None = None, lock_wait_s: float = BUSY_TIMEOUT_S) -> Engine:
    """Return an engine on a database of the current schema, created or migrated as needed.

    `namespace`: PostgreSQL's schema to live in, which must exist; default: the first on the search path.
    `lock_wait_s`: how long who reads waits for another process's lock.
    Raises: NoStore, NotAStore, NewerSchema, StoreError.
    """
    is_sqlite = url.get_backend_name() == "sqlite"
    if is_sqlite:
        engine = sqlite_engine(url, must_exist=must_exist, lock_wait_s=lock_wait_s)
    else:
        engine = postgresql_engine(url, namespace, lock_wait_s=lock_wait_s)
    try:
        upgrade(engine, must_exist=must_exist)
        if not must_exist:
            drop_obsolete_index(engine)
        note_generation(engine)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        engine.dispose()
        raise store_error_from(error, url=url) from error
    except BaseException:
        engine.dispose()
        raise
    return engine
