"""Command `fusebench dashboard`: the pages in the browser, over the database or over files."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from werkzeug.serving import make_server

from dashboard.app import create_app
from results.commands.options import db_option
from results.commands.progress import progress_bar
from results.errors import ResultsError
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from dash import Dash

    from results.store import Store


@click.command()
@click.argument("path", metavar="[PATH]", required=False, type=click.Path(path_type=Path))
@db_option
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    metavar="NUMBER",
    default=8050,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes any free one.",
)
def dashboard(path: Path | None, db: str | None, host: str, port: int) -> None:
    """Show measurements in the browser.

    PATH, a journal, an asv results folder or a tree of them, is ingested first: into the database given with
    --db, else into a temporary one that is removed at exit.

    \b
    fusebench dashboard                          what this checkout measured
    fusebench dashboard ../scipy-bench/results   any project's asv results, nothing kept
    fusebench dashboard --host 0.0.0.0           for others on the network, too
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if path is not None and not path.exists():
        raise click.UsageError(f"{path} does not exist; name a journal, or a folder of asv results")
    with contextlib.closing(_listening_socket(host, port)) as listener, opened(path, db) as store:
        serve(create_app(store), listener=listener)


def serve(app: Dash, *, listener: socket.socket) -> None:
    """Serve `app` at a bound socket until Ctrl-C or SIGTERM."""
    host, port = listener.getsockname()[:2]
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = make_server(host, port, app.server, threaded=True, fd=listener.fileno())
    signal.signal(signal.SIGTERM, _interrupt)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"The dashboard is at http://{shown}:{port}/ (Ctrl-C ends it).")
    server.serve_forever()


@contextlib.contextmanager
def opened(path: Path | None, db: str | None) -> Iterator[Store]:
    """Open the store to show, with `path` ingested into it; a temporary one if only `path` is given."""
    if path is None:
        with open_store(db, mode=OpenMode.READ) as store:
            yield store
        return
    with contextlib.ExitStack() as stack:
        if db is None:
            db = str(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fusebench-"))) / "shown.db")
        store = stack.enter_context(open_store(db))
        with progress_bar() as progress:
            report = store.ingest([path], on_progress=progress)
        if not report.n_files:
            click.echo(f"No journals and no asv results were found under {path}.", err=True)
        for problem in report.problems:
            click.echo(f"Not read: {problem}", err=True)
        if report.problems and len(report.problems) >= report.n_files:
            raise ResultsError(f"nothing under {path} could be read")
        yield store


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Exit as at Ctrl-C, so that a temporary database is removed."""
    del signum, frame
    raise KeyboardInterrupt


def _listening_socket(host: str, port: int) -> socket.socket:
    """Bind a socket to the address. Raises: UsageError with the remedy if that fails."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise click.UsageError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port or --host"
        ) from error
