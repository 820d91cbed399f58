"""Files of record → the database: each file whole or not at all, unreadable ones named and quarantined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.database.fetching import gc_paused
from results.database.transactions import reading, refresh_statistics
from results.errors import NoRepository
from results.files.discovery import SourceKind, discover
from results.ingest.commit_order import order_commits
from results.ingest.decisions import apply_stored_decisions
from results.ingest.file_ingestion import FileIngestion
from results.ingest.repositories import repository_around
from results.ingest.runs import n_values_stored
from results.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sqlalchemy.engine import Engine

    from results.files.discovery import Source


MANY_VALUES = 1000  # so many that a planner should hear of them,
LARGE_SHARE = 0.1  # if they are so much of what is stored: PostgreSQL counts smaller growth by itself, in its time


@dataclass(frozen=True, kw_only=True)
class IngestReport:
    """Outcome of an ingest, as printable lines.

    `problems`: files and folders that could not be read, path first. `barren`: given paths below which there is no
    file of record. `n_values`: values stored, failed and skipped ones included; 0 if nothing was new. `notes`: what
    the user may want to know and need not act on.
    """

    n_files: int
    n_files_unchanged: int
    n_values: int
    problems: tuple[str, ...]
    barren: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of an ingest."""

    n_files_done: int
    n_files: int
    n_values: int
    path: Path


def ingest(  # noqa: PLR0913 - the options of an ingest
    engine: Engine,
    paths: Iterable[Path],
    *,
    project: str | None,
    repository: Path | None,
    n_processes: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> IngestReport:
    """Bring the database up to date with the files under `paths`.

    `project` names the project of asv trees; None finds it out (see results.files.asv_trees). `repository` gives
    commits their order; None asks the checkouts that `paths` lie in. `n_processes`: how many others parse result
    files ahead of this one; None decides by the amount and the cores (results.ingest.parallel_parsing).
    Raises: FileNotFoundError for a path that does not exist, StoreError if the database fails, NoRepository.
    """
    paths = list(paths)
    found = discover(paths)
    sources = found.sources
    ingestion = FileIngestion(engine, project=project)
    changed = ingestion.changed_results(sources)

    def take(some: Iterable[tuple[int, Source]]) -> None:
        for n_done, source in some:
            with gc_paused():
                ingestion.ingest(source)
            if on_progress is not None:
                on_progress(
                    Progress(n_files_done=n_done, n_files=len(sources), n_values=ingestion.n_values, path=source.path)
                )

    numbered = list(enumerate(sources, start=1))
    n_before_results = sum(source.kind < SourceKind.ASV_RESULT for source in sources)
    # Journals are read by now when a result file is asked what they record already.
    take(numbered[:n_before_results])
    with ingestion.reading_ahead(changed, n_processes=n_processes):
        take(numbered[n_before_results:])
    ingestion.notes.extend(_order_commits(engine, paths, repository))
    ingestion.notes.extend(apply_stored_decisions(engine))
    with reading(engine) as connection:
        is_much = ingestion.n_values >= max(MANY_VALUES, LARGE_SHARE * n_values_stored(connection))
    if is_much:
        refresh_statistics(engine)
    return IngestReport(
        n_files=len(sources),
        n_files_unchanged=ingestion.n_unchanged,
        n_values=ingestion.n_values,
        problems=(*found.problems, *ingestion.problems),
        barren=tuple(printable_line(str(path)) for path in found.barren),
        notes=tuple(map(printable_line, ingestion.notes)),
    )


def _order_commits(engine: Engine, paths: Iterable[Path], repository: Path | None) -> list[str]:
    """Order the stored commits; return notes about what stood in the way."""
    if repository is not None:
        return order_commits(engine, repository, is_named=True)
    around = dict.fromkeys(found for path in paths if (found := repository_around(path)) is not None)
    return [note for found in around for note in _order_if_possible(engine, found)]


def _order_if_possible(engine: Engine, repository: Path) -> list[str]:
    try:
        return order_commits(engine, repository, is_named=False)
    except NoRepository as error:
        return [error.message]
