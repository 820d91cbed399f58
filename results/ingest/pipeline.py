"""Files → the database: incremental by content, one transaction per file, the bad ones named and set aside.

What is noted of each file is in source_register, what the files of an asv tree share in asv_trees.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy.exc import StatementError

from results.database.error_translation import is_data_rejection, store_error_from
from results.database.fetching import gc_paused
from results.database.transactions import reading, refresh_statistics, writing
from results.errors import NoRepository, UnreadableFile
from results.files.asv_descriptions import asv_benchmarks_from_bytes, asv_machine_from_bytes
from results.files.asv_trees import AsvTree
from results.files.ceilings import ceilings_from_bytes
from results.files.decisions import decisions_from_bytes
from results.files.discovery import (
    Source,
    SourceKind,
    content_hash_of,
    records_version_of,
    signature_of,
    sources_under,
)
from results.files.journal import journal_from_bytes
from results.ingest.commit_order import order_commits, repository_around
from results.ingest.decisions import load_decisions, settle_stored_decisions
from results.ingest.dimensions import Dimensions
from results.ingest.load_asv import load_asv_benchmarks, load_asv_machine, load_asv_run
from results.ingest.load_journal import load_journal
from results.ingest.parallel_parsing import ReadingAhead, Request, parsed_result, usual_processes
from results.ingest.runs import Desk, load_ceilings, n_values_stored
from results.ingest.source_register import register_read, set_aside, sources_set_aside, stored_sources, take_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from sqlalchemy.engine import Engine

    from results.ingest.source_register import StoredSource


MANY_VALUES = 1000  # so many that a planner should hear of them,
LARGE_SHARE = 0.1  # if they are so much of what is stored: PostgreSQL counts smaller growth by itself, in its time


@dataclass(frozen=True, kw_only=True)
class IngestReport:
    """What an ingest did. `problems`: one line per file that could not be read, path first.

    `n_values`: values stored by this ingest, failed and skipped ones included; 0 if nothing was new.
    `notes`: what a person may want to know and need not act on.
    """

    n_files: int
    n_files_unchanged: int
    n_values: int
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an ingest is."""

    n_files_done: int
    n_files: int
    n_values: int
    path: Path


