"""Positions of commits in their history, read from a git repository.

The order is git's `--date-order` over every branch and tag: no commit before its parents, otherwise by the
committer's date. asv numbers its revisions in the same order. It needs no main line, so commits of every branch
have a position. Which of them are on the main line is stored beside it: histories are judged along that line alone
(docs/adr/0016).
"""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.schema import Commit, Run, Source
from results.database.transactions import reading, writing
from results.files.paths import text_from_path
from results.ingest.main_line import main_line, references_of, tips_of
from results.ingest.repositories import ask_git
from results.ingest.runs import BEGINNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from results.ingest.main_line import References

COMMIT_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class HistoryCommit:
    """Commit of a repository: `position` counts from 1, `ordered_at` never decreases along the history.

    `date` is None where git's is no moment between the years 1 and 9999.
    """

    hash: str
    date: datetime | None
    subject: str
    position: int
    ordered_at: datetime


@dataclass(frozen=True, kw_only=True)
class History:
    """All commits that a branch or tag of a repository reaches, oldest first.

    `newest`: the latest date of any. `unreached`: commits that exist as objects only. `main_line`: those of the main
    branch's first parents; empty where there is no such branch.
    """

    commits: Mapping[str, HistoryCommit]
    newest: datetime
    unreached: frozenset[str]
    main_line: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Position of a commit in the history of its repository; None where that is unknown."""

    date: datetime | None
    subject: str | None
    position: int | None
    is_orphaned: bool | None
    is_on_main_line: bool | None
    ordered_at: datetime | None


def order_commits(engine: Engine, repository: Path, *, is_named: bool) -> list[str]:
    """Store dates, subjects and positions of the commits that `repository` knows; return notes for a person.

    The history is read only if the repository's branches or the stored commits have changed. Projects of which it
    knows no commit are left alone. `is_named`: the user named this repository, so having no effect is worth a note.
    Raises: NoRepository.
    """
    repository = Path(os.path.realpath(repository))
    references = references_of(repository)
    tips = tips_of(repository, references)
    digest = _digest(references, tips)
    with reading(engine) as connection:
        signature = _signature(connection, digest)
        stored = connection.execute(
            sa.select(Source.signature).where(Source.path == text_from_path(repository))
        ).scalar()
    if stored == signature:
        return []
    if ask_git(repository, "rev-parse", "--is-shallow-repository").strip() == "true":
        return [
            f"{repository} is a shallow clone, so commits keep their order by date; `git fetch --unshallow` mends it"
        ]
    commits = _reached_commits(repository, references)
    line = main_line(repository, tips)
    with writing(engine) as connection:
        n_known = _place_commits(connection, repository, commits, line)
        _register(connection, repository, _signature(connection, digest))
    if not n_known:
        unknown = f"{repository} knows none of the stored commits, so they keep their order by date"
        return [unknown] if is_named else []
    return [
        f"{repository}: commit {commit.hash[:12]} is dated before year 1 or beyond year 9999; it keeps its position "
        "and has no date"
        for commit in commits.values()
        if commit.date is None
    ]


def commits_in_order(lines: Iterable[str]) -> dict[str, HistoryCommit]:
    """Parse git's lines (hash, seconds since 1970 and subject, NUL between), oldest first; pure."""
    commits: dict[str, HistoryCommit] = {}
    latest = BEGINNING
    for position, line in enumerate(lines, start=1):
        name, seconds, subject = line.split("\0", 2)
        date = _moment(seconds)
        latest = max(latest, date or latest)
        commits[name] = HistoryCommit(hash=name, date=date, subject=subject, position=position, ordered_at=latest)
    return commits


