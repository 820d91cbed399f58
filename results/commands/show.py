"""`fusebench show`: print the newest measurements, or those of a commit."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo, echo_csv, echo_rendered, terminal_of_output
from results.commands.judging.known_changes import known_of_points, known_of_values
from results.commands.no_data import EMPTY_STORE, not_measured, nothing_selected, nothing_to_show
from results.commands.options import all_option, db_option, where_option
from results.commands.selected_rows import SelectedPoints, SelectedValues, select_rows
from results.commands.selection import selection_from_texts
from results.commands.slow_ceilings import slow_ceilings_in_words
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.output.known_changes import known_changes_as_text
from results.output.point_tables import most_important_points, points_as_csv, points_as_json, points_as_text
from results.output.text_tables import MANY
from results.output.value_tables import most_important_values, values_as_csv, values_as_json, values_as_text
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.commands.selection import Selection
    from results.rows import KnownChange, PointRow, SeriesValueRow
    from results.store import Store


class ShowFormat(StrEnum):
    """Format of what `show` prints."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


LONG = 40  # rows: an answer of up to as many is printed whole


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
@all_option
@where_option
@db_option
def show(revision: str | None, show_format: str, where: Sequence[str], db: str | None, *, shows_all: bool) -> int:
    """Print the newest measurements, or those of commit REV (a hash, its start, or a name git knows).

    Where a sweep is stored it is the sweep that is shown; --where project=NAME shows another suite. Without REV, the
    tables are of the machine that measured last; --where machine=NAME shows another.

    \b
    fusebench show HEAD~1                                    those of another commit
    fusebench show --where batch=64 --where batch=128        any of several values
    fusebench show --where hidden=512..4096                  a range; an end may be left out
    fusebench show --where state=crashed                     what became of a point
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    selection = selection_from_texts(where)
    with open_store(db, mode=OpenMode.READ) as store:
        try:
            selected = select_rows(store, selection)
            if selected is None:
                return nothing_to_show(EMPTY_STORE)
            is_printed = _print(store, selected, selection, revision, ShowFormat(show_format), shows_all=shows_all)
        except UnknownRevision as error:
            return not_measured(store, error)
        if not is_printed:
            return nothing_selected(store, selected, selection)
    if selected.others:
        echo(f"Stored too: {', '.join(selected.others)} (--where project={selected.others[0]}).", err=True)
    return ExitCode.FINE


def _print(  # noqa: PLR0913 - what is asked for
    store: Store,
    selected: SelectedPoints | SelectedValues,
    selection: Selection,
    revision: str | None,
    show_format: ShowFormat,
    *,
    shows_all: bool,
) -> bool:
    """Print the selected rows; return False if there are none."""
    if isinstance(selected, SelectedPoints):
        points = selected.latest(store, revision)
        is_of_all = revision is not None or "machine" in selection.texts or show_format is not ShowFormat.TEXT
        shown, others = (points, ()) if is_of_all else of_newest_machine(points)
        if shown:
            _print_points(store, shown, show_format, shows_all=shows_all)
        if others:
            echo(f"Measured on other machines, too: {', '.join(others)} (--where machine={others[0]}).", err=True)
        return bool(points)
    values = selected.latest(store, revision)
    if values:
        _print_values(store, values, show_format, shows_all=shows_all)
    return bool(values)


def of_newest_machine(rows: Sequence[PointRow]) -> tuple[Sequence[PointRow], tuple[str, ...]]:
    """Return the rows of the machine that measured last, and the names of the others, the newest first.

    What a repository publishes of other machines is not what somebody looks for who has just measured.
    """
    newest_first = sorted(rows, key=lambda row: row.measured_at, reverse=True)
    machines = tuple(dict.fromkeys(row.machine for row in newest_first))
    return [row for row in rows if row.machine in machines[:1]], machines[1:]


def _print_points(store: Store, rows: Sequence[PointRow], show_format: ShowFormat, *, shows_all: bool) -> None:
    match show_format:
        case ShowFormat.JSON:
            echo(points_as_json(rows))
        case ShowFormat.CSV:
            echo_csv(points_as_csv(rows))
        case ShowFormat.TEXT:
            shown = rows if shows_all or len(rows) <= LONG else most_important_points(rows, count=MANY)
            echo_rendered(points_as_text(rows, terminal_of_output(), shown=shown))
            for line in slow_ceilings_in_words(store, rows):
                echo(f"\n{line}")
            _echo_known(known_of_points(store, rows), shows_all=shows_all)
            _echo_count(shown, rows, "points: failed ones, then the fastest of each shape")


def _print_values(store: Store, rows: Sequence[SeriesValueRow], show_format: ShowFormat, *, shows_all: bool) -> None:
    match show_format:
        case ShowFormat.JSON:
            echo(values_as_json(rows))
        case ShowFormat.CSV:
            echo_csv(values_as_csv(rows))
        case ShowFormat.TEXT:
            shown = rows if shows_all or len(rows) <= LONG else most_important_values(rows, count=MANY)
            echo_rendered(values_as_text(rows, terminal_of_output(), shown=shown))
            _echo_known(known_of_values(store, rows), shows_all=shows_all)
            _echo_count(shown, rows, "values: failed ones, then the slowest")


def _echo_known(known: Sequence[KnownChange], *, shows_all: bool) -> None:
    limit = None if shows_all else MANY
    if known:
        echo_rendered(f"\n{known_changes_as_text(known, terminal_of_output(), limit=limit)}")


def _echo_count(shown: Sequence[object], rows: Sequence[object], what: str) -> None:
    if len(shown) < len(rows):
        echo(f"\nShown: {len(shown)} of {len(rows):,} {what}. All: --all")
