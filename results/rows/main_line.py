"""Which commits of a history are judged, those of the main line, and of how many the order is not known."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from results.rows.inventory import CommitRow

LEAST_ON_LINE = 2  # commits; of fewer there is no history


def beside_main_line(is_on_main_line: Mapping[str, bool | None]) -> frozenset[str]:
    """Return the commits of a place that its history leaves out: those beside the main line, if two or more are not.

    is_on_main_line: of each measured commit; None, where that is unknown, counts as on the line.
    """
    beside = frozenset(commit for commit, is_on in is_on_main_line.items() if is_on is False)
    return beside if len(is_on_main_line) - len(beside) >= LEAST_ON_LINE else frozenset()


def beside_among(rows: Iterable[CommitRow]) -> frozenset[str]:
    """Return those commits of a project that a history of them all leaves out."""
    return beside_main_line({row.commit: row.is_on_main_line for row in rows})


def left_out_in_words(n_beside: int) -> str:
    """Write how many measured commits of other branches a history leaves out; empty where there are none."""
    if not n_beside:
        return ""
    return f"{counted(n_beside, 'measured commit')} of other branches {'is' if n_beside == 1 else 'are'} left out"


def count_unordered(commits: Iterable[tuple[int | None, datetime | None]]) -> int:
    """Return of how many commits the order is a guess: no git repository tells it, and no date or another one's does.

    commits: position, None without a repository, and date of each.
    """
    commits = tuple(commits)
    if len(commits) < 2:
        return 0
    dates = Counter(date for position, date in commits if position is None)
    return sum(n for date, n in dates.items() if date is None or n > 1)


def unordered_in_words(n_unordered: int) -> str:
    """Write of how many commits the order is not known, why, and how to tell it; empty where it is of all."""
    if not n_unordered:
        return ""
    return (
        f"the order of {counted(n_unordered, 'commit')} is not known, for want of dates that differ and of a git "
        "repository: a step among them may not be found; `fusebench ingest PATH --repository REPOSITORY` tells it"
    )
