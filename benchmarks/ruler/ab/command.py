"""`fusebench ab`'s measuring half: wheels of two commits, and rounds of fresh processes in alternating order."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.ab.options import chosen_settings, filter_options
from benchmarks.ruler.ab.runs import Comparison, are_equal_kernels, comparison_of, default_base
from benchmarks.ruler.commits.stacks import PRESENT, is_made, made_stack, parsed_stack
from benchmarks.ruler.commits.visit_process import checked_wheel, made_visit
from benchmarks.ruler.errors import CommitFailed, InvalidSettings, RulerError, UnknownCommit
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.provenance import commit_from_git, uncommitted_files
from benchmarks.ruler.sweep.interruption import Interrupted, interruptible, run_command
from benchmarks.ruler.sweep.lock import machine_lock

if TYPE_CHECKING:
    from benchmarks.ruler.plan.settings import Settings

ROUNDS = 5


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("base", required=False)
@click.argument("head", required=False)
@filter_options
@click.option("--stack", metavar="PACKAGES", help="Exchange packages: torch==2.12,triton==3.6, comma-separated.")
@click.option("--rounds", default=ROUNDS, type=click.IntRange(2), hidden=True)
@click.option("--first-round", default=1, type=click.IntRange(1), hidden=True)
@click.option("--again", is_flag=True, help="Compare anew, instead of going on with what was begun.")
@click.option("--no-wait", is_flag=True, help="Fail if another sweep measures on this machine, instead of waiting.")
@click.option("--only", type=Path, hidden=True, help="File with the shapes to visit.")
@click.option("--pinned", hidden=True, help="Full hashes of base and head, of a comparison that was begun.")
@click.option("--name", hidden=True, help="Name of the comparison, for a bisection, which counts its own.")
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
@click.option("--parent", type=int, hidden=True, help="Process whose death ends this one.")
@click.option("--selection", type=Path, hidden=True, help="File for what was compared, or for what cannot be.")
def main(  # noqa: PLR0913 - its options
    *,
    base: str | None,
    head: str | None,
    axes: str | None,
    stack: str | None,
    rounds: int,
    first_round: int,
    again: bool,
    no_wait: bool,
    only: Path | None,
    pinned: str | None,
    name: str | None,
    cwd: Path | None,
    parent: int | None,
    selection: Path | None,
    **filters: str | None,
) -> None:
    """Measure BASE and HEAD in alternation on this machine, each through its own wheel.

    BASE is by default where HEAD left the main branch, or its parent if it is on it; HEAD is what is checked out.
    BASE and HEAD may be one commit, an A/A, which shows this machine's noise.
    Says what got slower or faster; --format text|json|markdown|junit|github and --report FORMAT=FILE are gate's,
    and --all lists what stayed the same, too. --exact takes two rounds and judges counts, memory, error and states
    only.

    With --stack one commit (HEAD) is measured on the present packages and on those; BASE and HEAD are measured on both,
    which proves by exchange whether code, stack or both make the difference.

    \b
    fusebench ab
    fusebench ab main HEAD --operation mlp --format markdown
    fusebench ab --stack torch==2.12.0,triton==3.6.0
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if cwd is not None:
        os.chdir(cwd)
    try:
        with interruptible(parent=parent):
            settings = chosen_settings(axes, no_wait=no_wait, filters=filters, command="ab")
            is_head_checked_out = head is None
            if pinned is not None:
                # HEAD may have moved since the first look.
                first, head = pinned.split(",")
                base = first if stack is None or base is not None else None
            else:
                _refuse_unfetched(*filter(None, (base, head)))
            comparison = _comparison(base, head, settings, stack=stack, again=again, name=name)
            if only is None and first_round == 1:
                _announce(comparison, is_head_checked_out=is_head_checked_out)
            with machine_lock(settings.lock_file, say=click.echo, waits=settings.waits_for_lock):
                measure_rounds(comparison, settings, n_rounds=rounds, first=first_round, only=only)
            if selection is not None:
                write_whole(selection, json.dumps(_selection(comparison)))
    except Interrupted as interrupted:
        click.echo(f"Interrupted ({interrupted}); every finished group is recorded, and the same command goes on.")
        raise
    except CommitFailed as failed:
        if selection is not None:
            write_whole(selection, json.dumps({"failed": failed.commit, "why": str(failed)}))
        raise
    except RulerError as error:
        if selection is not None:
            write_whole(selection, json.dumps({"why": str(error)}))
        raise


