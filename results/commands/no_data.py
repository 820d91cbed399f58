"""Messages of a command that has nothing to print: why, and what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from results.commands.echo import echo
from results.commands.selected_rows import describe_known_values
from results.exit_codes import ExitCode
from results.output.reports.judgement_words import why_nothing
from results.queries import commits

if TYPE_CHECKING:
    from results.commands.selected_rows import SelectedPoints, SelectedValues
    from results.commands.selection import Selection
    from results.errors import UnknownRevision
    from results.judgement.outcomes import Judgement
    from results.store import Store

EMPTY_STORE = "The store is empty: `make bench` measures and fills it, `fusebench ingest PATH` fills it from files."


def how_to_measure(store: Store, *, commit: str) -> str:
    """Name the command that measures `commit`: our sweep, or asv where only other suites are stored."""
    stored = commits(store)
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
    if not commits(store):  # whose results it lacks, ours or another suite's, nothing tells
        return f"{error.message}. {EMPTY_STORE}"
    return f"{error.message}. {how_to_measure(store, commit=error.commit or 'REV')}"


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
