"""Progress of an ingest on the terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from results.store import Progress


def progress_line() -> Callable[[Progress], None] | None:
    """What draws progress on a terminal; None into a pipe."""
    if not sys.stderr.isatty():
        return None
    started = time.monotonic()

    def draw(progress: Progress) -> None:
        is_last = progress.n_files_done == progress.n_files
        rate = progress.n_values / max(time.monotonic() - started, 1e-3)
        n_filled = 30 * progress.n_files_done // progress.n_files
        click.echo(
            f"\r[{'#' * n_filled}{'.' * (30 - n_filled)}] {progress.n_files_done}/{progress.n_files} files, "
            f"{progress.n_values:,} values, {rate:,.0f} values/s " + ("\n" if is_last else ""),
            nl=False,
            err=True,
        )

    return draw
