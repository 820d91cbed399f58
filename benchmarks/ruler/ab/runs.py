"""Runs of a comparison: one a side, named by what is compared, so that the same command goes on with them."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.commits.stacks import PRESENT, Stack
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import BASELINE
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.journal import JournalReader, journal_path
from benchmarks.ruler.record.lines import Run
from benchmarks.ruler.record.provenance import (
    PROJECT,
    RULER_VERSION,
    environment_name,
    expected_device,
    git_output,
    machine_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.provenance import Commit

# Whose code a commit of ours can change; the others cost time and tell nothing.
_OURS = "fused"
_MAIN = ("origin/HEAD", "origin/main", "main", "origin/master", "master")


@dataclass(frozen=True, kw_only=True)
class Side:
    """What is measured in every round: a commit's kernels on a stack. name: base or head, and of two stacks which."""

    name: str
    commit: Commit
    run_id: str
    stack: Stack = PRESENT

    @property
    def label(self) -> str:
        """Name that is printed."""
        return f"{self.name} {self.commit.hash[:8]}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Sides to compare, in the order of the first round: base and head, or these on each of two stacks."""

    sides: tuple[Side, ...]

    @property
    def commits(self) -> tuple[Commit, Commit]:
        """Base and head; one commit twice, where only stacks are compared."""
        return self.sides[0].commit, self.sides[-1].commit


def with_ours(settings: Settings) -> Settings:
    """Return the settings with the providers to compare: the baseline and ours, or those that were asked for.

    Where the axes have none of ours, as a file of a kernel of one's own, they are all that it has.
    """
    axes = axes_from_settings(settings)
    known = dict.fromkeys(name for part in axes.parts() for name in part.providers)
    ours = tuple(name for name in known if name.startswith(_OURS))
    asked = settings.filters.provider or ours or tuple(known)
    providers = (BASELINE, *(name for name in asked if name != BASELINE))
    return replace(settings, filters=replace(settings.filters, provider=providers))


def default_base() -> str:
    """Return the commit that a head is compared with by default.

    Where it left the main branch; its parent where it is on it.
    """
    for branch in _MAIN:
        found = (git_output("merge-base", branch, "HEAD") or "").strip()
        if found:
            head = (git_output("rev-parse", "HEAD") or "").strip()
            return "HEAD~1" if found == head else found
    return "HEAD~1"


def are_equal_kernels(commits: tuple[Commit, Commit]) -> bool:
    """Return whether git has the same kernels at both commits: what differs between them then is noise."""
    base, head = (git_output("rev-parse", f"{commit.hash}:kernels") for commit in commits)
    return base is not None and base == head


def comparison_of(
    commits: Sequence[Commit],
    settings: Settings,
    *,
    stacks: Sequence[Stack] = (PRESENT,),
    again: bool = False,
    name: str | None = None,
) -> Comparison:
    """Return the comparison of commits, on each of `stacks`, by these settings: the latest begun, or a new one.

    One commit, or base and head. again: a new one in any case. name: of the comparison, for who counts them itself.
    """
    names = ["base", "head"][: len(commits)]
    cells = [(word, commit, stack) for stack in stacks for word, commit in zip(names, commits, strict=True)]
    if name is None:
        digest = _digest(commits, settings, stacks)
        begun = [0, *(number for commit in set(commits) for number in _numbers(commit, settings, digest))]
        name = f"ab-{digest}-{max(begun) + 1 if again or max(begun) == 0 else max(begun)}"
    return Comparison(
        sides=tuple(
            Side(
                name=word if len(stacks) == 1 else _on(word, stack, is_alone=len(commits) == 1),
                commit=commit,
                run_id=f"{name}-{word}{stack.suffix}",
                stack=stack,
            )
            for word, commit, stack in cells
        )
    )


def _on(word: str, stack: Stack, *, is_alone: bool) -> str:
    return f"{stack.name} stack:" if is_alone else f"{word} on {stack.name}"


def _digest(commits: Sequence[Commit], settings: Settings, stacks: Sequence[Stack]) -> str:
    asked = {
        "commits": [commit.hash for commit in commits],
        "axes": json_from_value(axes_from_settings(settings)),
        "filters": str(settings.filters),
        "threads": settings.threads,
    }
    if len(stacks) > 1:
        asked["stacks"] = [stack.suffix for stack in stacks]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:8]


def _numbers(commit: Commit, settings: Settings, digest: str) -> list[int]:
    """Return the numbers of the comparisons of this digest that a commit's journal has lines of."""
    run = Run(
        run_id="",
        started_at="",
        project=PROJECT,
        commit=commit.hash,
        commit_date=None,
        commit_subject=None,
        machine=machine_name(settings),
        environment=environment_name(expected_device(settings), settings),
        ruler_version=RULER_VERSION,
    )
    lines = JournalReader(journal_path(settings.data_dir, run)).read()
    found = (re.fullmatch(rf"ab-{digest}-(\d+)-[\w-]+", line.head.run.run_id) for line in lines)
    return [int(match[1]) for match in found if match]
