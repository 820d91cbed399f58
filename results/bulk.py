"""Rows into tables the fast way of each database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.engine import Connection
    from sqlalchemy.orm import DeclarativeBase


def insert_rows(
    connection: Connection,
    table: type[DeclarativeBase],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> None:
    """Insert `rows`, each in the order of `columns`, as the driver's own values.

    Nothing is converted on the way: for tables of numbers and text only. COPY on PostgreSQL, one prepared
    statement on SQLite.
    """
    name = table.__tablename__
    names = ", ".join(columns)
    driver: Any = connection.connection.driver_connection
    dbapi: Any = connection.dialect.loaded_dbapi
    try:
        if connection.dialect.name == "postgresql":
            with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            places = ", ".join("?" * len(columns))
            driver.executemany(f"INSERT INTO {name} ({names}) VALUES ({places})", rows)  # noqa: S608 - our own names
    except dbapi.Error as error:
        # The same exceptions as from everywhere else: SQLAlchemy does not see what goes past it.
        raise DBAPIError.instance(
            f"INSERT INTO {name}", None, error, dbapi.Error, dialect=connection.dialect
        ) from error


def next_id(connection: Connection, table: type[DeclarativeBase]) -> int:
    """An id larger than every id in `table`; ours alone while we are the writer."""
    largest = connection.execute(sa.select(sa.func.max(table.__table__.c.id))).scalar()
    return (largest or 0) + 1