def _moment(seconds: str) -> datetime | None:
    """Convert seconds since 1970; a damaged commit may have none, or more than a datetime holds."""
    try:
        return datetime.fromtimestamp(int(seconds), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def standing_of(name: str, history: History, *, before: Standing) -> Standing:
    """Return the standing of the commit `name` in `history`, given its standing `before`; pure.

    A commit that no branch reaches was removed by a rebase if its object still exists, or if it is no newer than
    what the branches reach; a newer one may not have been fetched yet, so that remains unknown. Either keeps its
    position. One without an object here may have been on any line: what is known of that is kept.
    """
    found = history.commits.get(name)
    if found is not None:
        return Standing(
            date=found.date,
            subject=found.subject,
            position=found.position,
            is_orphaned=False,
            is_on_main_line=name in history.main_line if history.main_line else None,
            ordered_at=found.ordered_at,
        )
    is_removed = name in history.unreached or (before.date is not None and before.date <= history.newest)
    is_on_line = False if name in history.unreached else before.is_on_main_line
    return replace(before, is_orphaned=True if is_removed else None, is_on_main_line=is_on_line)


def _place_commits(
    connection: Connection, repository: Path, commits: Mapping[str, HistoryCommit], line: frozenset[str]
) -> int:
    """Write changed standings; return how many stored commits the repository knows."""
    stored: dict[int, list[Any]] = {}
    for row in connection.execute(sa.select(Commit.__table__)):
        stored.setdefault(row.project_id, []).append(row)
    n_known = 0
    for rows in stored.values():
        n_of_project = sum(row.hash in commits for row in rows)
        if n_of_project:
            n_known += n_of_project
            absent = [row.hash for row in rows if row.hash not in commits]
            history = History(
                commits=commits,
                newest=max((commit.date for commit in commits.values() if commit.date), default=BEGINNING),
                unreached=_objects_among(repository, absent),
                main_line=line,
            )
            _write_standings(connection, rows, history)
    return n_known


def _write_standings(connection: Connection, rows: Sequence[Any], history: History) -> None:
    changed = []
    for row in rows:
        before = Standing(
            date=row.date,
            subject=row.subject,
            position=row.position,
            is_orphaned=row.is_orphaned,
            is_on_main_line=row.is_on_main_line,
            ordered_at=row.ordered_at,
        )
        standing = standing_of(row.hash, history, before=before)
        if standing != before:
            changed.append({"the_id": row.id, **vars(standing)})
    if not changed:
        return
    columns = ("date", "subject", "position", "is_orphaned", "is_on_main_line", "ordered_at")
    connection.execute(
        sa.update(Commit).where(Commit.id == sa.bindparam("the_id")).values({c: sa.bindparam(c) for c in columns}),
        changed,
    )
    moment = Run.__table__.c.ordered_at.type
    connection.execute(
        sa.update(Run)
        .where(Run.commit_id == sa.bindparam("the_id"))
        .values(
            ordered_at=sa.func.coalesce(
                sa.bindparam("at", type_=moment), Run.started_at, sa.literal(BEGINNING, moment)
            ),
            position=sa.bindparam("place"),
        ),
        [{"the_id": row["the_id"], "at": row["ordered_at"], "place": row["position"] or 0} for row in changed],
    )


def _register(connection: Connection, repository: Path, signature: str) -> None:
    columns = {"signature": signature, "read_at": datetime.now(tz=UTC)}
    updated = connection.execute(sa.update(Source).where(Source.path == text_from_path(repository)).values(**columns))
    if not updated.rowcount:
        connection.execute(
            sa.insert(Source).values(
                id=next_id(connection, Source),
                path=text_from_path(repository),
                kind="repository",
                content_hash="",
                n_bytes_read=0,
                **columns,
            )
        )


def _signature(connection: Connection, digest: str) -> str:
    """Return a text that changes with the repository's branches and with the stored commits."""
    return f"{digest}:{next_id(connection, Commit)}"


def _digest(references: References, tips: tuple[str, ...]) -> str:
    named = "\n".join(references.objects.values())
    return blake2b(f"{references.head}\0{named}\0{tips}".encode(), digest_size=16).hexdigest()


def _reached_commits(repository: Path, references: References) -> dict[str, HistoryCommit]:
    head = ["HEAD"] if references.head else []
    # rev-list and not log, which reads a mailmap and would check signatures where the configuration asks for it.
    options = ("--date-order", "--reverse", "--no-commit-header", "--encoding=UTF-8", "--format=%H%x00%ct%x00%s")
    lines = ask_git(repository, "rev-list", *options, "--branches", "--remotes", "--tags", *head)
    return commits_in_order(line for line in lines.split("\n") if line)


def _objects_among(repository: Path, names: Sequence[str]) -> frozenset[str]:
    """Return those of `names` that exist as commits in the repository."""
    # git would look up any other name as a revision: `HEAD`, or `:/text`, which searches the whole history.
    hashes = [name for name in names if COMMIT_HASH.fullmatch(name)]
    if not hashes:
        return frozenset()
    answer = ask_git(repository, "cat-file", "--batch-check", given="".join(f"{name}\n" for name in hashes))
    return frozenset(line.split()[0] for line in answer.split("\n") if line.split()[1:2] == ["commit"])
