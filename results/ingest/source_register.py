"""What the database says of each file: read as far as here, or set aside for this reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.schema import Quarantine
from results.database.schema import Source as SourceTable

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from results.files.discovery import Source


@dataclass(frozen=True)
class StoredSource:
    """What the database says of a file that was read before."""

    source_id: int
    signature: str
    content_hash: str
    n_bytes_read: int


def stored_sources(connection: Connection) -> dict[str, StoredSource]:
    """Every file that was read, by its path."""
    columns = (
        SourceTable.path,
        SourceTable.id,
        SourceTable.signature,
        SourceTable.content_hash,
        SourceTable.n_bytes_read,
    )
    return {row.path: StoredSource(*row[1:]) for row in connection.execute(sa.select(*columns))}


def sources_set_aside(connection: Connection) -> dict[str, sa.Row[Any]]:
    """Every file that could not be read, by its path: its `signature` and the `reason`."""
    return {row.path: row for row in connection.execute(sa.select(Quarantine.__table__))}


def register_read(
    connection: Connection, source: Source, *, signature: str, content_hash: str, n_bytes_read: int
) -> int:
    """Note that `source` was read as far as `n_bytes_read`; its id."""
    path = str(source.path)
    source_id = connection.execute(sa.select(SourceTable.id).where(SourceTable.path == path)).scalar()
    columns = {
        "kind": source.kind.name.lower(),
        "signature": signature,
        "content_hash": content_hash,
        "n_bytes_read": n_bytes_read,
        "read_at": datetime.now(tz=UTC),
    }
    if source_id is None:
        source_id = next_id(connection, SourceTable)
        connection.execute(sa.insert(SourceTable).values(id=source_id, path=path, **columns))
    else:
        connection.execute(sa.update(SourceTable).where(SourceTable.id == source_id).values(**columns))
    return source_id


def set_aside(connection: Connection, source: Source, *, signature: str, reason: str) -> None:
    """Note why `source` cannot be read, instead of what was noted before."""
    columns = {
        "path": str(source.path),
        "kind": source.kind.name.lower(),
        "reason": reason,
        "signature": signature,
        "found_at": datetime.now(tz=UTC),
    }
    take_back(connection, source)
    connection.execute(sa.insert(Quarantine).values(**columns))


def take_back(connection: Connection, source: Source) -> None:
    """Have `source` no longer set aside."""
    connection.execute(sa.delete(Quarantine).where(Quarantine.path == str(source.path)))
