"""What a connection need not ask again while nobody has changed the database."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from sqlalchemy.engine import Connection

Answer = TypeVar("Answer")

KEPT = 16  # answers of a connection; the one not asked for longest goes first
_NAME = "fusebench.remembered"


@dataclass
class _Memory:
    transaction: object = None
    state: object = None
    answers: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)


def cached_for_snapshot(connection: Connection, key: Hashable, find: Callable[[], Answer]) -> Answer:
    """What `find` answers, or answered under `key` while this connection saw the same rows as now.

    Kept for transactions of `database.reading`, which see one state throughout; nobody may change the answer.
    """
    if connection.get_execution_options().get("is_writer", False):
        return find()
    memory = _memory(connection)
    if connection.get_transaction() is not memory.transaction:
        begin_snapshot(connection, _data_version(connection))
    if key in memory.answers:
        memory.answers.move_to_end(key)
    else:
        memory.answers[key] = find()
        if len(memory.answers) > KEPT:
            memory.answers.popitem(last=False)
    return cast("Answer", memory.answers[key])


def begin_snapshot(connection: Connection, state: object) -> None:
    """What the transaction that has begun sees: an equal one twice only if every row of it is the same.

    PostgreSQL's is its snapshot, which tells the transactions that are seen.
    """
    memory = _memory(connection)
    if state != memory.state:
        memory.state = state
        memory.answers.clear()
    memory.transaction = connection.get_transaction()


def clear_cache(connection: Connection) -> None:
    """Before `connection` writes: SQLite tells it of other connections' changes only."""
    connection.info.pop(_NAME, None)


def _memory(connection: Connection) -> _Memory:
    memory: _Memory = connection.info.setdefault(_NAME, _Memory())
    return memory


def _data_version(connection: Connection) -> object:
    """SQLite's count of the changes that other connections made; of another database something never seen before."""
    if connection.dialect.name != "sqlite":
        return object()
    raw: Any = connection.connection.driver_connection
    return raw.execute("PRAGMA data_version").fetchone()[0]
