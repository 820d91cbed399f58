"""The front door: the table of commands, each imported only when it is called."""

from __future__ import annotations

import importlib
import sys
from enum import IntEnum

import click

COMMANDS = {
    "ingest": "results.commands:ingest",
    "show": "results.commands:show",
    "gate": "results.commands:gate",
    "dashboard": "dashboard.command:dashboard",
}


class ExitCode(IntEnum):
    """What every command of fusebench answers to the shell, beside what it prints."""

    FINE = 0
    REGRESSION = 1
    FAILED = 2
    NOTHING_COMPARABLE = 3
    WRONG_USAGE = 64
    OUR_FAULT = 70


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
        module_name, attribute = COMMANDS[cmd_name].split(":")
        try:
            command: click.Command = getattr(importlib.import_module(module_name), attribute)
        except ModuleNotFoundError as error:
            extra = module_name.split(".")[0]
            message = f"`fusebench {cmd_name}` needs {error.name}: pip install 'fusebench[{extra}]'"
            raise click.ClickException(message) from error
        return command


@click.group(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fusebench")
def cli() -> None:
    """Which MLP implementation to run at your shape, why, and whether the last commit made it slower."""


def main() -> None:
    """Run the command line; wrong usage exits 64, a fault of ours 70, the rest as in ExitCode."""
    try:
        answer = cli.main(standalone_mode=False)
    except click.UsageError as error:
        error.show()
        sys.exit(ExitCode.WRONG_USAGE)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; everything recorded so far is kept.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output (head, say) left; that is its right.
        sys.stderr.close()
        sys.exit(ExitCode.FINE)
    except Exception as error:
        import traceback  # noqa: PLC0415 - only on the way out

        traceback.print_exc()
        click.echo(f"fusebench: this is a fault of ours, not yours ({error!r}); please report it.", err=True)
        sys.exit(ExitCode.OUR_FAULT)
    sys.exit(answer if isinstance(answer, int) else ExitCode.FINE)


if __name__ == "__main__":
    main()
