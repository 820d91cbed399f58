"""Width and colour of the output."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, TYPE_CHECKING

import click
from rich.cells import cell_len

from results.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Mapping

INDENT = "    "
# A number and its percent sign stay together.
_BETWEEN_WORDS = re.compile(r" (?!%)")
LEAST_WIDTH = 40  # below that, lines may be longer than the terminal is wide


class Style(StrEnum):
    """Meaning of a coloured text."""

    PLAIN = "plain"
    HEADING = "heading"
    GOOD = "good"
    BAD = "bad"
    DOUBTFUL = "doubtful"


COLOURS = {Style.GOOD: "green", Style.BAD: "red", Style.DOUBTFUL: "yellow"}


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """Properties of the output that a text is rendered for; `width` is None if lines may have any length."""

    width: int | None = None
    has_colour: bool = False

    def styled(self, text: str, style: Style) -> str:
        """Return `text` in the colour of `style`, unchanged where there is no colour."""
        if not self.has_colour or style is Style.PLAIN or not text:
            return text
        return click.style(text, fg=COLOURS.get(style), bold=True if style is Style.HEADING else None)

    def paragraph(self, text: str, style: Style = Style.PLAIN, *, indent: str = "") -> str:
        """Break `text` between words into lines that fit, in the colour of `style`, without control characters."""
        clean = printable_line(text)
        if self.width is None:
            return self.styled(indent + clean, style)
        lines = _broken(clean, self.width, first=indent, rest=indent or INDENT)
        return "\n".join(self.styled(line, style) for line in lines)


UNLIMITED = Terminal()


def terminal_of(stream: IO[str], environ: Mapping[str, str]) -> Terminal:
    """Return the width and colour of `stream`.

    COLUMNS comes before the terminal's own width; a pipe without COLUMNS has no limit. NO_COLOR comes before
    FORCE_COLOR, and TERM=dumb has no colour.
    """
    is_terminal = stream.isatty()
    wants_colour = is_terminal or environ.get("FORCE_COLOR", "") not in {"", "0"}
    refuses_colour = bool(environ.get("NO_COLOR")) or environ.get("TERM") in {"dumb", "unknown"}
    return Terminal(width=_width(stream, environ), has_colour=wants_colour and not refuses_colour)


def _broken(text: str, width: int, *, first: str, rest: str) -> list[str]:
    """Break `text` into lines of at most `width` cells (a CJK character takes two), long words where the line ends."""
    lines: list[str] = []
    line, is_empty = first, True
    for word in _BETWEEN_WORDS.split(text.strip()):
        if not is_empty and cell_len(f"{line} {word}") > width >= cell_len(rest + word):
            lines.append(line.rstrip())
            line = rest + word
            continue
        line += "" if is_empty else " "
        for character in word:
            if cell_len(line + character) > width:
                lines.append(line.rstrip())
                line = rest
            line += character
        is_empty = False
    return [*lines, line.rstrip()]


def _width(stream: IO[str], environ: Mapping[str, str]) -> int | None:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(int(columns), LEAST_WIDTH)
    if not stream.isatty():
        return None
    try:
        # A terminal of unknown size answers 0.
        return max(os.get_terminal_size(stream.fileno()).columns or 80, LEAST_WIDTH)
    except OSError:
        return 80
