"""Text of hover cards that all figures share."""

from __future__ import annotations

import html
from functools import lru_cache
from typing import TYPE_CHECKING

from results.printable import printable, printable_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

OPEN_MARKS = "open marks: disturbed while measured"
SHORTEST_HASH = 7
LONGEST_SUBJECT = 15  # on an axis with five labels
MOST_SUBJECTS = 120  # of commits of one axis: with more, labels say the date alone


@lru_cache(maxsize=4096)  # each of a chart's curves has a mark at the same commits
def commit_lines(commit: str, date: datetime | None, subject: str | None) -> tuple[str, ...]:
    """Write the commit's hash and date, and its subject if it has one."""
    day = "no date" if date is None else f"{date:%Y-%m-%d %H:%M}"
    return (f"{commit[:10]} · {day}", *((wrapped(subject),) if subject else ()))


def tick_label(commit: str, date: datetime | None, subject: str | None, *, has_room: bool) -> str:
    """Write a commit's label on an axis: its date, and below it its subject, cut short, or its hash."""
    day = "no date" if date is None else f"{date:%Y-%m-%d}"
    if not has_room:
        return day
    name = subject or commit[:SHORTEST_HASH]
    return f"{day}<br>{escaped(cut_short(name, longest=LONGEST_SUBJECT))}"


def cut_short(text: str, *, longest: int) -> str:
    """Cut a text to so many characters, the last an ellipsis; control characters are escaped."""
    text = printable_line(text)
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def escaped(text: str) -> str:
    """Escape `text` for plotly's subset of HTML, without an entity for quotation marks, and what turns text around."""
    return html.escape(printable(text), quote=False)


@lru_cache(maxsize=16384)  # the same names at each commit, and in each figure
def wrapped(text: str, *, width: int = 64) -> str:
    """Escape `text` for plotly's subset of HTML and break it into lines, three at most."""
    lines: list[str] = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    shown = lines[:3]
    if len(lines) > 3:
        shown[-1] += " …"
    return "<br>".join(escaped(line) for line in shown)


def short_hashes(commits: Iterable[str]) -> dict[str, str]:
    """Cut all hashes to the shortest length that keeps them distinct."""
    distinct = set(commits)
    length = SHORTEST_HASH
    while length < max(map(len, distinct), default=0) and len({name[:length] for name in distinct}) < len(distinct):
        length += 1
    return {commit: commit[:length] for commit in distinct}
