"""Files of record below a path, and what each of them is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from results.files.decisions import DECISIONS_NAME
from results.files.records import JOURNAL_RECORDS_VERSION, RECORDS_VERSION
from results.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MACHINE_NAME = "machine.json"
# `tuning`, `campaign` and `bisection` hold what commands keep for themselves beside the record.
FOLDERS_OF_OTHERS = {
    ".git",
    ".venv",
    "node_modules",
    "__pycache__",
    "traces",
    "graphs",
    "tuning",
    "campaign",
    "bisection",
}


class SourceKind(IntEnum):
    """Kinds of files of record, in the order in which they are read.

    Journals come first: what they record is left out of asv's files. Descriptions come before what they describe.
    """

    JOURNAL = 0
    ASV_MACHINE = 1
    ASV_BENCHMARKS = 2
    CEILINGS = 3
    ASV_RESULT = 4
    DECISIONS = 5


@dataclass(frozen=True, kw_only=True, order=True)
class Source:
    """File of record. `tree`: the folder that asv calls results_dir, for asv's files."""

    kind: SourceKind
    path: Path
    tree: Path


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """Files of record below some paths, each once, in the order to read them.

    `problems`: folders that could not be listed, one line each. `barren`: paths below which there is no file of record.
    """

    sources: tuple[Source, ...]
    problems: tuple[str, ...]
    barren: tuple[Path, ...]


def discover(paths: Iterable[Path]) -> Discovery:
    """Find the files of record among and below `paths`, files or folders.

    Raises: FileNotFoundError naming the path that does not exist.
    """
    found: set[Source] = set()
    problems: dict[str, None] = {}
    barren = []

    def note(error: OSError) -> None:
        problems[printable_line(f"{error.filename}: the folder cannot be listed ({error.strerror})")] = None

    for given in paths:
        path = Path(os.path.realpath(given))
        if not os.path.lexists(path):
            raise FileNotFoundError(given)
        n_problems = len(problems)
        sources = set(_sources_in(path, on_error=note)) if os.path.isdir(path) else {_source(path)}  # noqa: PTH112 - never raises
        if not sources and len(problems) == n_problems:
            barren.append(given)
        found |= sources
    return Discovery(sources=tuple(sorted(found)), problems=tuple(problems), barren=tuple(barren))


def _sources_in(folder: Path, *, on_error: Callable[[OSError], None]) -> Iterator[Source]:
    for root, folders, files in os.walk(folder, onerror=on_error):
        folders[:] = sorted(name for name in folders if name not in FOLDERS_OF_OTHERS)
        has_machine = MACHINE_NAME in files
        for name in files:
            if name.endswith((".jsonl", ".json")) or name == DECISIONS_NAME:
                source = _source(Path(root, name), has_machine=has_machine)
                # asv reads no result without a machine.json beside it, and neither do we: any other .json under a
                # project's folder is something else.
                if source.kind is not SourceKind.ASV_RESULT or has_machine:
                    yield source


def _source(path: Path, *, has_machine: bool | None = None) -> Source:
    """Classify a file by its name; `has_machine`: whether a machine.json lies beside it, None to look."""
    if path.suffix == ".jsonl":
        return Source(kind=SourceKind.JOURNAL, path=path, tree=path.parent)
    if path.name == DECISIONS_NAME:
        return Source(kind=SourceKind.DECISIONS, path=path, tree=path.parent)
    if path.name == MACHINE_NAME:
        return Source(kind=SourceKind.ASV_MACHINE, path=path, tree=path.parent.parent)
    if path.name == "benchmarks.json":
        return Source(kind=SourceKind.ASV_BENCHMARKS, path=path, tree=path.parent)
    if has_machine is None:
        has_machine = os.path.lexists(path.with_name(MACHINE_NAME))
    if path.parent.name == "machines" and not has_machine:
        return Source(kind=SourceKind.CEILINGS, path=path, tree=path.parent)
    return Source(kind=SourceKind.ASV_RESULT, path=path, tree=path.parent.parent)


def records_version_of(path: Path) -> int:
    """Return the version of the records that a file is read into."""
    return JOURNAL_RECORDS_VERSION if path.suffix == ".jsonl" else RECORDS_VERSION


def signature_of(path: Path) -> str:
    """Return a text that changes whenever the file may have changed; costs no reading. Raises: OSError."""
    stat = path.stat()
    # ctime cannot be set back, so an edit that restores mtime and size is noticed too.
    return f"{records_version_of(path)}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"


def content_hash_of(content: bytes, *, version: int = RECORDS_VERSION, context: str = "") -> str:
    """Hash content, the context it is read in, and the version of the records it is read into."""
    digest = blake2b(content, digest_size=16, person=b"fusebench")
    digest.update(f"\0{version}\0{context}".encode())
    return digest.hexdigest()
