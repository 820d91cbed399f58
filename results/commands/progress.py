"""Progress of an ingest, and of judging what it brought, on the terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from results.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from results.rows import UnjudgedPlace
    from results.store import Progress


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Yield a function that draws progress on standard error, or None where that is no terminal.

    The line shows the files done of all, the values stored and the time left, and fits 80 columns.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress  # noqa: PLC0415 - a fifth of the start of every command otherwise
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.BarColumn(bar_width=20),
        progress.MofNCompleteColumn(),
        progress.TextColumn("files, {task.fields[n_values]:,} values"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("left"),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("ingest", total=None, n_values=0)

        def draw(state: Progress) -> None:
            bar.update(task, total=state.n_files, completed=state.n_files_done, n_values=state.n_values)

        yield draw


@contextmanager
def judging_line() -> Iterator[Callable[[UnjudgedPlace], None] | None]:
    """Yield a function that says on standard error what is being judged, or None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - a fifth of the start of every command otherwise
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    with console.status("Looking for changes …") as line:

        def draw(place: UnjudgedPlace) -> None:
            where = printable_line(f"{place.project} on {place.machine}")
            line.update(Text(f"Looking for changes in {place.n_series:,} series of {where} …"))

        yield draw
