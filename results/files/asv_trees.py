"""Context shared by the files of an asv tree: project, machines, descriptions, suites that journals record.

The journal is the record: where a folder `journal/` lies beside an asv tree, that tree is a view of it, and the
suites whose operation a line of the journal names are not read from it a second time.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import UnreadableFile
from results.files.asv_descriptions import asv_benchmarks_from_bytes, asv_machine_from_bytes
from results.files.journal import JournalSubjects, subjects_from_bytes
from results.files.paths import read_regular_file
from results.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from results.files.records import AsvBenchmarkRecord

# asv.conf.json allows comments, so it is searched rather than parsed: from the start of each line and not across empty
# ones, which takes a time that grows with the square of their number.
PROJECT_IN_CONF = re.compile(rb'^[^\S\n]*"project"\s*:\s*"([^"\\]+)"', re.MULTILINE)
BRANCH_IN_CONF = re.compile(rb'^[^\S\n]*"branches"\s*:\s*\[\s*"([^"\\]+)"', re.MULTILINE)
UNTOLD_NAMES = frozenset({"", "results", ".asv", "asv"})


@dataclass
class AsvTree:
    """Context shared by the files below `path`, read when first needed.

    `named_project`: the project, where the user named it. `subjects`: of journals that were read anyway, by path.
    """

    path: Path
    named_project: str | None
    subjects: Mapping[Path, JournalSubjects]
    _machines: dict[Path, str | None] = field(default_factory=dict)

    @cached_property
    def project(self) -> str:
        """Project of the results, by the journals beside the tree, else asv.conf.json above it, else the folder."""
        if self.named_project or self._recorded.projects:
            return self.named_project or min(self._recorded.projects)
        for folder in (self.path, *self.path.parents):
            conf = _content_or_nothing(folder / "asv.conf.json")
            if match := PROJECT_IN_CONF.search(conf):
                return match[1].decode(errors="replace")
        names = [self.path.name, *(parent.name for parent in self.path.parents)]
        return printable_line(next((name for name in names if name not in UNTOLD_NAMES), "unnamed"))

    @property
    def covered(self) -> frozenset[str]:
        """Suites that the journals beside the tree record already."""
        return self._recorded.operations

    @cached_property
    def _recorded(self) -> JournalSubjects:
        found = [
            self.subjects[path] if path in self.subjects else subjects_from_bytes(_content_or_nothing(path))
            for path in _journals_in(self.path.parent / "journal")
        ]
        return JournalSubjects.union(found)

    @cached_property
    def described(self) -> Mapping[str, AsvBenchmarkRecord]:
        """Benchmarks as benchmarks.json describes them, by name; empty if it cannot be read."""
        path = self.path / "benchmarks.json"
        try:
            records = asv_benchmarks_from_bytes(read_regular_file(path), path=str(path))
        except (OSError, UnreadableFile):
            return {}  # benchmarks.json is a source of its own and reported as such
        return {record.name: record for record in records}

    def machine(self, folder: Path) -> str | None:
        """Return the name that machine.json in `folder` gives, None if it cannot be read."""
        if folder not in self._machines:
            path = folder / "machine.json"
            try:
                self._machines[folder] = asv_machine_from_bytes(read_regular_file(path), path=str(path)).name
            except (OSError, UnreadableFile):
                self._machines[folder] = None
        return self._machines[folder]


def _journals_in(folder: Path) -> Iterator[Path]:
    if folder.is_symlink():
        return  # not followed, as discovery does not: it may lead to anything
    for root, _, names in os.walk(folder):
        yield from (Path(root, name) for name in sorted(names) if name.endswith(".jsonl"))


def configured_branch(repository: Path) -> str | None:
    """Return the branch that asv publishes first by a repository's asv.conf.json, in its root or benchmarks/.

    None where it names none, or only what is checked out.
    """
    for folder in (repository, repository / "benchmarks"):
        if match := BRANCH_IN_CONF.search(_content_or_nothing(folder / "asv.conf.json")):
            name = match[1].decode(errors="replace")
            return None if name == "HEAD" else name
    return None


def _content_or_nothing(path: Path) -> bytes:
    """Return a file's content, nothing if it cannot be read: as a source of its own it is reported as such."""
    try:
        return read_regular_file(path)
    except (OSError, UnreadableFile):
        return b""
