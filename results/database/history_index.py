"""SQLite's second index of values, which holds whole histories: it may be missing, and then they take longer.

A new value belongs at as many places of it as there are series, so that keeping it up to date costs more than all else
while runs are added by the hundred. It is therefore left out meanwhile, and made at once afterwards.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.connection import writing
from results.database.schema import TOLD_OF_A_VALUE, Run
from results.database.snapshot_cache import cached_for_snapshot
from results.ingest.runs import n_values_stored

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

NAME = "ix_value_of_a_history"
# True of every value. SQLite uses an index with a condition only where a question says the same, so that every other
# question goes by the key, which suits it better.
CONDITION = "series_id > 0"
COLUMNS = ("series_id", "run_id", "reason", *TOLD_OF_A_VALUE)
FEWEST_VALUES = 1000  # that are worth an index
# Making it takes a tenth of the time that the same values take one run after the other (docs/adr/0006).
LARGE_SHARE = 0.1


def is_there(connection: Connection) -> bool:
    """Whether histories are to be read from it. Only for SQLite."""
    return cached_for_snapshot(connection, is_there, partial(_is_there, connection))


def _is_there(connection: Connection) -> bool:
    query = sa.text("SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = :name")
    return connection.execute(query, {"name": NAME}).first() is not None


def leave_out(engine: Engine, *, n_new_runs: int) -> None:
    """Drop it if so many runs will come that making it anew is faster. On other databases nothing happens."""
    if engine.dialect.name != "sqlite" or not n_new_runs:
        return
    with writing(engine) as connection:
        n_runs = connection.execute(sa.select(sa.func.count()).select_from(Run)).scalar_one()
        if _is_there(connection) and n_new_runs >= LARGE_SHARE * n_runs:
            connection.exec_driver_sql(f"DROP INDEX {NAME}")


def make(engine: Engine) -> None:
    """Make it if it is missing and there is enough to tell. On other databases nothing happens.

    Raises: sqlite3.Error, of which all that is stored is safe.
    """
    if engine.dialect.name != "sqlite":
        return
    with engine.connect() as connection:
        if n_values_stored(connection) < FEWEST_VALUES or _is_there(connection):
            return
        connection.rollback()
        raw: Any = connection.connection.driver_connection
        connection.detach()  # it is set up for this alone, and closed after it
        # Every value is read and every key sorted: those of ten years neither fit in memory nor need to stay there.
        raw.execute("PRAGMA temp_store = FILE")
        raw.execute("PRAGMA mmap_size = 0")
        raw.execute(f"CREATE INDEX IF NOT EXISTS {NAME} ON value ({', '.join(COLUMNS)}) WHERE {CONDITION}")
