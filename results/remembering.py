"""What a connection need not ask again while nobody has changed the database."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from sqlalchemy.engine import Connection

Answer = TypeVar("Answer")

KEPT = 16  # answers of a connection; the one not asked for longest goes first
_NAME = "fusebench.remembered"
_SNAPSHOT = sa.text("SELECT CAST(pg_current_snapshot() AS text)")


@dataclass
class _Memory:
    transaction: object = None
    state: object = None
    answers: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)


def remembered(connection: Connection, key: Hashable, find: Callable[[], Answer]) -> Answer:
    """What `find` answers, or answered under `key` while this connection saw the same rows as now.

    Kept for transactions of `database.reading`, which see one state throughout; nobody may change the answer.
    """
    if connection.get_execution_options().get("is_writer", False):
        return find()
    memory: _Memory = connection.info.setdefault(_NAME, _Memory())
    if (transaction := connection.get_transaction()) is not memory.transaction:
        if (state := _state(connection)) != memory.state:
            memory.state = state
            memory.answers.clear()
        memory.transaction = transaction
    if key in memory.answers:
        memory.answers.move_to_end(key)
    else:
        memory.answers[key] = find()
        if len(memory.answers) > KEPT:
            memory.answers.popitem(last=False)
    return cast("Answer", memory.answers[key])


def forget(connection: Connection) -> None:
    """Before `connection` writes: SQLite tells it of other connections' changes only."""
    connection.info.pop(_NAME, None)


def _state(connection: Connection) -> object:
    """The same twice only if every row that the transaction sees is the same.

    SQLite counts the changes that other connections made; PostgreSQL tells which transactions are seen.
    """
    if connection.dialect.name == "sqlite":
        raw: Any = connection.connection.driver_connection
        return raw.execute("PRAGMA data_version").fetchone()[0]
    return connection.execute(_SNAPSHOT).scalar()
