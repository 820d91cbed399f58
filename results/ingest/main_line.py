"""Main line of a repository: the commits that its main branch reaches by first parents.

What a merge brought is beside the line, as in asv's own published graphs: the merge itself is on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.files.asv_trees import configured_branch
from results.ingest.repositories import ask_git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ORIGIN_HEAD = "refs/remotes/origin/HEAD"
REMOTE = "refs/remotes/origin/"
NAMES = ("main", "master")


@dataclass(frozen=True, kw_only=True)
class References:
    """Branches and tags of a repository. `head`: the commit that is checked out; `default`: branch of origin/HEAD."""

    objects: Mapping[str, str]
    default: str | None
    head: str | None


def references_of(repository: Path) -> References:
    """Return what a repository's branches and tags refer to. Raises: NoRepository."""
    names = ("refs/heads", "refs/remotes", "refs/tags")
    lines = ask_git(repository, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", *names).split("\n")
    found = [line.split("\0") for line in lines if line]
    targets = {name: target for name, _, target in found}
    head = ask_git(repository, "rev-parse", "--quiet", "--verify", "HEAD", may_fail=True).strip()
    return References(
        objects={name: commit for name, commit, _ in found},
        default=targets.get(ORIGIN_HEAD, "").removeprefix(REMOTE) or None,
        head=head or None,
    )


def main_line_tips(
    objects: Mapping[str, str], *, default: str | None, named: str | None, head: str | None
) -> tuple[str, ...]:
    """Return where the main line ends: here and at each remote, either of which may be ahead; pure.

    objects: commits by reference. The main branch is the remote's own (`default`), else the one that asv's
    configuration names, else main or master; without any the line is that of `head`, the commit checked out.
    """
    for name in (default, named, *NAMES):
        tips = {commit for reference, commit in objects.items() if name and _branch_of(reference) == name}
        if tips:
            return tuple(sorted(tips))
    return (head,) if head else ()


def tips_of(repository: Path, references: References) -> tuple[str, ...]:
    """Return where the main line of a repository ends."""
    named = configured_branch(repository)
    return main_line_tips(references.objects, default=references.default, named=named, head=references.head)


def main_line(repository: Path, tips: tuple[str, ...]) -> frozenset[str]:
    """Return the commits that are reached from `tips` by first parents. Raises: NoRepository."""
    if not tips:
        return frozenset()
    return frozenset(ask_git(repository, "rev-list", "--first-parent", *tips).split())


def _branch_of(reference: str) -> str | None:
    """Return the name that a branch has here or at its remote; None of a tag."""
    match reference.split("/", 3):
        case ["refs", "heads", *name]:
            return "/".join(name)
        case ["refs", "remotes", _, name]:
            return name
    return None
