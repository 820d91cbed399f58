"""Bring a database to the current schema when it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.transactions import VERSION_TABLE, reading, writing
from results.database.urls import displayed
from results.errors import NewerSchema, NoStore, NotAStore

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

SCHEMA_VERSION = "0009"
# SQLite's index of histories until 2026-11-22 (docs/adr/0008): no question uses it, and every write pays for it.
OBSOLETE_INDEX = "ix_value_of_a_history"


def upgrade(engine: Engine, *, must_exist: bool) -> None:
    """Create or migrate the tables; one that is up to date is only read.

    must_exist: whether to refuse a database without tables, as who only reads it does.
    Raises: NewerSchema, NotAStore, NoStore.
    """
    with reading(engine) as connection:
        version = _schema_version(connection)
    if version is None and must_exist:
        raise NoStore(
            f"{displayed(engine.url)} holds nothing yet; nothing was changed. `fusebench ingest PATH` fills it from "
            "files, `make bench` measures and fills it"
        )
    if version == SCHEMA_VERSION:
        _enable_write_ahead_log(engine)
        return
    if version is not None and version > SCHEMA_VERSION:
        raise NewerSchema(
            f"{displayed(engine.url)} has schema {version}, this fusebench knows {SCHEMA_VERSION}; "
            "nothing was changed. Upgrade fusebench, or name another --db"
        )
    _enable_write_ahead_log(engine)
    with writing(engine) as connection:
        if _schema_version(connection) != SCHEMA_VERSION:  # nobody was faster
            _migrate(connection)


def drop_obsolete_index(engine: Engine) -> None:
    """Drop SQLite's former index of histories, if the database still has it."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            raw.execute(f"DROP INDEX IF EXISTS {OBSOLETE_INDEX}")  # no transaction: without it no lock is taken


def _enable_write_ahead_log(engine: Engine) -> None:
    """Have SQLite write ahead, so that readers and a writer do not wait for each other; kept in the file."""
    if engine.dialect.name != "sqlite":
        return
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        if raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        try:
            raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error) and "locked" not in str(error):
                raise
            # Read-only, or in use: the next process to open it tries again, and a writer gets the error then.


def _schema_version(connection: Connection) -> str | None:
    """Return the schema's version, None for an empty database. Raises: NotAStore for somebody else's."""
    tables = set(sa.inspect(connection).get_table_names())
    if VERSION_TABLE in tables:
        row = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).first()  # noqa: S608
        return None if row is None else str(row[0])
    is_foreign = bool(tables) if connection.dialect.name == "sqlite" else {"series", "value"} <= tables
    if is_foreign:
        raise NotAStore(
            f"{displayed(connection.engine.url)} holds tables of something else "
            f"({', '.join(sorted(tables)[:3])}); nothing was changed. Name another --db"
        )
    return None


def _migrate(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - a third of a second that an up-to-date store need not pay
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise NotAStore(
            f"{displayed(connection.engine.url)} has a schema that no fusebench wrote ({error}); nothing was changed. "
            "Move it away and run `fusebench ingest` again"
        ) from error
