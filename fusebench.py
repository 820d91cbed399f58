"""Command line: the table of commands, each imported only when it is called."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from results.commands.extras import error_of_missing_extra, require_modules
from results.commands.groups import SuggestingGroup
from results.exit_codes import ExitCode
from results.printable import printable
from results.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

# Name → module and attribute, and the summary that is listed without importing it.
COMMANDS = {
    "run": ("fusebench:run", "Measure the checked-out commit, store it, print it."),
    "show": ("results.commands.show:show", "Print the newest measurements, or a commit's."),
    "gate": ("results.commands.gate:gate", "Judge whether a commit got slower than another."),
    "status": ("results.commands.status:status", "Print what was measured when, what fails, what is stale."),
    "profile": (
        "results.commands.profile:profile",
        "Print what one call does inside; folded stacks for a flame graph.",
    ),
    "dashboard": ("dashboard.command:dashboard", "Show measurements in the browser."),
    "ingest": ("results.commands.ingest:ingest", "Store journals, or any project's asv results."),
    "export": ("results.commands.export:export", "Write measurements as CSV, Parquet or JSON."),
    "store": ("results.commands.store:store", "Maintain the database: size, check, merge, known changes."),
}
# The extra that a command needs, where it is not `results`.
EXTRAS = {"run": "bench", "dashboard": "dashboard"}


_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}


class CommandTable(SuggestingGroup):
    """Group whose commands are imported when called, so that `show` needs no dash and `run` no database."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command `cmd_name`; None for an unknown name.

        Raises: click.UsageError with the pip command if its extra is not installed.
        """
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module_name, attribute = COMMANDS[cmd_name][0].split(":")
        with _extras_named(cmd_name):
            command: click.Command = getattr(importlib.import_module(module_name), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of all commands; --help prints here."""
        with _ended_with_reader():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Call the command; a module that it lacks at call time is reported like one it lacks at import."""
        with _extras_named(ctx), _ended_with_reader():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@contextmanager
def _extras_named(called: str | click.Context) -> Iterator[None]:
    """Turn an ImportError into a UsageError that names the extra to install, unless the module is ours."""
    try:
        yield
    except ImportError as error:
        name = called if isinstance(called, str) else called.invoked_subcommand or ""
        missing = error_of_missing_extra(error, command=name, extra=EXTRAS.get(name, "results"))
        if missing is None:
            raise
        raise missing from error


@contextmanager
def _ended_with_reader() -> Iterator[None]:
    """Exit as SIGPIPE does where the reader of the output (head, say) left; click's code for it is 1, a regression."""
    try:
        yield
    except BrokenPipeError:
        # What is still buffered has nowhere to go, and Python would complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


