"""Commits between two ends of a bisection: the first parents, and of these the ones that change the kernels."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.ruler.errors import UnknownRange
from benchmarks.ruler.record.provenance import commit_from_git, git_output

_FIELDS = "%H%x00%P%x00%aI%x00%s"


@dataclass(frozen=True, kw_only=True)
class RangeCommit:
    """Commit of a range. parent: its first parent, None for a root; author_date: ISO 8601."""

    hash: str
    parent: str | None
    author_date: str
    subject: str
    is_merge: bool


@dataclass(frozen=True, kw_only=True)
class CommitRange:
    """Range of a bisection, oldest first, without `good` and with `bad` as its last candidate or older than it.

    candidates: those whose kernels differ from their predecessor's; the n_equal others cannot have changed anything
    that is measured. n_merges: merges among all, each of which stands for what it merged. is_good_beside: whether
    `good` is of a branch that the first of all these merged, whose first parent then has another past.
    """

    good: RangeCommit
    bad: RangeCommit
    candidates: tuple[RangeCommit, ...]
    n_equal: int
    n_merges: int
    is_good_beside: bool


def commit_range(good: str, bad: str) -> CommitRange:
    """Return the range from `good` to `bad`, as git names them, along first parents.

    Raises: UnknownCommit; UnknownRange if there is nothing to search: equal ends, ends in the wrong order or on
    different branches, or no change of the kernels between them.
    """
    first, last = (_one(commit_from_git(revision).hash) for revision in (good, bad))
    _refuse_unordered(first, last, good, bad)
    listed = git_output(
        *("log", "-z", "--first-parent", "--ancestry-path", "--reverse", f"--format={_FIELDS}"),
        *(f"{first.hash}..{last.hash}", "--"),
    )
    commits = _commits(listed or "")
    candidates, before = [], _kernels(first.hash)
    for commit in commits:
        now = _kernels(commit.hash)
        if now is None or now != before:
            candidates.append(commit)
        before = now
    if not candidates:
        who = "the only commit" if len(commits) == 1 else f"none of the {len(commits)} commits"
        does = "leaves kernels/ as it is" if len(commits) == 1 else "changes kernels/"
        raise UnknownRange(
            f"{who} from {good} to {bad} {does}, so both ends have the same "
            "code and what differs is noise, the machine or the stack; `fusebench ab` on the two shows whether it does"
        )
    return CommitRange(
        good=first,
        bad=last,
        candidates=tuple(candidates),
        n_equal=len(commits) - len(candidates),
        n_merges=sum(commit.is_merge for commit in commits),
        is_good_beside=commits[0].parent != first.hash,
    )


def _refuse_unordered(first: RangeCommit, last: RangeCommit, good: str, bad: str) -> None:
    if first.hash == last.hash:
        raise UnknownRange(f"GOOD and BAD are one commit, {first.hash[:12]}: there is nothing between them")
    if git_output("merge-base", "--is-ancestor", first.hash, last.hash) is not None:
        return
    if git_output("merge-base", "--is-ancestor", last.hash, first.hash) is not None:
        raise UnknownRange(
            f"GOOD ({good}) is later than BAD ({bad}): give the older commit first. "
            "What got faster is found like what got slower: fusebench bisect OLDER NEWER"
        )
    base = (git_output("merge-base", first.hash, last.hash) or "").strip()
    hint = f"; they parted at {base[:12]}, which may serve as GOOD" if base else ""
    raise UnknownRange(f"GOOD ({good}) is no ancestor of BAD ({bad}), so no commit lies between them{hint}")


def _one(revision: str) -> RangeCommit:
    found = _commits(git_output("log", "-z", "-1", f"--format={_FIELDS}", revision, "--") or "")
    if not found:
        raise UnknownRange(f"git has no commit {revision[:12]} here, only its name; fetch it, and try again")
    return found[0]


def _commits(listed: str) -> list[RangeCommit]:
    words = listed.removesuffix("\0").split("\0") if listed else []
    found = []
    for i in range(0, len(words) - 3, 4):
        commit, parents, date, subject = words[i : i + 4]
        first, *others = parents.split() or [""]
        found.append(
            RangeCommit(hash=commit, parent=first or None, author_date=date, subject=subject, is_merge=len(others) > 0)
        )
    return found


def _kernels(commit: str) -> str | None:
    """Return what names the kernels at a commit; equal names are equal files."""
    return git_output("rev-parse", f"{commit}:kernels")
