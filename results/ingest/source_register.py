"""Register of files: read up to some byte, or quarantined for a reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.schema import Quarantine
from results.database.schema import Source as SourceTable
from results.files.paths import text_from_path

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from results.files.discovery import Source

_SOURCE_ID = sa.select(SourceTable.id).where(SourceTable.path == sa.bindparam("named"))


@dataclass(frozen=True)
class StoredSource:
    """File that was read before."""

    source_id: int
    signature: str
    content_hash: str
    n_bytes_read: int


def stored_sources(connection: Connection) -> dict[str, StoredSource]:
    """Return every file that was read, by the text of its path."""
    columns = (
        SourceTable.path,
        SourceTable.id,
        SourceTable.signature,
        SourceTable.content_hash,
        SourceTable.n_bytes_read,
    )
    return {row.path: StoredSource(*row[1:]) for row in connection.execute(sa.select(*columns))}


def quarantined_sources(connection: Connection) -> dict[str, sa.Row[Any]]:
    """Return every file that could not be read, by the text of its path: its `signature` and the `reason`."""
    return {row.path: row for row in connection.execute(sa.select(Quarantine.__table__))}


def register_read(
    connection: Connection, source: Source, *, signature: str, content_hash: str, n_bytes_read: int
) -> int:
    """Register `source` as read up to `n_bytes_read`; return its id."""
    path = text_from_path(source.path)
    source_id = connection.execute(_SOURCE_ID, {"named": path}).scalar()
    columns = {
        "kind": source.kind.name.lower(),
        "signature": signature,
        "content_hash": content_hash,
        "n_bytes_read": n_bytes_read,
        "read_at": datetime.now(tz=UTC),
    }
    if source_id is None:
        source_id = next_id(connection, SourceTable)
        connection.execute(sa.insert(SourceTable), {"id": source_id, "path": path, **columns})
    else:
        connection.execute(sa.update(SourceTable).where(SourceTable.id == source_id).values(**columns))
    return source_id


def quarantine(connection: Connection, source: Source, *, signature: str, reason: str) -> None:
    """Register why `source` cannot be read, in place of an earlier reason."""
    columns = {
        "path": text_from_path(source.path),
        "kind": source.kind.name.lower(),
        "reason": reason,
        "signature": signature,
        "found_at": datetime.now(tz=UTC),
    }
    release(connection, source)
    connection.execute(sa.insert(Quarantine).values(**columns))


def release(connection: Connection, source: Source) -> None:
    """Register `source` as readable again."""
    connection.execute(sa.delete(Quarantine).where(Quarantine.path == text_from_path(source.path)))
