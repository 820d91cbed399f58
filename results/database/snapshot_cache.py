"""Per-connection query cache, valid for one database snapshot (docs/adr/0005)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from sqlalchemy.engine import Connection

Result = TypeVar("Result")

MAX_ENTRIES = 16  # of a connection; the least recently used is evicted
_INFO_KEY = "fusebench.snapshot_cache"


@dataclass
class _Cache:
    transaction: object = None
    snapshot: object = None
    entries: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)


def cached_for_snapshot(connection: Connection, key: Hashable, query: Callable[[], Result]) -> Result:
    """Return the result of `query`, cached under `key` as long as `connection` sees the same rows.

    For transactions of `reading`, which see one snapshot; a writer's caches nothing. Callers must not modify it, but
    for a question that adds to a dictionary of its own what it read besides.
    """
    if connection.get_execution_options().get("is_writer", False):
        return query()
    cache = _cache(connection)
    if connection.get_transaction() is not cache.transaction:
        begin_snapshot(connection, _data_version(connection))
    if key in cache.entries:
        cache.entries.move_to_end(key)
    else:
        cache.entries[key] = query()
        if len(cache.entries) > MAX_ENTRIES:
            cache.entries.popitem(last=False)
    return cast("Result", cache.entries[key])


def begin_snapshot(connection: Connection, snapshot: object) -> None:
    """Note the snapshot of the transaction just begun, and clear the cache unless it equals the last one.

    Equal snapshots promise equal rows; PostgreSQL's lists the transactions it sees.
    """
    cache = _cache(connection)
    if snapshot != cache.snapshot:
        cache.snapshot = snapshot
        cache.entries.clear()
    cache.transaction = connection.get_transaction()


def clear_cache(connection: Connection) -> None:
    """Clear the cache before `connection` writes: SQLite reports other connections' changes only."""
    connection.info.pop(_INFO_KEY, None)


def _cache(connection: Connection) -> _Cache:
    cache: _Cache = connection.info.setdefault(_INFO_KEY, _Cache())
    return cache


def _data_version(connection: Connection) -> object:
    """Return SQLite's count of other connections' changes; for another database a value equal to no other."""
    if connection.dialect.name != "sqlite":
        return object()
    raw: Any = connection.connection.driver_connection
    return raw.execute("PRAGMA data_version").fetchone()[0]
