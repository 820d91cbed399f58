"""The commands about the store itself: store info, check, compact, traces, decisions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import click

from results.commands.decisions import acknowledge, join
from results.commands.groups import SuggestingGroup
from results.commands.options import db_option
from results.errors import NoStore
from results.exit_codes import ExitCode
from results.store import OpenMode, Store, open_store
from results.units import with_prefix
from results.upkeep.housekeeping import compact, find_faults, size_of
from results.upkeep.merge import merge
from results.upkeep.traces import Retention, removable_traces, remove_traces


@click.group(cls=SuggestingGroup)
def store() -> None:
    """Look after the database.

    \b
    fusebench store info                  how large it is, and what could not be read
    fusebench store check                 is it whole?
    fusebench store merge OTHER.db        what another machine stored
    fusebench store acknowledge HEAD --note "pays for accuracy"
    """  # noqa: D301 - click wants the character, which keeps the lines as they are


store.add_command(join)
store.add_command(acknowledge)


@store.command()
@db_option
def info(db: str | None) -> int:
    """Size, rows by table, and the files that could not be read."""
    with open_store(db, mode=OpenMode.READ) as opened:
        size = size_of(opened)
        click.echo(f"{opened.name}: {with_prefix(size.n_bytes, 'B')}")
    for table, n_rows in sorted(size.n_rows.items(), key=lambda item: -item[1]):
        click.echo(f"{n_rows:>12,}  {table}")
    for path, reason in size.set_aside:
        click.echo(f"not read: {path}: {reason}")
    return ExitCode.FINE


@store.command()
@db_option
def check(db: str | None) -> int:
    """Is the database whole? Exit code 2 if not."""
    with open_store(db, mode=OpenMode.READ) as opened:
        faults = find_faults(opened)
        click.echo(f"{opened.name}: {'; '.join(faults) or 'whole'}")
    return ExitCode.FAILED if faults else ExitCode.FINE


@store.command("compact")
@db_option
def compact_command(db: str | None) -> int:
    """Give back the space of what was deleted."""
    with open_store(db, mode=OpenMode.READ) as opened:
        click.echo(f"{opened.name}: {with_prefix(compact(opened), 'B')} won")
    return ExitCode.FINE


@store.command("merge")
@click.argument("other", metavar="OTHER")
@db_option
def merge_command(other: str, db: str | None) -> int:
    """Bring what another database holds and this one lacks.

    OTHER is an SQLite path or postgresql+psycopg://USER@HOST/NAME; it is only read. A run that both hold with
    different content is named and left as it is here; the exit code is then 2.
    """
    # The other first: a misspelt name must not leave an empty database of ours behind.
    with _other_store(other) as theirs, open_store(db, mode=OpenMode.WRITE) as opened:
        report = merge(opened, theirs)
        click.echo(
            f"{report.n_runs_added} runs and {report.n_values} values added, {report.n_runs_completed} runs completed, "
            f"{len(report.conflicts)} left as they were, from {theirs.name} into {opened.name}"
        )
    for conflict in report.conflicts:
        click.echo(f"not merged: {conflict}", err=True)
    return ExitCode.FAILED if report.conflicts else ExitCode.FINE


@store.command("retain-traces")
@click.argument("folder", metavar="[PATH]", type=click.Path(path_type=Path), default=Path("results/data/local"))
@click.option("--keep", metavar="N", type=click.IntRange(min=0), help="Those of the N newest runs stay.")
@click.option("--older-than", metavar="DAYS", type=click.FloatRange(min=0), help="Those of the last DAYS stay.")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@db_option
def retain_traces(folder: Path, keep: int | None, older_than: float | None, db: str | None, *, dry_run: bool) -> int:
    """Remove old traces below PATH; what was measured stays.

    A trace goes only if every rule given lets it go. N counts runs with traces on each machine and environment.
    """
    if keep is None and older_than is None:
        raise click.UsageError("say which traces stay: --keep N, --older-than DAYS, or both")
    if not folder.is_dir():
        raise click.UsageError(f"{folder} is no folder; name the one that traces are under")
    retention = Retention(keep=keep, older_than=None if older_than is None else timedelta(days=older_than))
    with open_store(db, mode=OpenMode.READ) as opened:
        paths = removable_traces(opened, folder, retention=retention)
    if dry_run:
        click.echo("\n".join(map(str, paths)) or "every trace stays")
        return ExitCode.FINE
    n_bytes = remove_traces(paths)
    click.echo(f"{len(paths)} traces removed, {with_prefix(n_bytes, 'B')} won")
    return ExitCode.FINE


def _other_store(other: str) -> Store:
    try:
        return open_store(other, mode=OpenMode.READ)
    except NoStore as error:
        raise click.UsageError(f"there is no database at {other} to merge") from error
