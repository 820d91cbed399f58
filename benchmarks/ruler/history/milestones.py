"""Milestones: the commits whose kernels a history measures, from a TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidMilestones, UnknownCommit
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.record.provenance import commit_from_git

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.ruler.record.provenance import Commit

MILESTONES = ROOT / "benchmarks" / "milestones.toml"
_KEYS = {"commit", "what", "same_kernels_as"}


@dataclass(frozen=True, kw_only=True)
class Milestone:
    """Commit to measure. what: its step, in words. same_kernels_as: hash of an earlier one with the same kernels."""

    commit: Commit
    what: str
    same_kernels_as: str | None = None


def milestones_from_toml(path: Path = MILESTONES) -> tuple[Milestone, ...]:
    """Return the milestones that the file lists, in its order, which is the history's.

    Raises: InvalidMilestones, naming the file and the entry.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidMilestones(f"{path}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidMilestones(f"{path}: {error}") from error
    entries = content.pop("milestone", None)
    if content or not isinstance(entries, list) or not entries:
        raise InvalidMilestones(f"{path}: a file of milestones is a list of [[milestone]], and of nothing else")
    found: list[Milestone] = []
    for number, entry in enumerate(entries, start=1):
        if set(entry) - _KEYS or not all(isinstance(entry.get(key), str) for key in ("commit", "what")):
            raise InvalidMilestones(f"{path}: milestone {number}: its keys are {', '.join(sorted(_KEYS))}")
        same = entry.get("same_kernels_as")
        if same is not None and same not in {each.commit.hash for each in found}:
            raise InvalidMilestones(f"{path}: milestone {number}: same_kernels_as names no earlier milestone ({same})")
        commit = known_commit(entry["commit"], named_in=f"{path}: milestone {number}")
        found.append(Milestone(commit=commit, what=entry["what"], same_kernels_as=same))
    return tuple(found)


def with_revisions(milestones: Sequence[Milestone], revisions: Sequence[str]) -> tuple[Milestone, ...]:
    """Return the milestones and, after them, those of `revisions` that are new. Raises: InvalidMilestones."""
    hashes = {each.commit.hash for each in milestones}
    commits = [known_commit(revision, named_in="--commits, --also") for revision in revisions]
    new = {commit.hash: commit for commit in commits if commit.hash not in hashes}
    return (*milestones, *(Milestone(commit=commit, what=commit.subject or "") for commit in new.values()))


def known_commit(revision: str, *, named_in: str) -> Commit:
    """Return the commit that git calls `revision`. Raises: InvalidMilestones if its files are not in this checkout."""
    try:
        commit = commit_from_git(revision)
    except UnknownCommit as error:
        raise InvalidMilestones(f"{named_in}: {error}") from error
    if commit.date is None:
        raise InvalidMilestones(
            f"{named_in}: git knows no commit {revision} in {ROOT}; in a shallow clone, git fetch --unshallow"
        )
    return commit
