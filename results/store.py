"""Store of measurements: open it, fill it from files; results.queries reads it."""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Self

from results.database.connection import connect
from results.database.error_translation import BUSY_TIMEOUT_S, translate_db_errors
from results.database.fetching import gc_paused
from results.database.fingerprint import StateWatch, file_identity, holds_log_of, log_identity
from results.database.transactions import check_readable, reading
from results.database.urls import LOG, SHARED_MEMORY, displayed, url_from_text
from results.errors import LockedStore, StoreError
from results.ingest.pipeline import IngestReport, Progress, ingest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from types import TracebackType

    from sqlalchemy.engine import Connection, Engine

__all__ = ["IngestReport", "OpenMode", "Progress", "Store", "gc_paused", "open_store"]

# Whoever asked while another waited in vain for a lock is told the same, not made to wait in turn.
SAME_LOCK_S = 0.5


class OpenMode(StrEnum):
    """Permission that opening gives: read an existing database, or create and write it."""

    READ = "read"  # it must exist; a missing or empty one raises NoStore
    WRITE = "write"  # created as needed


class Store:
    """Open database of measurements; a context manager that closes it. Safe to share between threads."""

    def __init__(self, engine: Engine, *, lock_wait_s: float = BUSY_TIMEOUT_S) -> None:
        self._lock_wait_s = lock_wait_s
        self._reopening = threading.Lock()
        self._locked_at_s, self._locked_words = -math.inf, ""
        self._n_opened = 0
        self._log: Hashable = None
        self._use(engine)

    @property
    def engine(self) -> Engine:
        """SQLAlchemy engine of the database, for ingest and upkeep."""
        return self._engine

    @property
    def name(self) -> str:
        """Name of the database as a person would type it after --db, without a password."""
        return displayed(self._engine.url)

    def ingest(
        self,
        paths: Iterable[Path],
        *,
        project: str | None = None,
        repository: Path | None = None,
        n_processes: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> IngestReport:
        """Bring the database up to date with the files under `paths`; running it again adds nothing.

        `project`: whose results an asv tree holds, where its asv.conf.json does not say. A file that cannot
        be read is named in the report and set aside; the others go in. `repository`: the git repository that
        gives commits their order; default: the checkout that the paths lie in, if they do. `n_processes`: how
        many others parse result files ahead of this one; default: by their size and the cores.
        Raises: FileNotFoundError for a path that does not exist, StoreError if the database fails, NoRepository.
        """
        with translate_db_errors(self._engine.url):
            return ingest(
                self._engine,
                paths,
                project=project,
                repository=repository,
                n_processes=n_processes,
                on_progress=on_progress,
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open one snapshot of the database, for results.queries. Raises: StoreError if the database fails."""
        with translate_db_errors(self._engine.url), reading(self._engine) as connection:
            yield connection

    def fingerprint(self) -> Hashable:
        """Return a value that differs once stored rows may have changed; a replaced SQLite file is opened anew.

        Raises: StoreError if the database fails, NoStore if its file is gone.
        """
        with self._reopening:
            if time.monotonic() - self._locked_at_s < SAME_LOCK_S:
                raise LockedStore(self._locked_words)
            try:
                return self._fingerprint()
            except LockedStore as error:
                self._locked_at_s, self._locked_words = time.monotonic(), error.message
                raise

    def check_readable(self) -> None:
        """Return once every table can be read. Raises: LockedStore if another process has one to itself, StoreError."""
        with translate_db_errors(self._engine.url):
            check_readable(self._engine)

    def close(self) -> None:
        """Release the database."""
        self._watch.close()
        self._engine.dispose()

    def _fingerprint(self) -> Hashable:
        url = self._engine.url
        with translate_db_errors(url):
            if file_identity(url) != self._file:
                self._refuse_foreign_log()
                engine = connect(url, must_exist=True, lock_wait_s=self._lock_wait_s)
                self.close()
                self._use(engine)
            found = self._n_opened, self._watch.fingerprint()
            self._log = log_identity(url)
            return found

    def _refuse_foreign_log(self) -> None:
        """Refuse to open a file beside which the log of the one it replaced was left: SQLite would mix both."""
        url = self._engine.url
        if not holds_log_of(url, self._log):
            return
        name = Path(url.database or "").name
        log, index = f"{name}{LOG}", f"{name}{SHARED_MEMORY}"
        raise StoreError(
            f"{displayed(url)} was replaced by another file, and {log} beside it is of the one before: SQLite would "
            f"mix both, so nothing is read. Move {log} and {index} away"
        )

    def _use(self, engine: Engine) -> None:
        self._engine = engine
        self._watch = StateWatch(engine)
        self._file = file_identity(engine.url)
        self._log = None
        self._n_opened += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(
    url: str | None = None, *, mode: OpenMode = OpenMode.WRITE, lock_wait_s: float = BUSY_TIMEOUT_S
) -> Store:
    """Open the database at `url`, migrated to the current schema: an SQLite path or `postgresql://…`.

    Without `url`: the environment variable FUSEBENCH_DB, else fusebench.db in FUSEBENCH_DATA's folder, else
    results/data/fusebench.db below the current folder. `lock_wait_s`: how long who reads waits while another process
    has the database, or a table of it, to itself. Raises: InvalidDatabaseUrl, NoStore, NewerSchema, NotAStore,
    LockedStore, StoreError.
    """
    engine = connect(url_from_text(url), must_exist=mode is OpenMode.READ, lock_wait_s=lock_wait_s)
    return Store(engine, lock_wait_s=lock_wait_s)
