"""Since when a contender is the fastest at a shape; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.judgement.winners import ranking_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.rows import PointRow


@dataclass(frozen=True, kw_only=True)
class Lead:
    """Unbroken row of commits at which one contender is the fastest, up to the newest one that decides.

    since, newest: the contender's point at the first and at the last of them. before: point of whoever was the fastest
    at the commit before that decided, None where none did. by_other_ruler: such a point of another ruler, so that the
    ruler may be why, and no commit; before is None then. is_new: whether the contender has no time at `before`, so
    that it may have been as fast. n_decided: commits of the row; n_undecided: others since its first, which decide
    nothing, later than its last, too.
    """

    since: PointRow
    newest: PointRow
    before: PointRow | None
    is_new: bool
    n_decided: int
    n_undecided: int
    by_other_ruler: PointRow | None = None

    @property
    def contender(self) -> str:
        """Who leads."""
        return self.newest.contender


def lead_of(at_commits: Iterable[Sequence[PointRow]]) -> Lead | None:
    """Return who leads since when; None where no commit decides it.

    at_commits: the points of one shape at each commit that measured it, the newest first; those before the lead are not
    asked for. A tie decides nothing: neither is the fastest.
    """
    newest = since = before = by_other_ruler = None
    is_new = False
    n_decided = n_since = 0
    for place, rows in enumerate(at_commits, start=1):
        ranking = ranking_of(rows)
        winner = None if ranking is None else ranking.winner
        if winner is None:
            continue
        if newest is None:
            newest = winner
        elif winner.contender != newest.contender:
            if since is not None and winner.ruler_version != since.ruler_version:
                by_other_ruler = winner
                break
            before, is_new = winner, newest.contender not in _timed_among(rows)
            break
        since, n_decided, n_since = winner, n_decided + 1, place
    if newest is None or since is None:
        return None
    return Lead(
        since=since,
        newest=newest,
        before=before,
        is_new=is_new,
        n_decided=n_decided,
        n_undecided=n_since - n_decided,
        by_other_ruler=by_other_ruler,
    )


def _timed_among(rows: Sequence[PointRow]) -> set[str]:
    """Return who has a time, and so could have been the fastest."""
    return {row.contender for row in rows if row.latency_s is not None}
