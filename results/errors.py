"""Exceptions of the store and the judgement.

ResultsError                 everything below; its message says what happened, to what, and what to do
├── StoreError               the database cannot be used
│   ├── InvalidDatabaseUrl   what was named as the database is none that can be opened
│   ├── NoStore              there is no database yet, or nothing in it
│   ├── NewerSchema          a newer fusebench wrote it
│   ├── LockedStore          another process has it to itself for now
│   └── NotAStore            the file is no database of ours, or is damaged
├── UnreadableFile           a file of records is truncated, foreign or of a future format
├── InvalidSettings          [tool.fusebench] of a pyproject.toml has an unknown key or an impossible value
├── UnwritableDecisions      a file of decisions cannot be read or written
├── UnwritableReport         a report cannot be written where it was asked for
├── NoRepository             a folder is no git repository, or git cannot be run
├── UnknownRevision          a revision names no stored commit, or several
└── UnknownParameter         a selection names what nothing stored has
"""

from __future__ import annotations

import click

from results.exit_codes import ExitCode
from results.printable import printable_line
from results.redaction import redact


class ResultsError(click.ClickException):
    """Base of the exceptions the results tower raises on purpose; printed without a traceback or passwords."""

    exit_code = int(ExitCode.FAILED)

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class StoreError(ResultsError):
    """Database that cannot be used; nothing in it was changed."""


class InvalidDatabaseUrl(StoreError):
    """Database name or URL that cannot be opened; the message says what is accepted."""

    exit_code = int(ExitCode.WRONG_USAGE)


class NoStore(StoreError):
    """Missing or empty database: nothing can be compared or shown yet."""

    exit_code = int(ExitCode.NOTHING_COMPARABLE)


class NewerSchema(StoreError):
    """Database written by a newer fusebench; it is not touched."""


class LockedStore(StoreError):
    """Database that another process kept to itself for longer than we wait; it can be used again later."""


class NotAStore(StoreError):
    """File that is no database of fusebench, or is damaged."""


class UnreadableFile(ResultsError):
    """File of records that is truncated, foreign or of a future format; `reason`: one printable line in words."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(printable_line(f"{path}: {reason}"))
        self.path = path
        self.reason = printable_line(reason)


class InvalidSettings(ResultsError):
    """Settings of a project with an unknown key or an impossible value; the message names file, key and what may be."""

    exit_code = int(ExitCode.WRONG_USAGE)


class NotADecisionsFile(ResultsError):
    """File to write decisions to that none are read from."""

    exit_code = int(ExitCode.WRONG_USAGE)


class UnwritableDecisions(ResultsError):
    """File of decisions that cannot be read or written; the message names it."""


class UnwritableReport(ResultsError):
    """Report that cannot be written; the message names the file."""


class NoRepository(ResultsError):
    """Folder that is no git repository, or git cannot be run; commits then keep their order by date."""

    exit_code = int(ExitCode.WRONG_USAGE)


class UnknownRevision(ResultsError):
    """Revision that names no stored commit, or several; the message lists the stored ones.

    `commit`: the commit it would be, full if git knows it. `is_plausible`: it may well exist and only was
    never measured; False for a name that nobody knows.
    """

    def __init__(self, message: str, *, commit: str | None = None, is_plausible: bool = False) -> None:
        super().__init__(message)
        self.commit = commit
        self.is_plausible = is_plausible


class UnknownParameter(ResultsError):
    """Selection by a name or value that nothing stored has; the message lists what there is."""

    exit_code = int(ExitCode.WRONG_USAGE)
