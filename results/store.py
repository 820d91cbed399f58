"""The store: open, migrate, ingest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType


class OpenMode(StrEnum):
    """What opening may do to the database."""

    READ = "read"  # it must exist; a missing one raises NoStore
    WRITE = "write"  # created and migrated as needed


@dataclass(frozen=True, kw_only=True)
class IngestReport:
    """What an ingest did. `problems`: one line per file that could not be read, path first."""

    n_files: int
    n_files_unchanged: int
    n_values: int
    problems: tuple[str, ...]


class Store:
    """An open database of measurements; a context manager that closes it."""

    def ingest(self, paths: Sequence[Path]) -> IngestReport:
        """Bring the database up to date with the files under `paths`; running it again adds nothing."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the database."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(url: str | None = None, *, mode: OpenMode = OpenMode.WRITE) -> Store:
    """Open the database at `url`: an SQLite path or URL, or `postgresql+psycopg://…`.

    Without `url`: the environment variable FUSEBENCH_DB, else results/data/fusebench.db below the current
    folder. Raises: NoStore, NewerSchema, NotAStore.
    """
    raise NotImplementedError
