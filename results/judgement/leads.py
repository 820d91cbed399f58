"""Since when a contender is the fastest at a shape; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.winners import Ranking
    from results.rows import PointRow


@dataclass(frozen=True, kw_only=True)
class Lead:
    """Unbroken row of commits at which one contender is the fastest, up to the newest one that decides.

    since, newest: the contender's point at the first and at the last of them. before: point of whoever was the fastest
    at the commit before that decided, None where none did. is_new: whether the contender has no time there, so that
    it may have been as fast. n_decided: commits of the row; n_undecided: others since its first, which decide
    nothing, later than its last, too.
    """

    since: PointRow
    newest: PointRow
    before: PointRow | None
    is_new: bool
    n_decided: int
    n_undecided: int

    @property
    def contender(self) -> str:
        """Who leads."""
        return self.newest.contender


def lead_of(commits: Sequence[tuple[Ranking | None, frozenset[str]]]) -> Lead | None:
    """Return who leads since when; None where no commit decides it.

    commits: the ranking of one shape at each commit that measured it, the oldest first, and who has a time there.
    A tie decides nothing: neither is the fastest.
    """
    decided = [
        (place, ranking.winner, names)
        for place, (ranking, names) in enumerate(commits)
        if ranking is not None and ranking.winner is not None
    ]
    if not decided:
        return None
    leader = decided[-1][1].contender
    others = [i for i, (_, winner, _) in enumerate(decided) if winner.contender != leader]
    row = decided[others[-1] + 1 :] if others else decided
    before = decided[others[-1]] if others else None
    return Lead(
        since=row[0][1],
        newest=row[-1][1],
        before=None if before is None else before[1],
        is_new=before is not None and leader not in before[2],
        n_decided=len(row),
        n_undecided=len(commits) - row[0][0] - len(row),
    )
