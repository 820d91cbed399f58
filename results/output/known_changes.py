"""Acknowledged changes → text; pure."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from results.output.terminal import UNLIMITED
from results.output.text_tables import MANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.output.terminal import Terminal
    from results.rows import KnownChange


def known_changes_as_text(
    changes: Sequence[KnownChange], terminal: Terminal = UNLIMITED, *, limit: int | None = MANY
) -> str:
    """Return a line for each decision with how many series it is about; `limit` of them and a count. Empty for none."""
    groups = [(reason, list(group)) for reason, group in groupby(changes, key=lambda change: change.reason)]
    if not groups:
        return ""
    lines = [f"{reason} ({_series_in_words(group)})" for reason, group in groups[:limit]]
    more = [f"… and {len(groups) - len(lines)} more (--all)"] if len(groups) > len(lines) else []
    indented = [terminal.paragraph(line, indent="  ") for line in (*lines, *more)]
    return "\n".join(["Known changes:", *indented])


def _series_in_words(changes: Sequence[KnownChange]) -> str:
    names = sorted({f"{change.benchmark} {change.metric}" for change in changes})
    listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{len(changes)} series: {listed}"
