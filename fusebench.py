"""Command line: the table of commands, each imported only when it is called."""

from __future__ import annotations

import errno
import importlib
import io
import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

import click

from results.commands.extras import error_of_missing_extra
from results.commands.groups import SuggestingGroup
from results.exit_codes import ExitCode
from results.printable import printable
from results.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# Name → module and attribute, and the summary that is listed without importing it.
COMMANDS = {
    "run": ("results.commands.measuring.run:run", "Measure the checked-out commit, store it, print it."),
    "advise": ("results.commands.measuring.advise:advise", "Measure your shape or model, and say what to run and why."),
    "article": (
        "results.commands.measuring.article:article",
        "Show what one call does inside, guess by guess, and why.",
    ),
    "show": ("results.commands.show:show", "Print the newest measurements, or a commit's."),
    "gate": ("results.commands.judging.gate:gate", "Judge whether a commit got slower than another."),
    "ab": ("results.commands.measuring.ab:ab", "Measure two commits in alternation, and judge them."),
    "bisect": ("results.commands.measuring.bisect:bisect", "Find the commit that made something slower."),
    "explain": ("results.commands.judging.explain:explain", "Say why a commit is slower or faster, as far as known."),
    "fleet": ("results.commands.measuring.fleet:fleet", "Measure one sweep on many GPUs and hosts."),
    "changes": (
        "results.commands.judging.changes:changes",
        "Find when series changed level, after which commit.",
    ),
    "noise": (
        "results.commands.measuring.noise:noise",
        "Measure a commit against itself: what change is visible here.",
    ),
    "status": ("results.commands.status:status", "Print what was measured when, what fails, what is stale."),
    "profile": (
        "results.commands.profile:profile",
        "Print what one call does inside; folded stacks for a flame graph.",
    ),
    "doctor": ("results.commands.measuring.doctor:doctor", "Look for what is missing or would disturb a measurement."),
    "dashboard": ("dashboard.command:dashboard", "Show measurements in the browser."),
    "ingest": ("results.commands.ingest:ingest", "Store journals, or any project's asv results."),
    "export": ("results.commands.export:export", "Write measurements as CSV, Parquet or JSON."),
    "store": ("results.commands.store:store", "Maintain the database: size, check, merge, known changes."),
}
# The extra that a command needs, where it is not `results`.
EXTRAS = {
    "run": "bench",
    "advise": "bench",
    "ab": "bench",
    "bisect": "bench",
    "noise": "bench",
    "article": "bench",
    "doctor": "bench",
    "fleet": "bench",
    "dashboard": "dashboard",
}


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
        with suppress(OSError):  # of a terminal that is closed neither can this
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
