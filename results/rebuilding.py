"""Build a database anew from its files, beside the old one, and swap it in whole."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database import BUSY_TIMEOUT_S, url_from_text, writing
from results.deciding import add_decisions, settle
from results.errors import StoreError
from results.schema import Decision, Run, Source, Triage
from results.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from results.store import IngestReport, Progress, Store


def rebuilt(  # noqa: PLR0913 - the options of `ingest`
    db: str | None,
    paths: Iterable[Path],
    *,
    project: str | None,
    repository: Path | None = None,
    may_lose: bool,
    on_progress: Callable[[Progress], None] | None,
) -> tuple[str, IngestReport]:
    """The database's name and what went in. Until the swap the old one is untouched and may be read.

    `may_lose`: accept a new database with fewer runs than the old one has.
    Raises: StoreError if the new one would lose runs, or the old one is in use.
    """
    url = url_from_text(db)
    if url.get_backend_name() != "sqlite":
        raise StoreError(
            "--rebuild swaps files, so it is for SQLite; on PostgreSQL ingest into a new database and rename it"
        )
    path = Path(url.database or "")
    beside = path.with_name(f"{path.name}.rebuild-{os.getpid()}")
    try:
        with open_store(str(beside)) as new:
            report = new.ingest(paths, project=project, repository=repository, on_progress=on_progress)
            if path.exists():
                with open_store(str(path)) as old:
                    _refuse_losses(old, new, may_lose=may_lose)
        _fold_log(beside)
        if path.exists():
            _fold_log(path)
        beside.replace(path)
    finally:
        for suffix in ("", "-wal", "-shm"):
            beside.with_name(beside.name + suffix).unlink(missing_ok=True)
    return str(path), report


def _refuse_losses(old: Store, new: Store, *, may_lose: bool) -> None:
    """Carry over what is in no file by nature; refuse what files should have held and do not."""
    with old.reading() as connection:
        n_by_hand = connection.execute(sa.select(sa.func.count()).where(Triage.decision_id.is_(None))).scalar_one()
        runs_before = set(connection.execute(sa.select(Run.uid)).scalars())
        files_of_decisions = set(
            connection.execute(sa.select(Source.path).join(Decision, Decision.source_id == Source.id)).scalars()
        )
        columns = (Decision.kind, Decision.content)
        came_by_merge = connection.execute(sa.select(*columns).where(Decision.source_id.is_(None))).all()
    with new.reading() as connection:
        runs_after = set(connection.execute(sa.select(Run.uid)).scalars())
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
    if came_by_merge:
        with writing(new.engine) as connection:
            add_decisions(connection, [(kind, content) for kind, content in came_by_merge], source_id=None)
            settle(connection)


def _fold_log(path: Path) -> None:
    """Bring the write-ahead log into the file, so that the file alone is the database.

    A log left beside a file that it does not belong to would damage it.
    """
    connection = sqlite3.connect(path, timeout=min(5, BUSY_TIMEOUT_S))
    try:
        mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} is in use by another process ({error}); stop it and run --rebuild again. Nothing was changed"
        ) from error
    finally:
        connection.close()
    if mode != "delete":
        raise StoreError(f"{path} is in use by another process; stop it and run --rebuild again. Nothing was changed")
