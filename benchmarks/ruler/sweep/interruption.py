"""End of a command and its exit code: signals (Ctrl-C, `kill`, closed terminal, dead parent), wrong usage, faults."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.worker.parent_death import signal_at_parent_death

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    import click

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Raised by a signal that asks this process to end; exit_code: 128 and the signal's number, as shells expect."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


@contextmanager
def interruptible(*, parent: int | None = None) -> Iterator[None]:
    """Raise Interrupted at the first signal that asks this process to end, and ignore further ones.

    parent: the process that started this one, whose death counts as SIGTERM. Signals that were ignored before, as
    `nohup` does with SIGHUP, stay ignored.
    """

    def interrupt(signum: int, _: FrameType | None) -> None:
        for each in _SIGNALS:
            # What is left to do takes seconds, and must not be left half done.
            signal.signal(each, signal.SIG_IGN)
        _leave_closed_terminal()
        raise Interrupted(signum)

    before = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(signum, interrupt)
    try:
        # `fusebench run` starts us with them blocked, so that none meets a half imported program.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        if parent is not None:
            signal_at_parent_death(signal.SIGTERM)
            if os.getppid() != parent:
                raise Interrupted(signal.SIGTERM)
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _leave_closed_terminal() -> bool:
    """Let what is printed from now on go nowhere where it would go to a terminal that is closed: that raises.

    Return whether any is.
    """
    is_closed = False
    for fd in (1, 2):
        try:
            os.write(fd, b"")
        except OSError as error:
            if error.errno == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), fd)
                is_closed = True
    return is_closed


@contextmanager
def ended_by_exit_code(*, name: str) -> Iterator[None]:
    """Exit by what ends the block: WRONG_USAGE for a RulerError, which is printed, OUR_FAULT, or as a signal says.

    A terminal that is closed is a reader that has left: SIGPIPE, unless its SIGHUP was met.
    """
    try:
        yield
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
    except RulerError as error:
        print(f"{name}: {error}", file=sys.stderr)  # noqa: T201 - of a command
        sys.exit(ExitCode.WRONG_USAGE)
    except Exception as error:  # noqa: BLE001 - exit code 1 would mean a regression
        if isinstance(error, OSError) and error.errno == errno.EIO and _leave_closed_terminal():
            # Of a process that ignores SIGHUP: its reader has left, and no more.
            sys.exit(128 + signal.SIGPIPE)
        traceback.print_exc()
        sys.exit(ExitCode.OUR_FAULT)


def run_command(command: click.Command, *, name: str) -> None:
    """Run `command` as `name` and exit by its end, as `ended_by_exit_code` does; by what click finds, too.

    Where the reader of the output left, by SIGPIPE: click's own exit code for that is 1, a regression.
    """
    import click  # noqa: PLC0415 - a campaign says what is missing before it is imported

    with ended_by_exit_code(name=name):
        try:
            with command.make_context(name, sys.argv[1:]) as context:
                command.invoke(context)
        except click.exceptions.Exit as end:
            if end.exit_code:
                sys.exit(end.exit_code)
        except BrokenPipeError:
            # What is still buffered has nowhere to go, and Python would complain about it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(128 + signal.SIGPIPE)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)
        except click.ClickException as error:
            error.show()
            sys.exit(ExitCode.WRONG_USAGE if isinstance(error, click.UsageError) else ExitCode.FAILED)
