"""Findings → tables of a comment; pure."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from results.output.reports.comments import MOST_OF_A_COMMENT, Table
from results.output.reports.finding_words import (
    floor_in_words,
    interval_in_words,
    name_in_words,
    place_in_words,
    range_in_words,
    scope_in_words,
    size_in_words,
    unexplained,
    why_in_words,
    worst_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.findings import Finding
    from results.output.reports.finding_words import Explained

MOST_EXPLAINED = MOST_OF_A_COMMENT // 80
"""Rows of a table that may have room: none with a cause is shorter than 80 bytes."""
COLUMNS = ("benchmark", "change", "interval", "invisible", "points", "worst at", "why")


def table_of_findings(
    title: str,
    findings: Sequence[Finding],
    *,
    is_open: bool,
    has_range: bool = False,
    explained: Explained = unexplained,
) -> Table:
    """Return a row for each finding, in their order. has_range: each is of a range of commits of its own."""
    has_place = len({place_in_words(finding) for finding in findings}) > 1
    columns = [*(["good..bad"] if has_range else []), *(["where"] if has_place else []), *COLUMNS]
    # Explaining one takes a while: what is sure to have no room is not.
    causes = chain(map(explained, findings[:MOST_EXPLAINED]), repeat(None))
    rows = [
        _row(finding, cause, has_range=has_range, has_place=has_place)
        for finding, cause in zip(findings, causes, strict=False)
    ]
    return without_empty_columns(title, columns, rows, is_open=is_open)


def without_empty_columns(
    title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]], *, is_open: bool
) -> Table:
    """Return the table without the columns that are empty in every row."""
    kept = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    return Table(
        title=title,
        columns=tuple(columns[place] for place in kept),
        rows=[tuple(row[place] for place in kept) for row in rows],
        is_open=is_open,
    )


def _row(finding: Finding, cause: str | None, *, has_range: bool, has_place: bool) -> tuple[str, ...]:
    return (
        *([range_in_words(finding)] if has_range else []),
        *([place_in_words(finding)] if has_place else []),
        name_in_words(finding),
        size_in_words(finding),
        interval_in_words(finding),
        floor_in_words(finding),
        scope_in_words(finding),
        worst_in_words(finding),
        why_in_words(finding, cause),
    )
