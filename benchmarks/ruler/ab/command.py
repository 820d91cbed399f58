"""`fusebench ab`'s measuring half: wheels of two commits, and rounds of fresh processes in alternating order."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.ab.runs import Comparison, are_equal_kernels, comparison_of, default_base, with_ours
from benchmarks.ruler.commits.visit_process import checked_wheel, made_visit
from benchmarks.ruler.errors import InvalidSettings, RulerError
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.axes_files import NAMED_AXES, axes_from_settings
from benchmarks.ruler.plan.filters import refuse_unknown_values, selected
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.settings import Settings, axes_name, settings_from_environment, words
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.provenance import commit_from_git, expected_device, uncommitted_files
from benchmarks.ruler.sweep.interruption import Interrupted, interruptible, run_command
from benchmarks.ruler.sweep.lock import machine_lock

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUNDS = 5


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("base", required=False)
@click.argument("head", required=False)
@click.option(
    "--axes", metavar="NAME|FILE.toml", help=f"Points to compare: {', '.join(NAMED_AXES)}, or a file [quick]."
)
@click.option("--operation", metavar="NAMES", help="Only these operations, comma-separated.")
@click.option("--provider", metavar="NAMES", help="Only these providers, and eager  [default: all of ours]")
@click.option("--dtype", metavar="NAMES", help="Only these dtypes.")
@click.option("--pass", "pass_", metavar="NAMES", help="forward, forward_backward.")
@click.option("--batch", metavar="NUMBERS", help="Only these numbers of rows.")
@click.option("--hidden", metavar="NUMBERS", help="Only these hidden dims.")
@click.option("--rounds", default=ROUNDS, type=click.IntRange(2), hidden=True)
@click.option("--first-round", default=1, type=click.IntRange(1), hidden=True)
@click.option("--again", is_flag=True, help="Compare anew, instead of going on with what was begun.")
@click.option("--no-wait", is_flag=True, help="Fail if another sweep measures on this machine, instead of waiting.")
@click.option("--only", type=Path, hidden=True, help="File with the shapes to visit.")
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
@click.option("--parent", type=int, hidden=True, help="Process whose death ends this one.")
@click.option("--selection", type=Path, hidden=True, help="File for what was compared.")
def main(  # noqa: PLR0913 - its options
    *,
    base: str | None,
    head: str | None,
    axes: str | None,
    rounds: int,
    first_round: int,
    again: bool,
    no_wait: bool,
    only: Path | None,
    cwd: Path | None,
    parent: int | None,
    selection: Path | None,
    **filters: str | None,
) -> None:
    r"""Measure BASE and HEAD in alternation on this machine, each through its own wheel.

    BASE is by default where HEAD left the main branch, or its parent if it is on it; HEAD is what is checked out.
    Says what got slower or faster; --format text|json|markdown|junit|github and --report FORMAT=FILE are gate's,
    and --all lists what stayed the same, too.

    \b
    fusebench ab
    fusebench ab main HEAD --operation mlp --format markdown
    """
    if cwd is not None:
        os.chdir(cwd)
    try:
        with interruptible(parent=parent):
            settings = _settings(axes, no_wait=no_wait, filters=filters)
            commits = commit_from_git(base or default_base()), commit_from_git(head or "HEAD")
            comparison = comparison_of(commits, settings, again=again)
            if only is None:
                _announce(comparison, is_head_checked_out=head is None)
            with machine_lock(settings.lock_file, say=click.echo, waits=settings.waits_for_lock):
                measure_rounds(comparison, settings, n_rounds=rounds, first=first_round, only=only)
            if selection is not None:
                write_whole(selection, json.dumps(_selection(comparison)))
    except Interrupted as interrupted:
        click.echo(f"Interrupted ({interrupted}); every finished group is recorded, and the same command goes on.")
        raise


def measure_rounds(
    comparison: Comparison, settings: Settings, *, n_rounds: int, only: Path | None, first: int = 1
) -> None:
    """Visit every group once with each commit's kernels, and again, until each side has had `n_rounds` visits.

    Every other round begins with the head. only: file with the shapes to visit. first: round to begin with, those
    before it having been made. Raises: RulerError.
    """
    options = [] if only is None else ["--only", str(only)]
    sides = tuple(
        (commit, replace(settings, run_id=run_id), f"{name} {commit.hash[:8]}")
        for commit, run_id, name in zip(comparison.commits, comparison.run_ids, ("base", "head"), strict=True)
    )
    if only is None:
        for commit, of_side, label in sides:
            click.echo(f"{label}: wheel checked, {checked_wheel(commit, of_side, label=label)}")
    for number in range(first, n_rounds + 1):
        for commit, of_side, label in sides if number % 2 else sides[::-1]:
            said = made_visit(
                commit, replace(of_side, last_visit=number), n_visits=n_rounds, label=label, options=options
            )
            click.echo(f"round {number} of {n_rounds}, {label}: {said.splitlines()[-1]}")


def _settings(axes: str | None, *, no_wait: bool, filters: Mapping[str, str | None]) -> Settings:
    """Return the environment's settings with the options. Raises: RulerError, naming what no point has."""
    settings = settings_from_environment()
    chosen = {name: words(text) for name, text in filters.items() if text is not None}
    settings = replace(
        settings,
        axes=axes_name(axes) if axes else settings.axes,
        filters=replace(settings.filters, **chosen),
        waits_for_lock=settings.waits_for_lock and not no_wait,
        # Two commits share their floors; half a minute a visit where a machine refuses to tell them.
        measures_ceilings=False,
    )
    if settings.is_uncommitted:
        raise InvalidSettings("ab compares commits; FUSEBENCH_UNCOMMITTED=1 asks for what no commit holds")
    settings = with_ours(settings)
    groups = all_groups(axes_from_settings(settings), operations=tuple(Operation), device=expected_device(settings))
    refuse_unknown_values(groups, settings.filters)
    if not selected(groups, settings.filters):
        raise RulerError(f"no point has {settings.filters} together")
    return settings


def _announce(comparison: Comparison, *, is_head_checked_out: bool) -> None:
    base, head = comparison.commits
    click.echo(f"base {base.hash[:8]} ({base.subject}) against head {head.hash[:8]} ({head.subject})")
    if are_equal_kernels(comparison.commits):
        click.echo("Both have the same kernels: whatever differs is noise.")
    if is_head_checked_out and (changed := uncommitted_files()):
        click.echo(f"Not in HEAD, so not in its wheel: {', '.join(changed[:3])}{' …' if len(changed) > 3 else ''}")


def _selection(comparison: Comparison) -> dict[str, str]:
    (base, head), (base_run, head_run) = comparison.commits, comparison.run_ids
    return {"base": base.hash, "head": head.hash, "base_run": base_run, "head_run": head_run}


if __name__ == "__main__":
    run_command(main, name="fusebench ab")
