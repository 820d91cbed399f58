"""Output of the commands: stored texts never send control characters to the terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from results.output.terminal import terminal_of
from results.printable import printable

if TYPE_CHECKING:
    from results.output.terminal import Terminal


def echo(text: str, *, err: bool = False) -> None:
    """Print a message without the control characters that stored names in it may hold."""
    click.echo(printable(text), err=err)


def echo_rendered(text: str) -> None:
    """Print what was rendered for `terminal_of_output()`, its colours included."""
    click.echo(text, color=True)


def echo_csv(text: str) -> None:
    """Print CSV as it is into a pipe or file, with control characters escaped on a terminal."""
    click.echo(printable(text) if sys.stdout.isatty() else text)


def terminal_of_output() -> Terminal:
    """Return the width and colour of standard output."""
    return terminal_of(sys.stdout, os.environ)
