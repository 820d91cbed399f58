"""Command `fusebench dashboard`: the pages in the browser, over the database or over files."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dashboard.app import create_app
from dashboard.serving.authentication import PASSWORD_VARIABLE, USER_VARIABLE, credentials_from
from dashboard.serving.hosts import allowed_hosts
from dashboard.serving.permissions import is_loopback
from dashboard.serving.request_log import begin_log
from dashboard.serving.server import N_THREADS, serve
from results.commands.judging.settings import chosen_settings, settings_option, tell_unmatched
from results.commands.options import db_option
from results.commands.progress import progress_bar
from results.errors import ResultsError
from results.queries import series_where
from results.store import OpenMode, open_store
from results.upkeep.decisions import WHERE_DECISIONS, decisions_file_of_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from results.store import Store


LOCK_WAIT_S = 3.0  # for another process that has an SQLite file to itself; then the page says so
WARNING = (
    f"Warning: whoever reaches this address can read every measurement. Set {USER_VARIABLE} and {PASSWORD_VARIABLE} "
    "to ask for a password; without TLS, as by a proxy in front, it crosses the network in the clear."
)


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
@click.option(
    "--allow-host",
    "further_hosts",
    metavar="NAME",
    multiple=True,
    envvar="FUSEBENCH_DASHBOARD_HOSTS",
    show_envvar=True,
    help="Answer for this host name, too, as behind a proxy; repeatable.",
)
@click.option(
    "--threads", "n_threads", default=N_THREADS, show_default=True, type=click.IntRange(1, 64), help="Requests at once."
)
@click.option(
    "--decisions",
    "decisions_file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=decisions_file_of_environment,
    show_default=WHERE_DECISIONS,
    help="File that acknowledging a change on the page writes to.",
)
@settings_option
@click.option("--log", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write the log there.")
def dashboard(  # noqa: PLR0913, PLR0917 - each an option
    path: Path | None,
    db: str | None,
    host: str,
    port: int,
    further_hosts: tuple[str, ...],
    n_threads: int,
    decisions_file: Path,
    settings_path: Path | None,
    log: Path | None,
) -> None:
    """Show measurements in the browser.

    PATH, a journal, an asv results folder or a tree of them, is ingested first: into the database given with
    --db, else into a temporary one that is removed at exit.

    \b
    fusebench dashboard                          what this checkout measured
    fusebench dashboard ../scipy-bench/results   any project's asv results, nothing kept
    fusebench dashboard --host 0.0.0.0           for others on the network, too

    What change is relevant, and whether higher or lower is better of what does not tell it, [tool.fusebench] says, as
    it does of gate and changes.

    With FUSEBENCH_DASHBOARD_USER and FUSEBENCH_DASHBOARD_PASSWORD in the environment it asks for both. It answers for
    loopback names only, and beyond loopback for this machine's name and addresses, unless --allow-host names others.
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if path is not None and not path.exists():
        raise click.UsageError(f"{path} does not exist; name a journal, or a folder of asv results")
    settings, credentials = chosen_settings(settings_path), credentials_from(os.environ)
    begin_log(log)
    with contextlib.closing(_listening_socket(host, port)) as listener, opened(path, db) as store:
        app = create_app(
            store,
            hosts=allowed_hosts(host, further=further_hosts),
            credentials=credentials,
            # A temporary database is gone at the end, and what was decided about it would be left.
            decisions=None if path is not None and db is None else decisions_file,
            settings=settings,
        )
        if credentials is None and not is_loopback(host):
            click.echo(WARNING, err=True)
        # Modules and layouts stay as long as the process: each collection of garbage would look at all of them.
        gc.collect()
        gc.freeze()
        if not settings.is_empty:
            tell_unmatched(settings, series_where(store))
            click.echo(f"Changes are judged by [tool.fusebench] in {settings.path}.")
        click.echo(f"The dashboard is at {address_of(listener)} (Ctrl-C ends it).")
        serve(app.server, listener=listener, n_threads=n_threads)


def address_of(listener: socket.socket) -> str:
    """Return the URL of what listens at the socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


@contextlib.contextmanager
def opened(path: Path | None, db: str | None) -> Iterator[Store]:
    """Open the store to show, with `path` ingested into it; a temporary one if only `path` is given."""
    if path is None:
        with open_store(db, mode=OpenMode.READ, lock_wait_s=LOCK_WAIT_S) as store:
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


def _listening_socket(host: str, port: int) -> socket.socket:
    """Bind a socket to the address. Raises: UsageError with the remedy if that fails."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise click.UsageError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port or --host"
        ) from error
