"""Messages of a command that has nothing to print: why, and what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from results.commands.echo import echo
from results.commands.selected_rows import describe_known_values
from results.exit_codes import ExitCode
from results.output.reports.judgement_words import why_nothing
from results.output.text_tables import MANY
from results.queries import commits
from results.questions.revisions import commits_in_git

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.commands.selected_rows import SelectedPoints, SelectedValues
    from results.commands.selection import Selection
    from results.errors import UnknownRevision
    from results.judgement.outcomes import Judgement
    from results.rows import CommitRow
    from results.store import Store

EMPTY_STORE = "The store is empty: `make bench` measures and fills it, `fusebench ingest PATH` fills it from files."


def how_to_measure(store: Store, *, commit: str) -> str:
    """Name the command that measures a stored `commit`: our sweep, or asv where only other suites of it are stored."""
    stored = commits(store)
    projects = {row.project for row in stored if row.commit == commit}
    return _how_to_measure(commit, [row for row in stored if row.project in projects or not projects])


def _how_to_measure(commit: str, stored: Sequence[CommitRow]) -> str:
    """Name the command that measures `commit` as those of its project were that are stored."""
    has_only_foreign = bool(stored) and not any(row.sweep_machines for row in stored)
    if has_only_foreign:
        return f"To measure it: `asv run {commit}^!` in the project's repository, then `fusebench ingest` again"
    return f"To measure it: `git checkout {commit} && {{ make bench; git checkout -; }}`"


def why_nothing_compares(store: Store, judgement: Judgement) -> str:
    """Tell why two commits have nothing to compare, with the command that measures one of them where that would help.

    It is the head; where each was measured on a machine of its own, the base on the head's, which is the later one.
    """
    why = why_nothing(judgement)
    if judgement.is_exact_only or "fusebench " in why:
        return why
    at_base, at_head = (
        sorted({(row.machine, row.environment) for row in rows})
        for rows in (judgement.only_at_base, judgement.only_at_head)
    )
    if judgement.failing or not at_base or not at_head or set(at_base) & set(at_head):
        return f"{why} {how_to_measure(store, commit=judgement.head_commit)}"
    machine, environment = at_head[0]
    return f"{why} The base was not on {machine}, {environment}. {how_to_measure(store, commit=judgement.base_commit)}"


def why_not_measured(store: Store, error: UnknownRevision) -> str:
    """Tell how to measure the revision. Raises: click.UsageError for a name that git does not know either."""
    if not error.is_plausible:
        raise click.UsageError(error.message)
    stored = commits(store)
    if not stored:  # whose results it lacks, ours or another suite's, nothing tells
        return f"{error.message}. {EMPTY_STORE}"
    commit = error.commit or "REV"
    in_git = commits_in_git({commit, *(row.commit for row in stored)})
    if in_git is not None and commit in in_git:
        # It is of the repository here, so how others were measured says nothing of it.
        of_here = {row.project for row in stored if row.commit in in_git}
        if not of_here:
            return f"{error.message}. {_of_others(stored)}"
        stored = [row for row in stored if row.project in of_here]
    return f"{error.message}. {_how_to_measure(commit, stored)}"


def _of_others(stored: Sequence[CommitRow]) -> str:
    names = sorted({row.project for row in stored})
    listed = ", ".join(names[:MANY]) + (", …" if len(names) > MANY else "")
    return (
        f"git here has none of the commits that are stored, of {listed}: go to the repository that they are of, or "
        f"name one of them, as {stored[-1].commit[:12]}, the newest"
    )


def not_measured(store: Store, error: UnknownRevision) -> int:
    """Print how to measure the revision and return NOTHING_COMPARABLE.

    Raises: click.UsageError for a name that git does not know either.
    """
    return nothing_to_show(why_not_measured(store, error))


def nothing_to_show(why: str) -> int:
    """Print why there is nothing to print and return NOTHING_COMPARABLE."""
    echo(why, err=True)
    return ExitCode.NOTHING_COMPARABLE


def nothing_selected(store: Store, selected: SelectedPoints | SelectedValues, selection: Selection) -> int:
    """Print the values there are of what was selected by and return NOTHING_COMPARABLE."""
    known = describe_known_values(store, selected, selection)
    if not known and len(selection.texts) > 1:
        known = "Each of these values is stored, but not together."
    return nothing_to_show(f"No stored measurement matches the selection. {known}".strip())
