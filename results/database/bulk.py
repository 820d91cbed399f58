"""Bulk loading: rows into tables by each database's fastest means."""

from __future__ import annotations

import math
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import JSON

from results.database.schema import UtcDateTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Dialect
    from sqlalchemy.orm import DeclarativeBase
    from sqlalchemy.types import TypeEngine

    Table = type[DeclarativeBase]

MAX_VARIABLES = 999  # of a statement, in every SQLite
ROWS_AT_ONCE = 10_000  # are held as one list of cells


def insert_rows(connection: Connection, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert `rows`, each in the order of `columns`, into a table of numbers, texts and timestamps.

    Binary COPY on PostgreSQL, statements of many rows on SQLite.
    """
    if connection.dialect.name == "postgresql":
        _copy(connection, table, columns, rows)
        return
    remaining = iter(rows)
    while some := list(islice(remaining, ROWS_AT_ONCE)):
        _insert(connection, table, dict(zip(columns, zip(*some, strict=True), strict=True)))


def insert_columns(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows given as columns by name, all of one length; a column left out is NULL. As `insert_rows`, cheaper."""
    if connection.dialect.name == "postgresql":
        _copy(connection, table, tuple(columns), zip(*columns.values(), strict=True))
        return
    n_rows = len(next(iter(columns.values())))
    for start in range(0, n_rows, ROWS_AT_ONCE):
        some = {name: column[start : start + ROWS_AT_ONCE] for name, column in columns.items()}
        _insert(connection, table, some)


def _copy(connection: Connection, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    driver: Any = connection.connection.driver_connection
    types = [str(table.__table__.c[name].type.compile(connection.dialect)).lower() for name in columns]
    statement = f"COPY {table.__tablename__} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with _told_by_sqlalchemy(connection, table), driver.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def _insert(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert by statements of many rows, a third of the cost of a statement per row.

    NULL is given as NaN, which SQLite stores as NULL: Python's driver looks for an adapter at every None, which
    costs as much as the rest of a row.
    """
    driver: Any = connection.connection.driver_connection
    width, n_rows = len(columns), len(next(iter(columns.values())))
    cells: list[Any] = [None] * (width * n_rows)
    for offset, (name, column) in enumerate(columns.items()):
        kind, may_be_null = table.__table__.c[name].type, table.__table__.c[name].nullable
        processor = _processor_of(kind, connection.dialect)
        given = column if processor is None else map(processor, column)
        cells[offset::width] = [math.nan if cell is None else cell for cell in given] if may_be_null else list(given)
    insert = f"INSERT INTO {table.__tablename__} ({', '.join(columns)}) VALUES "  # noqa: S608 - our own names
    row = f"({', '.join('?' * width)})"
    n_together = MAX_VARIABLES // width
    stride = n_together * width
    n_in_many = len(cells) // stride * stride
    with _told_by_sqlalchemy(connection, table):
        many = (cells[start : start + stride] for start in range(0, n_in_many, stride))
        driver.executemany(insert + ", ".join([row] * n_together), many)
        driver.executemany(insert + row, (cells[i : i + width] for i in range(n_in_many, len(cells), width)))


def _processor_of(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """Return the function that prepares values which the driver does not take as they are."""
    if not isinstance(kind, UtcDateTime | JSON):
        return None
    return kind.dialect_impl(dialect).bind_processor(dialect)


@contextmanager
def _told_by_sqlalchemy(connection: Connection, table: Table) -> Iterator[None]:
    """Re-raise the driver's errors as SQLAlchemy's, which it cannot do for statements that bypass it."""
    dbapi: Any = connection.dialect.loaded_dbapi
    try:
        yield
    except dbapi.Error as error:
        statement = f"INSERT INTO {table.__tablename__}"
        raise DBAPIError.instance(statement, None, error, dbapi.Error, dialect=connection.dialect) from error


def next_id(connection: Connection, table: Table) -> int:
    """Return an id larger than every id in `table`; unique while this is the only writer."""
    largest = connection.exec_driver_sql(f"SELECT max(id) FROM {table.__tablename__}").scalar()  # noqa: S608
    return (largest or 0) + 1
