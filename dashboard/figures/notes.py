"""What stands on the card under the pointer, whatever the figure."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


def lines_of_commit(commit: str, date: datetime | None, subject: str | None) -> list[str]:
    """The commit's hash, date and subject, each said to be missing where it is."""
    told = "no date" if date is None else f"{date:%Y-%m-%d %H:%M}"
    return [f"{commit[:10]} · {told}", wrapped(subject or "no subject")]


def wrapped(text: str, *, width: int = 64) -> str:
    """`text` escaped for plotly's little HTML and broken into lines, three at most."""
    lines: list[str] = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    shown = lines[:3]
    if len(lines) > 3:
        shown[-1] += " …"
    return "<br>".join(html.escape(line) for line in shown)
