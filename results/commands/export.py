"""`fusebench export`: write measurements as CSV, JSON or Parquet for other programs."""

from __future__ import annotations

import io
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo
from results.commands.no_data import EMPTY_STORE, not_measured, nothing_selected, nothing_to_show
from results.commands.options import db_option, where_option
from results.commands.selected_rows import SelectedPoints, SelectedValues, select_rows
from results.commands.selection import selection_from_texts
from results.errors import ResultsError, UnknownRevision
from results.exit_codes import ExitCode
from results.files.atomic_write import replacing
from results.output.export import ExportFormat, Table, table_of_points, table_of_values, write_table
from results.output.point_tables import cells_with_standing
from results.printable import json_for_terminal
from results.queries import benchmarks
from results.store import OpenMode, Store, open_store
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@click.option(
    "--format",
    "export_format",
    type=click.Choice([f.value for f in ExportFormat]),
    help="How to write it.  [default: by the suffix of FILE; csv where it is printed]",
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

    The sweep is written where there is one, as in `fusebench show`; --where project=NAME chooses another suite. In
    CSV, a text that a spreadsheet would run as a formula (=, +, -, @) has an apostrophe before it.

    \b
    fusebench export --output points.parquet
    fusebench export HEAD --where operation=mlp --format json
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    named_format = _format_of(export_format, output)
    selection = selection_from_texts(where)
    with open_store(db, mode=OpenMode.READ) as store:
        try:
            selected = select_rows(store, selection)
            batches = iter(()) if selected is None else _batches(store, selected, revision)
            first = next(batches, None)
        except UnknownRevision as error:
            return not_measured(store, error)
        if selected is None:
            return nothing_to_show(EMPTY_STORE)
        if first is None:
            return nothing_selected(store, selected, selection)
        n_rows = _write(output, _table_of(store, selected), chain([first], batches), named_format)
    if output is not None:
        echo(f"Wrote {counted(n_rows, 'row')} to {output}.")
    if selected.others:
        echo(f"Not written: {', '.join(selected.others)} (--where project={selected.others[0]}).", err=True)
    return ExitCode.FINE


def _format_of(named: str | None, output: Path | None) -> ExportFormat:
    """Return the format named, else the one of the file's suffix, else CSV for what is printed.

    Raises: click.UsageError for a suffix that is no format, and for Parquet to a terminal.
    """
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    if output is not None and named is None and suffix not in set(ExportFormat):
        endings = ", ".join(f".{one}" for one in ExportFormat)
        raise click.UsageError(
            f"{output} ends in none of {endings}; name the file so, or give --format {'|'.join(ExportFormat)}"
        )
    selected = ExportFormat(named or suffix or ExportFormat.CSV)
    if selected is ExportFormat.PARQUET and _is_terminal(output):
        raise click.UsageError("Parquet is binary and not for a terminal; name a file with --output")
    return selected


def _is_terminal(output: Path | None) -> bool:
    if output is None:
        return sys.stdout.isatty()
    if not output.is_char_device():
        return False
    with output.open("wb", buffering=0) as device:
        return device.isatty()


def _table_of(store: Store, selected: SelectedPoints | SelectedValues) -> Table:
    if isinstance(selected, SelectedPoints):
        return table_of_points()
    return table_of_values(
        benchmarks(
            store, project=selected.series_filter.get("project"), benchmark=selected.series_filter.get("benchmark")
        )
    )


def _write(output: Path | None, table: Table, batches: Iterable[Iterable[object]], export_format: ExportFormat) -> int:
    """Write the rows to the file, whole or not at all, or to standard output; return how many there are."""
    if output is None:
        return _print(table, batches, export_format)
    if not output.parent.is_dir():
        raise click.UsageError(f"{output} cannot be written: there is no folder {output.parent}")
    try:
        if output.exists() and not output.is_file():
            # A device or a named pipe is written to, not replaced.
            with output.open("wb") as sink:
                return write_table(sink, table, batches, export_format=export_format)
        with replacing(output) as sink:
            return write_table(sink, table, batches, export_format=export_format)
    except OSError as error:
        raise ResultsError(
            f"{output} cannot be written: {error.strerror or error}; name another file with --output"
        ) from error


def _print(table: Table, batches: Iterable[Iterable[object]], export_format: ExportFormat) -> int:
    if not sys.stdout.isatty():
        n_rows = write_table(sys.stdout.buffer, table, batches, export_format=export_format)
        sys.stdout.buffer.flush()
        return n_rows
    text = io.BytesIO()
    n_rows = write_table(text, table, batches, export_format=export_format)
    echo(json_for_terminal(text.getvalue().decode()).rstrip("\n"))
    return n_rows


def _batches(
    store: Store, selected: SelectedPoints | SelectedValues, revision: str | None
) -> Iterator[Sequence[object]]:
    """Yield what each commit has, as rows of the table; nothing for a commit without any."""
    if isinstance(selected, SelectedPoints):
        return (cells_with_standing(rows) for rows in selected.by_commit(store, revision) if rows)
    return (rows for rows in selected.by_commit(store, revision) if rows)
