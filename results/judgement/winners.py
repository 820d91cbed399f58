"""Winner among the points of one shape, or why there is none; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from results.files.disturbances import BOUND, disturbs_ratios, ratio_bias
from results.judgement.noise import WIDEST, doubt_about
from results.units import counted, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import PointRow

BASELINE = "eager"
CLEAR = BOUND
"""Lead by intervals that counts where these are wide: what a slow machine is not known to feign (docs/adr/0019)."""
WHAT_DECIDES_NOTHING = (
    f"of times known to no better than ± {percent(WIDEST, digits=0)}, or of a machine that was slow or lost little "
    f"time to others, a lead counts from {CLEAR} × on; of whatever else disturbed "
    "calls, or of fewer visits than planned, none"
)


MOST_NAMES = 3
FAR = 1.1
"""Factor between two numbers that ought to be one from which on it is explained, as of a speedup and its latencies."""


class Standing(StrEnum):
    """Standing of a point that may be the fastest of its shape."""

    FASTEST = "fastest"
    TIED = "tied"  # as fast as any: the intervals touch
    UNDECIDED = "undecided"  # disturbed, of too few visits, or not known well enough: to be measured again


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Points of one shape, as far as it matters which of them to run.

    leader: the least time, whether or not it is a winner's. candidates: all that may be the fastest, the leader first.
    standing: the candidates', None where nothing competes. doubt: why it is undecided, in words, with the contender.
    margin: the runner-up's time over the leader's. least_margin: the least time of any other over the greatest of the
    leader's, by their intervals; None where they touch, nothing competes, or what disturbed some of them may have
    favoured it.
    """

    leader: PointRow
    runner_up: PointRow | None
    eager: PointRow | None
    margin: float | None
    least_margin: float | None
    candidates: tuple[PointRow, ...]
    standing: Standing | None
    doubt: str | None

    @property
    def winner(self) -> PointRow | None:
        """The fastest; None where points are tied or it is undecided."""
        return self.leader if self.standing is Standing.FASTEST else None

    @property
    def doubt_and_lead(self) -> str | None:
        """Why it is undecided, and by how much the leader is ahead all the same; None where it is decided."""
        if self.doubt is None or self.least_margin is None:
            return self.doubt
        return f"{self.doubt}; ahead all the same, by {self.least_margin:.2f} × at least"


class _Time(NamedTuple):  # a dataclass takes five times as long to make, of which a page may make thousands
    """Time of a call with its interval, in calls of the baseline or in seconds.

    doubt: why it decides nothing. is_disturbed: that is since it was disturbed. clear_at: lead that counts all the
    same, endless where none does.
    """

    row: PointRow
    value: float
    low: float
    high: float
    doubt: str | None
    is_disturbed: bool
    clear_at: float


def ranking_of(rows: Sequence[PointRow]) -> Ranking | None:
    """Rank the points of one shape; None if none of them is ok.

    By the speedup over eager with its interval, which is from paired rounds, so that what slowed down both does not
    count; by the latency where some point has no speedup. The fastest is the one whose interval is apart from every
    other's. It is undecided while the leader or the next was disturbed, has had fewer visits than its run planned or is
    known to no better than ± 5 % (`noise.doubt_about`), or any other was disturbed, or is known so badly that it may be
    the fastest. A machine that was slow puts latencies in doubt, and no speedup (`disturbs_ratios`). Where the doubt is
    of a machine below that, or of the width of intervals alone, a lead by CLEAR decides. Points of an older ruler than
    the newest are left out.

    Disturbed is what a time is from: a visit that was left out as disturbed, beside two others, is in neither value nor
    interval, which of two visits is the wider, and puts nothing in doubt.
    """
    newest = max(rows, key=lambda row: row.measured_at).ruler_version if rows else None
    timed = [row for row in rows if row.latency_s is not None and row.ruler_version == newest]
    if not timed:
        return None
    leader, *rivals = _times(timed)
    touching = [time for time in rivals if time.low <= leader.high]
    least_margin = _least_margin(leader, rivals)
    doubtful = [
        time
        for place, time in enumerate((leader, *rivals))
        if time.doubt and rivals and (place < 2 or time.is_disturbed or time in touching)
        if (least_margin or 0.0) < time.clear_at
    ]
    standing = None
    if rivals:
        decided = Standing.TIED if touching else Standing.FASTEST
        standing = Standing.UNDECIDED if doubtful else decided
    return Ranking(
        leader=leader.row,
        runner_up=rivals[0].row if rivals else None,
        eager=next((row for row in timed if row.provider == BASELINE), None),
        margin=rivals[0].value / leader.value if rivals and leader.value else None,
        least_margin=least_margin,
        candidates=(leader.row, *(time.row for time in rivals if time in touching or time in doubtful)),
        standing=standing,
        doubt=_in_words(doubtful, n_timed=len(timed)),
    )


def is_disturbed_as_ratio(row: PointRow) -> bool:
    """Return whether the point's speedup over eager may be biased by what disturbed it."""
    return row.disturbed is not None and disturbs_ratios(row.disturbed)


def is_lead_unknown(row: PointRow) -> bool:
    """Return whether what disturbed the point may put its speedup over eager off by any factor."""
    return row.disturbed is not None and ratio_bias(row.disturbed) == math.inf


def _least_margin(leader: _Time, rivals: Sequence[_Time]) -> float | None:
    if any(time.is_disturbed and time.clear_at == math.inf for time in (leader, *rivals)):
        return None
    low = min((time.low for time in rivals), default=0.0)
    return low / leader.high if 0 < leader.high < low else None


