"""Markdown that fits a comment on a pull request: what matters stands open, the rest is folded or counted; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.printable import printable_line

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_OF_A_COMMENT = 65_000
"""Bytes; GitHub takes 65,536."""
MOST_OPEN = 10
"""Rows of a table that stand open: with those of two tables and the notes a comment fits a screen."""
_ENDS_CELL = str.maketrans(
    {"\\": "\\\\", "&": "&amp;", "|": "\\|", "<": "&lt;", "`": "\\`", "*": "\\*", "[": "\\[", "~": "\\~"}
)
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

    Rows that have none are counted. Texts are made safe: no cell ends its row, opens a tag or mentions anybody.
    """
    head = "\n\n".join([f"**{escaped(headline)}**", *(escaped(note) for note in notes)])
    filled = [table for table in tables if table.rows]
    left = MOST_OF_A_COMMENT - _size(head) - sum(map(_size_of_frame, filled))
    parts = [head]
    for table in filled:
        shown = 0
        for row in table.rows:
            left -= _size(_line(row))
            if left < 0:
                break
            shown += 1
        parts.append(_framed(table, shown=shown))
        left = max(left, 0) if shown == len(table.rows) else 0
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return `text` as one line without what would end a cell, start a tag, mark up text or mention a person or issue.

    One _ within a word marks up nothing; two around one do, as in `__call__`.
    """
    safe = printable_line(text).translate(_ENDS_CELL)
    return safe.replace("__", "\\_\\_").replace("@", f"@{_BREAK}").replace("#", f"#{_BREAK}")


def _framed(table: Table, *, shown: int) -> str:
    """Return the table's first `shown` rows with heading and folds, and how many have no room."""
    n_open = min(shown, MOST_OPEN) if table.is_open else 0
    parts = [f"### {escaped(table.title)} ({len(table.rows):,})"]
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
    return f"| {' | '.join(map(escaped, cells))} |\n"


def _size(text: str) -> int:
    return len(text.encode()) + len("\n\n")


def _size_of_frame(table: Table) -> int:
    """Return what everything but the rows takes at most, in bytes."""
    fold = (
        "<details><summary>10,000,000 more</summary></details> 10,000,000 have no room here: `--format json` has all."
    )
    return _size(escaped(table.title)) + 2 * _size(_rows(table, 0, 0)) + 2 * _size(fold)
