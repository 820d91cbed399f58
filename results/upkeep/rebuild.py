"""Rebuild a database from its files beside the old one, and swap it in whole.

SQLite: a file beside the old one, copied over it in one transaction by SQLite's own backup (renamed over it, it would
leave readers with a log that belongs to another file). PostgreSQL: a schema beside the old one's, whose tables are
moved in one transaction; readers hold a lock that lets it happen before or after what they read, never in between.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from results.database.connection import connect
from results.database.error_translation import BUSY_TIMEOUT_S, translate_db_errors
from results.database.schema import Base, Decision, Source, Triage
from results.database.transactions import VERSION_TABLE, refresh_statistics, writing
from results.database.urls import LOG, SHARED_MEMORY, url_from_text
from results.errors import StoreError
from results.ingest.decisions import add_decisions, apply_decisions
from results.store import Store, open_store
from results.upkeep.id_mapping import run_identities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy.engine import URL, Connection

    from results.store import IngestReport, Progress

    Fill = Callable[[Store], IngestReport]

NAMESPACE = "fusebench_rebuild"  # PostgreSQL's schema to build in; one rebuild at a time in a database
REBUILD_LOCK = 0x66757366  # see transactions.WRITER_LOCK


def rebuild_store(  # noqa: PLR0913 - the options of `ingest`
    db: str | None,
    paths: Iterable[Path],
    *,
    project: str | None,
    repository: Path | None = None,
    n_processes: int | None = None,
    may_lose: bool,
    on_progress: Callable[[Progress], None] | None,
) -> tuple[str, IngestReport]:
    """Rebuild a database from the files under `paths`; until the swap the old one is untouched and may be read.

    `may_lose`: accept a new database with fewer runs than the old one has. Returns the database's name and the report.
    Raises: StoreError if the new one would lose runs, or the old one is in use.
    """
    url = url_from_text(db)

    def fill(new: Store) -> IngestReport:
        return new.ingest(
            paths, project=project, repository=repository, n_processes=n_processes, on_progress=on_progress
        )

    with translate_db_errors(url):
        if url.get_backend_name() == "sqlite":
            return _rebuilt_file(Path(url.database or ""), fill, may_lose=may_lose)
        return _rebuilt_namespace(url, fill, may_lose=may_lose)


def _rebuilt_file(path: Path, fill: Fill, *, may_lose: bool) -> tuple[str, IngestReport]:
    _remove_leftovers(path)
    rebuilt = path.with_name(f"{path.name}.rebuild-{os.getpid()}")
    try:
        with open_store(str(path)) as old, open_store(str(rebuilt)) as new:
            report = fill(new)
            _wait_for_no_change(path, lambda: _check_losses(old, new, may_lose=may_lose))
        _copy_over(rebuilt, path)
    finally:
        _remove(rebuilt)
    return str(path), report


def _wait_for_no_change(path: Path, check: Callable[[], None]) -> None:
    """Repeat `check` until nobody wrote meanwhile: what another process adds during it would be swapped away."""
    with closing(sqlite3.connect(path)) as witness:
        before = None
        while before != (before := witness.execute("PRAGMA data_version").fetchone()):
            check()


def _copy_over(rebuilt: Path, path: Path) -> None:
    """Replace the file's content in one transaction: kill -9 leaves the old content, readers see either."""

    def waited(status: int, _remaining: int, _total: int) -> None:
        if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise StoreError(f"{path} was locked by another process for {BUSY_TIMEOUT_S} s; it was left as it is")

    with closing(sqlite3.connect(rebuilt)) as new, closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as old:
        # A new one tells processes that have the database open that ids they know no longer hold.
        new.execute(f"PRAGMA user_version = {secrets.randbelow(2**31)}")
        new.backup(old, progress=waited)
        old.execute("PRAGMA busy_timeout = 0")  # a reader of the old content may keep the log as long as it likes
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _remove_leftovers(path: Path) -> None:
    """Remove the files of rebuilds that were killed."""
    for leftover in path.parent.glob(f"{path.name}.rebuild-*"):
        pid = leftover.name.rpartition("-")[2]
        if pid.isdigit() and not _is_alive(int(pid)):
            _remove(leftover)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _remove(path: Path) -> None:
    for suffix in ("", LOG, SHARED_MEMORY):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _rebuilt_namespace(url: URL, fill: Fill, *, may_lose: bool) -> tuple[str, IngestReport]:
    with Store(connect(url, must_exist=False)) as old, _rebuild_lock(old) as control:
        control.exec_driver_sql(f"DROP SCHEMA IF EXISTS {NAMESPACE} CASCADE")  # of a rebuild that was killed
        control.exec_driver_sql(f"CREATE SCHEMA {NAMESPACE}")
        try:
            with Store(connect(url, must_exist=False, namespace=NAMESPACE)) as new:
                report = fill(new)
                _carry_over(old, new)
                with writing(old.engine) as connection:
                    _refuse_losses(old, new, may_lose=may_lose)
                    _swap_tables(connection)
        finally:
            with suppress(DBAPIError):  # the connection may be what failed
                control.exec_driver_sql(f"DROP SCHEMA IF EXISTS {NAMESPACE} CASCADE")
        refresh_statistics(old.engine)
        return old.name, report


