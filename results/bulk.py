"""Rows into tables the fast way of each database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

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
    if connection.dialect.name == "postgresql":
        with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    places = ", ".join("?" * len(columns))
    driver.executemany(f"INSERT INTO {name} ({names}) VALUES ({places})", rows)  # noqa: S608 - our own names


def next_id(connection: Connection, table: type[DeclarativeBase]) -> int:
    """An id larger than every id in `table`; ours alone while we are the writer."""
    largest = connection.execute(sa.select(sa.func.max(table.__table__.c.id))).scalar()
    return (largest or 0) + 1
