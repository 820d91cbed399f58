"""Housekeeping of a store: measure its size, reclaim space, prune runs of deleted files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.error_translation import translate_db_errors
from results.database.schema import (
    Base,
    Execution,
    Measurement,
    Profile,
    ProfileKernel,
    ProfileOperator,
    Quarantine,
    Run,
    Source,
    Value,
)
from results.database.transactions import writing
from results.database.upgrade import drop_obsolete_index
from results.database.urls import LOG, SHARED_MEMORY
from results.files.paths import path_from_text
from results.ingest.decisions import apply_decisions, delete_decisions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.store import Store

# Tables of what a run holds, children first.
RUN_TABLES = (Value, Execution, Measurement, ProfileOperator, ProfileKernel, Profile)


@dataclass(frozen=True, kw_only=True)
class StoreSize:
    """Size of a store: bytes on disk and rows by table. `set_aside`: unreadable files as (path, reason)."""

    n_bytes: int
    n_rows: dict[str, int]
    set_aside: tuple[tuple[str, str], ...]


def store_size(store: Store) -> StoreSize:
    """Count every row; takes seconds for millions of values."""
    with store.reading() as connection:
        rows = {
            table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in Base.metadata.sorted_tables
        }
        quarantined = connection.execute(sa.select(Quarantine.path, Quarantine.reason).order_by(Quarantine.path))
        set_aside = tuple((path, reason) for path, reason in quarantined)
        if connection.dialect.name == "postgresql":
            size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
        else:
            size = sum(path.stat().st_size for path in _files(store))
    return StoreSize(n_bytes=size, n_rows=rows, set_aside=set_aside)


def compact(store: Store) -> int:
    """Reclaim the space of deleted rows and return the bytes. Raises: StoreError if the database fails."""
    before = store_size(store).n_bytes
    with translate_db_errors(store.engine.url), store.engine.connect() as connection:
        drop_obsolete_index(store.engine)
        if connection.dialect.name == "postgresql":
            connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("VACUUM ANALYZE")
        else:
            driver = connection.connection.driver_connection
            assert driver is not None  # noqa: S101 - a connection that was just opened has one
            driver.execute("VACUUM")
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before - store_size(store).n_bytes


def prune_missing_files(store: Store, paths: Iterable[Path]) -> int:
    """Delete the runs whose files below `paths` no longer exist, and return how many."""
    roots = [path.resolve() for path in paths]
    n_runs = 0
    with translate_db_errors(store.engine.url), writing(store.engine) as connection:
        for source_id, text in connection.execute(sa.select(Source.id, Source.path)).all():
            path = path_from_text(text)
            is_below = any(root == path or root in path.parents for root in roots)
            if not is_below or not _is_gone(path):
                continue
            run_ids = list(connection.execute(sa.select(Run.id).where(Run.source_id == source_id)).scalars())
            for run_id in run_ids:
                for table in RUN_TABLES:
                    connection.execute(sa.delete(table).where(table.run_id == run_id))
                connection.execute(sa.delete(Run).where(Run.id == run_id))
            delete_decisions(connection, source_id)
            connection.execute(sa.delete(Source).where(Source.id == source_id))
            n_runs += len(run_ids)
        apply_decisions(connection)
    return n_runs


def _is_gone(path: Path) -> bool:
    """Return whether there is no such file; False where that cannot be seen: nothing is deleted on a guess."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _files(store: Store) -> list[Path]:
    database = Path(store.engine.url.database or "")
    candidates = [database.with_name(database.name + suffix) for suffix in ("", LOG, SHARED_MEMORY)]
    return [path for path in candidates if path.exists()]
