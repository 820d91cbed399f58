"""The front door: the table of commands, each imported only when it is called."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.exit_codes import ExitCode
from results.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Name → where it is, and what the list of commands says of it without importing it.
COMMANDS = {
    "run": ("fusebench:run", "Measure the checked-out commit, store it, print it."),
    "show": ("results.commands.show:show", "Print the newest measurements, or a commit's."),
    "gate": ("results.commands.gate:gate", "Did a commit get slower than another?"),
    "status": ("results.commands.status:status", "What was measured when, what fails, what is stale."),
    "profile": (
        "results.commands.profile:profile",
        "Print what one call does inside; folded stacks for a flame graph.",
    ),
    "dashboard": ("dashboard.command:dashboard", "Look at it in the browser."),
    "ingest": ("results.commands.ingest:ingest", "Store journals, or any project's asv results."),
    "export": ("results.commands.export:export", "Write measurements as CSV, Parquet or JSON."),
    "store": ("results.commands.store:store", "The database itself: size, check, merge, known changes."),
}


class CommandTable(click.Group):
    """A group whose commands are imported when called, so that `show` needs no dash and `run` no database."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table, which is the order of use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command `cmd_name`, imported now; None if the table has no such name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module_name, attribute = COMMANDS[cmd_name][0].split(":")
        try:
            command: click.Command = getattr(importlib.import_module(module_name), attribute)
        except ModuleNotFoundError as error:
            extra = module_name.split(".")[0]
            message = f"`fusebench {cmd_name}` needs {error.name}: pip install 'fusebench[{extra}]'"
            raise click.ClickException(message) from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


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
    measure = [sys.executable, "-m", "benchmarks.ruler.sweep.run", *options]
    if {"-h", "--help"} & set(options):
        return _to_its_end(measure, checkout, os.environ)
    if "--uncommitted" not in options:
        measured = _to_its_end(measure, checkout, os.environ)
        if measured not in {ExitCode.FINE, ExitCode.FAILED}:
            return measured
        return _show(ctx, measured, [], revision=_head_of(checkout))
    with tempfile.TemporaryDirectory() as folder:
        # What no commit holds is kept only long enough to be shown.
        environ = {**os.environ, "FUSEBENCH_DATA": folder}
        measured = _to_its_end(measure, checkout, environ)
        if measured not in {ExitCode.FINE, ExitCode.FAILED}:
            return measured
        return _show(ctx, measured, [folder], db=str(Path(folder) / "uncommitted.db"))


def _to_its_end(command: list[str], folder: Path, environ: Mapping[str, str]) -> int:
    """The exit code of `command`; at Ctrl-C, which it hears too, it is left to end by itself."""
    with subprocess.Popen(command, cwd=folder, env=dict(environ)) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def _head_of(checkout: Path) -> list[str]:
    """The commit that is checked out there; nothing where git does not say."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=False)
    return asked.stdout.split()


def _show(
    ctx: click.Context, measured: int, paths: list[str], *, db: str | None = None, revision: Sequence[str] = ()
) -> int:
    """Ingest `paths` (the default ones if there are none), print those of `revision`, say where to go from here."""
    where = ["--db", db] if db else []
    answer = _called(ctx, "ingest", [*paths, *where])
    if answer:
        return answer
    answer = _called(ctx, "show", [*revision, *where])
    if answer:
        return answer
    if db is None:
        click.echo("\nThe curves: make dashboard   (fusebench dashboard). Of other commits: fusebench show")
    else:
        click.echo("\nNothing was recorded: the measured files are in no commit.")
    return measured


def _called(ctx: click.Context, name: str, arguments: list[str]) -> int:
    """The exit code of the command `name`."""
    command = CommandTable().get_command(ctx, name)
    assert command is not None  # noqa: S101 - ours are in the table
    return int(command.main(args=arguments, prog_name=f"fusebench {name}", standalone_mode=False) or ExitCode.FINE)


def _checkout() -> Path:
    """The checkout this command belongs to, or the one we are in; only a checkout holds the benchmarks."""
    for folder in (Path(__file__).resolve().parent, Path.cwd(), *Path.cwd().parents):
        if (folder / "asv.conf.json").is_file() and (folder / "benchmarks" / "ruler").is_dir():
            return folder
    raise click.ClickException(
        "`fusebench run` measures a checkout of fusebench, and there is none here; "
        "git clone it, then run `make bench` in it"
    )


def _show_error(error: click.ClickException) -> None:
    """Print `error` as click does, without the passwords that an argument may hold."""
    shown = io.StringIO()
    error.show(file=shown)
    click.echo(redact(shown.getvalue()), nl=False, err=True)


def main() -> None:
    """Run the command line; wrong usage exits 64, a fault of ours 70, the rest as in ExitCode."""
    try:
        answer = cli.main(prog_name="fusebench", standalone_mode=False)
    except click.ClickException as error:
        _show_error(error)
        sys.exit(ExitCode.WRONG_USAGE if isinstance(error, click.UsageError) else error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; everything recorded so far is kept.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output (head, say) left; that is its right.
        sys.stderr.close()
        sys.exit(ExitCode.FINE)
    except Exception as error:  # noqa: BLE001 - the last place that can say whose fault it was
        import traceback  # noqa: PLC0415 - only on the way out

        click.echo(redact(traceback.format_exc()), nl=False, err=True)
        click.echo(
            f"fusebench: this is a fault of ours, not yours ({redact(repr(error))}); please report it.", err=True
        )
        sys.exit(ExitCode.OUR_FAULT)
    sys.exit(answer if isinstance(answer, int) else ExitCode.FINE)


if __name__ == "__main__":
    main()
