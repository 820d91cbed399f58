"""Where commits stand in their history, asked of a git repository.

The order is git's `--date-order` over every branch and tag: no commit before its parents, otherwise by the
committer's date. asv numbers its revisions in the same order. It needs no main line, so commits of every branch
have a place, and histories of the main branch read as they happened.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.bulk import next_id
from results.database.connection import reading, writing
from results.database.schema import Commit, Run, Source
from results.errors import NoRepository
from results.ingest.runs import BEGINNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy.engine import Connection, Engine

REFERENCES = ("refs/heads", "refs/remotes", "refs/tags")
# A hook of git's runs with these set to the repository that called it.
NOT_OURS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})


@dataclass(frozen=True, kw_only=True)
class HistoryCommit:
    """A commit in its place. `position` counts from 1; `ordered_at`: no earlier than any commit's before it."""

    hash: str
    date: datetime
    subject: str
    position: int
    ordered_at: datetime


@dataclass(frozen=True, kw_only=True)
class History:
    """Every commit that a branch or tag of a repository reaches, in order. `unreached`: what only its objects hold."""

    commits: Mapping[str, HistoryCommit]
    newest: datetime
    unreached: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a repository says of a commit; all None where it cannot say."""

    date: datetime | None
    subject: str | None
    position: int | None
    is_orphaned: bool | None
    ordered_at: datetime | None


def repository_around(path: Path) -> Path | None:
    """The git checkout that `path` lies in, if it does."""
    folder = path.resolve()
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def order_commits(engine: Engine, repository: Path, *, is_named: bool) -> list[str]:
    """Give the stored commits that `repository` knows their dates, subjects and places; notes for a person.

    Nothing is read again while neither its branches nor the stored commits have changed. Projects of which it
    knows no commit are left alone. `is_named`: somebody asked for this repository, and hears why it had no effect.
    Raises: NoRepository.
    """
    repository = repository.resolve()
    references = _references(repository)
    with reading(engine) as connection:
        signature = _signature(connection, references)
        stored = connection.execute(sa.select(Source.signature).where(Source.path == str(repository))).scalar()
    if stored == signature:
        return []
    if _git(repository, "rev-parse", "--is-shallow-repository").strip() == "true":
        return [
            f"{repository} is a shallow clone, so commits keep their order by date; `git fetch --unshallow` mends it"
        ]
    commits = _reached_commits(repository)
    with writing(engine) as connection:
        n_known = _place_commits(connection, repository, commits)
        _remember(connection, repository, _signature(connection, references))
    if is_named and not n_known:
        return [f"{repository} knows none of the stored commits, so they keep their order by date"]
    return []


def commits_in_order(lines: Iterable[str]) -> dict[str, HistoryCommit]:
    """The commits of `git log`'s lines (hash, seconds since 1970 and subject, NUL between), oldest first; pure."""
    commits: dict[str, HistoryCommit] = {}
    latest = BEGINNING
    for position, line in enumerate(lines, start=1):
        name, seconds, subject = line.split("\0", 2)
        date = datetime.fromtimestamp(int(seconds), tz=UTC)
        latest = max(latest, date)
        commits[name] = HistoryCommit(hash=name, date=date, subject=subject, position=position, ordered_at=latest)
    return commits


def standing_of(name: str, history: History, *, before: Standing) -> Standing:
    """What `history` says of the commit `name`, of which `before` was known; pure.

    A commit that no branch reaches was removed by a rebase if its object is still there, or if it is no newer
    than what the branches reach; a newer one may just not have been fetched yet, and nothing is said of it.
    Either keeps the place it had.
    """
    found = history.commits.get(name)
    if found is not None:
        return Standing(
            date=found.date,
            subject=found.subject,
            position=found.position,
            is_orphaned=False,
            ordered_at=found.ordered_at,
        )
    is_removed = name in history.unreached or (before.date is not None and before.date <= history.newest)
    return replace(before, is_orphaned=True if is_removed else None)


def _place_commits(connection: Connection, repository: Path, commits: Mapping[str, HistoryCommit]) -> int:
    """Write what has changed; how many stored commits the repository knows."""
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
                newest=max(commit.date for commit in commits.values()),
                unreached=_objects_among(repository, absent),
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
            ordered_at=row.ordered_at,
        )
        standing = standing_of(row.hash, history, before=before)
        if standing != before:
            changed.append({"the_id": row.id, **vars(standing)})
    if not changed:
        return
    columns = ("date", "subject", "position", "is_orphaned", "ordered_at")
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


def _remember(connection: Connection, repository: Path, signature: str) -> None:
    columns = {"signature": signature, "read_at": datetime.now(tz=UTC)}
    updated = connection.execute(sa.update(Source).where(Source.path == str(repository)).values(**columns))
    if not updated.rowcount:
        connection.execute(
            sa.insert(Source).values(
                id=next_id(connection, Source),
                path=str(repository),
                kind="repository",
                content_hash="",
                n_bytes_read=0,
                **columns,
            )
        )


def _signature(connection: Connection, references: str) -> str:
    """Changes with the repository's branches and with the commits that are stored."""
    return f"{references}:{next_id(connection, Commit)}"


def _references(repository: Path) -> str:
    heads = _git(repository, "for-each-ref", "--format=%(objectname)", *REFERENCES)
    head = _git(repository, "rev-parse", "--quiet", "--verify", "HEAD", may_fail=True)
    return blake2b(f"{head}\0{heads}".encode(), digest_size=16).hexdigest()


def _reached_commits(repository: Path) -> dict[str, HistoryCommit]:
    head = ["HEAD"] if _git(repository, "rev-parse", "--quiet", "--verify", "HEAD", may_fail=True) else []
    log = _git(
        repository,
        "log",
        "--date-order",
        "--reverse",
        "--format=%H%x00%ct%x00%s",
        "--branches",
        "--remotes",
        "--tags",
        *head,
    )
    return commits_in_order(line for line in log.split("\n") if line)


def _objects_among(repository: Path, names: Sequence[str]) -> frozenset[str]:
    """Those of `names` that the repository still has as commits."""
    if not names:
        return frozenset()
    answer = _git(repository, "cat-file", "--batch-check", given="".join(f"{name}\n" for name in names))
    return frozenset(line.split()[0] for line in answer.splitlines() if line.split()[1:2] == ["commit"])


def _git(repository: Path, *arguments: str, may_fail: bool = False, given: str | None = None) -> str:
    environ = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    try:
        answer = subprocess.run(
            ["git", "-C", str(repository), *arguments],
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            # A commit that is not here must not be fetched just because somebody asked for it.
            env={**environ, "LC_ALL": "C.UTF-8", "GIT_NO_LAZY_FETCH": "1"},
        )
    except OSError as error:
        raise NoRepository(
            f"{repository}: git cannot be run ({error.strerror}); commits keep their order by date"
        ) from error
    if answer.returncode and not may_fail:
        said = " ".join(answer.stderr.split())
        raise NoRepository(f"{repository} cannot be asked for the order of commits ({said[:300]})")
    return answer.stdout
