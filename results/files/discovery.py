"""Which files of records lie under a path, and what each of them is.

The journal is the record: where a folder `journal/` lies beside an asv tree, that tree is a view of it, and the
suites whose operation a line of the journal names are not read from it a second time.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from results.files.decisions import DECISIONS_NAME
from results.files.records import JOURNAL_RECORDS_VERSION, RECORDS_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# asv.conf.json allows comments, so it is searched rather than parsed.
PROJECT_IN_CONF = re.compile(rb'^\s*"project"\s*:\s*"([^"\\]+)"', re.MULTILINE)
# `tuning` and `campaign` hold what the measuring tower keeps for itself beside the record.
FOLDERS_OF_OTHERS = {".git", ".venv", "node_modules", "__pycache__", "traces", "graphs", "tuning", "campaign"}


class SourceKind(IntEnum):
    """What a file of records is, in the order in which files are read: descriptions before what they describe."""

    ASV_MACHINE = 0
    ASV_BENCHMARKS = 1
    CEILINGS = 2
    JOURNAL = 3
    ASV_RESULT = 4
    DECISIONS = 5


@dataclass(frozen=True, kw_only=True, order=True)
class Source:
    """A file of records. `tree`: the folder asv calls results_dir, for asv's files."""

    kind: SourceKind
    path: Path
    tree: Path


def sources_under(paths: Iterable[Path]) -> list[Source]:
    """Every file of records under `paths` (files or folders), each once, in the order to read them.

    Raises: FileNotFoundError naming the path that does not exist.
    """
    found: set[Source] = set()
    for given in paths:
        path = given.resolve()
        if path.is_dir():
            found.update(_sources_in(path))
        elif path.exists():
            found.add(_source(path))
        else:
            raise FileNotFoundError(given)
    return sorted(found)


def _sources_in(folder: Path) -> Iterator[Source]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in FOLDERS_OF_OTHERS)
        for name in files:
            path = Path(root, name)
            if path.suffix == ".jsonl" or name == DECISIONS_NAME:
                yield _source(path)
            elif path.suffix == ".json":
                source = _source(path)
                is_result = source.kind is SourceKind.ASV_RESULT
                # asv reads no result without a machine.json beside it, and neither do we: any other .json
                # under a project's folder is none of our business.
                if not is_result or "machine.json" in files:
                    yield source


def _source(path: Path) -> Source:
    if path.suffix == ".jsonl":
        return Source(kind=SourceKind.JOURNAL, path=path, tree=path.parent)
    if path.name == DECISIONS_NAME:
        return Source(kind=SourceKind.DECISIONS, path=path, tree=path.parent)
    if path.name == "machine.json":
        return Source(kind=SourceKind.ASV_MACHINE, path=path, tree=path.parent.parent)
    if path.name == "benchmarks.json":
        return Source(kind=SourceKind.ASV_BENCHMARKS, path=path, tree=path.parent)
    if path.parent.name == "machines" and not (path.parent / "machine.json").exists():
        return Source(kind=SourceKind.CEILINGS, path=path, tree=path.parent)
    return Source(kind=SourceKind.ASV_RESULT, path=path, tree=path.parent.parent)


def project_of(tree: Path) -> str:
    """Whose results an asv tree holds: the journal's beside it, else asv.conf.json's above, else the folder's."""
    for name in _journal_words(tree, "run", "project"):
        return name
    for folder in (tree, *tree.parents):
        conf = folder / "asv.conf.json"
        if conf.is_file() and (match := PROJECT_IN_CONF.search(conf.read_bytes())):
            return match[1].decode(errors="replace")
    names = [tree.name, *(parent.name for parent in tree.parents)]
    return next((name for name in names if name not in {"", "results", ".asv", "asv"}), "unnamed")


def covered_suites(tree: Path) -> frozenset[str]:
    """The suites of an asv tree that the journal beside it records already."""
    return frozenset(_journal_words(tree, "point", "operation"))


def _journal_words(tree: Path, part: str, key: str) -> set[str]:
    words: set[str] = set()
    for journal in sorted((tree.parent / "journal").rglob("*.jsonl")):
        for line in journal.read_bytes().splitlines():
            try:
                found = orjson.loads(line)[part][key]
            except (orjson.JSONDecodeError, KeyError, TypeError):
                continue  # the journal itself will be refused for it, by line
            if isinstance(found, str):
                words.add(found)
    return words


def records_version_of(path: Path) -> int:
    """Which version of the records a file is read into."""
    return JOURNAL_RECORDS_VERSION if path.suffix == ".jsonl" else RECORDS_VERSION


def signature_of(path: Path) -> str:
    """Changes whenever the file may have changed; costs no reading. Raises: OSError."""
    stat = path.stat()
    # ctime cannot be set back, so an edit that restores mtime and size is noticed too.
    return f"{records_version_of(path)}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"


def content_hash_of(content: bytes, *, version: int = RECORDS_VERSION, context: str = "") -> str:
    """The same for the same content read in the same context into records of the same version."""
    digest = blake2b(content, digest_size=16, person=b"fusebench")
    digest.update(f"\0{version}\0{context}".encode())
    return digest.hexdigest()