def measure_rounds(
    comparison: Comparison, settings: Settings, *, n_rounds: int, only: Path | None, first: int = 1
) -> None:
    """Visit every group once on each side, and again, until each has had `n_rounds` visits.

    Every other round goes backwards through the sides. only: file with the shapes to visit. first: round to begin with,
    those before it having been made. Raises: RulerError.
    """
    options = [] if only is None else ["--only", str(only)]
    if first == 1:
        for side in comparison.sides:
            said = checked_wheel(side.commit, settings, label=side.label, stack=side.stack, only=only)
            click.echo(f"{side.label}: wheel checked, {said}")
    for number in range(first, n_rounds + 1):
        for side in comparison.sides if number % 2 else comparison.sides[::-1]:
            said = made_visit(
                side.commit,
                replace(settings, run_id=side.run_id, last_visit=number),
                n_visits=n_rounds,
                label=side.label,
                options=options,
                stack=side.stack,
            )
            click.echo(f"round {number} of {n_rounds}, {side.label}: {said.splitlines()[-1]}")


def _comparison(  # noqa: PLR0913 - what the options ask for
    base: str | None, head: str | None, settings: Settings, *, stack: str | None, again: bool, name: str | None
) -> Comparison:
    """Return what is asked for; another stack's environment is made where there is none yet. Raises: RulerError."""
    if stack is None:
        commits = [commit_from_git(base or default_base()), commit_from_git(head or "HEAD")]
        return comparison_of(commits, settings, again=again, name=name)
    asked = parsed_stack(stack)
    commits = [commit_from_git(head or "HEAD")]
    if base is not None:
        commits.insert(0, commit_from_git(base))
        if commits[0] == commits[1]:
            raise InvalidSettings("BASE and HEAD are one commit; leave both out to compare it on two stacks")
    if not is_made(asked):
        click.echo(f"making an environment with {asked}, which may take minutes")
    return comparison_of(commits, settings, stacks=(PRESENT, made_stack(asked)), again=again, name=name)


def _refuse_unfetched(*revisions: str) -> None:
    """Raise UnknownCommit for a commit of which git has the name alone, as in a shallow clone."""
    for revision in revisions:
        if commit_from_git(revision).subject is None:
            raise UnknownCommit(f"git has no commit {revision[:12]} here, only its name; fetch it, and try again")


def _announce(comparison: Comparison, *, is_head_checked_out: bool) -> None:
    base, head = comparison.commits
    if base == head and len(comparison.sides) == 2 and comparison.sides[1].stack != PRESENT:
        click.echo(f"{head.hash[:8]} ({head.subject}) on the present stack against {comparison.sides[1].stack.name}")
    elif base == head:
        click.echo(f"{head.hash[:8]} ({head.subject}) against itself, an A/A: what differs is noise of this machine.")
    else:
        click.echo(f"base {base.hash[:8]} ({base.subject}) against head {head.hash[:8]} ({head.subject})")
        if are_equal_kernels(comparison.commits):
            click.echo("Both have the same kernels: what differs is noise, or of what runs them.")
    if is_head_checked_out and (changed := uncommitted_files()):
        click.echo(f"Not in HEAD, so not in its wheel: {', '.join(changed[:3])}{' …' if len(changed) > 3 else ''}")


def _selection(comparison: Comparison) -> dict[str, object]:
    """Return what the judging half needs: commit, run and stack of each side."""
    return {
        "sides": [
            {"commit": side.commit.hash, "run": side.run_id, "stack": side.stack.name} for side in comparison.sides
        ]
    }


if __name__ == "__main__":
    run_command(main, name="fusebench ab")
