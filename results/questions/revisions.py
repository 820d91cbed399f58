"""Revisions as people type them → stored commits, with or without a git repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from results.database.schema import Commit
from results.errors import NoRepository, UnknownRevision
from results.files.git import run_git

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.engine import Connection

    from results.store import Store

UNSHALLOW = "; this is a shallow clone: `git fetch --unshallow` brings the commits that it lacks"
HASH_PREFIX = re.compile(r"[0-9a-fA-F]{4,64}")


def commit_of(store: Store, revision: str, *, repository: Path | None = None) -> str:
    """Return the full hash of a stored commit by a hash, any name that git knows, or the start of a hash.

    repository: where git is asked; default: the current folder.
    Raises: UnknownRevision, with the commit if git knows it.
    """
    if not revision.strip():  # most often a variable of a shell that is not set
        raise UnknownRevision("the revision is empty; name a commit, a branch or a tag")
    with store.reading() as connection:
        stored = _starting_with(connection, revision)
        if stored == [revision]:
            return revision
        resolved = _resolved_by_git(revision, repository or Path.cwd())
        # A tag 2024 or a branch cafe is what git takes it for, and no start of a hash.
        is_name = resolved is not None and not resolved.startswith(revision.lower())
        if stored and not is_name:
            if len(stored) > 1:
                raise UnknownRevision(f"{revision} is the start of {len(stored)} commits: {_listed(stored)}")
            return stored[0]
        if resolved is not None:
            if _starting_with(connection, resolved):
                return resolved
            raise UnknownRevision(
                f"nothing is stored for {revision} ({resolved[:8]})", commit=resolved, is_plausible=True
            )
    is_hash = HASH_PREFIX.fullmatch(revision) is not None
    what = "nothing is stored for" if is_hash else "neither the store nor git here knows"
    way = "" if is_hash or not _is_shallow(repository or Path.cwd()) else UNSHALLOW
    raise UnknownRevision(f"{what} {revision}{way}", commit=revision, is_plausible=is_hash)


def commits_of(store: Store, base: str, head: str) -> tuple[str, str]:
    """Return the full hashes of two stored commits, each named as `commit_of` takes it.

    Raises: UnknownRevision; of two, that of the name that is none, as nobody should measure the other for it.
    """
    found, unknown = [], []
    for revision in (base, head):
        try:
            found.append(commit_of(store, revision))
        except UnknownRevision as error:
            unknown.append(error)
    if unknown:
        raise min(unknown, key=lambda error: error.is_plausible)
    return found[0], found[1]


def _is_shallow(folder: Path) -> bool:
    try:
        return run_git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    except NoRepository:
        return False


def commits_in_git(hashes: Collection[str], *, repository: Path | None = None) -> frozenset[str] | None:
    """Return those of the full hashes that git has as commits; None where there is no git, or a shallow clone.

    repository: where git is asked; default: the current folder.
    """
    folder = repository or Path.cwd()
    asked = "".join(f"{one}\n" for one in sorted(hashes) if HASH_PREFIX.fullmatch(one))
    try:
        whole = run_git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() == "false"
        answer = run_git(folder, "cat-file", "--batch-check", given=asked).stdout if whole else ""
    except NoRepository:
        return None
    words = (line.split() for line in answer.splitlines())
    return frozenset(found[0] for found in words if found[1:2] == ["commit"]) if whole else None


def have_equal_kernels(one: str, other: str, *, repository: Path | None = None) -> bool | None:
    """Return whether git has the same kernels at two commits, full hashes; None where git does not know both.

    repository: where git is asked; default: the current folder.
    """
    trees = []
    for commit in (one, other):
        try:
            answer = run_git(repository or Path.cwd(), "rev-parse", "--verify", "--quiet", f"{commit}:kernels")
        except NoRepository:
            return None
        trees.append(answer.stdout.strip())
    return trees[0] == trees[1] if all(trees) else None


class HistoryBefore(NamedTuple):
    """What git reaches from some commits. is_whole: whether that is all there is; in a shallow clone it is not.

    lines: of each commit, itself first and no commit before its children.
    """

    lines: tuple[dict[str, None], ...]
    is_whole: bool


def history_before(commits: Sequence[str], *, repository: Path | None = None) -> HistoryBefore | None:
    """Return what git reaches from each of the commits, full hashes; None where git does not know all of them.

    repository: where git is asked; default: the current folder.
    """
    folder, found = repository or Path.cwd(), []
    try:
        is_whole = run_git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() == "false"
        for commit in commits:
            answer = run_git(folder, "rev-list", "--date-order", "--end-of-options", commit)
            if answer.returncode:
                return None
            found.append(dict.fromkeys(answer.stdout.split()))
    except NoRepository:
        return None
    return HistoryBefore(lines=tuple(found), is_whole=is_whole)


def _starting_with(connection: Connection, prefix: str) -> list[str]:
    """Return the stored hashes that are `prefix` or, from four characters on, start with it."""
    hashes = set(connection.execute(sa.select(Commit.hash).where(Commit.hash == prefix)).scalars())
    if not hashes and HASH_PREFIX.fullmatch(prefix):
        start = prefix.lower()
        hashes = set(connection.execute(sa.select(Commit.hash).where(Commit.hash.startswith(start))).scalars())
    return sorted(hashes)


def _resolved_by_git(revision: str, repository: Path) -> str | None:
    try:
        answer = run_git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except NoRepository:
        return None  # no git here: hashes still work
    return answer.stdout.strip() or None


def _listed(hashes: list[str]) -> str:
    return ", ".join(commit[:12] for commit in hashes[:5]) + (", …" if len(hashes) > 5 else "")