@click.group(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fusebench")
def cli() -> None:
    """Which MLP implementation to run at your shape, why, and whether the last commit made it slower."""


@click.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(ctx: click.Context, options: tuple[str, ...]) -> int:
    """Measure the checked-out commit, store it, print it (needs a checkout)."""
    checkout = _checkout()
    require_modules(("torch", "asv", "asv_runner"), command="run", extra="bench")
    measure = [sys.executable, "-m", "benchmarks.ruler.sweep.run"]
    if {"-h", "--help"} & set(options):
        return subprocess.run([*measure, *options], cwd=checkout, check=False).returncode
    # Before minutes of measuring: what shows them.
    CommandTable().get_command(ctx, "ingest")
    CommandTable().get_command(ctx, "show")
    is_recorded = "--uncommitted" not in options and not _is_kept_out_by_environment()
    with tempfile.TemporaryDirectory() as folder:
        selection = Path(folder) / "selection.json"
        measure += ["--cwd", str(Path.cwd()), "--parent", str(os.getpid()), "--selection", str(selection), *options]
        environ, data, db = dict(os.environ), None, os.environ.get("FUSEBENCH_DB")
        if not is_recorded:
            # What no commit holds is kept only long enough to be shown.
            data, db = Path(folder) / "data", None
        elif named := environ.get("FUSEBENCH_DATA"):
            data = Path(named).absolute()
        if data is not None:
            environ["FUSEBENCH_DATA"] = str(data)
            db = db or str(data / "fusebench.db")
        measured = _run_to_end(measure, checkout, environ)
        if measured not in {ExitCode.FINE, ExitCode.FAILED} or not selection.exists():
            return measured
        chosen = json.loads(selection.read_text(encoding="utf-8"))
        where = [word for text in chosen["where"] for word in ("--where", text)]
        db_option = ["--db", db] if db else []
        code = _call(ctx, "ingest", [*([str(data)] if data else []), *db_option])
        code = code or _call(ctx, "show", [chosen["revision"], *where, *db_option])
        if code:
            return code
    if is_recorded:
        option = f" --db {shlex.quote(db)}" if data and db else ""
        click.echo(f"\nCurves: fusebench dashboard{option}. Other commits: fusebench show REV{option}")
    else:
        click.echo("\nNothing was recorded: the measured files are in no commit.")
    return measured


def _is_kept_out_by_environment() -> bool:
    """Return whether the environment asks to measure what no commit holds, and names no folder to keep that in."""
    return os.environ.get("FUSEBENCH_UNCOMMITTED") == "1" and not os.environ.get("FUSEBENCH_DATA")


def _run_to_end(command: list[str], folder: Path, environ: Mapping[str, str]) -> int:
    """Run `command` and return its exit code, 128 and the number if a signal ended it.

    Signals that ask this process to end are passed on: it ends what it has started, says so, and then ends itself.
    """
    received: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    def pass_on(signum: int, _: FrameType | None) -> None:
        received.append(signum)
        for process in started:
            process.send_signal(signum)

    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(signum, pass_on)
    try:
        # The child is born with them blocked, and answers them once it has imported what that takes.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, before)
        try:
            process = subprocess.Popen(command, cwd=folder, env=dict(environ))
            started.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with process:
            for each in received:
                process.send_signal(each)
            status = process.wait()
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    return status if status >= 0 else 128 - status


def _call(ctx: click.Context, name: str, arguments: list[str]) -> int:
    """Call the command `name` and return its exit code."""
    command = CommandTable().get_command(ctx, name)
    assert command is not None  # noqa: S101 - ours are in the table
    with command.make_context(f"fusebench {name}", arguments) as inner:
        return int(command.invoke(inner) or ExitCode.FINE)


def _checkout() -> Path:
    """Return the checkout this command belongs to, or the one we are in; only a checkout holds the benchmarks."""
    for folder in (Path(__file__).resolve().parent, Path.cwd(), *Path.cwd().parents):
        if (folder / "asv.conf.json").is_file() and (folder / "benchmarks" / "ruler").is_dir():
            return folder
    raise click.UsageError(
        "`fusebench run` measures a checkout of fusebench, and there is none here; "
        "git clone it, then run `make bench` in it"
    )


def main() -> None:
    """Run the command line; wrong usage exits 64, an internal error 70, the rest as in ExitCode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is signal.SIG_DFL:
            signal.signal(signum, _terminate)
    try:
        answer = cli.main(prog_name="fusebench", standalone_mode=False)
    except click.ClickException as error:
        _print_error(error)
        sys.exit(ExitCode.WRONG_USAGE if isinstance(error, click.UsageError) else error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; everything recorded so far is kept.", err=True)
        sys.exit(130)
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            _exit_with_internal_error(error)
        # What is left in the buffer cannot be written either; without this, Python says so at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"Error: the output cannot be written: {error.strerror}.", err=True)
        sys.exit(ExitCode.FAILED)
    except Exception as error:  # noqa: BLE001 - the last place that can tell whose fault it was
        _exit_with_internal_error(error)
    sys.exit(answer if isinstance(answer, int) else ExitCode.FINE)


def _exit_with_internal_error(error: Exception) -> NoReturn:
    import traceback  # noqa: PLC0415 - only on the way out

    text = "".join(traceback.format_exception(error))
    click.echo(redact(printable(text)), nl=False, err=True)
    click.echo(redact(printable(f"fusebench: internal error ({error!r}); please report it.")), err=True)
    sys.exit(ExitCode.OUR_FAULT)


def _print_error(error: click.ClickException) -> None:
    """Print the error without passwords and without control characters, which stored names in it may hold."""
    text = io.StringIO()
    error.show(file=text)
    click.echo(redact(printable(text.getvalue())), err=True, nl=False)


def _terminate(signum: int, frame: FrameType | None) -> None:
    """End in an orderly way, so that temporary files are removed."""
    del frame
    signal.signal(signum, signal.SIG_DFL)
    sys.exit(128 + signum)


if __name__ == "__main__":
    main()
