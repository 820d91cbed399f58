"""Markdown that fits a comment on a pull request: what matters stands open, the rest is folded or counted; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.printable import printable_line
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_OF_A_COMMENT = 65_000
"""Bytes; GitHub takes 65,536."""
MOST_OPEN = 10
"""Rows of a table that stand open: with those of two tables and the notes a comment fits a screen."""
MOST_COUNTED = 10
"""Tables that are told even if none of their rows has room; of later ones only how many have none."""
MOST_OF_TEXT = 1_000
"""Characters of a cell or a note: longer ones, as an asv parameter may be, would leave no room for the others."""
MOST_NOTES = 20
_ENDS_CELL = str.maketrans(
    {"\\": "\\\\", "&": "&amp;", "|": "\\|", "<": "&lt;", "`": "\\`", "*": "\\*", "[": "\\[", "~": "\\~", "$": "\\$"}
)
_MARKS_UP = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # but not within a word
_MENTIONS = re.compile(r"(?<=[@#])|(?<=\bGH)(?=-\d)", re.IGNORECASE)
_BREAK = "\u200b"  # nobody sees it, and neither a person nor an issue is mentioned


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows below one heading, the most important first. is_open: whether the first MOST_OPEN are shown unfolded."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    is_open: bool


def comment_of(headline: str, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Return the headline, the notes and the tables, the rows of earlier ones first where not all have room.

    What has none is counted: rows of the first MOST_COUNTED tables, and later tables. Texts are made safe: no cell ends
    its row, opens a tag or mentions anybody.
    """
    told = [*notes[:MOST_NOTES], *([f"… and {len(notes) - MOST_NOTES:,} more"] if notes[MOST_NOTES:] else [])]
    head = "\n\n".join([f"**{escaped(_cut(headline))}**", *(escaped(_cut(note)) for note in told)])
    filled = [table for table in tables if table.rows]
    framed = filled[:MOST_COUNTED]
    left = MOST_OF_A_COMMENT - _size(head) - _size(_without_room(len(filled))) - sum(map(_size_of_frame, framed))
    parts, n_hidden = [head], 0
    for place, table in enumerate(filled):
        frame = 0 if place < len(framed) else _size_of_frame(table)
        shown, left = _room_for(table, left - frame)
        if shown or not frame:
            parts.append(_framed(table, shown=shown))
        else:
            n_hidden += 1
    return "\n\n".join([*parts, *([_without_room(n_hidden)] if n_hidden else [])]) + "\n"


def escaped(text: str) -> str:
    """Return `text` as one line without what would end a cell, start a tag, mark up text or mention a person or issue.

    A _ within a word marks up nothing; those around one do, as in `__call__` and `_name_`.
    """
    safe = _MARKS_UP.sub(r"\\_", printable_line(text).translate(_ENDS_CELL))
    return _MENTIONS.sub(_BREAK, safe)


def _room_for(table: Table, left: int) -> tuple[int, int]:
    """Return how many of the table's rows have room in `left` bytes, and what they leave; nothing where not all do."""
    for shown, row in enumerate(table.rows):
        left -= _size(_line(row))
        if left < 0:
            return shown, 0
    return len(table.rows), left


def _without_room(n_tables: int) -> str:
    return f"Without room here: {counted(n_tables, 'more table')}; `--format json` has all."


def _cut(text: str) -> str:
    return text if len(text) <= MOST_OF_TEXT else f"{text[: MOST_OF_TEXT - 1]}…"


def _framed(table: Table, *, shown: int) -> str:
    """Return the table's first `shown` rows with heading and folds, and how many have no room."""
    n_open = min(shown, MOST_OPEN) if table.is_open else 0
    parts = [f"### {escaped(_cut(table.title))} ({len(table.rows):,})"]
    if n_open:
        parts.append(_rows(table, 0, n_open))
    if shown > n_open:
        summary = f"{shown - n_open:,} more" if n_open else "Show"
        parts.append(f"<details><summary>{summary}</summary>\n\n{_rows(table, n_open, shown)}\n\n</details>")
    if shown < len(table.rows):
        parts.append(f"{len(table.rows) - shown:,} have no room here: `--format json` has all.")
    return "\n\n".join(parts)


def _rows(table: Table, first: int, last: int) -> str:
    head = [_line(table.columns), "|" + "---|" * len(table.columns) + "\n"]
    return "".join([*head, *(_line(row) for row in table.rows[first:last])]).rstrip("\n")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(escaped(_cut(cell)) for cell in cells)} |\n"


def _size(text: str) -> int:
    return len(text.encode()) + len("\n\n")


def _size_of_frame(table: Table) -> int:
    """Return what everything but the rows takes at most, in bytes."""
    fold = (
        "<details><summary>10,000,000 more</summary></details> 10,000,000 have no room here: `--format json` has all."
    )
    return _size(escaped(_cut(table.title))) + 2 * _size(_rows(table, 0, 0)) + 2 * _size(fold)
