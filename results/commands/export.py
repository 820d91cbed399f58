"""The command that writes what is stored for other programs."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.chosen_rows import ChosenPoints, ChosenValues, chosen_rows, known_values
from results.commands.no_data import EMPTY_STORE, not_measured
from results.commands.options import db_option, where_option
from results.commands.selection import selection_from_texts
from results.errors import ResultsError, UnknownRevision
from results.exit_codes import ExitCode
from results.output.export import ExportFormat, Table, table_of_points, table_of_values, write_table
from results.queries import benchmarks
from results.store import OpenMode, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from results.rows import PointRow, SeriesValueRow


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@click.option(
    "--format",
    "export_format",
    type=click.Choice([f.value for f in ExportFormat]),
    help="How to write it.  [default: as FILE ends, else csv]",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write.  [default: print it]",
)
@where_option
@db_option
def export(
    revision: str | None, export_format: str | None, output: Path | None, where: Sequence[str], db: str | None
) -> int:
    """Write every stored measurement, or those of commit REV, as a table with units in the column names.

    The sweep is written where there is one, as in `fusebench show`; --where project=NAME chooses another suite.

    \b
    fusebench export --output points.parquet
    fusebench export HEAD --where operation=mlp --format json
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    chosen_format = _format_of(export_format, output)
    selection = selection_from_texts(where)
    with open_store(db, mode=OpenMode.READ) as store:
        try:
            chosen = chosen_rows(store, selection)
            batches = iter(()) if chosen is None else _not_empty(chosen.by_commit(store, revision))
            first = next(batches, None)
        except UnknownRevision as error:
            return not_measured(store, error)
        if chosen is None:
            click.echo(EMPTY_STORE, err=True)
            return ExitCode.NOTHING_COMPARABLE
        if first is None:
            click.echo(f"Nothing stored is chosen by that. {known_values(store, chosen, selection)}".strip(), err=True)
            return ExitCode.NOTHING_COMPARABLE
        n_rows = _write(output, _table_of(store, chosen), chain([first], batches), chosen_format)
    if output is not None:
        click.echo(f"{n_rows} rows in {output}")
    if chosen.others:
        click.echo(f"Not written: {', '.join(chosen.others)} (--where project={chosen.others[0]}).", err=True)
    return ExitCode.FINE


def _format_of(named: str | None, output: Path | None) -> ExportFormat:
    """The format named, else the one that the file's name ends with; bytes are no sight for a terminal."""
    ending = "" if output is None else output.suffix.removeprefix(".").lower()
    chosen = ExportFormat(named or (ending if ending in set(ExportFormat) else ExportFormat.CSV))
    if chosen is ExportFormat.PARQUET and output is None and sys.stdout.isatty():
        raise click.UsageError("parquet is not for reading: give a file with --output")
    return chosen


def _table_of(store: Store, chosen: ChosenPoints | ChosenValues) -> Table:
    if isinstance(chosen, ChosenPoints):
        return table_of_points()
    return table_of_values(
        benchmarks(store, project=chosen.chosen.get("project"), benchmark=chosen.chosen.get("benchmark"))
    )


def _write(output: Path | None, table: Table, batches: Iterable[Iterable[object]], export_format: ExportFormat) -> int:
    """Into the file, whole or not at all; or to where we print."""
    if output is None:
        n_rows = write_table(sys.stdout.buffer, table, batches, export_format=export_format)
        sys.stdout.buffer.flush()
        return n_rows
    if not output.parent.is_dir():
        raise click.UsageError(f"{output} cannot be written: there is no folder {output.parent}")
    beside = output.with_name(f".{output.name}.part")
    try:
        with beside.open("wb") as sink:
            n_rows = write_table(sink, table, batches, export_format=export_format)
        beside.replace(output)
    except OSError as error:
        raise ResultsError(
            f"{output} cannot be written: {error.strerror or error}; name another file with --output"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
    return n_rows


def _not_empty(
    batches: Iterator[list[PointRow]] | Iterator[list[SeriesValueRow]],
) -> Iterator[list[PointRow] | list[SeriesValueRow]]:
    return (batch for batch in batches if batch)