def leads_in_words(rankings: Sequence[Ranking]) -> str | None:
    """Return who is ahead where it is undecided but the intervals are apart, and by how much at least; or None.

    A speedup is of paired rounds, so that what slowed down both cancels: not enough for a winner, and worth knowing.
    """
    ahead: dict[str, list[float]] = {}
    for ranking in rankings:
        if ranking.standing is Standing.UNDECIDED and ranking.least_margin is not None:
            ahead.setdefault(ranking.leader.contender, []).append(ranking.least_margin)
    if not ahead:
        return None
    leads = (
        f"{name} at {counted(len(margins), 'shape')}, by {_factors(margins)} at least"
        for name, margins in ahead.items()
    )
    return f"ahead of all others by paired rounds all the same: {'; '.join(leads)}"


def far_quotients_in_words(pairs: Sequence[tuple[PointRow, PointRow | None]]) -> str | None:
    """Return where a speedup is far from the quotient of the latencies beside it, and why; or None.

    pairs: points, each with eager's of its shape.
    """
    compared = [row for row, eager in pairs if eager is not None and row.speedup_vs_eager and row.latency_s]
    far = [row for row, eager in pairs if eager is not None and _is_far_from_quotient(row, eager)]
    if not far:
        return None
    return (
        f"× eager is not the quotient of the latencies at {len(far)} of {counted(len(compared), 'point')}: it is of "
        "calls in turns, so that what slowed down both cancels, while each latency is of all its calls; to compare, "
        "go by × eager"
    )


def _is_far_from_quotient(row: PointRow, eager: PointRow) -> bool:
    if not row.speedup_vs_eager or not row.latency_s or not eager.latency_s:
        return False
    factor = row.speedup_vs_eager * row.latency_s / eager.latency_s
    return max(factor, 1 / factor) > FAR


def _factors(margins: Sequence[float]) -> str:
    low, high = (f"{value:.2f}" for value in (min(margins), max(margins)))
    return f"{low} ×" if low == high else f"{low} to {high} ×"


def _times(rows: Sequence[PointRow]) -> list[_Time]:
    """Return the times of the points, the least first."""
    is_paired = all(row.provider == BASELINE or row.speedup_vs_eager for row in rows)
    times = [_against_baseline(row) if is_paired else _in_seconds(row) for row in rows]
    return sorted(times, key=lambda time: time.value)


def _against_baseline(row: PointRow) -> _Time:
    known = (row.speedup_vs_eager, row.speedup_ci_low, row.speedup_ci_high)
    value, low, high = (1.0, 1.0, 1.0) if row.provider == BASELINE else known
    is_disturbed = is_disturbed_as_ratio(row)
    return _Time(
        row=row,
        value=_inverse(value),
        low=_inverse(high),
        high=_inverse(low),
        doubt=_doubt(row, "speedup", value, low, high, is_disturbed=is_disturbed),
        is_disturbed=is_disturbed,
        clear_at=math.inf if is_lead_unknown(row) else _clear_at(row, value, low, high),
    )


def _in_seconds(row: PointRow) -> _Time:
    value, low, high = row.latency_s or 0.0, row.latency_ci_low_s, row.latency_ci_high_s
    is_disturbed = row.disturbed is not None
    return _Time(
        row=row,
        value=value,
        low=value if low is None else low,
        high=value if high is None else high,
        doubt=_doubt(row, "latency", value, low, high, is_disturbed=is_disturbed),
        is_disturbed=is_disturbed,
        clear_at=math.inf if is_disturbed else _clear_at(row, value, low, high),
    )


def _clear_at(row: PointRow, value: float | None, low: float | None, high: float | None) -> float:
    """Return the lead that counts though the machine was slow or the interval is wide: none of what has no interval."""
    is_known = bool(value) and low is not None and high is not None and math.isfinite(high - low)
    return CLEAR if is_known and not row.lacks_visits else math.inf


def _inverse(speedup: float | None) -> float:
    """Return the time that a speedup means; endless where its interval reaches down to nothing."""
    return 1 / speedup if speedup is not None and speedup > 0 else math.inf


def _doubt(  # noqa: PLR0913 - a quantity with its interval, of a row
    row: PointRow, quantity: str, value: float | None, low: float | None, high: float | None, *, is_disturbed: bool
) -> str | None:
    if is_disturbed:
        return row.disturbed
    if row.lacks_visits:
        return f"{row.visit_count} of {counted(row.visits_planned or 0, 'visit')}"
    doubt = doubt_about(value, low=low, high=high, disturbed=None)
    return None if doubt is None else f"{quantity} {doubt}"


def _in_words(doubtful: Sequence[_Time], *, n_timed: int) -> str | None:
    if not doubtful:
        return None
    # What disturbed a point is told beside it, and may be long.
    disturbed = _listed([time.row.contender for time in doubtful if time.is_disturbed], n_timed=n_timed)
    others = [time for time in doubtful if not time.is_disturbed]
    of_visits: dict[str | None, list[str]] = {}
    for time in others:
        if time.row.lacks_visits:
            of_visits.setdefault(time.doubt, []).append(time.row.contender)
    few = [f"{doubt}: {', '.join(names)}" for doubt, names in of_visits.items()]
    wide = [f"{time.row.contender}: {time.doubt}" for time in others if not time.row.lacks_visits]
    return "; ".join([*([f"disturbed: {disturbed}"] if disturbed else []), *few, *wide])


def _listed(names: Sequence[str], *, n_timed: int) -> str:
    """Name up to three; of more, the first two and how many others, or that it is all."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    if len(names) == n_timed:
        return f"all {n_timed} providers"
    return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} others"
