"""Commands about the database itself: info, check, compact, merge, traces, decisions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import click

from results.commands.echo import echo
from results.commands.groups import SuggestingGroup
from results.commands.judging.decisions import acknowledge, join
from results.commands.judging.new_values import judge_new_values
from results.commands.options import NumberRange, db_option, judge_option
from results.data_folder import data_folder_of_environment
from results.errors import NoStore
from results.exit_codes import ExitCode
from results.redaction import redact
from results.store import OpenMode, Store, open_store
from results.units import counted, with_prefix
from results.upkeep.housekeeping import compact, store_size
from results.upkeep.integrity import find_faults
from results.upkeep.merge import merge
from results.upkeep.traces import Retention, removable_traces, remove_traces

LOCAL = Path("results/data/local")


@click.group(cls=SuggestingGroup)
def store() -> None:
    """Look after the database.

    \b
    fusebench store info                  its size, and the files that could not be read
    fusebench store check                 check that it is whole
    fusebench store merge OTHER.db        add what another machine stored
    fusebench store acknowledge HEAD --note "pays for accuracy"
    """  # noqa: D301 - click wants the character, which keeps the lines as they are


store.add_command(join)
store.add_command(acknowledge)


@store.command()
@db_option
def info(db: str | None) -> int:
    """Print size, rows by table, and the files that could not be read."""
    with open_store(db, mode=OpenMode.READ) as opened:
        size = store_size(opened)
        echo(f"{opened.name}: {with_prefix(size.n_bytes, 'B')}")
    for table, n_rows in sorted(size.n_rows.items(), key=lambda item: -item[1]):
        echo(f"{n_rows:>12,}  {table}")
    for path, reason in size.set_aside:
        echo(f"not read: {path}: {reason}")
    return ExitCode.FINE


@store.command()
@db_option
def check(db: str | None) -> int:
    """Check that the database is whole; exit code 2 if it is not.

    Its schema, constraints, every reference and the number of values of each run; on SQLite also its pages.
    """
    with open_store(db, mode=OpenMode.READ) as opened:
        faults = find_faults(opened)
        echo("\n".join(f"{opened.name}: {fault}" for fault in faults or ["whole"]))
    if faults:
        echo("`fusebench ingest --rebuild` makes it anew from the files under results/data.")
    return ExitCode.FAILED if faults else ExitCode.FINE


@store.command("compact")
@db_option
def compact_command(db: str | None) -> int:
    """Reclaim the space of deleted rows."""
    with open_store(db, mode=OpenMode.READ) as opened:
        echo(f"{opened.name}: Reclaimed {with_prefix(max(0, compact(opened)), 'B')}.")
    return ExitCode.FINE


@store.command("merge")
@click.argument("other", metavar="OTHER")
@judge_option
@db_option
def merge_command(other: str, db: str | None, *, judge: bool) -> int:
    """Add what another database holds and this one lacks.

    OTHER is an SQLite path or postgresql://USER@HOST/NAME; it is only read. A run that both hold with different
    content is named and left as it is here; the exit code is then 2.
    """
    # The other first: a misspelt name must not create an empty database of ours.
    with _other_store(other) as theirs, open_store(db, mode=OpenMode.WRITE) as opened:
        report = merge(opened, theirs)
        echo(
            f"{counted(report.n_runs_added, 'run')} and {counted(report.n_values, 'value')} added, "
            f"{counted(report.n_runs_completed, 'run')} completed, "
            f"{len(report.conflicts)} left as they were, from {theirs.name} into {opened.name}"
        )
        if judge:
            judge_new_values(opened)
    for conflict in report.conflicts:
        echo(f"not merged: {conflict}", err=True)
    return ExitCode.FAILED if report.conflicts else ExitCode.FINE


@store.command("retain-traces")
@click.argument("folder", metavar="[PATH]", type=click.Path(path_type=Path), required=False)
@click.option("--keep", metavar="N", type=click.IntRange(min=0), help="Keep those of the N newest runs.")
@click.option("--older-than", metavar="DAYS", type=NumberRange(min=0), help="Keep those of the last DAYS.")
@click.option("--dry-run", is_flag=True, help="List them, remove nothing.")
@db_option
def retain_traces(
    folder: Path | None, keep: int | None, older_than: float | None, db: str | None, *, dry_run: bool
) -> int:
    """Remove old traces below PATH, or FUSEBENCH_DATA's folder, or results/data/local; measurements stay.

    A trace is removed only if no option given keeps it. N counts runs with traces on each machine and environment.
    """
    if keep is None and older_than is None:
        raise click.UsageError("name the traces to keep: --keep N, --older-than DAYS, or both")
    folder = folder or data_folder_of_environment() or LOCAL
    if not folder.is_dir():
        raise click.UsageError(f"{folder} is not a folder; name the one that holds the traces")
    retention = Retention(keep=keep, older_than=None if older_than is None else timedelta(days=older_than))
    with open_store(db, mode=OpenMode.READ) as opened:
        paths = removable_traces(opened, folder, retention=retention)
    if dry_run:
        echo("\n".join(map(str, paths)) or "No trace would be removed.")
        return ExitCode.FINE
    n_bytes = remove_traces(paths)
    echo(f"{len(paths)} traces removed. Reclaimed {with_prefix(n_bytes, 'B')}.")
    return ExitCode.FINE


def _other_store(other: str) -> Store:
    try:
        return open_store(other, mode=OpenMode.READ)
    except NoStore as error:
        raise click.UsageError(f"there is no database at {redact(other)} to merge") from error
