"""The commands about the store itself: export, and store info, check, compact, traces, decisions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands import db_option, where_option
from results.decision_commands import acknowledge, join
from results.exit_codes import ExitCode
from results.export import ExportFormat, exported, points_as_columns, values_as_columns
from results.housekeeping import compact, faults_in, size_of
from results.queries import commits, latest_points, throughput_by_commit, values_at
from results.revisions import commit_of
from results.selection import Selection, chosen_values, point_filter_from, selection_from_texts
from results.store import OpenMode, Store, open_store
from results.traces import Retention, removable_traces, remove_traces
from results.units import scaled

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@click.option("--format", "export_format", type=click.Choice([f.value for f in ExportFormat]), default="csv")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write; default: print.")
@where_option
@db_option
def export(revision: str | None, export_format: str, output: Path | None, where: Sequence[str], db: str | None) -> int:
    """Write every stored measurement, or those of commit REV, as a table with units in the column names."""
    with open_store(db, mode=OpenMode.READ) as store:
        rows = _chosen(store, revision, selection_from_texts(where))
    if not rows:
        click.echo("Nothing stored is chosen by that.", err=True)
        return ExitCode.NOTHING_COMPARABLE
    content = exported(rows, export_format=ExportFormat(export_format))
    if output is None:
        click.echo(content, nl=False)
    else:
        output.write_bytes(content)
        click.echo(f"{len(rows)} rows in {output}")
    return ExitCode.FINE


@click.group()
def store() -> None:
    """Look after the database."""


store.add_command(join)
store.add_command(acknowledge)


@store.command()
@db_option
def info(db: str | None) -> int:
    """Size, rows by table, and the files that could not be read."""
    with open_store(db, mode=OpenMode.READ) as opened:
        size = size_of(opened)
        click.echo(f"{opened.name}: {scaled(size.n_bytes, unit='B')}")
    for table, n_rows in size.n_rows.items():
        click.echo(f"{n_rows:>12,}  {table}")
    for path, reason in size.set_aside:
        click.echo(f"not read: {path}: {reason}")
    return ExitCode.FINE


@store.command()
@db_option
def check(db: str | None) -> int:
    """Is the database whole? Exit code 2 if not."""
    with open_store(db, mode=OpenMode.READ) as opened:
        faults = faults_in(opened)
        click.echo(f"{opened.name}: {'; '.join(faults) or 'whole'}")
    return ExitCode.FAILED if faults else ExitCode.FINE


@store.command("compact")
@db_option
def compact_command(db: str | None) -> int:
    """Give back the space of what was deleted."""
    with open_store(db, mode=OpenMode.READ) as opened:
        click.echo(f"{opened.name}: {scaled(compact(opened), unit='B')} won")
    return ExitCode.FINE


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
    retention = Retention(keep=keep, older_than=None if older_than is None else timedelta(days=older_than))
    with open_store(db, mode=OpenMode.READ) as opened:
        paths = removable_traces(opened, folder, retention=retention)
    if dry_run:
        click.echo("\n".join(map(str, paths)) or "every trace stays")
        return ExitCode.FINE
    n_bytes = remove_traces(paths)
    click.echo(f"{len(paths)} traces removed, {scaled(n_bytes, unit='B')} won")
    return ExitCode.FINE


def _chosen(store: Store, revision: str | None, selection: Selection) -> list[dict[str, object]]:
    stored = commits(store)
    if any(row.n_points for row in stored):
        axes = point_filter_from(selection)
        if revision is None:
            return points_as_columns(throughput_by_commit(store, **axes))
        return points_as_columns(latest_points(store, revision=revision, **axes))
    chosen = [row.commit for row in stored] if revision is None else [commit_of(store, revision)]
    values = [row for commit in chosen for row in values_at(store, commit=commit)]
    return values_as_columns(chosen_values(values, selection))