@contextmanager
def _rebuild_lock(store: Store) -> Iterator[Connection]:
    """Hold the lock that keeps others from rebuilding this database. Raises: StoreError if another holds it."""
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        is_ours = connection.execute(sa.select(sa.func.pg_try_advisory_lock(REBUILD_LOCK))).scalar()
        if not is_ours:
            raise StoreError(f"another process is rebuilding {store.name}; nothing was changed")
        try:
            yield connection
        finally:
            with suppress(DBAPIError):
                connection.execute(sa.select(sa.func.pg_advisory_unlock(REBUILD_LOCK)))


def _swap_tables(connection: Connection) -> None:
    """Replace the old tables by the new ones once nobody reads them; later readers wait for the commit."""
    names = [*(table.name for table in Base.metadata.sorted_tables), VERSION_TABLE]
    home = connection.execute(sa.select(sa.func.quote_ident(sa.func.current_schema()))).scalar()
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_TIMEOUT_S}s'")
    connection.exec_driver_sql(f"LOCK TABLE {VERSION_TABLE} IN ACCESS EXCLUSIVE MODE")
    connection.exec_driver_sql(f"DROP TABLE {', '.join(f'{home}.{name}' for name in names)}")
    for name in names:
        connection.exec_driver_sql(f"ALTER TABLE {NAMESPACE}.{name} SET SCHEMA {home}")


def _check_losses(old: Store, new: Store, *, may_lose: bool) -> None:
    _carry_over(old, new)
    _refuse_losses(old, new, may_lose=may_lose)


def _carry_over(old: Store, new: Store) -> None:
    """Copy the decisions that came by a merge, which are in no file."""
    with old.reading() as connection:
        query = sa.select(Decision.kind, Decision.content).where(Decision.source_id.is_(None))
        came_by_merge = [(kind, content) for kind, content in connection.execute(query)]
    if came_by_merge:
        with writing(new.engine) as connection:
            connection.execute(sa.delete(Triage))
            connection.execute(sa.delete(Decision).where(Decision.source_id.is_(None)))
            add_decisions(connection, came_by_merge, source_id=None)
            apply_decisions(connection)


def _refuse_losses(old: Store, new: Store, *, may_lose: bool) -> None:
    """Raise StoreError if the files lack what the old database has of them."""
    with old.reading() as connection:
        n_by_hand = connection.execute(sa.select(sa.func.count()).where(Triage.decision_id.is_(None))).scalar_one()
        runs_before = run_identities(connection)
        files_of_decisions = set(
            connection.execute(sa.select(Source.path).join(Decision, Decision.source_id == Source.id)).scalars()
        )
    with new.reading() as connection:
        runs_after = run_identities(connection)
        files_read = set(connection.execute(sa.select(Source.path)).scalars())
    if n_by_hand:
        raise StoreError(f"{n_by_hand} decisions about changes are in no file and would be lost; use plain ingest")
    n_lost = len(runs_before - runs_after)
    if n_lost and not may_lose:
        raise StoreError(
            f"{n_lost} runs of the old database are in none of the files and would be lost, so it was left as it "
            "is; name all the paths, or add --prune to let them go"
        )
    if (files_lost := sorted(files_of_decisions - files_read)) and not may_lose:
        raise StoreError(
            f"the decisions in {files_lost[0]} would be lost, so the old database was left as it is; name that file "
            "too, or add --prune to let them go"
        )
