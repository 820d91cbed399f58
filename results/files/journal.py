"""Journals (docs/file-formats.md) → records. A journal is read whole or refused whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from results.errors import UnreadableFile
from results.files.journal_lines import ProfileRecord, TimingRecord
from results.files.json_fields import shown
from results.files.records import State

if TYPE_CHECKING:
    from collections.abc import Iterable

JOURNAL_FORMAT = 1
NUL_IN_JSON = rb"\u0000"


class JournalRecord(NamedTuple):
    """Lines of a journal, in the order written. `is_torn`: its last line was cut off and is left out."""

    timings: list[TimingRecord]
    profiles: list[ProfileRecord]
    is_torn: bool


class JournalSubjects(NamedTuple):
    """Projects and operations that a journal names."""

    projects: frozenset[str]
    operations: frozenset[str]

    @staticmethod
    def union(found: Iterable[JournalSubjects]) -> JournalSubjects:
        """Unite the subjects of several journals."""
        projects, operations = set[str](), set[str]()
        for subjects in found:
            projects |= subjects.projects
            operations |= subjects.operations
        return JournalSubjects(frozenset(projects), frozenset(operations))


class _RunSubject(Struct):
    project: str


class _PointSubject(Struct):
    operation: str


class _Subject(Struct):
    """Run and point of a line; msgspec skips the rest unread."""

    run: _RunSubject
    point: _PointSubject


_LINE: msgspec.json.Decoder[TimingRecord | ProfileRecord] = msgspec.json.Decoder(TimingRecord | ProfileRecord)
_SUBJECT = msgspec.json.Decoder(_Subject)


def journal_from_bytes(content: bytes, *, path: str, first_line: int = 1) -> JournalRecord:
    """Parse a journal; a torn last line is left out.

    `path` and `first_line` (the number of the first line of `content`) are for messages.
    Raises: UnreadableFile naming the line.
    """
    timings: list[TimingRecord] = []
    profiles: list[ProfileRecord] = []
    *whole, last = content.split(b"\n")
    for number, line in enumerate(whole, start=first_line):
        if line and not line.isspace():
            try:
                _add(line, timings, profiles)
            except ValueError as error:
                raise UnreadableFile(path, f"line {number}: {_reason(line, error)}") from error
    is_torn = False
    if last.strip():
        try:
            _add(last, timings, profiles)
        except ValueError as error:
            if _is_json(last):
                number = first_line + len(whole)
                raise UnreadableFile(path, f"line {number}: {_reason(last, error)}") from error
            is_torn = True  # neither newline nor end: the machine stopped while writing it
    return JournalRecord(timings, profiles, is_torn)


def subjects_from_bytes(content: bytes) -> JournalSubjects:
    """Find out what a journal is about; a line that cannot be read is skipped: the journal will be refused for it."""
    found: set[tuple[str, str]] = set()
    for line in content.splitlines():
        try:
            subject = _SUBJECT.decode(line)
        except (ValueError, RecursionError):
            continue
        found.add((subject.run.project, subject.point.operation))
    return JournalSubjects(frozenset(project for project, _ in found), frozenset(operation for _, operation in found))


def subjects_of(journal: JournalRecord) -> JournalSubjects:
    """Return what a parsed journal is about."""
    lines = [*journal.timings, *journal.profiles]
    return JournalSubjects(
        frozenset(line.run.project for line in lines), frozenset(line.point.operation for line in lines)
    )


def _add(line: bytes, timings: list[TimingRecord], profiles: list[ProfileRecord]) -> None:
    try:
        record = _LINE.decode(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if NUL_IN_JSON in line and _has_nul(msgspec.json.decode(line)):
        raise ValueError("a text holds NUL, which no database stores")
    if isinstance(record, TimingRecord):
        timings.append(record)
    else:
        profiles.append(record)


def _reason(line: bytes, error: ValueError) -> str:
    """Explain why a line is none of ours; a future format comes before whatever else it brings."""
    try:
        found: object = msgspec.json.decode(line)
    except (ValueError, RecursionError) as not_json:
        return f"not JSON ({not_json})"
    if not isinstance(found, dict):
        return f"{shown(found)} is not an object"
    written = found.get("format")
    if written != JOURNAL_FORMAT or isinstance(written, bool):
        return f"journal format {shown(written)}; this fusebench reads {JOURNAL_FORMAT}"
    choices = f"; one of {', '.join(State)}" if "`$.state`" in str(error) else ""
    return f"{error}{choices}".removesuffix(" - at `$`").replace("`$.", "`")


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return False
    return True


def _has_nul(found: Any) -> bool:  # noqa: ANN401 - JSON
    if isinstance(found, str):
        return "\0" in found
    if isinstance(found, dict):
        return any(map(_has_nul, (*found, *found.values())))
    return isinstance(found, list) and any(map(_has_nul, found))