def ingest(  # noqa: PLR0913 - what an ingest may be told
    engine: Engine,
    paths: Iterable[Path],
    *,
    project: str | None,
    repository: Path | None,
    n_processes: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> IngestReport:
    """Bring the database up to date with the files under `paths`.

    `project` names the project of asv trees; None finds it out (see sources.project_of). `repository` gives
    commits their order; None asks the checkouts that `paths` lie in. `n_processes`: how many others parse result
    files ahead of this one; None decides by the amount and the cores (results.ingest.parallel_parsing).
    Raises: FileNotFoundError for a path that does not exist, StoreError if the database fails, NoRepository.
    """
    paths = list(paths)
    sources = sources_under(paths)
    ingestion = _Ingestion(engine, project=project)
    changed = ingestion.changed_results(sources)
    with ingestion.reading_ahead(changed, n_processes=n_processes):
        for n_done, source in enumerate(sources, start=1):
            with gc_paused():
                ingestion.take(source)
            if on_progress is not None:
                on_progress(
                    Progress(
                        n_files_done=n_done,
                        n_files=len(sources),
                        n_values=ingestion.n_values,
                        path=source.path,
                    )
                )
    ingestion.notes.extend(_ordered(engine, paths, repository))
    settle_stored_decisions(engine)
    with reading(engine) as connection:
        is_much = ingestion.n_values >= max(MANY_VALUES, LARGE_SHARE * n_values_stored(connection))
    if is_much:
        refresh_statistics(engine)
    return IngestReport(
        n_files=len(sources),
        n_files_unchanged=ingestion.n_unchanged,
        n_values=ingestion.n_values,
        problems=tuple(ingestion.problems),
        notes=tuple(ingestion.notes),
    )


def _ordered(engine: Engine, paths: Iterable[Path], repository: Path | None) -> list[str]:
    """Give commits their order; notes about what stood in the way."""
    if repository is not None:
        return order_commits(engine, repository, is_named=True)
    around = dict.fromkeys(found for path in paths if (found := repository_around(path)) is not None)
    return [note for found in around for note in _ordered_if_possible(engine, found)]


def _ordered_if_possible(engine: Engine, repository: Path) -> list[str]:
    try:
        return order_commits(engine, repository, is_named=False)
    except NoRepository as error:
        return [error.message]


class _Ingestion:
    """One walk over the sources."""

    def __init__(self, engine: Engine, *, project: str | None) -> None:
        self._engine = engine
        self._named_project = project
        self._dimensions = Dimensions()
        self._trees: dict[Path, AsvTree] = {}
        self._parse = parsed_result
        self.n_values = 0
        self.n_unchanged = 0
        self.problems: list[str] = []
        self.notes: list[str] = []
        with reading(engine) as connection:
            self._stored = stored_sources(connection)
            self._quarantined = sources_set_aside(connection)

    @contextmanager
    def reading_ahead(self, changed: list[Source], *, n_processes: int | None) -> Iterator[None]:
        """Have the result files that must be read parsed by other processes inside, where that pays."""
        n_bytes = sum(source.path.stat().st_size for source in changed if source.path.exists())
        n_processes = usual_processes(n_bytes) if n_processes is None else n_processes
        if not n_processes or not changed:
            yield
            return
        with ReadingAhead(map(self._request, changed), n_processes=n_processes) as ahead:
            self._parse = ahead.parsed
            try:
                yield
            finally:
                self._parse = parsed_result

    def changed_results(self, sources: Iterable[Source]) -> list[Source]:
        """The result files that must be read: the new and the changed ones."""
        return [source for source in sources if source.kind is SourceKind.ASV_RESULT and self._has_changed(source)]

    def _has_changed(self, source: Source) -> bool:
        """Whether a file's stat is not the one that is stored, or noted of a file set aside."""
        try:
            signature = signature_of(source.path)
        except OSError:
            return False  # to be told when it is its turn
        known = self._quarantined.get(str(source.path)) or self._stored.get(str(source.path))
        return known is None or known.signature != signature

    def _request(self, source: Source) -> Request:
        tree = self._tree(source)
        stored = self._stored.get(str(source.path))
        return Request(
            path=source.path,
            machine=tree.machine(source.path.parent),
            context="\0".join([source.kind.name, tree.project, *sorted(tree.covered)]),
            known_hash=None if stored is None else stored.content_hash,
        )

    def _tree(self, source: Source) -> AsvTree:
        return self._trees.setdefault(source.tree, AsvTree(source.tree, self._named_project))

    def take(self, source: Source) -> None:
        """Read `source` if it is new or has changed; set it aside if it cannot be read."""
        path = str(source.path)
        try:
            signature = signature_of(source.path)
        except OSError as error:
            self.problems.append(f"{path}: {error.strerror}")
            return
        quarantined = self._quarantined.get(path)
        if quarantined is not None and quarantined.signature == signature:
            self.problems.append(f"{path}: {quarantined.reason}")
            return
        stored = self._stored.get(path)
        if stored is not None and stored.signature == signature and quarantined is None:
            self.n_unchanged += 1
            return
        try:
            self.n_values += self._read(source, signature=signature, stored=stored)
        except UnreadableFile as error:
            self._set_aside(source, signature=signature, reason=error.reason)
        except OSError as error:
            self._set_aside(source, signature=signature, reason=str(error.strerror or error))
        except (StatementError, ValueError, OverflowError) as error:
            if not is_data_rejection(error):
                raise store_error_from(error, url=self._engine.url) from error
            # The readers let only clean records through; whatever a database still refuses (a NUL in a text,
            # a text longer than its index takes) is the file's doing, and must not stop the others.
            self._set_aside(source, signature=signature, reason=f"the database refused it ({_short(error)})")

    def _read(self, source: Source, *, signature: str, stored: StoredSource | None) -> int:
        if source.kind is SourceKind.ASV_RESULT:
            return self._read_result(source, signature=signature)
        content = source.path.read_bytes()
        if source.kind is SourceKind.JOURNAL:
            return self._read_journal(source, content, signature=signature, stored=stored)
        if source.kind is SourceKind.DECISIONS:
            return self._read_decisions(source, content, signature=signature, stored=stored)
        tree = self._tree(source)
        content_hash = content_hash_of(content, context=f"{source.kind.name}\0{tree.project}")
        if stored is not None and stored.content_hash == content_hash:
            return self._note_unchanged(source, signature, content_hash, len(content))
        load = self._loader(source, content, tree)
        return self._write(source, signature, content_hash, len(content), load)

    def _loader(self, source: Source, content: bytes, tree: AsvTree) -> Callable[[Desk], int]:
        path = str(source.path)
        match source.kind:
            case SourceKind.ASV_MACHINE:
                machine = asv_machine_from_bytes(content, path=path)
                return lambda desk: load_asv_machine(desk, machine)
            case SourceKind.ASV_BENCHMARKS:
                benchmarks = asv_benchmarks_from_bytes(content, path=path)
                return lambda desk: load_asv_benchmarks(desk, benchmarks, project=tree.project)
            case _:
                ceilings = ceilings_from_bytes(content, path=path)
                return lambda desk: load_ceilings(desk, ceilings)

    def _note_unchanged(self, source: Source, signature: str, content_hash: str, n_bytes: int) -> int:
        self.n_unchanged += 1
        return self._write(source, signature, content_hash, n_bytes, lambda _: 0)

    def _read_result(self, source: Source, *, signature: str) -> int:
        tree = self._tree(source)
        parsed = self._parse(self._request(source))
        if parsed.reason is not None:
            raise UnreadableFile(str(source.path), parsed.reason)
        record = parsed.record
        if record is None:
            return self._note_unchanged(source, signature, parsed.content_hash, parsed.n_bytes)
        return self._write(
            source,
            signature,
            parsed.content_hash,
            parsed.n_bytes,
            lambda desk: load_asv_run(
                desk, record, project=tree.project, described=tree.described, covered=tree.covered
            ),
        )

    def _read_decisions(self, source: Source, content: bytes, *, signature: str, stored: StoredSource | None) -> int:
        content_hash = content_hash_of(content, context=source.kind.name)
        decisions = decisions_from_bytes(content, path=str(source.path))
        if stored is not None and stored.content_hash == content_hash:
            self.n_unchanged += 1
        return self._write(source, signature, content_hash, len(content), lambda desk: load_decisions(desk, decisions))

    def _read_journal(self, source: Source, content: bytes, *, signature: str, stored: StoredSource | None) -> int:
        n_read = stored.n_bytes_read if stored is not None else 0
        version = records_version_of(source.path)
        if stored is not None and content_hash_of(content[:n_read], version=version) != stored.content_hash:
            n_read = 0  # rewritten, not only grown: every line is looked at again, nothing is taken away
        first_line = content.count(b"\n", 0, n_read) + 1
        journal = journal_from_bytes(content[n_read:], path=str(source.path), first_line=first_line)
        if journal.torn:
            self.notes.append(f"{source.path}: the last line is cut off and was left out")
        n_whole = content.rfind(b"\n") + 1
        content_hash = content_hash_of(content[:n_whole], version=version)
        if not journal.timings and not journal.profiles:
            self.n_unchanged += 1
        return self._write(source, signature, content_hash, n_whole, lambda desk: load_journal(desk, journal))

    def _write(
        self,
        source: Source,
        signature: str,
        content_hash: str,
        n_bytes_read: int,
        load: Callable[[Desk], int],
    ) -> int:
        try:
            with writing(self._engine) as connection:
                self._dimensions.enter(connection)
                source_id = register_read(
                    connection, source, signature=signature, content_hash=content_hash, n_bytes_read=n_bytes_read
                )
                if str(source.path) in self._quarantined:
                    take_back(connection, source)
                n_values = load(Desk(connection=connection, dimensions=self._dimensions, source_id=source_id))
                self._dimensions.leave(connection)
        except BaseException:
            self._dimensions.forget()
            raise
        return n_values

    def _set_aside(self, source: Source, *, signature: str, reason: str) -> None:
        self.problems.append(f"{source.path}: {reason}")
        with writing(self._engine) as connection:
            set_aside(connection, source, signature=signature, reason=reason)


def _short(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]
