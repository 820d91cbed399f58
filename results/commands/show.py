"""`fusebench show`: print the newest measurements, or those of a commit."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import click

from results.commands.chosen_rows import ChosenPoints, ChosenValues, chosen_rows, known_values
from results.commands.known_changes import known_of_points, known_of_values
from results.commands.no_data import EMPTY_STORE, not_measured
from results.commands.options import db_option, where_option
from results.commands.selection import selection_from_texts
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.output.known_changes import known_changes_as_text
from results.output.tables import (
    points_as_csv,
    points_as_json,
    points_as_text,
    values_as_csv,
    values_as_json,
    values_as_text,
)
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.store import Store


class ShowFormat(StrEnum):
    """How `show` writes."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


POINT_TABLES = {ShowFormat.TEXT: points_as_text, ShowFormat.JSON: points_as_json, ShowFormat.CSV: points_as_csv}
VALUE_TABLES = {ShowFormat.TEXT: values_as_text, ShowFormat.JSON: values_as_json, ShowFormat.CSV: values_as_csv}


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@click.option(
    "--format",
    "show_format",
    type=click.Choice([f.value for f in ShowFormat]),
    default="text",
    show_default=True,
    help="How to print them.",
)
@where_option
@db_option
def show(revision: str | None, show_format: str, where: Sequence[str], db: str | None) -> int:
    """Print the newest measurements, or those of commit REV (a hash, its start, or a name git knows).

    Where a sweep is stored it is the sweep that is shown; --where project=NAME shows another suite.

    \b
    fusebench show HEAD~1                                    those of another commit
    fusebench show --where batch=64 --where batch=128        any of several values
    fusebench show --where hidden=512..4096                  a range; an end may be left out
    fusebench show --where state=crashed                     what became of a point
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    selection = selection_from_texts(where)
    with open_store(db, mode=OpenMode.READ) as store:
        try:
            chosen = chosen_rows(store, selection)
            table = None if chosen is None else _table(store, chosen, revision, ShowFormat(show_format))
        except UnknownRevision as error:
            return not_measured(store, error)
        if chosen is None:
            click.echo(EMPTY_STORE, err=True)
            return ExitCode.NOTHING_COMPARABLE
        if table is None:
            click.echo(f"Nothing stored is chosen by that. {known_values(store, chosen, selection)}".strip(), err=True)
            return ExitCode.NOTHING_COMPARABLE
    click.echo(table)
    if chosen.others:
        click.echo(f"Stored too: {', '.join(chosen.others)} (--where project={chosen.others[0]}).", err=True)
    return ExitCode.FINE


def _table(
    store: Store, chosen: ChosenPoints | ChosenValues, revision: str | None, show_format: ShowFormat
) -> str | None:
    """The table of what was chosen; None if that is nothing."""
    if isinstance(chosen, ChosenPoints):
        points = chosen.latest(store, revision)
        known = known_of_points(store, points)
        table = POINT_TABLES[show_format](points) if points else None
    else:
        values = chosen.latest(store, revision)
        known = known_of_values(store, values)
        table = VALUE_TABLES[show_format](values) if values else None
    if table is None or not known or show_format is not ShowFormat.TEXT:
        return table
    return f"{table}\n\n{known_changes_as_text(known)}"
