"""Ingestion of files of record, one transaction each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.exc import StatementError

from results.database.error_translation import is_data_rejection, store_error_from
from results.database.transactions import reading, writing
from results.errors import UnreadableFile
from results.files.asv_descriptions import asv_benchmarks_from_bytes, asv_machine_from_bytes
from results.files.asv_trees import AsvTree
from results.files.ceilings import ceilings_from_bytes
from results.files.decisions import decisions_from_bytes
from results.files.discovery import Source, SourceKind, content_hash_of, records_version_of, signature_of
from results.files.journal import JournalSubjects, journal_from_bytes, subjects_of
from results.files.paths import read_regular_file, text_from_path
from results.ingest.decisions import load_decisions
from results.ingest.dimensions import Dimensions
from results.ingest.load_asv import load_asv_benchmarks, load_asv_machine, load_asv_run
from results.ingest.load_journal import load_journal
from results.ingest.parallel_parsing import ParallelParser, Request, default_processes, parse_result
from results.ingest.runs import LoadContext, load_ceilings
from results.ingest.source_register import quarantine, quarantined_sources, register_read, release, stored_sources
from results.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from sqlalchemy.engine import Engine

    from results.ingest.source_register import StoredSource

    Load = Callable[[LoadContext], int]


class _Prepared(NamedTuple):
    """Parsed file, ready to be loaded; without `load` it holds nothing new."""

    content_hash: str
    n_bytes: int
    load: Load | None


class FileIngestion:
    """Ingestion of files of record into one database; each that cannot be read becomes a line of `problems`."""

    def __init__(self, engine: Engine, *, project: str | None) -> None:
        self._engine = engine
        self._named_project = project
        self._dimensions = Dimensions()
        self._trees: dict[Path, AsvTree] = {}
        self._subjects: dict[Path, JournalSubjects] = {}
        self._parse = parse_result
        self.n_values = 0
        self.n_unchanged = 0
        self.problems: list[str] = []
        self.notes: list[str] = []
        with reading(engine) as connection:
            self._stored = stored_sources(connection)
            self._quarantined = quarantined_sources(connection)

    @contextmanager
    def reading_ahead(self, changed: list[Source], *, n_processes: int | None) -> Iterator[None]:
        """Parse `changed` result files in other processes inside the block, where that pays."""
        n_bytes = sum(source.path.stat().st_size for source in changed if source.path.exists())
        n_processes = default_processes(n_bytes) if n_processes is None else n_processes
        if not n_processes or not changed:
            yield
            return
        with ParallelParser(map(self._request, changed), n_processes=n_processes) as ahead:
            self._parse = ahead.parsed
            try:
                yield
            finally:
                self._parse = parse_result

    def changed_results(self, sources: Iterable[Source]) -> list[Source]:
        """Return the result files that are new or have changed."""
        return [source for source in sources if source.kind is SourceKind.ASV_RESULT and self._has_changed(source)]

    def _has_changed(self, source: Source) -> bool:
        try:
            signature = signature_of(source.path)
        except OSError:
            return False  # reported when it is its turn
        path = text_from_path(source.path)
        known = self._quarantined.get(path) or self._stored.get(path)
        return known is None or known.signature != signature

    def ingest(self, source: Source) -> None:
        """Ingest `source` if it is new or has changed; quarantine it if it cannot be read."""
        path = text_from_path(source.path)
        try:
            signature = signature_of(source.path)
        except OSError as error:
            self._report(source, str(error.strerror or error))
            return
        quarantined = self._quarantined.get(path)
        if quarantined is not None and quarantined.signature == signature:
            self._report(source, quarantined.reason)
            return
        stored = self._stored.get(path)
        if stored is not None and stored.signature == signature and quarantined is None:
            self.n_unchanged += 1
            return
        try:
            prepared = self._prepared(source, stored)
            self.n_values += self._write(source, signature, prepared)
        except UnreadableFile as error:
            self._quarantine(source, signature=signature, reason=error.reason)
        except (StatementError, ValueError, OverflowError) as error:
            if not is_data_rejection(error):
                raise store_error_from(error, url=self._engine.url) from error
            # The readers let only clean records through; whatever a database still refuses (a NUL in a text,
            # a text longer than its index takes) is the file's doing, and must not stop the others.
            self._quarantine(source, signature=signature, reason=f"the database refused it ({_short(error)})")

    def _prepared(self, source: Source, stored: StoredSource | None) -> _Prepared:
        """Parse a file. Raises: UnreadableFile for any fault, so that the others still go in."""
        try:
            if source.kind is SourceKind.ASV_RESULT:
                return self._prepared_result(source)
            content = read_regular_file(source.path)
            if source.kind is SourceKind.JOURNAL:
                return self._prepared_journal(source, content, stored)
            return self._prepared_description(source, content, stored)
        except UnreadableFile:
            raise
        except OSError as error:
            raise UnreadableFile(str(source.path), str(error.strerror or error)) from error
        except Exception as error:
            reason = f"cannot be understood ({type(error).__name__}: {_short(error)})"
            raise UnreadableFile(str(source.path), reason) from error

    def _prepared_journal(self, source: Source, content: bytes, stored: StoredSource | None) -> _Prepared:
        n_read = stored.n_bytes_read if stored is not None else 0
        version = records_version_of(source.path)
        if stored is not None and content_hash_of(content[:n_read], version=version) != stored.content_hash:
            n_read = 0  # rewritten, not only grown: every line is looked at again, nothing is taken away
        first_line = content.count(b"\n", 0, n_read) + 1
        journal = journal_from_bytes(content[n_read:], path=str(source.path), first_line=first_line)
        if not n_read:
            self._subjects[source.path] = subjects_of(journal)
        if journal.is_torn:
            self.notes.append(f"{source.path}: the last line is cut off and was left out")
        n_whole = content.rfind(b"\n") + 1
        content_hash = content_hash_of(content[:n_whole], version=version)
        is_new = journal.timings or journal.profiles
        return _Prepared(content_hash, n_whole, (lambda context: load_journal(context, journal)) if is_new else None)

    def _prepared_result(self, source: Source) -> _Prepared:
        tree = self._tree(source)
        parsed = self._parse(self._request(source))
        if parsed.reason is not None:
            raise UnreadableFile(str(source.path), parsed.reason)
        record = parsed.record
        if record is None:
            return _Prepared(parsed.content_hash, parsed.n_bytes, None)

        def load(context: LoadContext) -> int:
            return load_asv_run(context, record, project=tree.project, described=tree.described, covered=tree.covered)

        return _Prepared(parsed.content_hash, parsed.n_bytes, load)

    def _prepared_description(self, source: Source, content: bytes, stored: StoredSource | None) -> _Prepared:
        is_of_tree = source.kind is not SourceKind.DECISIONS
        context = f"{source.kind.name}\0{self._tree(source).project}" if is_of_tree else source.kind.name
        content_hash = content_hash_of(content, context=context)
        is_stored = stored is not None and stored.content_hash == content_hash
        return _Prepared(content_hash, len(content), None if is_stored else self._loader(source, content))

    def _loader(self, source: Source, content: bytes) -> Load:
        path = str(source.path)
        match source.kind:
            case SourceKind.ASV_MACHINE:
                machine = asv_machine_from_bytes(content, path=path)
                return lambda context: load_asv_machine(context, machine)
            case SourceKind.ASV_BENCHMARKS:
                benchmarks = asv_benchmarks_from_bytes(content, path=path)
                project = self._tree(source).project
                return lambda context: load_asv_benchmarks(context, benchmarks, project=project)
            case SourceKind.CEILINGS:
                ceilings = ceilings_from_bytes(content, path=path)
                return lambda context: load_ceilings(context, ceilings)
            case _:
                decisions = decisions_from_bytes(content, path=path)
                return lambda context: load_decisions(context, decisions)

    def _request(self, source: Source) -> Request:
        tree = self._tree(source)
        stored = self._stored.get(text_from_path(source.path))
        return Request(
            path=source.path,
            machine=tree.machine(source.path.parent),
            context="\0".join([source.kind.name, tree.project, *sorted(tree.covered)]),
            known_hash=None if stored is None else stored.content_hash,
        )

    def _tree(self, source: Source) -> AsvTree:
        if source.tree not in self._trees:
            self._trees[source.tree] = AsvTree(source.tree, self._named_project, self._subjects)
        return self._trees[source.tree]

    def _write(self, source: Source, signature: str, prepared: _Prepared) -> int:
        """Register the file as read and load it, in one transaction; return the number of values stored."""
        path = text_from_path(source.path)
        try:
            with writing(self._engine) as connection:
                self._dimensions.begin(connection)
                source_id = register_read(
                    connection,
                    source,
                    signature=signature,
                    content_hash=prepared.content_hash,
                    n_bytes_read=prepared.n_bytes,
                )
                if path in self._quarantined:
                    release(connection, source)
                context = LoadContext(
                    connection=connection, dimensions=self._dimensions, source_id=source_id, path=str(source.path)
                )
                n_values = prepared.load(context) if prepared.load else 0
                self._dimensions.end(connection)
        except BaseException:
            self._dimensions.clear()
            raise
        self.n_unchanged += prepared.load is None
        self.notes += context.notes
        return n_values

    def _quarantine(self, source: Source, *, signature: str, reason: str) -> None:
        self._report(source, reason)
        with writing(self._engine) as connection:
            quarantine(connection, source, signature=signature, reason=printable_line(reason))

    def _report(self, source: Source, reason: str) -> None:
        self.problems.append(printable_line(f"{source.path}: {reason}"))


def _short(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]
