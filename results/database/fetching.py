"""Rows as the driver has them, for answers of thousands: SQLAlchemy's own would only be taken apart again."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from results.database.schema import moment_from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    import sqlalchemy as sa
    from sqlalchemy.engine import Connection


def fetch_rows(
    connection: Connection, statement: sa.Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """What `statement` finds; nothing is converted, so a moment goes through `datetime_decoder` first."""
    # Binary: PostgreSQL otherwise spends most of its time writing numbers as text, and we reading them.
    found = connection.execute(statement, parameters, execution_options={"is_binary": True})
    rows = [] if found.cursor is None else found.cursor.fetchall()
    found.close()
    return cast("list[tuple[Any, ...]]", rows)


@contextmanager
def gc_paused() -> Iterator[None]:
    """While rows are made by the thousand Python looks for no garbage: there is none, and it looks at all of them.

    With SQLAlchemy and NumPy loaded that is a third of the time of an answer of 4,000 points.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def datetime_decoder(connection: Connection) -> Callable[[Any], datetime | None]:
    """What makes a fetched moment an aware one: SQLite keeps text, PostgreSQL's is right as it comes."""
    return moment_from_text if connection.dialect.name == "sqlite" else _as_it_is


def _as_it_is(moment: datetime | None) -> datetime | None:
    return moment
